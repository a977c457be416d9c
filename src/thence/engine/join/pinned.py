"""A rule's join with its own head as one more event: which matches give these very events?

The events in question become a relation like any other, tied to the body by what the head says of
it: equal columns, and the interval. They are few, so the join begins with them and finds only what
lies behind them, however many other events there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from thence.logic.bounds import Bounds, Constraint
from thence.logic.conjunct import INNER, AtomUse, Column, Conjunct, EndPoint, close_with_extremes
from thence.model.events import Events
from thence.model.schema import EventSchema

HEAD = f"{INNER}head"
"""The name under which the events in question take part in a join."""


def pinned(conjunct: Conjunct, heads: Events, schemas: Mapping[str, EventSchema]) -> Conjunct:
    """The conjunct with one more atom, its last, for the events of its head.

    Columns that may be null or NaN are left out, since a join never finds those equal; so are those
    that the head computes. Whoever uses the matches has to compare them.
    """
    atom = len(conjunct.atoms)
    start, end = len(conjunct.nodes), len(conjunct.nodes) + 1
    nodes = (*conjunct.nodes, EndPoint(atom, "start"), EndPoint(atom, "end"))
    same = [
        Constraint(one, other, 0)
        for pair in ((start, conjunct.head.start), (end, conjunct.head.end))
        for one, other in (pair, pair[::-1])
    ]

    def grown(bounds: Bounds) -> Bounds:
        return close_with_extremes(bounds.with_constraints(same), nodes)

    return replace(
        conjunct,
        atoms=(*conjunct.atoms, AtomUse(HEAD, None, start, end, silent=True)),
        positive=(*conjunct.positive, atom),
        nodes=nodes,
        constraints=(*conjunct.constraints, *same),
        bounds=grown(conjunct.bounds),
        links=_links(conjunct, atom, heads, schemas),
        windows=tuple(replace(w, bounds=grown(w.bounds)) for w in conjunct.windows),
    )


def head_atom(conjunct: Conjunct) -> int:
    """The atom of the head in a pinned conjunct."""
    return len(conjunct.atoms) - 1


def _links(
    conjunct: Conjunct, atom: int, heads: Events, schemas: Mapping[str, EventSchema]
) -> tuple[tuple[Column, ...], ...]:
    """The classes of equal columns, with those of the head among them; one of an atom at most."""
    links = [list(link) for link in conjunct.links]
    for name, term in zip(conjunct.head.columns, conjunct.head.terms, strict=True):
        if not isinstance(term, Column) or not _joins(heads.columns[name]):
            continue
        declared = schemas[conjunct.atoms[term.atom].event].type_of(term.name)
        if declared is None or declared.arrow != heads.columns[name].type:
            continue
        known = next((link for link in links if term in link), None)
        if known is None:
            links.append([term, Column(atom, name)])
        elif all(column.atom != atom for column in known):
            known.append(Column(atom, name))
    return tuple(tuple(link) for link in links)


def _joins(column: pa.Array) -> bool:
    """Whether every value of a column is equal to itself in a join."""
    if column.null_count or pa.types.is_nested(column.type):
        return False
    return not (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py())
