"""JSON lines: one record a line.

A file whose records look as the program declares them is read by Arrow, fast. Any other is read
record by record with the same meaning, which also finds the line that is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json

from thence.io.frames import Frame, RecordsFrame, take
from thence.model.errors import InputError
from thence.model.types import Type

Rows = npt.NDArray[np.int64]
Requested = Mapping[str, Collection[Type]]

_PLAIN = ("int", "float", "bool", "string")
_INSTANTS = ("timestamp", "duration")
_TIMES = ("time", "start", "end")
_LOOK_AHEAD = 100
_DEEP = 1000


def open_jsonl(label: str, content: bytes, requested: Requested) -> Frame:
    """A frame over the text of a file of JSON lines (or of one JSON array of records)."""
    refuse_other_text(label, content[:4])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{label}, line {line} is not text in UTF-8.") from None
    exact = any(kind.kind in ("decimal", "list") for kinds in requested.values() for kind in kinds)
    table = _read_fast(text, requested)
    if table is None:
        return read_records(label, text, exact)
    return JsonFrame(label, table, text, exact)


def refuse_other_text(label: str, begin: bytes) -> None:
    """Refuse a file whose first bytes are those of text with two or four bytes to a character."""
    if begin[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in begin:
        raise InputError(
            f"{label} is not text in UTF-8, but in UTF-16 or UTF-32, it seems: convert it first."
        )


@dataclass(frozen=True)
class JsonFrame:
    """JSON lines that Arrow could read. A column of nulls alone may be one that is not there."""

    label: str
    table: pa.Table
    content: str
    exact: bool
    text: bool = True

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def _records(self) -> RecordsFrame:
        return read_records(self.label, self.content, self.exact)

    def names(self, rows: Rows | None) -> Sequence[str]:
        present = []
        for name in self.table.column_names:
            column = self.column(name, rows)
            if column.null_count < len(column):
                present.append(name)
            elif json.dumps(name) in self.content:
                # Null in every row, or in no row at all? Only the records can tell.
                return self._records.names(rows)
        return present

    def column(self, name: str, rows: Rows | None) -> Any:
        if name not in self.table.column_names:
            return self._records.column(name, rows)
        column = self.table.column(name)
        return column if rows is None else take(column, rows)


def read_records(label: str, text: str, exact: bool) -> RecordsFrame:
    """The records of a text; ``exact`` keeps fractions as written, for decimals."""
    decoder = json.JSONDecoder(parse_float=Decimal) if exact else json.JSONDecoder()
    if text.lstrip()[:1] == "[":
        return RecordsFrame(label, _array(label, text, decoder), text=True)
    return RecordsFrame(label, list(_lines(label, text, decoder)), text=True)


def _lines(label: str, text: str, decoder: json.JSONDecoder) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not (line := line.strip()):
            continue
        record = _decode(f"{label}, line {number}", line, decoder)
        if not isinstance(record, dict):
            raise InputError(
                f"{label}, line {number} is not a record: one JSON object "
                'such as {"type": "order", "time": 0} is expected on each line.'
            )
        yield record


def _array(label: str, text: str, decoder: json.JSONDecoder) -> list[dict[str, Any]]:
    records = _decode(label, text.strip(), decoder)
    assert isinstance(records, list)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(f"{label}: item {number} of the array is not a record.")
    return records


def _decode(where: str, text: str, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(text)
    except ValueError as problem:
        raise InputError(f"{where} is not JSON: {problem}") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply to be an event.") from None


def _read_fast(text: str, requested: Requested) -> pa.Table | None:
    """The requested columns as Arrow reads them, if it reads them as they are meant."""
    content = text.rstrip().encode()
    lines = content.count(b"\n") + 1
    # Arrow takes a bare null for a record, or falls over it: every line must begin as one.
    if content[:1] != b"{" or content.count(b"\n{") + 1 != lines or _may_be_deep(content, lines):
        return None
    fields = _fields(text, requested)
    if fields is None:
        return None
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(content),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None
    # It also takes two records on one line, where a line break was lost.
    return table if table.num_rows == lines else None


def _may_be_deep(content: bytes, lines: int) -> bool:
    """Whether a line could be nested deeper than Arrow's parser, which recurses, survives."""
    if content.count(b"{") + content.count(b"[") <= lines + _DEEP:
        return False
    data = np.frombuffer(content, np.uint8)
    brackets = np.flatnonzero((data == ord("{")) | (data == ord("[")))
    line_of = np.searchsorted(np.flatnonzero(data == ord("\n")), brackets)
    return bool(np.bincount(line_of).max() > _DEEP)


def _fields(text: str, requested: Requested) -> list[Any] | None:
    """The requested columns with the types to read; None if they cannot be told beforehand."""
    samples = _samples(text)
    fields = []
    for name, types in requested.items():
        kinds = {declared.kind for declared in types}
        if name == "type":
            kind: Any = pa.string()
        elif name in _TIMES:
            kind = _written_as(samples, _TIMES)
        elif len(types) != 1:
            return None
        elif kinds <= set(_PLAIN):
            kind = next(iter(types)).arrow
        elif kinds <= set(_INSTANTS):
            kind = _written_as(samples, (name,))
        else:
            return None
        if kind is None:
            return None
        fields.append((name, kind))
    return fields


def _samples(text: str) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = []
    begin = 0
    while begin < len(text) and len(samples) < _LOOK_AHEAD:
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        try:
            sample = json.loads(text[begin:end])
        except (ValueError, RecursionError):
            return []
        if isinstance(sample, dict):
            samples.append(sample)
        begin = end + 1
    return samples


def _written_as(samples: list[dict[str, Any]], names: Collection[str]) -> Any:
    """Whether the first value of these columns is text or a whole number; None for neither."""
    for sample in samples:
        for name in names:
            value = sample.get(name)
            if isinstance(value, str):
                return pa.string()
            if isinstance(value, int) and not isinstance(value, bool):
                return pa.int64()
    return None
