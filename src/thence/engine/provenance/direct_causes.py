"""Direct causes: of which events, derived ones among them, a derived event was made.

Nothing is remembered while a program runs but the events themselves. What an event was made of is
found when somebody asks, by the rule's own join with the event as one more part of it
(``pinned.py``); many events at a time, and stage by stage downwards for what lies behind them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, distinct, row_ids, take
from thence.engine.join.match import Match
from thence.engine.join.pinned import HEAD, head_atom, pinned
from thence.engine.output.collect import collected, holdings
from thence.engine.output.event_ids import event_ids
from thence.engine.output.merge import Merged, merged_results
from thence.engine.output.project import head_column, interval
from thence.engine.policy.groups import chosen, chosen_groups
from thence.engine.run.derive import Inputs, Moment, all_matches, candidates
from thence.engine.state.relation import Relation
from thence.engine.values.evaluate import evaluate
from thence.engine.window.coverage import derived_gaps
from thence.logic.bounds import Constraint
from thence.logic.conjunct import WindowUse
from thence.logic.expr import Aggregate
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.source import Span
from thence.model.time import EARLIEST, LATEST
from thence.plan.horizons import completed
from thence.plan.prepared import Prepared
from thence.plan.tree import Part

Key = tuple[str, int]
"""An event of a history: its type, and its number among those of the type."""


@dataclass(frozen=True, slots=True)
class Use:
    """An event that a derivation is made of, under which label, and whether it was collected."""

    event: str
    row: int
    label: str | None
    collected: bool = False

    @property
    def key(self) -> Key:
        return self.event, self.row


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """A window of a match from which something was absent, with what it was bound to.

    It reaches from ``start`` to ``end``; each of them is a part of it unless it is ``open``.
    """

    prepared: Prepared
    window: WindowUse
    values: tuple[tuple[str, Any], ...]
    start: int
    end: int
    open: tuple[bool, bool]

    @property
    def event(self) -> str:
        return self.prepared.uses[self.window.atom].event

    @property
    def of_fact(self) -> bool:
        """Whether what was absent is a row of a table, so that there is no window."""
        return self.prepared.uses[self.window.atom].fact

    @property
    def lengths(self) -> tuple[Constraint, ...]:
        """How long what was absent would have lasted: bounds between its own two ends."""
        use = self.prepared.uses[self.window.atom]
        found = self.prepared.reduced(self.window.constraints)
        return tuple(c for c in found if {c.later, c.earlier} == {use.start, use.end})

    @property
    def identity(self) -> tuple[object, ...]:
        """Two gaps with one identity say the same."""
        asked = (self.lengths, self.window.predicates)
        return self.event, asked, repr(self.values), self.start, self.end, self.open


@dataclass(frozen=True, slots=True)
class Derived:
    """One derivation of an event: the rule, what it was made of, and what was absent.

    For a rule that collects, it is the whole group: all its matches, and all they collect.
    """

    span: Span
    uses: frozenset[Use]
    gaps: tuple[Gap, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """Two derivations by one rule with one identity are the same."""
        return self.uses, tuple(gap.identity for gap in self.gaps)


class History:
    """Everything that a run has seen and derived, each event once, and up to when."""

    def __init__(
        self,
        part: Part,
        events: Mapping[str, Events],
        horizons: Mapping[str, int],
        gaps: Mapping[str, Sequence[tuple[int, int]]],
    ) -> None:
        self.part = part
        self._now = Moment(
            completed({}, part.origins), completed(horizons, part.origins), part.finalised_by
        )
        self._gaps = derived_gaps(gaps, part.horizons.reach)
        self.events = {name: distinct(found) for name, found in events.items()}
        self._none = {name: Relation(_none_of(e)) for name, e in self.events.items()}
        self._numbers = _Numbers(self.events, part.schemas)
        self._chosen: dict[int, list[Match]] = {}
        self._merged: dict[int, Merged | None] = {}

    def direct(self, event: str, rows: Sequence[int]) -> dict[int, list[Derived]]:
        """The derivations of some events of a type, by their numbers."""
        heads = take(self.events[event], np.asarray(rows, dtype=np.int64))
        old = {**self._none, HEAD: Relation(_none_of(heads))}
        inputs = Inputs(old, {**self.events, HEAD: heads}, gaps=self._gaps)
        found: dict[int, list[Derived]] = {row: [] for row in rows}
        for rule in self._rules(event):
            seen: set[tuple[object, ...]] = set()
            for position, derived in self._of_rule(rule, heads, inputs):
                if (position, derived.identity) not in seen:
                    seen.add((position, derived.identity))
                    found[rows[position]].append(derived)
        return found

    def behind(self, event: str, rows: Iterable[int]) -> dict[Key, tuple[Derived, ...]]:
        """The derivations of some events, and of all derived events behind them.

        Those of least depth come first: base events have depth 0, and a derivation is one deeper
        than the deepest event in it. So whoever follows first derivations comes to base events,
        whatever the recursion.
        """
        requested: dict[str, set[int]] = {event: set(rows)}
        graph: dict[Key, list[Derived]] = {}
        derived_here = frozenset(self.part.derived)
        for stage in reversed(self.part.stages):
            while any(requested.get(name) for name in stage.events):
                for name in stage.events:
                    ask = sorted(requested.pop(name, ()))
                    for row, derived in self.direct(name, ask).items() if ask else ():
                        graph[name, row] = derived
                    for use in (u for row in ask for d in graph[name, row] for u in d.uses):
                        if use.event in derived_here and use.key not in graph:
                            requested.setdefault(use.event, set()).add(use.row)
        depths = _depths(graph)
        return {
            key: tuple(sorted(derived, key=lambda d: (_depth(d, depths), self._moment(d))))
            for key, derived in graph.items()
        }

    def _rules(self, event: str) -> Iterator[tuple[Prepared, ...]]:
        for stage in self.part.stages:
            if event in stage.events:
                yield from (rule for rule in stage.rules if rule[0].conjunct.event == event)

    def _of_rule(
        self, rule: Sequence[Prepared], heads: Events, inputs: Inputs
    ) -> Iterator[tuple[int, Derived]]:
        """The derivations by one rule, each with the position of the event it is of."""
        if rule[0].conjunct.policy.merges:
            yield from self._of_merging_rule(rule, heads)
            return
        matches: list[Match] = []
        for number, alternative in enumerate(rule):
            join = Prepared(pinned(alternative.conjunct, heads, self.part.schemas))
            for match in all_matches(join, inputs, self._now.of(alternative)):
                agreeing = self._counting(rule, number, _agreeing(match, heads))
                matches += [agreeing] if agreeing.length else []
        if not matches:
            return
        if rule[0].conjunct.aggregates:
            yield from _groups(self._numbers, matches, heads)
            return
        for match in matches:
            uses = _uses(self._numbers, match)
            owners = match.rows(head_atom(match.prepared.conjunct)).tolist()
            repeated = _repeated(self._numbers, match)
            for row, (owner, gaps) in enumerate(zip(owners, _gaps(match), strict=True)):
                uses_here = frozenset(use[row] for use in uses) | repeated[row]
                yield owner, Derived(match.prepared.conjunct.span, uses_here, gaps)

    def _of_merging_rule(
        self, rule: Sequence[Prepared], heads: Events
    ) -> Iterator[tuple[int, Derived]]:
        """The derivations by a rule whose policy makes one event of several matches."""
        found = self._merged_by(rule)
        if found is None:
            return
        both = row_ids(concat([heads, found.events]))
        positions = {each: place for place, each in enumerate(both[: len(heads)].tolist())}
        ids = both[len(heads) :]
        asked = np.isin(ids, both[: len(heads)])
        uses: dict[int, set[Use]] = {}
        gaps: dict[int, dict[tuple[object, ...], Gap]] = {}
        for part in found.parts:
            rows = asked[part.numbers]
            match, numbers = part.match.where(rows), part.numbers[rows].tolist()
            used = [
                _uses_of(self._numbers, match, a, match.rows(a))
                for a in match.prepared.conjunct.parts
            ]
            for row, (number, absent) in enumerate(zip(numbers, _gaps(match), strict=True)):
                uses.setdefault(number, set()).update(each[row] for each in used)
                gaps.setdefault(number, {}).update((gap.identity, gap) for gap in absent)
            for held in part.collections:
                kept = np.flatnonzero(rows[held.rows])
                members = _uses_of(
                    self._numbers, match, held.window.atom, held.members[kept], collected=True
                )
                owners = part.numbers[held.rows[kept]].tolist()
                for number, use in zip(owners, members, strict=True):
                    uses[number].add(use)
        for number, made_of in uses.items():
            derived = Derived(
                rule[0].conjunct.span, frozenset(made_of), tuple(gaps[number].values())
            )
            yield positions[int(ids[number])], derived

    def _merged_by(self, rule: Sequence[Prepared]) -> Merged | None:
        """All that a rule whose policy merges matches has derived; None where that is nothing."""
        if id(rule) not in self._merged:
            matches = self._matches(rule)
            groups = chosen_groups(rule[0].conjunct.policy, matches, {}) if matches else []
            self._merged[id(rule)] = merged_results(groups, None) if groups else None
        return self._merged[id(rule)]

    def _matches(self, rule: Sequence[Prepared]) -> list[Match]:
        """Matches of a rule, among them all that its policy chooses."""
        return candidates(rule, Inputs(self._none, self.events, gaps=self._gaps), self._now)

    def _counting(self, rule: Sequence[Prepared], number: int, match: Match) -> Match:
        """The rows of a match of one alternative that the rule's policy lets count."""
        policy = rule[0].conjunct.policy
        if not policy.chooses or not match.length:
            return match
        counted = self._chosen.get(id(rule))
        if counted is None:
            everything = self._matches(rule)
            counted = self._chosen[id(rule)] = chosen(policy, everything, {}) if everything else []
        own = [m for m in counted if m.prepared is rule[number]]
        known = {
            row for m in own for row in _members(self._numbers, _near(self._numbers, m, match))
        }
        mask = [row in known for row in _members(self._numbers, match)]
        return match.where(np.array(mask, dtype=np.bool_))

    def _moment(self, derived: Derived) -> list[tuple[int, int, str, str, int]]:
        """What derivations of one depth are sorted by: the times of their events, then names."""
        return sorted(
            (
                int(self.events[use.event].start[use.row]),
                int(self.events[use.event].end[use.row]),
                use.event,
                use.label or "",
                use.row,
            )
            for use in derived.uses
        )


class _Numbers:
    """The numbers of events among those of their type, found by their ids."""

    def __init__(self, events: Mapping[str, Events], schemas: Mapping[str, EventSchema]) -> None:
        self._events = events
        self._schemas = schemas
        self._known: dict[str, tuple[Index, Index]] = {}

    def of(self, match: Match, atom: int, rows: Index) -> Index:
        """The numbers of the events that rows of an atom's relation are."""
        event = match.prepared.uses[atom].event
        if event not in self._known:
            ids = event_ids(self._schemas[event], self._events[event])
            order = np.argsort(ids)
            self._known[event] = ids[order], order
        known, order = self._known[event]
        chosen, places = np.unique(rows, return_inverse=True)
        ids = event_ids(self._schemas[event], take(match.rels[atom], chosen))
        return order[np.searchsorted(known, ids)][places]


def _none_of(events: Events) -> Events:
    return take(events, np.empty(0, dtype=np.int64))


def _depths(graph: Mapping[Key, Sequence[Derived]]) -> dict[Key, int]:
    """The least depth of each derived event, found from the input upwards: an event has its depth
    as soon as all that one of its derivations is made of has one."""
    owners: list[Key] = []  # per derivation, what it is of
    missing: list[int] = []  # and how many of its events have no depth yet
    waiting: dict[Key, list[int]] = {}
    depths: dict[Key, int] = {}
    queue: deque[Key] = deque()

    def settle(key: Key, depth: int) -> None:
        if key not in depths:
            depths[key] = depth
            queue.append(key)

    for key, derivations in graph.items():
        for derived in derivations:
            needed = {use.key for use in derived.uses if use.key in graph}
            for other in needed:
                waiting.setdefault(other, []).append(len(owners))
            owners.append(key)
            missing.append(len(needed))
            if not needed:
                settle(key, 1)
    while queue:
        done = queue.popleft()
        for number in waiting.get(done, ()):
            missing[number] -= 1
            if not missing[number]:
                settle(owners[number], depths[done] + 1)
    return depths


def _depth(derived: Derived, depths: Mapping[Key, int]) -> int:
    return 1 + max((depths.get(use.key, 0) for use in derived.uses), default=0)


def _agreeing(match: Match, heads: Events) -> Match:
    """The rows whose head is the event they are pinned to, as far as it is no aggregate."""
    conjunct = match.prepared.conjunct
    terms = zip(conjunct.head.columns, conjunct.head.terms, strict=True)
    plain = {
        name: head_column(match, place)
        for place, (name, term) in enumerate(terms)
        if not isinstance(term, Aggregate) or conjunct.repetitions
    }
    start, end = interval(match)
    pins = take(heads, match.rows(head_atom(conjunct)))
    pins = Events(pins.start, pins.end, {name: pins.columns[name] for name in plain})
    ids = row_ids(concat([Events(start, end, plain), pins]))
    return match.where(ids[: match.length] == ids[match.length :])


def _groups(
    numbers: _Numbers, matches: Sequence[Match], heads: Events
) -> Iterator[tuple[int, Derived]]:
    """The derivations by a rule that collects: a group each, over all alternatives."""
    right = _among(heads, collected(matches, None))
    uses: dict[int, set[Use]] = {}
    gaps: dict[int, dict[tuple[object, ...], Gap]] = {}
    for match in matches:
        conjunct = match.prepared.conjunct
        match, _, collections = holdings(match.where(right[match.rows(head_atom(conjunct))]))
        owners = match.rows(head_atom(conjunct))
        for used in _uses(numbers, match):
            for owner, use in zip(owners.tolist(), used, strict=True):
                uses.setdefault(owner, set()).add(use)
        for part in collections:
            found = _uses_of(numbers, match, part.window.atom, part.members, collected=True)
            for owner, use in zip(owners[part.rows].tolist(), found, strict=True):
                uses.setdefault(owner, set()).add(use)
        for owner, absent in zip(owners.tolist(), _gaps(match), strict=True):
            gaps.setdefault(owner, {}).update((gap.identity, gap) for gap in absent)
    span = matches[0].prepared.conjunct.span
    for owner, used_here in uses.items():
        yield owner, Derived(span, frozenset(used_here), tuple(gaps.get(owner, {}).values()))


def _among(events: Events, others: Events) -> Mask:
    """Which events are among some others."""
    ids = row_ids(concat([events, others])) if len(others) else np.arange(len(events))
    return np.isin(ids[: len(events)], ids[len(events) :])


def _members(numbers: _Numbers, match: Match) -> Iterator[tuple[Any, ...]]:
    """The numbers of the events of each row, in the order of the body's atoms."""
    atoms = [a for a in match.prepared.conjunct.parts if match.prepared.uses[a].event != HEAD]
    columns: list[list[Any]] = [
        [use.row for use in _uses_of(numbers, match, a, match.rows(a))] for a in atoms
    ]
    if match.prepared.conjunct.repetitions:
        columns.append(
            [tuple(sorted(use.key for use in uses)) for uses in _repeated(numbers, match)]
        )
    return zip(*columns, strict=True)


def _near(numbers: _Numbers, match: Match, other: Match) -> Match:
    """The rows of a match that have their first event in common with a row of another one."""
    parts = match.prepared.conjunct.parts
    if not parts:
        return match
    atom = parts[0]
    mine, theirs = (numbers.of(each, atom, each.rows(atom)) for each in (match, other))
    return match.where(np.isin(mine, theirs))


def _uses(numbers: _Numbers, match: Match) -> list[list[Use]]:
    """For each atom of the body, the event that it is in each row of a match."""
    conjunct = match.prepared.conjunct
    head = head_atom(conjunct)
    return [_uses_of(numbers, match, a, match.rows(a)) for a in conjunct.parts if a != head]


def _repeated(numbers: _Numbers, match: Match) -> list[frozenset[Use]]:
    """For each row of a match, the events that are repetitions in it."""
    found: list[set[Use]] = [set() for _ in range(match.length)]
    for window in match.prepared.conjunct.repetitions:
        chains = match.chains(window.atom)
        uses = _uses_of(numbers, match, window.atom, chains.members)
        for owner, use in zip(chains.owners.tolist(), uses, strict=True):
            found[owner].add(use)
    return [frozenset(uses) for uses in found]


def _uses_of(
    numbers: _Numbers, match: Match, atom: int, rows: Index, collected: bool = False
) -> list[Use]:
    use = match.prepared.uses[atom]
    found = numbers.of(match, atom, rows).tolist()
    return [Use(use.event, number, use.label, collected) for number in found]


def _gaps(match: Match) -> Iterator[tuple[Gap, ...]]:
    """For each row of a match, the windows from which something was absent."""
    conjunct = match.prepared.conjunct
    absent = [
        w for w in conjunct.windows if w.mode == "absent" and not conjunct.atoms[w.atom].silent
    ]
    columns = [_gaps_of(match, window) for window in absent]
    return (tuple(column[row] for column in columns) for row in range(match.length))


def _gaps_of(match: Match, window: WindowUse) -> list[Gap]:
    prepared = match.prepared
    use = prepared.uses[window.atom]
    names = [name for name, _ in window.links]
    columns = [evaluate(e, match.leaf, match.length).to_pylist() for _, e in window.links]
    bound = list(zip(*columns, strict=True)) if columns else [()] * match.length
    lows: list[tuple[Index, bool]] = []
    highs: list[tuple[Index, bool]] = []
    for c in prepared.reduced(window.constraints):
        strict = c.strict
        own = (c.later in (use.start, use.end), c.earlier in (use.start, use.end))
        if own == (False, True):
            lows.append((match.time(c.later) - c.limit - strict, strict))
        elif own == (True, False):
            highs.append((match.time(c.earlier) + c.limit + strict, strict))
    gaps = []
    for row in range(match.length):
        start = max([(int(t[row]), strict) for t, strict in lows], default=(EARLIEST, False))
        end = min([(int(t[row]), not strict) for t, strict in highs], default=(LATEST, True))
        gaps.append(
            Gap(
                prepared,
                window,
                tuple(zip(names, bound[row], strict=True)),
                max(start[0], EARLIEST),
                min(end[0], LATEST),
                (start[1], not end[1]),
            )
        )
    return gaps
