"""Attributes of events as JSON text, a column at a time.

Times, decimals and numbers that are none are texts in it, durations are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_CONTROLS = "[\\x00-\\x1f]"
"""The signs that JSON wants escaped, apart from quotes and backslashes."""


def json_objects(columns: Mapping[str, Any], length: int) -> Any:
    """An object per row, with a key for each column.

    >>> columns = {"k": pa.array([1, None]), "s": pa.array(['a "b"', "c"])}
    >>> print(*json_objects(columns, 2).to_pylist(), sep="\\n")
    {"k": 1, "s": "a \\"b\\""}
    {"k": null, "s": "c"}
    """
    if not columns:
        return pa.repeat(pa.scalar("{}"), length)
    parts: list[Any] = []
    for place, (name, column) in enumerate(columns.items()):
        before = ("{" if place == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": "
        parts += [before, json_values(column)]
    return pc.binary_join_element_wise(*parts, "}", "")


def json_values(column: Any) -> Any:
    """Values as JSON texts; null is one of them."""
    kind = column.type
    if pa.types.is_null(kind):
        return pa.repeat(pa.scalar("null"), len(column))
    if pa.types.is_list(kind):
        texts = json_values(column.flatten())
        offsets = pc.cumulative_sum(pc.fill_null(pc.list_value_length(column), 0))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), offsets.cast(pa.int32())])
        inside = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ", ")
        found = pc.binary_join_element_wise("[", inside, "]", "")
        found = pc.if_else(column.is_valid(), found, None)
    elif pa.types.is_string(kind):
        found = _quoted(column)
    elif pa.types.is_timestamp(kind):
        seconds = pc.strftime(column, "%Y-%m-%dT%H:%M:%S")
        whole = pc.replace_substring_regex(seconds, r"\.?0*$", "")
        # A time without a fraction ends with zeros that count.
        shown = pc.if_else(pc.match_substring(seconds, "."), whole, seconds)
        found = pc.binary_join_element_wise('"', shown, 'Z"', "")
    elif pa.types.is_duration(kind):
        found = column.view(pa.int64()).cast(pa.string())
    elif pa.types.is_decimal(kind):
        found = pc.binary_join_element_wise('"', column.cast(pa.string()), '"', "")
    elif pa.types.is_floating(kind):
        found = _numbers(column)
    else:
        found = column.cast(pa.string())
    return pc.fill_null(found, "null")


def _numbers(column: Any) -> Any:
    """Floats as they are read back: whole ones have a point, and what is no number is text."""
    texts = column.cast(pa.string())
    finite = pc.is_finite(column)
    whole = pc.and_(finite, pc.equal(pc.floor(column), column))
    if pc.any(whole).as_py():
        whole = pc.and_(whole, pc.invert(pc.match_substring_regex(texts, "[.e]")))
        texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pc.all(finite).as_py() is False:
        signs = pc.if_else(pc.less(column, 0.0), '"-Infinity"', '"Infinity"')
        odd = pc.if_else(pc.is_nan(column), '"NaN"', signs)
        texts = pc.if_else(finite, texts, odd)
    return texts


def _quoted(column: Any) -> Any:
    """Texts in quotes, with what JSON wants escaped in them."""
    for sign in ("\\", '"'):
        if pc.any(pc.match_substring(column, sign)).as_py():
            column = pc.replace_substring(column, sign, "\\" + sign)
    if pc.any(pc.match_substring_regex(column, _CONTROLS)).as_py():
        for code in range(0x20):
            column = pc.replace_substring(column, chr(code), json.dumps(chr(code))[1:-1])
    return pc.binary_join_element_wise('"', column, '"', "")
