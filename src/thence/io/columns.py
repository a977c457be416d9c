"""Whole columns into Arrow arrays of declared types, or an error that names the row.

A column that has the declared type already is used as it is. Another Arrow column is cast when the
cast cannot change a value. Everything else goes value by value through
:mod:`thence.io.python_values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thence.io import text_sizes as sizes
from thence.io.python_values import EXACT_FLOAT, to_instant, to_value
from thence.model.arrow import from_list
from thence.model.errors import InputError
from thence.model.events import Times
from thence.model.time import EARLIEST, LATEST
from thence.model.types import Type

Rows = npt.NDArray[np.int64]

# A date, a time of day and an offset: the offset is what Arrow must know about beforehand.
_HAS_OFFSET = r"^\s*\d{4}-\d\d-\d\d[T ]\d\d.*(Z|[+-]\d\d(:?\d\d)?)\s*$"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column comes from, for messages: the source, the event, and the rows' numbers.

    ``rows`` gives each value's position in its source, or None where they are all there in order.
    """

    source: str
    event: str
    rows: Rows | None = None
    kind: str = "event"

    @property
    def what(self) -> str:
        """What the rows are, in words: the event, or the table."""
        return f"{self.kind} '{self.event}'"

    def row(self, position: int) -> int:
        """The number of a row as people count: from 1."""
        return int(position if self.rows is None else self.rows[position]) + 1

    def error(self, column: str, position: int, value: Any, reason: str) -> InputError:
        """The error about one value."""
        return InputError(
            f"{self.source}: {self.what}, column '{column}', row {self.row(position)}: "
            f"{show(value)} cannot be used; {reason}."
        )


def show(value: Any) -> str:
    """A value as a message shows it: short, and recognisable."""
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def as_array(column: Any, declared: Type, name: str, place: Place, text: bool) -> pa.Array:
    """The column as one contiguous Arrow array of ``declared.arrow``."""
    if not isinstance(column, list):
        array = contiguous(column)
        _check_size(array, name, place)
        if array.type == declared.arrow:
            return _within_range(array, declared, name, place)
        cast = _cast(array, declared, text)
        if cast is not None:
            return _within_range(cast, declared, name, place)
        column = _values(array, name, place)
    values = []
    for position, value in enumerate(column):
        try:
            values.append(to_value(value, declared, text))
        except ValueError as problem:
            raise place.error(name, position, value, _advice(problem, name)) from None
    array = from_list(values, declared.arrow)
    if isinstance(array, pa.ChunkedArray):  # what Arrow makes of texts that do not fit into one
        raise too_much_text(name, place)
    _check_size(array, name, place)
    return array


def _check_size(array: pa.Array, name: str, place: Place) -> None:
    """Refuse texts that do not fit into one array."""
    if sizes.text_bytes(array) > sizes.MOST_TEXT:
        raise too_much_text(name, place)


def too_much_text(name: str, place: Place) -> InputError:
    """The error that a column has more text than an array holds."""
    return InputError(
        f"{place.source}: {place.what}, column '{name}' holds more than 2 GiB of text, which is as "
        "much as Arrow holds in one array. Give fewer events at a time, as to a session; or do not "
        f"declare '{name}', if no rule reads it."
    )


def as_times(column: Any, name: str, place: Place, text: bool) -> tuple[Times, Any]:
    """The column as int64 microseconds UTC, and a mask of the missing ones (or None)."""
    if not isinstance(column, list):
        array = _instants(contiguous(column), text)
        if array is None:
            column = _values(contiguous(column), name, place)
        else:
            missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
            times = (array.fill_null(0) if array.null_count else array).to_numpy()
            _check_range(times, name, place)
            return times, missing
    found = np.zeros(len(column), np.int64)
    absent = np.zeros(len(column), bool)
    for position, value in enumerate(column):
        try:
            instant = to_instant(value, text)
        except ValueError as problem:
            raise place.error(name, position, value, str(problem)) from None
        if instant is None:
            absent[position] = True
        else:
            found[position] = instant
    return found, absent if absent.any() else None


def contiguous(column: Any) -> pa.Array:
    """One Arrow array without a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # strings too long for one array of 32-bit offsets
            column = pa.concat_arrays(column.cast(pa.large_string()).chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_string_view(column.type):  # few functions of Arrow take string views
        column = column.cast(pa.string() if column.nbytes < 2**31 else pa.large_string())
    return column


def _values(array: pa.Array, name: str, place: Place) -> list[Any]:
    """The values as Python objects, for the exact way."""
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        # NumPy scalars keep nanoseconds, and do not fail beyond the year 9999.
        return list(array.to_numpy(zero_copy_only=False))
    try:
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError) as problem:
        raise InputError(
            f"{place.source}: {place.what}, column '{name}' holds values of type "
            f"{array.type} that cannot be read: {problem}"
        ) from None
    return values


def _cast(array: pa.Array, declared: Type, text: bool) -> pa.Array | None:
    """The array in the declared type, if Arrow can do it without changing any value."""
    have = array.type
    if pa.types.is_null(have):
        return pa.nulls(len(array), declared.arrow)
    if _is_text(have):
        if declared.kind == "string":
            return _try_cast(array, pa.string())
        if declared.kind == "timestamp":
            instants = _instants(array, text)
            return None if instants is None else instants.view(declared.arrow)
        return (
            _parse_numbers(array, declared.arrow)
            if text and declared.kind in ("int", "float")
            else None
        )
    if declared.kind == "string":
        return _try_cast(array, pa.string()) if _is_binary(have) else None
    if declared.kind == "timestamp":
        instants = _instants(array, text)
        return None if instants is None else instants.view(declared.arrow)
    if declared.kind == "duration":
        return _try_cast(array, declared.arrow) if pa.types.is_duration(have) else None
    if declared.kind == "int":
        return _try_cast(array, pa.int64()) if _is_number(have) else None
    if declared.kind == "float":
        if pa.types.is_integer(have) and have.bit_width == 64:
            return _try_cast(array, pa.float64()) if _exact_as_floats(array) else None
        return _try_cast(array, pa.float64()) if _is_number(have) else None
    if declared.kind == "decimal" and (pa.types.is_integer(have) or pa.types.is_decimal(have)):
        return _try_cast(array, declared.arrow)
    return None


def _try_cast(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _parse_numbers(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    numbers = _try_cast(array, kind)
    # Arrow reads 0x1F as 31; here a number is written in decimal.
    if numbers is not None and pc.any(pc.match_substring(array, "x", ignore_case=True)).as_py():
        return None
    return numbers


def _instants(array: pa.Array, text: bool) -> pa.Array | None:
    """The array as int64 microseconds UTC, if Arrow can do it exactly."""
    have = array.type
    if pa.types.is_null(have):
        return pa.nulls(len(array), pa.int64())
    if pa.types.is_timestamp(have):
        # A zone changes how an instant is shown, not which instant it is; no zone means UTC.
        stored = array if have.tz is None else array.view(pa.timestamp(have.unit))
        micros = stored if have.unit == "us" else _try_cast(stored, pa.timestamp("us"))
        return None if micros is None else micros.view(pa.int64())
    if pa.types.is_date(have):
        micros = _try_cast(array, pa.timestamp("us"))
        return None if micros is None else micros.view(pa.int64())
    if pa.types.is_integer(have):
        return _try_cast(array, pa.int64())
    if _is_text(have):
        if text and (whole := _parse_numbers(array, pa.int64())) is not None:
            return whole
        return _parse_instants(array)
    return None


def _parse_instants(array: pa.Array) -> pa.Array | None:
    """ISO texts as instants; those without an offset are UTC, and both may be mixed."""
    plain, zoned = pa.timestamp("us"), pa.timestamp("us", "UTC")
    offset = pc.ends_with(array, "Z")
    if not pc.all(offset).as_py():
        offset = pc.match_substring_regex(array, _HAS_OFFSET)
    some, every = pc.any(offset).as_py(), pc.all(offset).as_py()
    if not some or every:
        parsed = _try_cast(array, zoned if some else plain)
        return None if parsed is None else parsed.view(pa.int64())
    nothing = pa.scalar(None, array.type)
    with_offset = _try_cast(pc.if_else(offset, array, nothing), zoned)
    without = _try_cast(pc.if_else(offset, nothing, array), plain)
    if with_offset is None or without is None:
        return None
    return pc.coalesce(with_offset.view(pa.int64()), without.view(pa.int64()))


def _within_range(array: pa.Array, declared: Type, name: str, place: Place) -> pa.Array:
    """Refuse timestamps that no calendar shows; everything else passes."""
    if declared.kind == "timestamp" and len(array) > array.null_count:
        whole = array.view(pa.int64())
        _check_range(
            whole.fill_null(0).to_numpy() if array.null_count else whole.to_numpy(), name, place
        )
    return array


def _check_range(times: Times, name: str, place: Place) -> None:
    if len(times) and (times.min() < EARLIEST or times.max() > LATEST):
        position = int(np.flatnonzero((times < EARLIEST) | (times > LATEST))[0])
        reason = f"{int(times[position])} microseconds is outside the years 1 to 9999"
        raise place.error(name, position, int(times[position]), reason)


def _exact_as_floats(array: pa.Array) -> bool:
    span = pc.min_max(array).as_py()
    return span["min"] is None or (span["min"] >= -EXACT_FLOAT and span["max"] <= EXACT_FLOAT)


def _advice(problem: ValueError, name: str) -> str:
    reason = str(problem)
    if reason.endswith("is declared"):
        reason += f" (declare '{name}' with another type, or convert the column first)"
    return reason


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
