"""Conversions between types. What cannot be converted is an error, never a silent null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.values.functions.conversions import (
    BOOL_ID,
    BOOLEAN,
    DECIMAL_ID,
    FLOAT64,
    FLOAT_ID,
    INSTANT_ID,
    INT64,
    INT_ID,
    LENGTH_ID,
    TEXT,
    TEXT_ID,
    Kernel,
    Value,
    as_int64,
    broadcast,
    is_scalar,
    strict,
    to_float,
    type_from_arrow,
)
from thence.engine.values.functions.decimals import as_decimal_of
from thence.engine.values.functions.rounding import TOWARDS_ZERO, rounded
from thence.logic.widening import as_decimal
from thence.model.time import format_duration, format_timestamp
from thence.model.types import DECIMAL, Type


def _to_int(value: Value) -> Value:
    kind = value.type.id
    if kind == FLOAT_ID:
        return pc.cast(pc.trunc(value), INT64)
    if kind == DECIMAL_ID:
        return pc.cast(rounded(value, 0, TOWARDS_ZERO, pa.decimal128(38, 0)), INT64)
    return pc.cast(_trimmed(value), INT64)


def _trimmed(value: Value) -> Value:
    return pc.utf8_trim_whitespace(value) if value.type.id == TEXT_ID else value


def _to_float(value: Value) -> Value:
    return to_float(_trimmed(value))


def _to_bool(value: Value) -> Value:
    return pc.cast(_trimmed(value), BOOLEAN)


def _to_text(value: Value) -> Value:
    kind = value.type.id
    if kind in (TEXT_ID, INT_ID, BOOL_ID):
        return pc.cast(value, TEXT)
    return _SHOWN[kind](value)


def _shown(show: Callable[[Any], str]) -> Kernel:
    def run(value: Value) -> Value:
        if is_scalar(value):
            return run(broadcast(value, 1))[0]
        distinct = pc.dictionary_encode(value)
        texts = [show(each) for each in distinct.dictionary.to_pylist()]
        return pa.array(texts, TEXT).take(distinct.indices)

    return run


_SHOWN: dict[int, Kernel] = {
    FLOAT_ID: _shown(repr),
    DECIMAL_ID: _shown(lambda number: f"{number:f}"),
    INSTANT_ID: lambda value: _shown(format_timestamp)(as_int64(value)),
    LENGTH_ID: lambda value: _shown(format_duration)(as_int64(value)),
}


def _to_decimal(value: Value, *digits: Value) -> Value:
    if digits:
        precision, scale = digits[0].as_py(), digits[1].as_py() if len(digits) == 2 else 0
        target = Type("decimal", precision=precision, scale=scale)
    else:
        found = type_from_arrow(value.type)
        target = as_decimal(found) if found.kind in ("int", "decimal") else DECIMAL
    if value.type == pa.null():
        return pa.scalar(None, target.arrow)
    return as_decimal_of(_trimmed(value), target.arrow)


CASTS: dict[str, Kernel] = {
    "int": strict(_to_int, INT64),
    "float": strict(_to_float, FLOAT64),
    "bool": strict(_to_bool, BOOLEAN),
    "string": strict(_to_text, TEXT),
    "decimal": _to_decimal,
}
