"""What the operators of a plan did: rows in, candidates, matches, what was kept, and how long.

One run has one :class:`Meter`, a session one for all its steps; it is found by context, so that
whatever works for a rule can add to its figures in one line. They are counts of whole tables, never
of single rows, so they are taken always.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter

from thence.plan.order import Step
from thence.plan.prepared import Prepared


@dataclass(slots=True)
class Passed:
    """What went into an operator that lets some rows through, and what came out."""

    rows: int = 0
    kept: int = 0
    seconds: float = 0.0

    def add(self, rows: int, kept: int, began: float) -> None:
        """Take note of one pass that began at a time of the clock."""
        self.rows += rows
        self.kept += kept
        self.seconds += perf_counter() - began


@dataclass(slots=True)
class Joined:
    """What the joins of one term of a rule did. ``orders`` are the orders that were taken, and how
    often; ``changes`` how often another one was taken than the time before."""

    runs: int = 0
    rows: int = 0
    candidates: int = 0
    matches: int = 0
    seconds: float = 0.0
    orders: dict[tuple[Step, ...], int] = field(default_factory=dict)
    changes: int = 0
    last: tuple[Step, ...] = ()

    def begin(self, steps: tuple[Step, ...], rows: int) -> None:
        """Take note of a join in some order over so many rows."""
        self.runs += 1
        self.rows += rows
        self.orders[steps] = self.orders.get(steps, 0) + 1
        if steps != self.last:
            before = [step.atom for step in self.last]
            self.changes += bool(before) and before != [step.atom for step in steps]
            self.last = steps


@dataclass(slots=True)
class Figures:
    """What was done for one alternative of a rule.

    Each atom whose new events a step joins with what is there has a term of its own; -1 is the term
    of what the horizon has newly passed.
    """

    terms: dict[int, Joined] = field(default_factory=dict)
    filters: dict[int, Passed] = field(default_factory=dict)
    """What the predicates on one atom alone let through."""
    windows: dict[int, Passed] = field(default_factory=dict)
    """What absences, collections and repetitions let through, by the atom of the window."""
    policy: Passed = field(default_factory=Passed)
    """What a policy chose, of all alternatives together: with the first of them."""

    def term(self, number: int) -> Joined:
        found = self.terms.get(number)
        if found is None:
            found = self.terms[number] = Joined()
        return found

    def filter(self, atom: int) -> Passed:
        found = self.filters.get(atom)
        if found is None:
            found = self.filters[atom] = Passed()
        return found

    def window(self, atom: int) -> Passed:
        found = self.windows.get(atom)
        if found is None:
            found = self.windows[atom] = Passed()
        return found


class Meter:
    """The figures of a run, or of all steps of a session."""

    __slots__ = ("_events", "_joins")

    def __init__(self) -> None:
        self._joins: dict[Prepared, Figures] = {}
        self._events: dict[str, Passed] = {}

    def of(self, prepared: Prepared) -> Figures:
        """The figures of one alternative of a rule."""
        found = self._joins.get(prepared)
        if found is None:
            found = self._joins[prepared] = Figures()
        return found

    def derived(self, event: str) -> Passed:
        """How many events of a type the rules gave, and how many of them were new."""
        found = self._events.get(event)
        if found is None:
            found = self._events[event] = Passed()
        return found


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered(meter: Meter | None) -> Iterator[None]:
    """Add what is done inside to some figures."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)


def measured(prepared: Prepared) -> Figures:
    """The figures to add to for one alternative of a rule."""
    meter = _meter.get()
    return Figures() if meter is None else meter.of(prepared)


def derived(event: str) -> Passed:
    """The figures to add to for the events of a type."""
    meter = _meter.get()
    return Passed() if meter is None else meter.derived(event)
