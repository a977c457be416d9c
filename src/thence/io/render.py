"""Result tables as lines of CSV or JSON, a column at a time.

Timestamps are ISO 8601 in UTC with ``Z``, durations whole microseconds. In CSV a null is an empty
field, an empty text is ``""``, and lists are JSON. In JSON, decimals are text (most readers would
make floats of them), and so are ``NaN`` and infinities, which JSON has no numbers for. What is
written can be read as events again, unless formulas were escaped.

A spreadsheet that opens CSV computes every field that begins as a formula does, with ``=``, ``+``,
``-`` or ``@``. Where texts come from people one does not trust, ``formulas="escape"`` puts an
apostrophe before those that do, as spreadsheets themselves write such texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.model.time import format_timestamp

_BATCH = 65_536
_BATCH_BYTES = 1 << 27
"""Bytes of a batch beyond which it is cut: its lines must fit into one Arrow array of texts."""

_EPOCH = np.datetime64(0, "us")
_FORMULA = r"^\s*[=+\-@＝＋－＠]|^[\t\r\n]"
"""How a formula begins; spreadsheets take the wide signs of East Asian keyboards too."""

Formulas = Literal["keep", "escape"]
"""What becomes of texts that a spreadsheet would take for formulas."""


def csv_text(table: pa.Table, header: bool = True, formulas: Formulas = "keep") -> Iterator[bytes]:
    """The table as CSV in UTF-8, in pieces.

    >>> table = pa.table({"id": ["a,b", ""], "qty": [1, None]})
    >>> print(b"".join(csv_text(table)).decode(), end="")
    id,qty
    "a,b",1
    "",
    >>> table = pa.table({"note": ["=2+3", "fine"], "change": [-1, 1]})
    >>> print(b"".join(csv_text(table, formulas="escape")).decode(), end="")
    note,change
    '=2+3,-1
    fine,1
    """
    escape = formulas == "escape"
    if header:
        names = pa.array(table.column_names, pa.string())
        yield ",".join(_quoted(names, escape).to_pylist()).encode() + b"\n"
    for batch in _batches(table):
        yield _lines([_csv_field(column, escape) for column in batch.columns], ",")


def json_text(table: pa.Table, event: str | None = None) -> Iterator[bytes]:
    """The table as JSON lines in UTF-8, in pieces; with the event's name as ``type`` if given.

    >>> table = pa.table({"id": ["a", None], "qty": [1, 2]})
    >>> print(b"".join(json_text(table, "order")).decode(), end="")
    {"type": "order", "id": "a", "qty": 1}
    {"type": "order", "id": null, "qty": 2}
    """
    opening = "{" if event is None else f'{{"type": {_dumps(event)}, '
    for batch in _batches(table):
        parts: list[Any] = []
        for index, (name, column) in enumerate(zip(table.column_names, batch.columns, strict=True)):
            lead = opening if index == 0 else ", "
            parts += [pa.scalar(f"{lead}{_dumps(name)}: "), _json_field(column)]
        yield _lines([*parts, pa.scalar("}")], "")


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a table, so few at a time that their text fits into one array."""
    waiting = table.to_batches(max_chunksize=_BATCH)[::-1]
    while waiting:
        batch = waiting.pop()
        if batch.num_rows > 1 and batch.nbytes > _BATCH_BYTES:
            half = batch.num_rows // 2
            waiting += [batch.slice(half), batch.slice(0, half)]
        elif batch.num_rows:
            yield batch


def _lines(columns: list[Any], separator: str) -> bytes:
    rows = pc.binary_join_element_wise(
        *columns, separator, null_handling="replace", null_replacement=""
    )
    # The texts lie one after another in Arrow's buffer, and that is the file's content.
    ended = pc.binary_join_element_wise(rows, "\n", "")
    _, offsets, content = ended.buffers()
    return bytes(content)[: int(np.frombuffer(offsets, np.int32)[len(ended)])]


def texts(column: pa.Array) -> pa.Array:
    """Each value as the text that CSV has for it, not yet in quotes; null stays null."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _instants(column)
    if pa.types.is_duration(kind):
        return column.cast(pa.int64()).cast(pa.string())
    if pa.types.is_null(kind) or _is_simple(kind):
        return column.cast(pa.string())
    return _each(column, _dumps)


def _csv_field(column: pa.Array, escape: bool) -> pa.Array:
    kind = column.type
    if _is_simple(kind) and not _is_text(kind):
        return texts(column)
    return _quoted(texts(column), escape and _is_text(kind))


def _json_field(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_timestamp(kind):
        shown = _in_quotes(_instants(column))
    elif pa.types.is_duration(kind):
        shown = column.cast(pa.int64()).cast(pa.string())
    elif pa.types.is_decimal(kind) or _is_plain_text(column):
        shown = _in_quotes(column.cast(pa.string()))
    elif pa.types.is_boolean(kind) or (_is_number(kind) and _is_finite(column)):
        shown = column.cast(pa.string())
    else:
        shown = _each(column, _dumps)
    return shown.fill_null("null")


def _quoted(column: pa.Array, escape: bool = False) -> pa.Array:
    """Texts as fields of CSV: in quotes where they could be misread."""
    column = column.cast(pa.string())
    if escape:
        formula = pc.match_substring_regex(column, _FORMULA)
        marked = pc.binary_join_element_wise("'", column, "")
        column = pc.if_else(formula, marked, column)
    risky = pc.match_substring_regex(column, '^$|[",\r\n]|^\\s|\\s$')
    if not pc.any(risky).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(risky, _in_quotes(doubled), column)


def _in_quotes(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', column, '"', "")


def _is_plain_text(column: pa.Array) -> bool:
    if not _is_text(column.type):
        return False
    return not pc.any(pc.match_substring_regex(column, r'["\\\x00-\x1f\x7f]')).as_py()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_simple(kind: pa.DataType) -> bool:
    return (
        _is_text(kind)
        or _is_number(kind)
        or bool(pa.types.is_decimal(kind) or pa.types.is_boolean(kind))
    )


def _is_finite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column)).as_py() is not False


def _instants(column: pa.Array) -> pa.Array:
    """Timestamps as texts, with as much of a fraction as there is."""
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    micros = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64()).fill_null(0)
    texts = np.datetime_as_string(micros.to_numpy().view("datetime64[us]"), unit="us")
    exact = pc.binary_join_element_wise(pa.array(texts, mask=missing), "Z", "")
    trimmed = pc.replace_substring_regex(exact, r"(\.\d*[1-9])0+Z$", r"\1Z")
    return pc.replace_substring_regex(trimmed, r"\.0+Z$", "Z")


def _each(column: pa.Array, show: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if v is None else show(v) for v in column.to_pylist()], pa.string())


def _dumps(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """A value in what JSON has."""
    if isinstance(value, float):
        if value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, datetime):
        naive = value.replace(tzinfo=None)
        return format_timestamp(int((np.datetime64(naive, "us") - _EPOCH).astype(np.int64)))
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, Decimal | date):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value
