"""What Thence has written, and what it has not: nothing else is ever replaced or removed.

A file of results is known by what is in it: its last columns are ``start`` and ``end``, and after
them ``lineage`` where that was asked for. So a folder needs no list of what Thence wrote there, and
somebody's own file that happens to have the name of an event is left alone.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thence.io.files import FORMATS
from thence.model.errors import InputError

_LINE = 1 << 24
"""Bytes of a first line that are looked at, at most."""


def refuse_others(path: Path) -> None:
    """Refuse to write over a file that holds no results; one that is not there, or empty, is no
    loss."""
    if path.exists() and not holds_results(path):
        raise InputError(
            f"'{path}' is there already, and holds no results of Thence (its last columns would be "
            "'start' and 'end'), so it is not written over. Move it away, or write somewhere else."
        )


def holds_results(path: Path) -> bool:
    """Whether a file holds results, or nothing at all."""
    if not path.is_file():
        return False
    kind = FORMATS.get(path.suffix.lower())
    try:
        if path.stat().st_size == 0:
            return True
        if kind == "parquet":
            return are_results(pq.read_schema(path).names)
        with path.open(encoding="utf-8", newline="") as file:
            return are_results(columns_of(file.readline(_LINE), kind or ""))
    except (OSError, pa.ArrowException, ValueError):
        return False


def columns_of(line: str, kind: str) -> list[str]:
    """The columns that the first line of a text file tells of; none if it tells of none.

    >>> columns_of('{"id": 1, "start": 2}', "jsonl"), columns_of("id,start", "csv")
    (['id', 'start'], ['id', 'start'])
    """
    try:
        found = json.loads(line) if kind == "jsonl" else next(csv.reader([line]))
    except (ValueError, csv.Error, RecursionError):
        return []
    return [str(name) for name in found] if isinstance(found, dict | list) else []


def are_results(columns: Sequence[str]) -> bool:
    """Whether columns are those of results.

    >>> are_results(["id", "start", "end"]), are_results(["id", "time"])
    (True, False)
    """
    last = columns[:-1] if columns[-1:] == ["lineage"] else columns
    return list(last[-2:]) == ["start", "end"]
