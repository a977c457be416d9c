"""How a program runs on Spark, in words: its stages, what each is spread by, what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thence.logic.bounds import UNBOUNDED
from thence.model.time import format_duration
from thence.plan.partition.parts import Piece, cut
from thence.program import Program


def explain(program: Program, emit: Any = None, *, streaming: bool = False) -> str:
    """The stages of a program on Spark, one paragraph each.

    >>> import thence
    >>> text = "event a(x int); event b(x int); r(x) <- (a(x) seq b(x)) within 5 s;"
    >>> print(explain(thence.compile(text)), end="")
    stage 1, spread by key: r
      a by x
      b by x
    """
    plan = program.plan_for(program._emitted(emit))
    known = {s.name: s.longest for s in plan.checked.program.events if s.longest is not None}
    lengths = plan.needs.lengths if streaming else known
    pieces = cut(plan, lengths, slices=not streaming)
    return "".join(
        line + "\n" for number, piece in enumerate(pieces, 1) for line in _piece(number, piece)
    )


def _piece(number: int, piece: Piece) -> Iterator[str]:
    if piece.how == "whole row":
        yield f"stage {number}, spread by the whole row: each of these once"
        yield from (f"  {event}" for event in piece.part.outputs)
        return
    schemas = piece.part.schemas
    derived = ", ".join(event for event in piece.part.derived if not schemas[event].hidden)
    spread = "in one place" if piece.how == "one place" else f"spread by {piece.how}"
    yield f"stage {number}, {spread}: {derived}"
    for event in piece.part.inputs:
        if piece.key is not None:
            yield f"  {event} by {', '.join(piece.key.columns[event])}"
        elif piece.how == "time":
            furthest = piece.reach[event].furthest
            reach = format_duration(furthest) if 0 < furthest < UNBOUNDED else "nothing"
            yield f"  {event}, shared with the next slice for {reach}"
        else:
            yield f"  {event}"
    for table in piece.part.looked_into:
        if not piece.part.knowledge.schemas[table].hidden:
            yield f"  {table}, a table, whole in every place"
    for relation in sorted(piece.part.knowledge.rules_of.keys() & set(piece.part.tables)):
        yield f"  {relation}, a relation, derived in every place as it is asked for"
