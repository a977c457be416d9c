"""Event tables in files: Parquet, CSV and JSON lines, alone or many in a directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from thence.io.jsonl import open_jsonl
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


def find_files(path: str | Path) -> list[Path]:
    """The files that a path, a directory or a glob stands for, in the order of their names."""
    given = Path(path).expanduser()
    if given.is_dir():
        return _files_in(given)
    if given.exists():
        return [given]
    if _GLOB & set(str(given)):
        pattern = given.relative_to(given.anchor)
        found = sorted(Path(given.anchor).glob(str(pattern)))
        files = [file for each in found for file in (_files_in(each) if each.is_dir() else [each])]
        if files:
            return files
        raise InputError(f"No file matches '{path}'.")
    raise InputError(f"There is no file '{path}'.")


def open_file(path: Path, wanted: Mapping[str, Collection[Type]]) -> Frame:
    """A frame over one file, of which only the ``wanted`` columns are read.

    The types that a column is declared with help to read JSON; the columns of time have none.
    """
    kind = format_of(path)
    try:
        if kind == "parquet":
            return _open_parquet(path)
        if kind == "csv":
            return _open_csv(path, wanted)
        with pa.input_stream(path) as stream:
            return open_jsonl(f"'{path}'", stream.read(), wanted)
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
        try:
            column = self.file.read(columns=[name]).column(name)
        except (OSError, pa.ArrowException) as problem:
            raise _unreadable(self.label, "Parquet", problem) from problem
        return column if rows is None else take(column, rows)


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


def _open_csv(path: Path, wanted: Collection[str]) -> Frame:
    label = f"'{path}'"
    with pa.input_stream(path) as stream:
        if not stream.read(1):
            return ArrowFrame(label, pa.table({}), text=True)
    names = _header(path, label)
    chosen = [name for name in names if name in wanted]
    for name in chosen:
        if chosen.count(name) > 1:
            raise InputError(f"{label} has {chosen.count(name)} columns named '{name}'.")
    try:
        table = _read_csv(path, chosen, threads=True)
    except pa.ArrowInvalid:
        table = _read_csv_watched(path, chosen, label)
    return ArrowFrame(label, table, text=True, known=names)


def _header(path: Path, label: str) -> list[str]:
    names: list[str] = []

    def skip(row: Any) -> str:
        return "skip"

    options = pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip)
    try:
        with pyarrow.csv.open_csv(path, parse_options=options) as reader:
            names = reader.schema.names
    except pa.ArrowInvalid as problem:
        raise _unreadable(label, "CSV", problem) from problem
    return names


def _read_csv(path: Path, chosen: list[str], threads: bool, on_bad_row: Any = None) -> pa.Table:
    """The columns as text, so that no guess changes a value; an empty field is null."""
    return pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=threads),
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


def _read_csv_watched(path: Path, chosen: list[str], label: str) -> pa.Table:
    """Read again on one thread, which is what it takes to learn the number of a bad row."""
    bad: list[Any] = []

    def watch(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        return _read_csv(path, chosen, threads=False, on_bad_row=watch)
    except pa.ArrowInvalid as problem:
        if bad:
            raise InputError(
                f"{label}, line {bad[0].number}: {bad[0].actual_columns} fields where the header "
                f"has {bad[0].expected_columns}: {bad[0].text}"
            ) from None
        raise _unreadable(label, "CSV", problem) from problem
