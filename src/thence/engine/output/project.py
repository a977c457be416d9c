"""The head of a rule over its matches: columns, interval, and whether rows can repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.ranges import stable_order
from thence.engine.arrays.rows import distinct, is_points, unique_by
from thence.engine.join.match import Match
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect, named
from thence.engine.output.recorder import Recorder
from thence.engine.values.evaluate import evaluate
from thence.engine.values.functions.conversions import converted
from thence.logic.conjunct import Column, EndPoint, NodeTime
from thence.logic.expr import Aggregate, Call
from thence.model.arrow import from_numpy
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.model.time import EARLIEST, LATEST, format_timestamp
from thence.model.types import STRING, Type

SOME = 1 << 14
"""With fewer results it takes longer to find out how large they are than to make them."""


FEW = 256
"""So many texts tell about how long all of them are."""


def interval(match: Match) -> tuple[Index, Index]:
    """Start and end of each row's result; one array for both where they cannot differ."""
    head = match.prepared.conjunct.head
    start = match.time(head.start)
    end = start if _one_point(match) else match.time(head.end)
    if len(start) and (start.min() < EARLIEST or end.max() > LATEST):
        outside = start.min() if start.min() < EARLIEST else end.max()
        what = "an inner pattern" if head.hidden else f"a '{head.event}' event"
        raise EvaluationError(
            f"{what} would reach {format_timestamp(int(outside))}, which is outside the years 1 to "
            "9999"
        )
    return start, end


def _one_point(match: Match) -> bool:
    conjunct, head = match.prepared.conjunct, match.prepared.conjunct.head
    if head.start == head.end:
        return True
    (first, a), (last, b) = (match.prepared.base(n) for n in (head.start, head.end))
    if first == last:
        return a == b
    match conjunct.nodes[first], conjunct.nodes[last]:
        case EndPoint(one, _), EndPoint(other, _):
            return one == other and a == b and is_points(match.rels[one])
    return False


def typed(column: Any, kind: Type | None) -> Any:
    """A column of the head in the type that it has in all rules of its event."""
    if kind is None or column.type == kind.arrow or pa.types.is_nested(column.type):
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), kind.arrow)
    return converted(column, kind.arrow)


def head_column(match: Match, place: int) -> Any:
    """A column of the head that is no aggregate over what is collected, in its own type even where
    it is all null."""
    head = match.prepared.conjunct.head
    term, kind = head.terms[place], head.types[place]
    if isinstance(term, Aggregate):
        return typed(match.folded(term), kind)
    column = typed(evaluate(term, match.leaf, match.length), kind)
    if pa.types.is_timestamp(column.type) and isinstance(term, Call):
        reached = pc.min_max(column.view(pa.int64()))
        low, high = reached["min"].as_py(), reached["max"].as_py()
        if low is not None and (low < EARLIEST or high > LATEST):
            outside = format_timestamp(low if low < EARLIEST else high)
            raise EvaluationError(
                f"column '{head.columns[place]}' of '{head.event}' would be {outside}, "
                "which is outside the years 1 to 9999"
            )
    return column


def projected(match: Match, recorder: Recorder | None, apart: bool | None = None) -> Events:
    """The events that a rule without aggregates derives, each once. ``apart`` says whether they
    tell their matches apart, where that is known."""
    head = match.prepared.conjunct.head
    if match.length >= SOME:
        expect(match.length, _width(match, recorder is not None), lambda: _deriving(match))
    match = _by_start(match)
    columns = {name: head_column(match, i) for i, name in enumerate(head.columns)}
    start, end = interval(match)
    events = Events(start, end, columns)
    if recorder is not None:
        events = recorder.matches(match, events)
    apart = tells_rows_apart(match) if apart is None else apart
    return events if apart else distinct(events)


def _by_start(match: Match) -> Match:
    """The same matches in the order of the results' start: that costs less before columns are
    gathered than after, and whoever reads the results has it from all of them."""
    start = match.time(match.prepared.conjunct.head.start)
    if bool((start[1:] >= start[:-1]).all()):
        return match
    return match.take(stable_order(start))


def _width(match: Match, recorded: bool) -> int:
    """About how many bytes a result takes while it is made."""
    width, some = 32, match.take(np.arange(min(match.length, FEW)))
    for place, term in enumerate(match.prepared.conjunct.head.terms):
        width += 8
        if isinstance(term, Column):
            values = match.rels[term.atom].columns[term.name]
            width += values.nbytes // max(len(values), 1)
        elif match.prepared.conjunct.head.types[place] == STRING:
            width += head_column(some, place).nbytes // max(some.length, 1)
    return width + (64 * len(match.prepared.conjunct.parts) if recorded else 0)


def _deriving(match: Match) -> Growth:
    head = match.prepared.conjunct.head
    what = "its inner pattern" if head.hidden else f"'{head.event}'"
    atoms = named(match.prepared, match.prepared.conjunct.positive)
    return Growth(f"writing {what} from {atoms}", JOIN_ADVICE, "results")


def tells_rows_apart(match: Match) -> bool:
    """Whether the head's columns and interval determine every atom's row and every tick, so that no
    two matches give the same event. That is not asked of a table that has more rows than there are
    matches: to compare these is less work."""
    prepared, conjunct = match.prepared, match.prepared.conjunct
    facts = (atom for atom in conjunct.positive if prepared.uses[atom].fact)
    if conjunct.repetitions or any(len(match.rels[atom]) > match.length for atom in facts):
        return False
    shown, nodes = _shown(match)
    return nodes.issuperset(prepared.ticks) and all(
        unique_by(
            match.rels[atom],
            [column.name for column in shown if column.atom == atom],
            prepared.uses[atom].start in nodes,
            prepared.uses[atom].end in nodes,
        )
        for atom in conjunct.positive
    )


def tied(match: Match, atom: int, apart: bool) -> tuple[Match, Index | None]:
    """Matches of one atom, in an order in which they may be cut into chunks such that no event is
    derived from two of them; and up to before which of them a chunk may reach, None for any.

    Equal events show equal times and columns, so rows of the atom that agree in what is shown of it
    belong together: by a time if one is shown, otherwise by columns. Where nothing is shown of it,
    all rows do. If events tell matches ``apart``, none are equal, and only the order matters.
    """
    columns, nodes = _shown(match)
    use, rel, rows = match.prepared.uses[atom], match.rels[atom], match.rows(atom)
    if use.start in nodes or use.end in nodes:
        values = (rel.start if use.start in nodes else rel.end)[rows]
    elif apart:
        return match, None
    else:
        chosen = from_numpy(rows)
        names = [column.name for column in columns if column.atom == atom]
        codes = [identity_codes(rel.columns[name].take(chosen)) for name in names]
        values = combine(codes)[0] if codes else np.zeros(len(rows), dtype=np.int64)
    if not bool((values[1:] >= values[:-1]).all()):
        order = stable_order(values)
        match, values = match.take(order), values[order]
    if apart:
        return match, None
    return match, np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, len(values))


def _shown(match: Match) -> tuple[set[Column], set[int]]:
    """The columns and the nodes that every result of a rule tells the values of."""
    prepared, conjunct = match.prepared, match.prepared.conjunct
    shown = {term for term in conjunct.head.terms if isinstance(term, Column)}
    for link in conjunct.links:
        if shown & set(link):
            shown |= set(link)
    nodes = {prepared.base(node)[0] for node in (conjunct.head.start, conjunct.head.end)}
    nodes |= {prepared.base(t.node)[0] for t in conjunct.head.terms if isinstance(t, NodeTime)}
    return shown, nodes
