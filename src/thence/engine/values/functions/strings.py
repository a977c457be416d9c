"""Text functions over columns. Positions count characters (code points), from 1 as in SQL."""

from __future__ import annotations

import pyarrow.compute as pc

from thence.engine.values.functions.conversions import (
    BOOLEAN,
    INT64,
    TEXT,
    Kernel,
    Value,
    by_option,
    compute,
    strict,
)

_FARTHEST = 2**31 - 1


def _substring(text: Value, start: int, length: int | None = None) -> Value:
    """Characters from position ``start`` on; positions before 1 count, but hold nothing."""
    first = start - 1
    stop = _FARTHEST if length is None else min(first + length, _FARTHEST)
    first = min(max(first, 0), _FARTHEST)
    return pc.utf8_slice_codeunits(text, start=first, stop=max(stop, first))


def _replace(text: Value, old: str, new: str) -> Value:
    if not old:
        return text
    return pc.replace_substring(text, pattern=old, replacement=new)


def _joined(*texts: Value) -> Value:
    if len(texts) == 1:
        return texts[0]
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _simple(name: str) -> Kernel:
    return strict(compute(name), TEXT)


_length = compute("utf8_length")

STRINGS: dict[str, Kernel] = {
    "||": strict(_joined, TEXT),
    "concat": strict(_joined, TEXT),
    "length": strict(lambda text: pc.cast(_length(text), INT64), INT64),
    "lower": _simple("utf8_lower"),
    "upper": _simple("utf8_upper"),
    "trim": strict(lambda text: pc.utf8_trim(text, characters=" "), TEXT),
    "ltrim": strict(lambda text: pc.utf8_ltrim(text, characters=" "), TEXT),
    "rtrim": strict(lambda text: pc.utf8_rtrim(text, characters=" "), TEXT),
    "substring": by_option(_substring, TEXT),
    "replace": by_option(_replace, TEXT),
    "starts_with": by_option(lambda text, start: pc.starts_with(text, pattern=start), BOOLEAN),
    "ends_with": by_option(lambda text, end: pc.ends_with(text, pattern=end), BOOLEAN),
    "matches": by_option(
        lambda text, pattern: pc.match_substring_regex(text, pattern=pattern), BOOLEAN
    ),
    "like": by_option(lambda text, pattern: pc.match_like(text, pattern=pattern), BOOLEAN),
}
