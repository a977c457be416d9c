"""Partial matches in progress as text, for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from thence.causes_text import named
from thence.engine.progress.progress_table import RULE, TOLD
from thence.io.render import texts
from thence.model.safe_text import printable

_INNER = "(an inner pattern)"

_WHAT = {
    "event": "{name}",
    "absence": "no {name}",
    "collection": "all of {name}",
    "time": "the time to come",
}


def progress_text(table: Any) -> str:
    """Each partial match with what is there of it and what is awaited, until when.

    >>> import thence
    >>> program = thence.compile(
    ...     "event a(x int); event b(x int); r(x) <- (a(x) seq b(x)) within 10 s;"
    ... )
    >>> session = program.session(progress=True)
    >>> results = session.push({"a": [{"x": 1, "time": "2026-01-01T08:00:00Z"}]})
    >>> print(progress_text(session.progress()))
    r(x=1): 1 of 2, 50%
      there     a(x=1) at 2026-01-01T08:00:00Z
      awaiting  b until 2026-01-01T08:00:10Z
    """
    return "\n".join(line for row in _rows(table) for line in _lines(row))


def progress_json(table: Any) -> Iterator[str]:
    """Each partial match as a JSON object; times are text."""
    for row in _rows(table):
        for part in row["parts"]:
            part["attributes"] = json.loads(part["attributes"])
        yield json.dumps(row, ensure_ascii=False)


def lists_as_json(column: Any) -> Iterator[str]:
    """The parts, or what is awaited, of each partial match, as JSON."""
    for several in column:
        listed = _listed(several)
        for each in listed:
            if "attributes" in each:
                each["attributes"] = json.loads(each["attributes"])
        yield json.dumps(listed, ensure_ascii=False)


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    """The rows with values that JSON can hold; times and what else is none of its own are text."""
    plain = table.select([name for name in table.column_names if name not in ("parts", "awaiting")])
    columns = {
        name: column.to_pylist()
        if _is_plain(column.type)
        else texts(column.combine_chunks()).to_pylist()
        for name, column in zip(plain.column_names, plain.columns, strict=True)
    }
    for at in range(table.num_rows):
        row = {name: values[at] for name, values in columns.items()}
        listed = {name: _listed(table[name][at]) for name in ("parts", "awaiting")}
        yield {name: listed.get(name, row.get(name)) for name in table.column_names}


def _listed(several: Any) -> list[dict[str, Any]]:
    """The structs of one list."""
    values = several.values
    names = [field.name for field in values.type]
    columns = [texts(values.field(name)).to_pylist() for name in names]
    return [dict(zip(names, each, strict=True)) for each in zip(*columns, strict=True)]


def _is_plain(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_string(kind)
    )


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    keys = {k: v for k, v in row.items() if k != RULE and k not in TOLD.names and v is not None}
    yield f"{named(row[RULE], keys)}: {row['met']} of {row['of']}, {row['done']:.0%}"
    for part in row["parts"]:
        event = named(part["event"] or _INNER, json.loads(part["attributes"]))
        when = f"at {part['start']}"
        if part["start"] != part["end"]:
            when = f"at [{part['start']}, {part['end']}]"
        yield f"  there     {_label(part)}{event} {when}"
    for each in row["awaiting"]:
        until = "" if each["until"] is None else f" until {each['until']}"
        name = _label(each) + printable(each["event"] or _INNER)
        yield f"  awaiting  {_WHAT[each['what']].format(name=name)}{until}"


def _label(part: Mapping[str, Any]) -> str:
    return f"{printable(part['label'])}: " if part["label"] else ""
