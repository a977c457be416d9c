"""Repetitions in a join: which atoms are their ends, and which of many can begin one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence.logic.conjunct import Column, WindowUse
from thence.logic.expr import Expr

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared


def strict_ends(prepared: Prepared) -> dict[int, WindowUse]:
    """The atoms that are the first or the last of a strict repetition, and its window."""
    found: dict[int, WindowUse] = {}
    for window in prepared.conjunct.repetitions:
        how = window.repetition
        if how is not None and how.strict and how.first is not None and how.last is not None:
            found |= {how.first: window, how.last: window}
    return found


def other_end(prepared: Prepared, atom: int) -> int | None:
    """The other end of the strict repetition that an atom is an end of."""
    window = prepared.strict_ends.get(atom)
    if window is None or window.repetition is None:
        return None
    ends = window.repetition
    return ends.last if atom == ends.first else ends.first


def leads_alone(prepared: Prepared, atom: int) -> bool:
    """Whether, of all events that an atom can be, only those can count that nothing of its kind
    can be put before, since it is the first of a greedy repetition that leads its pattern."""
    for window in prepared.conjunct.repetitions:
        how = window.repetition
        if how is None or how.first != atom or not (how.greedy and how.leading):
            continue
        return (
            how.most is None
            and (how.strict or (not how.linked and how.last is None))
            and (how.strict or _is_of_known_kind(prepared, atom, window))
            and all(_reads_itself(prepared, window, each) for each in _asked(window))
            and not _is_read_beside(prepared, atom, window)
        )
    return False


def _asked(window: WindowUse) -> tuple[Expr, ...]:
    """The conditions on a repetition, and on it and the one before."""
    how = window.repetition
    assert how is not None
    return (*window.predicates, *how.conditions, *how.linked)


def _is_of_known_kind(prepared: Prepared, atom: int, window: WindowUse) -> bool:
    """Whether all that repetitions share is known from other events of the match."""
    own = {a for a, held in prepared.repeated.items() if held == window.atom}
    return all(
        any(
            Column(atom, name) in link and any(column.atom not in own for column in link)
            for link in prepared.conjunct.links
        )
        for name, _ in window.links
    )


def _reads_itself(prepared: Prepared, window: WindowUse, condition: Expr) -> bool:
    how = window.repetition
    assert how is not None
    return prepared.atoms_of(prepared.reads(condition)) <= {window.atom, how.previous}


def _is_read_beside(prepared: Prepared, atom: int, window: WindowUse) -> bool:
    """Whether more than bounds and its own repetition depend on which event an atom is."""
    windows = [other for other in prepared.conjunct.windows if other.atom != window.atom]
    how = window.repetition
    assert how is not None
    read = [prepared.window_reads(other) for other in windows if other.atom != how.previous]
    read.append(prepared.nodes_read(prepared.conjunct.completions))
    return bool(prepared.ticks) or any(atom in prepared.atoms_of(each) for each in read)
