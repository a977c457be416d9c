"""Lineage: which base events stand behind a result, and under which label.

A lineage column holds, per row, a list of (label, base) pairs. ``base`` is the event itself as
JSON text: type, start, end, attributes; a row of a table has no start and no end. ``label`` is the
name it has in the rule that reads it from the input; empty where it has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.rows import LINEAGE, concat, row_ids, take, without_lineage
from thence.engine.join.match import Match
from thence.logic.conjunct import AtomUse
from thence.model.events import Events
from thence.model.time import format_timestamp

if TYPE_CHECKING:
    from thence.engine.output.collect import Collection

ENTRY = pa.struct([("label", pa.string()), ("base", pa.string())])
COLUMN = pa.list_(ENTRY)


def match_lineage(match: Match) -> Any:
    """The lineage of each row of a match: that of all the events in it."""
    prepared = match.prepared
    parts = [(np.arange(match.length), atom, match.rows(atom)) for atom in prepared.conjunct.parts]
    for window in prepared.conjunct.repetitions:
        chains = match.chains(window.atom)
        parts.append((chains.owners, window.atom, chains.members))
    return _lists(match, parts, match.length)


def collected_lineage(
    match: Match, collections: Sequence[Collection], groups: Index, count: int
) -> Any:
    """The lineage of each group: of the rows in it, and of what their windows collect."""
    parts = [(groups, atom, match.rows(atom)) for atom in match.prepared.conjunct.parts]
    parts += [(groups[c.rows], c.window.atom, c.members) for c in collections]
    return _lists(match, parts, count)


def joined_lineage(parts: Sequence[Any], count: int) -> Any:
    """The union of several lineage columns, row by row."""
    if len(parts) == 1:
        return parts[0]
    owners = np.concatenate([pc.list_parent_indices(part).to_numpy() for part in parts])
    entries = pa.concat_arrays([part.flatten() for part in parts])
    return _grouped(owners, entries.field("label"), entries.field("base"), count)


def _lists(match: Match, parts: Sequence[tuple[Index, int, Index]], count: int) -> Any:
    owners, labels, bases = [], [], []
    for owner, atom, rows in parts:
        use, rel = match.prepared.uses[atom], match.rels[atom]
        owner, label, base = _entries(rel, use, owner, rows)
        owners.append(owner)
        labels.append(label)
        bases.append(base)
    none, no_text = np.empty(0, dtype=np.int64), pa.array([], pa.string())
    return _grouped(
        np.concatenate([none, *owners]),
        pa.concat_arrays([no_text, *labels]),
        pa.concat_arrays([no_text, *bases]),
        count,
    )


def _entries(rel: Events, use: AtomUse, owner: Index, rows: Index) -> tuple[Index, Any, Any]:
    """(owner, label, base) of the events that some rows of a relation come from."""
    unique, inverse = np.unique(rows, return_inverse=True)
    if LINEAGE not in rel.columns:
        texts = pa.array(_base_texts(take(rel, unique), use), pa.string())
        return (
            owner,
            pa.array([use.label or ""] * len(rows), pa.string()),
            texts.take(pa.array(inverse)),
        )
    lists = rel.columns[LINEAGE].take(pa.array(rows))
    entries = lists.flatten()
    parents = pc.list_parent_indices(lists).to_numpy()
    return owner[parents], entries.field("label"), entries.field("base")


def _base_texts(events: Events, use: AtomUse) -> list[str]:
    names = list(events.columns)
    columns = [_json_values(events.columns[name]) for name in names]
    times = zip(events.start.tolist(), events.end.tolist(), strict=True)
    placed = [(None, None)] * len(events) if use.fact else list(times)
    return [
        json.dumps([use.event, *place, dict(zip(names, values, strict=True))], ensure_ascii=False)
        for place, *values in zip(placed, *columns, strict=True)
    ]


def _json_values(column: Any) -> list[Any]:
    """Values as JSON can hold them: times, decimals and numbers that are none as text, durations
    as microseconds."""
    kind = column.type
    if pa.types.is_list(kind):
        flat = iter(_json_values(column.flatten()))
        sizes = pc.list_value_length(column).to_pylist()
        return [None if size is None else list(islice(flat, size)) for size in sizes]
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        times = column.view(pa.int64()).to_pylist()
        if pa.types.is_duration(kind):
            return times  # type: ignore[no-any-return]
        return [None if time is None else format_timestamp(time) for time in times]
    values = column.to_pylist()
    if pa.types.is_decimal(kind):
        return [None if value is None else str(value) for value in values]
    return [_shown(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values]


def _shown(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _grouped(owners: Index, labels: Any, bases: Any, count: int) -> Any:
    """Distinct entries per owner, sorted by (base's time, label), as a list column."""
    codes, _ = combine([identity_codes(owners), identity_codes(labels), identity_codes(bases)])
    _, first = np.unique(codes, return_index=True)
    keep = pa.array(first)
    owners, labels, bases = owners[first], labels.take(keep), bases.take(keep)
    decoded = [json.loads(text) for text in bases.to_pylist()]
    keys = sorted(
        range(len(first)),
        key=lambda i: (
            owners[i],
            decoded[i][1] is None,  # facts have no time, and come last
            decoded[i][1] or 0,
            decoded[i][2] or 0,
            labels[i].as_py(),
            bases[i].as_py(),
        ),
    )
    order = pa.array(keys, pa.int64())
    owners = owners[np.asarray(keys, dtype=np.int64)]
    sizes = np.bincount(owners, minlength=count)
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32))
    entries = pa.StructArray.from_arrays(
        [labels.take(order), bases.take(order)], fields=[ENTRY.field(0), ENTRY.field(1)]
    )
    return pa.ListArray.from_arrays(offsets, entries)


def merged(events: Events) -> Events:
    """Each event once; its lineage is the union over all its derivations."""
    plain = without_lineage(events)
    _, first, inverse = np.unique(row_ids(plain), return_index=True, return_inverse=True)
    if len(first) == len(events):
        return events
    lists = events.columns[LINEAGE]
    entries = lists.flatten()
    owners = inverse[pc.list_parent_indices(lists).to_numpy()].astype(np.int64)
    lineage = _grouped(owners, entries.field("label"), entries.field("base"), len(first))
    kept = take(plain, first.astype(np.int64))
    return Events(kept.start, kept.end, {**kept.columns, LINEAGE: lineage})


def with_more_lineage(events: Events, known: Events | None) -> Events:
    """The events that are new, or whose lineage is now larger than what is known of them; each
    with everything known of it."""
    if known is None or len(known) == 0:
        return merged(events)
    whole = merged(concat([known, events]))
    ids = row_ids(without_lineage(concat([whole, known])))
    sizes = pc.list_value_length(whole.columns[LINEAGE]).to_numpy()
    before = dict(
        zip(
            ids[len(whole) :].tolist(),
            pc.list_value_length(known.columns[LINEAGE]).to_pylist(),
            strict=True,
        )
    )
    grown = [size > before.get(id_, -1) for id_, size in zip(ids.tolist(), sizes, strict=False)]
    return take(whole, np.asarray(grown, dtype=np.bool_))


def readable(lists: Any) -> Any:
    """A lineage column as users see it: label, event, start, end, attributes as JSON text."""
    kind = pa.struct(
        [
            ("label", pa.string()),
            ("event", pa.string()),
            ("start", pa.timestamp("us", "UTC")),
            ("end", pa.timestamp("us", "UTC")),
            ("attributes", pa.string()),
        ]
    )
    rows = []
    for entry in lists.flatten().to_pylist():
        event, start, end, attributes = json.loads(entry["base"])
        rows.append(
            {
                "label": entry["label"] or None, "event": event, "start": start, "end": end,
                "attributes": json.dumps(attributes, ensure_ascii=False),
            }
        )  # fmt: skip
    return pa.ListArray.from_arrays(lists.offsets, pa.array(rows, kind))
