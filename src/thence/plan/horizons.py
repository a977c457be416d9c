"""Which inputs say up to when an event has been seen, and when a join may be finalised.

Each input has a horizon: every event of it that ends at or before it has been seen. A derived event
ends no earlier than what it is made of, so its horizon follows: the least of those of the events
that its rules read, less whatever may end later than it does. And a window is finalised by the
inputs that it looks at, and by no others. All of it is said here once, before anything runs, as
*lags*: for each input, by how much its horizon counts less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from thence.logic.bounds import UNBOUNDED
from thence.plan.demand import bounds_of
from thence.plan.prepared import Prepared

if TYPE_CHECKING:
    from thence.plan.tree import Stage

CLOCK = ""
"""Stands among the inputs for the furthest of them: by it goes what reads no events at all."""

NEVER = -(2**62)
"""A horizon before all time: nothing has been seen."""

Lags = Mapping[str, int]
"""For each input, by how many microseconds its horizon counts less; the least of all is meant."""


@dataclass(frozen=True, slots=True)
class Horizons:
    """What the horizons of a program's events follow from.

    ``seen`` says of each event up to when all of it has been seen that any rule may ask for;
    ``comes`` after which time one may still be derived, which is later only where something has to
    ask for it. ``reach`` says of each event and input how long after the end of an input event one
    may end that rests on it.
    """

    seen: Mapping[str, Lags] = field(default_factory=dict)
    comes: Mapping[str, Lags] = field(default_factory=dict)
    reach: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def reached(lags: Lags, horizons: Mapping[str, int]) -> int:
    """The horizon that follows from those of the inputs.

    >>> reached({"order": 0, "shipped": 5}, {"order": 100, "shipped": 90})
    85
    """
    least = min([horizons[name] - lag for name, lag in lags.items()])
    return max(least, NEVER)


def completed(horizons: Mapping[str, int], inputs: Iterable[str]) -> dict[str, int]:
    """Horizons of all inputs, and of the furthest of them."""
    found = {name: horizons.get(name, NEVER) for name in inputs}
    furthest = max(found.values(), default=NEVER)
    return found | {CLOCK: max(furthest, horizons.get(CLOCK, NEVER))}


def everywhere(horizon: int, inputs: Iterable[str]) -> dict[str, int]:
    """One horizon for all inputs."""
    return {CLOCK: horizon} | dict.fromkeys(inputs, horizon)


def horizons_of(stages: Iterable[Stage], inputs: Iterable[str]) -> Horizons:
    """What the horizons of all events follow from."""
    inputs = tuple(inputs)
    seen: dict[str, Lags] = {name: {name: 0} for name in inputs}
    comes: dict[str, Lags] = dict(seen)
    reach: dict[str, Lags] = dict(seen)
    for stage in stages:
        own = _Stage(stage)
        own.settle(seen, partial(_derived_lags, asked=False))
        own.settle(comes, partial(_derived_lags, asked=True))
        own.settle(reach, _derived_reach)
        for known in (seen, comes):
            # What rests on nothing that comes is told by the clock.
            known |= {event: known[event] or {CLOCK: 0} for event in stage.events}
    return Horizons(seen, comes, reach)


_Rule = Callable[[Sequence[Sequence[Prepared]], Mapping[str, Lags]], Iterator[Lags]]
"""What some rules say of the event that they derive, given what is known of others."""


class _Stage:
    """A stage, whose events may rest on one another."""

    def __init__(self, stage: Stage) -> None:
        self._events = stage.events
        self._rules = {
            event: [rule for rule in stage.rules if rule and rule[0].conjunct.event == event]
            for event in stage.events
        }
        self._rounds = len(stage.events) + 1 if stage.recursive else 1

    def settle(self, known: dict[str, Lags], derived: _Rule) -> None:
        """Add to what is known of events that of the stage's own. What still grows when all of them
        have been reached grows without end."""
        known |= {event: {} for event in self._events}
        for number in range(2 * self._rounds):
            found = {event: most(derived(self._rules[event], known)) for event in self._events}
            if all(found[event] == known[event] for event in self._events):
                break
            if number >= self._rounds:
                found = {
                    event: {
                        name: lag if known[event].get(name) == lag else UNBOUNDED
                        for name, lag in lags.items()
                    }
                    for event, lags in found.items()
                }
            known |= found


def most(several: Iterable[Lags]) -> dict[str, int]:
    """The lags by which the least of several horizons is found."""
    found: dict[str, int] = {}
    for lags in several:
        for name, lag in lags.items():
            found[name] = max(found.get(name, lag), lag)
    return found


def later(lags: Lags, by: int) -> dict[str, int]:
    """Lags that are longer by some time."""
    return {name: min(lag + by, UNBOUNDED) for name, lag in lags.items()}


def _read(rule: Prepared, asked: bool = False) -> list[int]:
    """The atoms of a join that events meet; with ``asked``, also the one that asks for results."""
    asker = None if rule.demand is None or asked else rule.demand.atom
    uses = enumerate(rule.conjunct.atoms)
    return [atom for atom, use in uses if not use.fact and atom != asker]


def join_lags(rule: Sequence[Prepared], known: Mapping[str, Lags]) -> list[Lags]:
    """By what each alternative of a rule is finalised.

    Absence is decided match by match, by the inputs that the windows look at. What a policy chooses
    from, what is collected and what is repeated is decided for all alternatives together, by all
    that they read. A mere timer goes by all that its alternative reads, and what reads no events by
    the clock.
    """
    if any(alternative.conjunct.waits for alternative in rule):
        return [_least([(each, _read(each)) for each in rule], known)] * len(rule)
    found = []
    for alternative in rule:
        windows = {window.atom for window in alternative.conjunct.windows}
        read = _read(alternative)
        looked_at = [atom for atom in read if atom in windows]
        found.append(_least([(alternative, looked_at or read)], known))
    return found


def _least(read: Sequence[tuple[Prepared, Sequence[int]]], known: Mapping[str, Lags]) -> Lags:
    """The lags of all that some joins read; where that is nothing, those of the clock."""
    events = [rule.conjunct.atoms[atom].event for rule, atoms in read for atom in atoms]
    return most(known[event] for event in events) if events else {CLOCK: 0}


def _derived_lags(
    rules: Iterable[Sequence[Prepared]], known: Mapping[str, Lags], asked: bool
) -> Iterator[Lags]:
    """The lags of what some rules derive: of all that they read, as far as that may end later than
    the result, and of what finalises them, as far as completion times lie later."""
    for rule in rules:
        for alternative, finalised in zip(rule, join_lags(rule, known), strict=True):
            conjunct = alternative.conjunct
            end = conjunct.head.end
            asker = None if alternative.demand is None else alternative.demand.atom
            for atom in _read(alternative, asked):
                use = conjunct.atoms[atom]
                # An asker comes before all that a result is made of, if events are not too long.
                over = 0 if atom == asker else bounds_of(alternative, atom)[use.end, end]
                yield later(known[use.event], max(over, 0))
            if conjunct.completions:
                over = max(conjunct.bounds[each, end] for each in conjunct.completions)
                yield later(finalised, max(over, 0))


def _derived_reach(
    rules: Iterable[Sequence[Prepared]], known: Mapping[str, Lags]
) -> Iterator[Lags]:
    """How long after the inputs' events a result may end that rests on them."""
    for alternative in (alternative for rule in rules for alternative in rule):
        conjunct = alternative.conjunct
        for atom in _read(alternative):
            use = conjunct.atoms[atom]
            by = bounds_of(alternative, atom)[conjunct.head.end, use.end]
            yield later(known[use.event], max(by, 0))
