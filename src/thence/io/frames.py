"""Whatever a caller calls a table, seen as named columns that are fetched when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.model.errors import InputError

Rows = npt.NDArray[np.int64]


class Frame(Protocol):
    """A table: where it comes from, how many rows it has, and its columns.

    ``text`` says that the source has no types of its own (CSV, JSON lines), so that a number may be
    written as text. A column is an Arrow array, a chunked one, or a list of Python values.
    """

    @property
    def label(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def text(self) -> bool: ...
    def names(self, rows: Rows | None) -> Sequence[str]:
        """The columns that these rows have; None means all rows."""

    def column(self, name: str, rows: Rows | None) -> Any:
        """These rows of a column."""


@dataclass(frozen=True, slots=True)
class ArrowFrame:
    """A pyarrow Table. ``known`` names all columns of the source where only some were read."""

    label: str
    table: pa.Table
    text: bool = False
    known: Sequence[str] | None = None

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def names(self, rows: Rows | None) -> Sequence[str]:
        return self.table.column_names if self.known is None else self.known

    def column(self, name: str, rows: Rows | None) -> Any:
        positions = self.table.schema.get_all_field_indices(name)
        if len(positions) > 1:
            raise InputError(f"{self.label} has {len(positions)} columns named '{name}'.")
        column = self.table.column(positions[0])
        return column if rows is None else take(column, rows)


@dataclass(frozen=True, slots=True)
class PandasFrame:
    """A pandas DataFrame. As everywhere in pandas, NaN there means a missing value."""

    label: str
    frame: Any
    text: bool = False

    @property
    def rows(self) -> int:
        return len(self.frame)

    def names(self, rows: Rows | None) -> Sequence[str]:
        return [str(name) for name in self.frame.columns]

    def column(self, name: str, rows: Rows | None) -> Any:
        series = self.frame[name]
        if getattr(series, "ndim", 1) != 1:
            raise InputError(f"{self.label} has {series.shape[1]} columns named '{name}'.")
        return from_pandas(series if rows is None else series.iloc[rows])


@dataclass(frozen=True, slots=True)
class ColumnsFrame:
    """A mapping of column names to lists, NumPy arrays, Arrow arrays or series."""

    label: str
    columns: Mapping[str, Any]
    rows: int
    text: bool = False

    def names(self, rows: Rows | None) -> Sequence[str]:
        return list(self.columns)

    def column(self, name: str, rows: Rows | None) -> Any:
        column = self.columns[name]
        return column if rows is None else take(column, rows)


@dataclass(frozen=True, slots=True)
class RecordsFrame:
    """A list of records. A record that lacks a key has null there, if another one has it."""

    label: str
    records: Sequence[Mapping[str, Any]]
    text: bool = False

    @property
    def rows(self) -> int:
        return len(self.records)

    def names(self, rows: Rows | None) -> Sequence[str]:
        names: dict[str, None] = {}
        for record in self._chosen(rows):
            if record.keys() - names.keys():
                names.update(dict.fromkeys(record))
        return list(names)

    def column(self, name: str, rows: Rows | None) -> Any:
        return [record.get(name) for record in self._chosen(rows)]

    def _chosen(self, rows: Rows | None) -> Iterable[Mapping[str, Any]]:
        return self.records if rows is None else [self.records[row] for row in rows.tolist()]


def records_frame(label: str, records: Sequence[Any], text: bool = False) -> RecordsFrame:
    """A frame over records, after a look that they all are records."""
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"{label}: row {number} is a {type(record).__name__} where a record "
                "(a dict from column to value) is expected."
            )
    return RecordsFrame(label, records, text)


def is_record(values: Mapping[str, Any]) -> bool:
    """Whether a mapping is one record rather than a table in columns: its time is one time.

    Where it has no time, as in a table of facts, each of its values must be a single one.

    >>> is_record({"id": "o1", "time": "2026-01-01"}), is_record({"id": ["o1"], "time": [3]})
    (True, False)
    """
    times = [values[name] for name in ("time", "start", "end") if name in values]
    return bool(values) and all(map(_is_single, times or values.values()))


def _is_single(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return True
    is_array = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return not is_array and not isinstance(value, Iterable | Mapping)


def columns_frame(label: str, columns: Mapping[str, Any]) -> ColumnsFrame:
    """A frame over a mapping of columns, which must be equally long."""
    held: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for name, values in columns.items():
        held[name] = column = _as_column(label, name, values)
        lengths[name] = len(column)
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(f"{label}: the columns are not equally long ({shown}).")
    return ColumnsFrame(label, held, next(iter(lengths.values()), 0))


def arrow_frame(label: str, stream: Any) -> ArrowFrame:
    """A frame over anything that gives an Arrow stream."""
    try:
        table = stream if isinstance(stream, pa.Table) else pa.table(stream)
        for index, field in enumerate(table.schema):
            if _has_viewed_values(field.type):
                table = table.set_column(index, field.name, usable(table.column(index)))
        return ArrowFrame(label, table)
    except (pa.ArrowException, TypeError) as problem:
        raise InputError(f"{label} cannot be read as an Arrow table: {problem}") from problem


def usable(column: Any) -> Any:
    """A column of which Arrow can do something: few of its functions take dictionaries of string
    views, which is what categories are in polars."""
    if not _has_viewed_values(column.type):
        return column
    if not isinstance(column, pa.ChunkedArray):
        values = column.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(column.indices, values)
    kind = pa.dictionary(column.type.index_type, pa.large_string())
    return pa.chunked_array([usable(chunk) for chunk in column.chunks], kind)


def _has_viewed_values(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type))


def from_pandas(series: Any) -> Any:
    """A pandas series as an Arrow array; a list where its values have no common Arrow type."""
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        return [
            None if isinstance(value, float) and value != value else value
            for value in series.tolist()
        ]


def is_pandas(value: Any) -> bool:
    """True for a pandas DataFrame or Series, without importing pandas."""
    return type(value).__module__.partition(".")[0] == "pandas"


def take(column: Any, rows: Rows) -> Any:
    """The given rows, in ascending order, of a column."""
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    if pa.types.is_string_view(column.type):  # Arrow cannot pick from string views
        column = column.cast(pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            return _take_chunks(column, rows)
        column = column.chunk(0)
    return column.take(pa.array(rows))


def _take_chunks(column: pa.ChunkedArray, rows: Rows) -> pa.ChunkedArray:
    # Arrow's own take of many chunks looks up the chunk of every row.
    parts, begin = [], 0
    bounds = np.cumsum([len(chunk) for chunk in column.chunks])
    cuts = np.searchsorted(rows, bounds)
    previous = 0
    for chunk, bound, cut in zip(column.chunks, bounds.tolist(), cuts.tolist(), strict=True):
        if cut > previous:
            parts.append(chunk.take(pa.array(rows[previous:cut] - begin)))
        begin, previous = bound, cut
    return pa.chunked_array(parts, column.type)


def _as_column(label: str, name: str, values: Any) -> Any:
    if isinstance(values, list):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return usable(values)
    if is_pandas(values):
        return from_pandas(values)
    if isinstance(values, np.ndarray) and values.ndim == 1:
        try:
            return list(values) if values.dtype == object else pa.array(values)
        except pa.ArrowNotImplementedError:
            return list(values)
    if hasattr(values, "__arrow_c_stream__"):
        return usable(pa.chunked_array(values))
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return list(values)
    raise InputError(
        f"{label}: column '{name}' is a {type(values).__name__} where a list or an array of "
        "values is expected."
    )
