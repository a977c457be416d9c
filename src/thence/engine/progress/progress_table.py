"""Partial matches in progress as an Arrow table: what is there, what is awaited, until when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index
from thence.engine.join.match import TIME, as_timestamps
from thence.engine.progress.open_matches import Open, latest_time
from thence.engine.provenance.json_texts import json_objects
from thence.engine.values.evaluate import evaluate
from thence.logic.conjunct import AtomUse
from thence.logic.expr import Aggregate
from thence.model.arrow import from_numpy
from thence.model.events import Events
from thence.model.schema import EventSchema

PART = pa.struct(
    [
        ("label", pa.string()),
        ("event", pa.string()),
        ("start", TIME),
        ("end", TIME),
        ("attributes", pa.string()),
    ]
)
"""A part that is there: an event of the match, its attributes as JSON."""

AWAITED = pa.struct(
    [("label", pa.string()), ("event", pa.string()), ("what", pa.string()), ("until", TIME)]
)
"""A part that is awaited: an ``event``, the end of a window for the ``absence`` or the
``collection`` of events, or only the ``time`` by which the match is complete."""

TOLD = pa.schema(
    [
        ("done", pa.float64()),
        ("met", pa.int64()),
        ("of", pa.int64()),
        ("parts", pa.list_(PART)),
        ("awaiting", pa.list_(AWAITED)),
        ("since", TIME),
        ("until", TIME),
    ]
)
"""What is told of every partial match, beside its rule and what is bound."""

RULE = "rule"

_WHAT = {"absent": "absence", "collect": "collection"}


def progress_table(schema: EventSchema, found: Sequence[Open]) -> Any:
    """A row for each partial match of a rule: its head as far as that is known, and how far it
    is."""
    keys = [(binding_name(a.name), a.type.arrow) for a in schema.attributes]
    layout = pa.schema([(RULE, pa.string()), *keys, *TOLD])
    tables = [_rows(schema, layout, each) for each in found]
    return pa.concat_tables([layout.empty_table(), *tables])


def binding_name(name: str) -> str:
    """The column of an attribute of a rule's head; one whose name is taken has a sign more.

    >>> binding_name("id"), binding_name("until")
    ('id', 'until_')
    """
    return f"{name}_" if name == RULE or name in TOLD.names else name


def _rows(schema: EventSchema, layout: pa.Schema, found: Open) -> Any:
    partial, match, length = found.partial, found.match, found.match.length
    conjunct = partial.whole.conjunct
    keys = []
    for attribute, term in zip(schema.attributes, conjunct.head.terms, strict=True):
        expr = None if isinstance(term, Aggregate) else partial.known(term)
        if expr is None:
            keys.append(pa.nulls(length, attribute.type.arrow))
        else:
            keys.append(evaluate(expr, match.leaf, length).cast(attribute.type.arrow))
    parts = [
        _part(partial.whole.uses[atom], match.rels[atom], match.rows(atom))
        for atom in partial.parts
    ]
    awaited, until = _awaited(found)
    met, of = len(parts), len(parts) + len(awaited)
    since = np.minimum.reduce([match.time(partial.whole.uses[a].start) for a in partial.parts])
    columns = [
        pa.repeat(pa.scalar(schema.name), length),
        *keys,
        pa.repeat(pa.scalar(met / of), length),
        pa.repeat(pa.scalar(met, pa.int64()), length),
        pa.repeat(pa.scalar(of, pa.int64()), length),
        _listed(parts, PART, length),
        _listed(awaited, AWAITED, length),
        as_timestamps(since),
        until,
    ]
    return pa.Table.from_arrays(columns, schema=layout)


def _awaited(found: Open) -> tuple[list[Any], Any]:
    """A column for each part that is awaited, and by when the last of them comes."""
    partial, match = found.partial, found.match
    conjunct = partial.whole.conjunct
    uses = [partial.whole.uses[atom] for atom in partial.missing]
    ends = [latest_time(match, partial, use.end) for use in uses]
    times = ends + [latest_time(match, partial, node) for node in conjunct.completions]
    known = [time for time in times if time is not None]
    last = np.maximum.reduce(known) if len(known) == len(times) else None
    awaited = [
        _struct(match.length, use, "event", end) for use, end in zip(uses, ends, strict=True)
    ]
    windows = [window for window in conjunct.windows if window.mode in _WHAT]
    awaited += [
        _struct(match.length, partial.whole.uses[window.atom], _WHAT[window.mode], last)
        for window in windows
    ]
    if conjunct.completions and not windows:
        awaited.append(_struct(match.length, None, "time", last))
    return awaited, _times(match.length, last)


def _times(length: int, times: Index | None) -> Any:
    return pa.nulls(length, TIME) if times is None else as_timestamps(times)


def _names(length: int, use: AtomUse | None) -> list[Any]:
    """The label and the type of an atom; an inner pattern has no type that somebody has named."""
    names = (None, None) if use is None else (use.label, None if use.hidden else use.event)
    return [pa.repeat(pa.scalar(name, pa.string()), length) for name in names]


def _struct(length: int, use: AtomUse | None, what: str, until: Index | None) -> Any:
    named = [*_names(length, use), pa.repeat(pa.scalar(what), length), _times(length, until)]
    return pa.StructArray.from_arrays(named, fields=list(AWAITED))


def _part(use: AtomUse, rel: Events, rows: Index) -> Any:
    chosen = from_numpy(rows)
    columns = {name: column.take(chosen) for name, column in rel.columns.items() if not use.hidden}
    told = [
        *_names(len(rows), use),
        as_timestamps(rel.start[rows]),
        as_timestamps(rel.end[rows]),
        json_objects(columns, len(rows)),
    ]
    return pa.StructArray.from_arrays(told, fields=list(PART))


def _listed(several: Sequence[Any], kind: pa.DataType, length: int) -> Any:
    """Columns as one column of lists, each with a value of every one."""
    offsets = pa.array(np.arange(length + 1, dtype=np.int32) * np.int32(len(several)))
    if not several:
        return pa.ListArray.from_arrays(offsets, pa.array([], kind))
    order = np.arange(len(several) * length).reshape(len(several), length).T.ravel()
    values = pa.concat_arrays(several).take(pa.array(order))
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(kind))
