"""Which of many events can be next to another, where none of their own kind may lie between.

In ``not(a(k)).[a(k), b(k)]`` only the last ``a`` before a ``b`` can be meant: any earlier one has
that one behind it. So a join need not bind the others, of which there may be very many, only for
the absence to throw them out again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from thence.logic.changes import changed
from thence.logic.conjunct import Column, NodeTime, WindowUse

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

Side = Literal["last", "first"]


@dataclass(frozen=True, slots=True)
class Nearest:
    """Of the events of ``atom`` that come before the one of ``partner``, only the ``last`` can be
    in a match; or of those that come after it, only the ``first``. Several at one time are all
    the last. With ``points`` that holds only of events that are instants."""

    atom: int
    partner: int
    side: Side
    points: bool


def nearest(prepared: Prepared) -> tuple[Nearest, ...]:
    """What the absences of a rule say about which events are next to each other."""
    return tuple(
        found
        for window in prepared.conjunct.windows
        if window.mode == "absent"
        for found in _between(prepared, window)
    )


def _between(prepared: Prepared, window: WindowUse) -> Iterator[Nearest]:
    """What an absence says, if it is about all that lies between the ends of two events."""
    use = prepared.uses[window.atom]
    own = (use.start, use.end)
    asked = prepared.reduced(window.constraints)
    since = [c for c in asked if c.earlier in own and c.later not in own]
    until = [c for c in asked if c.later in own and c.earlier not in own]
    if len(asked) != 2 or len(since) != 1 or len(until) != 1:
        return
    (opening,), (closing,) = since, until
    before, after = opening.later, closing.earlier
    ends_only = opening.earlier == closing.later == use.end
    apart = prepared.conjunct.bounds[before, after]
    positive = prepared.conjunct.positive
    for atom in positive:
        mine = prepared.uses[atom]
        if mine.event != use.event or not _of_its_kind(prepared, window, atom):
            continue
        for partner in positive:
            ends = (prepared.uses[partner].start, prepared.uses[partner].end)
            if partner == atom or not _linked(prepared, window, atom, partner):
                continue
            # A later one of its kind lies in the window, since all come early enough for it.
            if before == mine.end and after in ends and opening.limit == -1:
                if apart <= closing.limit:
                    yield Nearest(atom, partner, "last", not ends_only)
            # An earlier one of its kind lies in the window, since all come late enough for it.
            if after in (mine.start, mine.end) and before in ends and closing.limit == -1:
                if apart <= opening.limit:
                    points = not ends_only or after == mine.start
                    yield Nearest(atom, partner, "first", points)


def _of_its_kind(prepared: Prepared, window: WindowUse, atom: int) -> bool:
    """Whether what a window asks of its event alone is asked of an atom's as well, so that all
    that can be bound to the atom is of the kind that must not lie between."""
    mine, use = prepared.uses[atom], prepared.uses[window.atom]
    nodes = {use.start: mine.start, use.end: mine.end}

    def of_mine(node: Any) -> Any:
        match node:
            case Column(window.atom, name):
                return Column(atom, name)
            case NodeTime(time) if time in nodes:
                return NodeTime(nodes[time])
        return node

    asked = prepared.local.get(atom, ())
    return all(changed(predicate, of_mine) in asked for predicate in window.predicates)


def _linked(prepared: Prepared, window: WindowUse, atom: int, partner: int) -> bool:
    """Whether all that a join holds equal between two events suffices for what the window asks."""
    return all(
        any(
            expr in link
            and Column(atom, name) in link
            and any(column.atom == partner for column in link)
            for link in prepared.conjunct.links
        )
        for name, expr in window.links
    )
