"""A file of results in the making: rows are added as they come, and it appears when it is whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thence.io.render import Formulas, csv_text, json_text
from thence.io.temporary import temporary
from thence.model.errors import InputError

GROUP_ROWS = 1 << 18
"""About how many rows a row group of a Parquet file has: so many wait to be written together."""


class ResultFile:
    """A file that takes tables of one event's results, or in JSON lines those of several."""

    def __init__(
        self, target: Path, fresh: Path, kind: str, schema: pa.Schema, formulas: Formulas
    ) -> None:
        """``fresh`` is where it is written, beside its ``target``."""
        self.target = target
        self._fresh = fresh
        self._kind = kind
        self._formulas = formulas
        self._waiting: list[Any] = []
        with as_input_error(target):
            if target.is_dir():
                raise InputError(f"'{target}' is a directory; it cannot be written as a file.")
            self._file = fresh.open("xb")
            try:
                self._writer = pq.ParquetWriter(self._file, schema) if kind == "parquet" else None
                if kind == "csv":
                    self._file.writelines(csv_text(schema.empty_table(), formulas=formulas))
            except BaseException:
                self._file.close()
                raise

    def add(self, table: pa.Table, event: str | None = None) -> None:
        """Add rows; with the event's name, where the file holds several."""
        with as_input_error(self.target):
            if self._writer is not None:
                self._waiting.append(table)
                if sum(rows.num_rows for rows in self._waiting) >= GROUP_ROWS:
                    self._write_waiting(self._writer)
            elif self._kind == "csv":
                self._file.writelines(csv_text(table, header=False, formulas=self._formulas))
            else:
                self._file.writelines(json_text(table, event))

    def finish(self) -> None:
        """Write what is left; nothing can be added after that."""
        with as_input_error(self.target), self._file:
            if self._writer is not None:
                self._write_waiting(self._writer)
                self._writer.close()

    def appear(self) -> None:
        """Take the target's name, in one step, and its place."""
        with as_input_error(self.target):
            self._fresh.replace(self.target)

    def close(self) -> None:
        """Leave it as it is, finished or not."""
        self._waiting = []
        with suppress(OSError):  # of a file that is given up, which may be why
            if self._writer is not None and not self._file.closed:
                self._writer.close()
            self._file.close()

    def _write_waiting(self, writer: Any) -> None:
        if self._waiting:
            writer.write_table(pa.concat_tables(self._waiting))
            self._waiting = []


@contextmanager
def in_the_making(
    target: Path, kind: str, schema: pa.Schema, formulas: Formulas
) -> Iterator[ResultFile]:
    """A file of results; what has not appeared by the end of the block is gone."""
    # Named by a token alone: the target's own name may be as long as a name can be.
    with temporary(target.with_name(f".thence-{secrets.token_hex(8)}.tmp")) as fresh:
        file = ResultFile(target, fresh, kind, schema, formulas)
        try:
            yield file
        finally:
            file.close()


@contextmanager
def as_input_error(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into an error of ours."""
    try:
        yield
    except OSError as problem:
        raise InputError(f"'{path}' cannot be written: {problem.strerror or problem}") from problem
    except ValueError as problem:  # a NUL, or half a character
        raise InputError(f"{str(path)!r} cannot be written: {problem}") from problem
