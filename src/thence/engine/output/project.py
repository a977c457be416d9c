"""The head of a rule over its matches: columns, interval, and whether rows can repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import LINEAGE, distinct, is_points, unique_by
from thence.engine.join.match import Match
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect
from thence.engine.output.lineage import match_lineage
from thence.engine.values.evaluate import evaluate
from thence.engine.values.functions.conversions import converted
from thence.logic.conjunct import Column, EndPoint, NodeTime
from thence.logic.expr import Aggregate, Call
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.model.time import EARLIEST, LATEST, format_timestamp
from thence.model.types import Type

SOME = 1 << 14
"""With fewer results it takes longer to find out how large they are than to make them."""


def interval(match: Match) -> tuple[Index, Index]:
    """Start and end of each row's result; one array for both where they cannot differ."""
    conjunct = match.prepared.conjunct
    start = match.time(conjunct.start)
    end = start if _one_point(match) else match.time(conjunct.end)
    if len(start) and (start.min() < EARLIEST or end.max() > LATEST):
        outside = start.min() if start.min() < EARLIEST else end.max()
        what = "an inner pattern" if conjunct.hidden else f"a '{conjunct.event}' event"
        raise EvaluationError(
            f"{what} would reach {format_timestamp(int(outside))}, which is outside the years 1 to "
            "9999"
        )
    return start, end


def _one_point(match: Match) -> bool:
    conjunct = match.prepared.conjunct
    if conjunct.start == conjunct.end:
        return True
    (first, a), (last, b) = (match.prepared.base(n) for n in (conjunct.start, conjunct.end))
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
    conjunct = match.prepared.conjunct
    term, kind = conjunct.terms[place], conjunct.types[place]
    if isinstance(term, Aggregate):
        return typed(match.folded(term), kind)
    column = typed(evaluate(term, match.leaf, match.length), kind)
    if pa.types.is_timestamp(column.type) and isinstance(term, Call):
        reached = pc.min_max(column.view(pa.int64()))
        low, high = reached["min"].as_py(), reached["max"].as_py()
        if low is not None and (low < EARLIEST or high > LATEST):
            outside = format_timestamp(low if low < EARLIEST else high)
            raise EvaluationError(
                f"column '{conjunct.columns[place]}' of '{conjunct.event}' would be {outside}, "
                "which is outside the years 1 to 9999"
            )
    return column


def projected(match: Match, lineage: bool) -> Events:
    """The events that a rule without aggregates derives, each once (with lineage: once per
    derivation)."""
    conjunct = match.prepared.conjunct
    if match.length >= SOME:
        expect(match.length, _width(match, lineage), lambda: _deriving(match))
    match = _by_start(match)
    columns = {name: head_column(match, i) for i, name in enumerate(conjunct.columns)}
    start, end = interval(match)
    if lineage:
        return Events(start, end, {**columns, LINEAGE: match_lineage(match)})
    events = Events(start, end, columns)
    return events if _tells_rows_apart(match) else distinct(events)


def _by_start(match: Match) -> Match:
    """The same matches in the order of the results' start: that costs less before columns are
    gathered than after, and whoever reads the results has it from all of them."""
    start = match.time(match.prepared.conjunct.start)
    if bool((start[1:] >= start[:-1]).all()):
        return match
    return match.take(np.argsort(start, kind="stable"))


def _width(match: Match, lineage: bool) -> int:
    """About how many bytes a result takes while it is made."""
    width = 32
    for term in match.prepared.conjunct.terms:
        width += 8
        if isinstance(term, Column):
            values = match.rels[term.atom].columns[term.name]
            width += values.nbytes // max(len(values), 1)
    return width + (64 * len(match.prepared.conjunct.parts) if lineage else 0)


def _deriving(match: Match) -> Growth:
    conjunct = match.prepared.conjunct
    what = "its inner pattern" if conjunct.hidden else f"'{conjunct.event}'"
    return Growth(f"writing {what}", JOIN_ADVICE, "results")


def _tells_rows_apart(match: Match) -> bool:
    """Whether the head's columns and interval determine every atom's row and every tick, so that no
    two matches give the same event."""
    prepared, conjunct = match.prepared, match.prepared.conjunct
    if conjunct.repetitions:
        return False
    shown = {term for term in conjunct.terms if isinstance(term, Column)}
    for link in conjunct.links:
        if shown & set(link):
            shown |= set(link)
    nodes = {prepared.base(node)[0] for node in (conjunct.start, conjunct.end)}
    nodes |= {prepared.base(t.node)[0] for t in conjunct.terms if isinstance(t, NodeTime)}
    return nodes.issuperset(prepared.ticks) and all(
        unique_by(
            match.rels[atom],
            [column.name for column in shown if column.atom == atom],
            prepared.uses[atom].start in nodes,
            prepared.uses[atom].end in nodes,
        )
        for atom in conjunct.positive
    )
