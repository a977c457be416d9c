"""Bounds on what a step may take: an error that names the rule, before the system ends the process.

Whatever may grow says so before it does: how many rows it is about to have, and about how many
bytes each of them takes. Rows in moderate number pass without a look at the machine. Otherwise what
the process has taken since the step began is measured; what is asked for must fit into the rest.

One step has one :class:`Budget`, found by context, so that whatever grows can ask in one line:

    expect(rows, 16, lambda: Growth("listing …", "write …"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from thence.engine.limits.memory import available, cores, resident
from thence.model.errors import InputError, LimitError
from thence.model.sizes import format_size, size
from thence.model.source import NOWHERE
from thence.plan.prepared import Prepared
from thence.plan.tree import Part

UNLIMITED = "unlimited"
"""How a caller says that memory is no concern of Thence."""

MODEST = 1 << 24
"""So many bytes are had without asking whether they are there."""

SHARE = 0.75
"""How much of the memory that is free a step takes at most, where nobody says."""

RECURSIVE = 128
"""About how many bytes an event takes that a recursion has found: it is there several times, as a
result, as what is known and as what is new."""

JOIN_ADVICE = (
    "say how far apart they may be ('within 10 s'), join them by an attribute that they share, or "
    "choose among them with a policy ('using recent')"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a step may take: bytes of memory beyond what the process held when it began (None for a
    share of what is free then; 0 for any number), and matches (None for any number).

    ``alone`` says that no other process like this one runs on the machine; otherwise there is one
    for each of its cores, as Spark's tasks are, and what is free is for all of them.
    """

    memory: int | None = None
    matches: int | None = None
    alone: bool = True


DEFAULT = Limits()


def limits(memory_limit: Any, max_matches: Any, alone: bool = True) -> Limits:
    """Limits from what a caller says.

    >>> limits("2 GB", 1000)
    Limits(memory=2000000000, matches=1000, alone=True)
    """
    if max_matches is not None and (
        isinstance(max_matches, bool) or not isinstance(max_matches, int) or max_matches < 1
    ):
        raise InputError(f"max_matches must be a whole number from 1 on, not {max_matches!r}")
    if memory_limit is None or memory_limit == UNLIMITED:
        memory = None if memory_limit is None else 0
    else:
        memory = size(memory_limit, "memory_limit")
    return Limits(memory, max_matches, alone)


@dataclass(frozen=True, slots=True)
class Growth:
    """What is about to grow, and what one can do about it; both for a message."""

    doing: str
    advice: str
    unit: str = "candidates"


class Budget:
    """What a step has taken, and who is at work in it."""

    __slots__ = ("_begin", "_last", "_limit", "_owners", "_working", "limits")

    def __init__(self, limits: Limits, owners: Callable[[str], str] = str) -> None:
        self.limits = limits
        self._working: Prepared | None = None
        self._last: tuple[Growth, int] | None = None  # what has grown much, and to how much
        self._owners = owners
        self._begin = resident()
        self._limit = limits.memory

    def work_on(self, prepared: Prepared | None) -> None:
        """Work for another rule from now on, or for none."""
        if prepared is not self._working:
            self._working, self._last = prepared, None

    def expect(self, count: int, width: int, growth: Callable[[], Growth]) -> None:
        """Refuse what would pass a limit."""
        most = self.limits.matches
        if most is not None and count > most:
            raise self._refusal(
                "has more matches than it may",
                f"and max_matches is {most:,}",
                "allow more of them with max_matches",
                growth(),
                count,
            )
        needed = count * width
        if needed < MODEST:
            return
        self._last = growth(), count
        if self._limit == 0:
            return
        taken = self._taken()
        limit = self._most(taken)
        if limit is not None and taken + needed > limit:
            raise self._refusal(
                "would take more memory than it may",
                f"which takes about {format_size(needed)}, and {format_size(max(0, limit - taken))}"
                f" are left of {format_size(limit)}",
                "allow more with memory_limit",
                self._last[0],
                count,
            )

    def keep(
        self, size: int, before: int, count: Callable[[], int], most: Callable[[], str]
    ) -> None:
        """Refuse to remember more than there may be. Whether there is room is asked each time that
        a good deal more is remembered than before the step. ``count`` gives how many rows it is,
        and ``most`` says what most of it is."""
        if size // max(MODEST, 1) <= before // max(MODEST, 1) or self._limit == 0:
            return
        limit = self._most(self._taken())
        if limit is not None and size > limit:
            self.work_on(None)
            rows = count()
            raise self._error(
                f"the program has more to remember than it may: {rows:,} rows, about "
                f"{format_size(size)}, and the limit is {format_size(limit)}; most of it is "
                f"{most()}",
                "let rules look back less far ('within 10 s'); or allow more with memory_limit",
                rows,
            )

    def read(self, what: str, size: int) -> None:
        """Refuse to read what does not fit beside what has been read."""
        if size < MODEST or self._limit == 0:
            return
        taken = self._taken()
        limit = self._most(taken)
        if limit is not None and taken + size > limit:
            raise self._error(
                f"the events would take more memory than they may: reading {what} takes about "
                f"{format_size(size)}, and {format_size(max(0, limit - taken))} are left of "
                f"{format_size(limit)}",
                "give fewer events at a time, as a session takes them, or use Spark; or allow more "
                "with memory_limit",
                None,
                f"reading {what}",
            )

    def exhausted(self) -> LimitError:
        """The error for memory that was asked for and was not there."""
        whose = self._whose()
        advice = "bound it with memory_limit or max_matches"
        if self._last is None:
            return self._error(f"{whose} ran out of memory", advice, None)
        growth, count = self._last
        message = f"{whose} ran out of memory: {growth.doing} gave {count:,} {growth.unit}"
        return self._error(message, f"{growth.advice}; or {advice}", count, growth.doing)

    def _taken(self) -> int:
        now = resident()
        return 0 if now is None or self._begin is None else max(0, now - self._begin)

    def _most(self, taken: int) -> int | None:
        """How much this step may take in all; looked up once, when it first matters."""
        if self._limit is None:
            free = available()
            share = SHARE if self.limits.alone else SHARE / cores()
            self._limit = 0 if free is None else max(1, int((free + taken) * share))
        return self._limit or None

    def _rule(self) -> tuple[str | None, Prepared | None]:
        if self._working is None:
            return None, None
        return self._owners(self._working.conjunct.event), self._working

    def _whose(self) -> str:
        rule, _ = self._rule()
        return "the program" if rule is None else f"the rule '{rule}'"

    def _refusal(self, what: str, why: str, allow: str, growth: Growth, count: int) -> LimitError:
        message = f"{self._whose()} {what}: {growth.doing} gives {count:,} {growth.unit}, {why}"
        return self._error(message, f"{growth.advice}; or {allow}", count, growth.doing)

    def _error(
        self, message: str, hint: str, count: int | None, doing: str | None = None
    ) -> LimitError:
        rule, prepared = self._rule()
        span = NOWHERE if prepared is None else prepared.conjunct.span
        return LimitError(message, hint, rule=rule, doing=doing, candidates=count, span=span)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def bounded(limits: Limits, owners: Callable[[str], str] = str) -> Iterator[Budget]:
    """Hold what runs inside to some limits; memory that is not there is an error of ours as well.

    ``owners`` gives the rule that somebody wrote for the event of an inner pattern.
    """
    with spending(Budget(limits, owners)) as budget:
        yield budget


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Hold what runs inside to a budget, from which other blocks may take as well."""
    token = _budget.set(budget)
    try:
        yield budget
    except MemoryError:
        raise budget.exhausted() from None
    finally:
        _budget.reset(token)


def expect(count: int, width: int, growth: Callable[[], Growth]) -> None:
    """Say that there are going to be so many rows of about so many bytes each: a
    :class:`LimitError` where that is more than there may be."""
    budget = _budget.get()
    if budget is not None:
        budget.expect(int(count), width, growth)


def working_on(prepared: Prepared) -> None:
    """Say for which rule is being worked from now on."""
    budget = _budget.get()
    if budget is not None:
        budget.work_on(prepared)


def named(prepared: Prepared, atoms: Sequence[int]) -> str:
    """Atoms as a message names them: by their labels, or by their events."""
    uses = [prepared.uses[atom] for atom in atoms]
    names = [
        f"'{use.label}'" if use.label else "a pattern" if use.hidden else f"'{use.event}'"
        for use in uses
    ]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def listed(prepared: Prepared, atoms: Sequence[int], verb: str) -> str:
    """What is listed for each match, as a message says it: that of some atoms, for the others."""
    labels = {prepared.uses[atom].label for atom in atoms} - {None}
    others = [
        atom
        for atom in prepared.conjunct.positive
        if atom not in atoms and prepared.uses[atom].label not in labels
    ]
    what = f"{verb} {named(prepared, atoms)}"
    return f"{what} for each {named(prepared, others)}" if others else what


def owner(event: str, part: Part) -> str:
    """The rule that somebody wrote for whose sake an event is derived: its own, or the first one
    that uses it, by way of other inner patterns perhaps."""
    seen, users = [event], part.users
    for name in seen:
        if not part.schemas[name].hidden:
            return name
        seen += [user for user in users.get(name, ()) if user not in seen]
    return event
