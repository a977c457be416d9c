"""Event tables in files: Parquet, CSV and JSON lines, alone or many in a directory."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from thence.io.filenames import event_name
from thence.io.frames import ArrowFrame, Frame, take
from thence.io.jsonl import open_jsonl, refuse_other_text
from thence.io.reading_progress import about_to_read
from thence.model.errors import InputError
from thence.model.types import Type

Rows = npt.NDArray[np.int64]

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_COMPRESSED = (".gz", ".zst", ".bz2")
_GLOB = frozenset("*?[")
_ADDRESS = re.compile(r"[a-zA-Z][\w+.-]+://")
_SHOWN = 300
_BLOCKS = (1 << 20, 1 << 24, 1 << 28, (1 << 31) - 1)
"""Bytes of CSV that are read at a time; a field must fit into them, so more are tried in turn."""


def format_of(path: Path) -> str:
    """The format that a path's name stands for; a compressed CSV or JSON file ends with both.

    >>> format_of(Path("day/orders.csv.gz"))
    'csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in _COMPRESSED:
        found = FORMATS.get(suffixes[-2])
        if found in ("csv", "jsonl"):
            return found
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    known = ", ".join(FORMATS)
    raise InputError(f"'{path}' is in an unknown format. The known ones are {known}.")


def is_address(path: str) -> bool:
    """Whether a path leads to a store that Spark knows how to reach.

    >>> is_address("s3a://bucket/events"), is_address("events.csv")
    (True, False)
    """
    return _ADDRESS.match(path) is not None


def find_files(path: str | Path) -> list[Path]:
    """The files that a path, a directory or a glob stands for, in the order of their names."""
    if not str(path):
        raise InputError("'' is no path: name a file, a directory or a pattern, or give [] or {}.")
    try:
        return _found(path)
    except OSError as problem:
        raise InputError(f"{shown(path)} cannot be read: {problem.strerror or problem}.") from None
    except (ValueError, RuntimeError) as problem:  # a NUL in a path; a user who has no home
        raise InputError(f"{shown(path)} cannot be read: {problem}.") from None


def shown(path: str | Path) -> str:
    """A path as a message shows it: in quotes, and not at any length."""
    text = str(path)
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"


def _found(path: str | Path) -> list[Path]:
    given = Path(path).expanduser()
    if given.is_dir():
        return _files_in(given)
    if given.exists():
        _refuse_special(given)
        return [given]
    if _GLOB & set(str(given)):
        pattern = given.relative_to(given.anchor)
        found = sorted(Path(given.anchor).glob(str(pattern)))
        files = [file for each in found for file in (_files_in(each) if each.is_dir() else [each])]
        for file in files:
            _refuse_special(file)
        if files:
            return files
        raise InputError(f"No file matches '{path}'.")
    raise InputError(f"There is no file '{path}'.")


def _refuse_special(path: Path) -> None:
    """Refuse what can be read but once, or has no end: files are looked into more than once."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a pipe" if stat.S_ISFIFO(mode) else "no file but a device or a socket"
        raise InputError(
            f"{shown(path)} is {what}: write what comes from it into a file first, or use "
            "thence stream with a folder as its source."
        )


_TEXT_TWICE = 2
"""A file of text is there twice while it is read: as it is, and as columns."""


def open_file(path: Path, requested: Mapping[str, Collection[Type]]) -> Frame:
    """A frame over one file, of which only the ``requested`` columns are read.

    The types that a column is declared with help to read JSON; the columns of time have none.
    """
    kind = format_of(path)
    try:
        if kind == "parquet":
            return _open_parquet(path)
        about_to_read(f"'{path}'", _TEXT_TWICE * path.stat().st_size)
        if kind == "csv":
            return _open_csv(path, requested)
        with pa.input_stream(path) as stream:
            return open_jsonl(f"'{path}'", stream.read(), requested)
    except OSError as problem:
        raise InputError(f"'{path}' cannot be read: {problem.strerror or problem}") from problem


def stem(path: Path) -> str:
    """The event that a file's name stands for: what is before the first dot."""
    return event_name(path.name.partition(".")[0])


def _files_in(directory: Path) -> list[Path]:
    """The data files below a directory. Names with a leading ``_`` or ``.`` are other tools'."""
    files = [
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file() and not any(part[0] in "_." for part in file.relative_to(directory).parts)
    ]
    if not files:
        raise InputError(f"The directory '{directory}' holds no files of events.")
    for file in files:
        format_of(file)
    return files


@dataclass(frozen=True, slots=True)
class ParquetFrame:
    """A Parquet file, read column by column as asked for."""

    label: str
    file: Any
    text: bool = False

    @property
    def rows(self) -> int:
        return int(self.file.metadata.num_rows)

    def names(self, rows: Rows | None) -> Sequence[str]:
        names: list[str] = self.file.schema_arrow.names
        return names

    def column(self, name: str, rows: Rows | None) -> Any:
        count = self.names(None).count(name)
        if count > 1:
            raise InputError(f"{self.label} has {count} columns named '{name}'.")
        about_to_read(f"the column '{name}' of {self.label}", self._size(name))
        try:
            column = self.file.read(columns=[name]).column(name)
            column.validate(full=True)  # Arrow takes the texts of a damaged page as they are
        except (OSError, pa.ArrowException) as problem:
            raise _unreadable(self.label, "Parquet", problem) from problem
        return column if rows is None else take(column, rows)

    def _size(self, name: str) -> int:
        """About how many bytes a column takes in memory: those in the file once they are no longer
        compressed, and no fewer than numbers take."""
        metadata, names = self.file.metadata, self.names(None)
        if name not in names or metadata.num_columns != len(names):  # some have columns in them
            return 8 * self.rows
        place = names.index(name)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        stored = sum(int(group.column(place).total_uncompressed_size) for group in groups)
        return max(8 * self.rows, stored)


def _open_parquet(path: Path) -> Frame:
    label = f"'{path}'"
    with path.open("rb"):
        pass  # a missing permission is not a broken file
    try:
        return ParquetFrame(label, pq.ParquetFile(path))
    except (OSError, pa.ArrowException) as problem:
        raise _unreadable(label, "Parquet", problem) from problem


def _unreadable(label: str, kind: str, problem: Exception) -> InputError:
    return InputError(f"{label} is not a readable {kind} file: {str(problem).rstrip('.')}.")


def _open_csv(path: Path, requested: Collection[str]) -> Frame:
    label = f"'{path}'"
    with pa.input_stream(path) as stream:
        first = stream.read(4)
    if not first:
        return ArrowFrame(label, pa.table({}), text=True)
    refuse_other_text(label, first)
    names = _in_blocks(path, label, lambda block: _header(path, block))
    chosen = [name for name in names if name in requested]
    for name in chosen:
        if chosen.count(name) > 1:
            raise InputError(f"{label} has {chosen.count(name)} columns named '{name}'.")
    table = _in_blocks(path, label, lambda block: _read_csv_watched(path, chosen, label, block))
    return ArrowFrame(label, table, text=True, known=names)


def _in_blocks(path: Path, label: str, read: Callable[[int], Any]) -> Any:
    """What is read of a CSV file with the first size of blocks that its longest row fits into."""
    compressed = path.suffix.lower() in _COMPRESSED
    size = path.stat().st_size
    for block in _BLOCKS:
        try:
            return read(block)
        except UnicodeDecodeError:
            raise InputError(f"{label}: the header is not text in UTF-8.") from None
        except pa.ArrowInvalid as problem:
            too_long = any(text in str(problem) for text in _DOES_NOT_FIT)
            if too_long and block < _BLOCKS[-1] and (compressed or block < size):
                continue
            raise _unreadable(label, "CSV", problem) from problem
    raise AssertionError("there is always a last block")


_DOES_NOT_FIT = ("straddl", "Empty CSV file or block")
"""What Arrow says of a row that is longer than a block."""


def _header(path: Path, block: int) -> list[str]:
    options = pyarrow.csv.ParseOptions(
        newlines_in_values=True, invalid_row_handler=lambda _: "skip"
    )
    reading = pyarrow.csv.ReadOptions(block_size=block)
    with pyarrow.csv.open_csv(path, read_options=reading, parse_options=options) as reader:
        names: list[str] = reader.schema.names
    return names


def _read_csv(
    path: Path, chosen: list[str], block: int, threads: bool, on_bad_row: Any = None
) -> pa.Table:
    """The columns as text, so that no guess changes a value; an empty field is null."""
    return pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=threads, block_size=block),
        parse_options=pyarrow.csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=on_bad_row
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            default_column_type=pa.string(),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            include_columns=chosen,
        ),
    )


def _read_csv_watched(path: Path, chosen: list[str], label: str, block: int) -> pa.Table:
    """The table; where a row is bad it is read again, on one thread, which is what it takes to
    learn the number of that row."""
    bad: list[Any] = []

    def watch(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        return _read_csv(path, chosen, block, threads=True)
    except pa.ArrowInvalid:
        pass
    try:
        return _read_csv(path, chosen, block, threads=False, on_bad_row=watch)
    except pa.ArrowInvalid:
        if bad:
            raise InputError(
                f"{label}, line {bad[0].number}: {bad[0].actual_columns} fields where the header "
                f"has {bad[0].expected_columns}: {bad[0].text}"
            ) from None
        raise
