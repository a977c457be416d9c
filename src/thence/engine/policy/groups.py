"""Policies: of a rule's matches, those that count, in the order in which they are complete.

Every match is a row of event numbers, one per atom that an event meets. The numbers follow the
order of events by time, then type, then attributes, so that to choose the first or the last event
is to choose the least or the greatest number, on every host alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thence.engine.aggregates.aggregate import collection_order
from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import concat, distinct, take
from thence.engine.join.match import Match
from thence.logic.conjunct import WindowUse
from thence.logic.policy import Policy
from thence.model.events import Events

Used = dict[str, Events]
"""The events that a rule has used up, by type."""

_ALL_AS_ONE = 2

NO_EVENT = -1
"""In the place of an atom that an alternative does not have."""


def chosen(policy: Policy, matches: Sequence[Match], used: Used) -> list[Match]:
    """The matches that a policy lets count; what they use up is added to ``used``."""
    return [match for match, _ in chosen_groups(policy, matches, used)]


def chosen_groups(
    policy: Policy, matches: Sequence[Match], used: Used
) -> list[tuple[Match, Index]]:
    """The matches that a policy lets count, and for each row the number of its group: those of one
    group differ only in events of which all are taken as one."""
    eventless = [match for match in matches if not _slots(match)]
    if eventless:
        others = [match for match in matches if match not in eventless]
        found = chosen_groups(policy, others, used) if others else []
        return [*found, *_without_events(eventless, found)]
    numbered = _numbered(matches, used if policy.consumes else {})
    rows, order = _in_order(policy, matches, numbered)
    if policy.consumes:
        kept, spent = _consuming(policy, rows, numbered)
        _spend(numbered, spent, used)
    else:
        kept = _best(rows)
    mask = np.zeros(len(order), dtype=np.bool_)
    mask[order[kept]] = True
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(rows.groups)
    found, start = [], 0
    for match in matches:
        here = slice(start, start + match.length)
        part = match.where(mask[here])
        start += match.length
        if part.length:
            found.append((part, groups[here][mask[here]]))
    return found


def _without_events(
    matches: Sequence[Match], others: Sequence[tuple[Match, Index]]
) -> Iterator[tuple[Match, Index]]:
    """Matches of nothing but instants that a program names. There is nothing to choose from, so all
    of them count; those of one end are one group, which is none of the others' groups."""
    taken = max((int(groups.max()) + 1 for _, groups in others), default=0)
    ends = np.concatenate([match.time(match.prepared.conjunct.head.end) for match in matches])
    _, groups = np.unique(ends, return_inverse=True)
    cuts = np.cumsum([match.length for match in matches])[:-1]
    yield from zip(matches, np.split(groups + taken, cuts), strict=True)


def _best(rows: _Rows) -> Mask:
    """The matches to take where nothing is used up: the best of each group comes first."""
    alike = np.cumsum(rows.alike)
    best = alike[rows.groups]
    kept: Mask = alike == best[np.cumsum(rows.groups) - 1]
    return kept


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The events of some matches, numbered in order; ``members[i, s]`` is the one that match ``i``
    has in slot ``s``. ``tables`` are the events by type, ``numbers`` their numbers."""

    slots: Sequence[Sequence[_Slot]]
    """The places for events in each of the matches."""
    members: Index
    starts: Index
    ends: Index
    """Of the events by number."""
    tables: Mapping[str, Events]
    numbers: Mapping[str, Index]
    spent: Mask
    """Which numbers are of events that had been used up before."""


def _numbered(matches: Sequence[Match], used: Mapping[str, Events]) -> _Numbered:
    """Number the events that take part in matches, and those that were used up."""
    slots = [_slots(match) for match in matches]
    places: dict[str, list[tuple[int, int]]] = {}
    for m, own in enumerate(slots):
        for number, slot in enumerate(own):
            places.setdefault(slot.event, []).append((m, number))
    width = max(len(own) for own in slots)
    lengths = [match.length for match in matches]
    begins = np.concatenate(([0], np.cumsum(lengths)))
    tables: dict[str, Events] = {}
    ranks: dict[str, Index] = {}
    where: dict[tuple[int, int], Index] = {}
    for event, uses in sorted(places.items()):
        parts = []
        offset = 0
        for m, number in uses:
            slot = slots[m][number]
            rows, inverse = np.unique(slot.members, return_inverse=True)
            part = take(matches[m].rels[slot.atom], rows)
            parts.append(part)
            where[m, number] = offset + inverse
            offset += len(part)
        if event in used:
            parts.append(used[event])
        tables[event] = concat(parts)
        ranks[event] = collection_order([tables[event]])
    names = list(tables)
    starts = np.concatenate([tables[name].start for name in names])
    ends = np.concatenate([tables[name].end for name in names])
    kinds = np.repeat(np.arange(len(names)), [len(tables[name]) for name in names])
    rank = np.concatenate([ranks[name] for name in names])
    numbers = _dense(np.lexsort((rank, kinds, ends, starts)), rank, kinds)
    split = dict(
        zip(names, np.split(numbers, np.cumsum([len(tables[n]) for n in names])[:-1]), strict=True)
    )
    size = int(numbers.max()) + 1 if len(numbers) else 0
    members = np.full((int(begins[-1]), width), NO_EVENT, dtype=np.int64)
    for (m, number), positions in where.items():
        slot = slots[m][number]
        members[begins[m] + slot.rows, number] = split[slot.event][positions]
    spent = np.zeros(size, dtype=np.bool_)
    for event, events in used.items():
        if event in split:
            spent[split[event][len(split[event]) - len(events) :]] = True
    by_number = np.empty(size, dtype=np.int64)
    by_number[numbers] = np.arange(len(numbers))
    return _Numbered(slots, members, starts[by_number], ends[by_number], tables, split, spent)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A place for an event in a match: an atom, or one of its repetitions; and the rows of the
    match that have an event there, with the event."""

    atom: int
    event: str
    label: str | None
    rows: Index
    members: Index


def _slots(match: Match) -> list[_Slot]:
    """The places for events in a match, in the order of the pattern's parts."""
    conjunct = match.prepared.conjunct
    everyone = np.arange(match.length)
    repeated = {w.repetition.place: w for w in conjunct.repetitions if w.repetition is not None}
    ends = {a for w in repeated.values() for a in _ends_of(w)}
    found: list[_Slot] = []
    for number in range(len(conjunct.positive) + 1):
        if number in repeated:
            window = repeated[number]
            use, chains = match.prepared.uses[window.atom], match.chains(window.atom)
            for step in range(int(chains.sizes.max(initial=0))):
                rows = np.flatnonzero(chains.sizes > step)
                members = chains.members[chains.offsets[rows] + step]
                found.append(_Slot(window.atom, use.event, use.label, rows, members))
        atom = conjunct.positive[number] if number < len(conjunct.positive) else None
        if atom in conjunct.events and atom not in ends:
            use = match.prepared.uses[atom]
            found.append(_Slot(atom, use.event, use.label, everyone, match.rows(atom)))
    return found


def _ends_of(window: WindowUse) -> list[int]:
    """The atoms that are the first and the last of a repetition, and so are among its events."""
    how = window.repetition
    return [a for a in (how.first, how.last) if a is not None] if how is not None else []


def _dense(order: Index, rank: Index, kinds: Index) -> Index:
    """Numbers 0, 1, 2 … along an order; neighbours of one type and rank are one event."""
    same = (rank[order][1:] == rank[order][:-1]) & (kinds[order][1:] == kinds[order][:-1])
    along = np.concatenate(([0], np.cumsum(~same))) if len(order) else order
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = along
    return numbers


@dataclass(frozen=True, slots=True)
class _Rows:
    """Matches in the order in which they are finalised.

    ``detections`` and ``groups`` are where those begin that are finalised together, and within
    these those of which the best are taken; ``alike`` where, within a group, the next best begin.
    """

    members: Index
    first: Index
    """The event that each match began with."""
    detections: Mask
    groups: Mask
    alike: Mask


def _in_order(policy: Policy, matches: Sequence[Match], numbered: _Numbered) -> tuple[_Rows, Index]:
    """The matches as they are finalised, and where each stood before."""
    members, width = numbered.members, numbered.members.shape[1]
    ends = np.concatenate([match.time(match.prepared.conjunct.head.end) for match in matches])
    terminator = _extreme(members, numbered.ends, last=True)
    initiator = _extreme(members, numbered.starts, last=False)
    free: list[Index] = [np.zeros(0, dtype=np.int64)] * width
    preferred: list[Index] = [np.zeros(0, dtype=np.int64)] * width
    choices = np.concatenate(
        [
            np.broadcast_to(_choices(policy, slots, width), (match.length, width))
            for match, slots in zip(matches, numbered.slots, strict=True)
        ]
    )
    for slot in range(width):
        column, choice = members[:, slot], choices[:, slot]
        free[slot] = np.where(choice == 0, column, NO_EVENT)
        # Where one match has no further repetition and another has, the other comes first.
        there = np.where(column == NO_EVENT, len(numbered.starts), column)
        backwards = np.where(column == NO_EVENT, 1, -column)
        preferred[slot] = np.where(choice == 1, there, np.where(choice == -1, backwards, 0))
    order = np.lexsort((*reversed(preferred), *reversed(free), terminator, ends))
    detections = _changes([ends[order], terminator[order]])
    groups = detections | _changes([column[order] for column in free])
    alike = groups | _changes([column[order] for column in preferred])
    return _Rows(members[order], initiator[order], detections, groups, alike), order


def _choices(policy: Policy, slots: Sequence[_Slot], width: int) -> Index:
    """For each slot of a match: 1 to take the first, -1 the last, 0 for all, 2 for all as one."""
    code = {"all": 0, "first": 1, "last": -1, "cumulative": _ALL_AS_ONE}
    row = np.zeros(width, dtype=np.int64)
    for number, slot in enumerate(slots):
        row[number] = code[policy.choice_of(slot.label)]
    return row


def _extreme(members: Index, times: Index, last: bool) -> Index:
    """The member with the latest (or earliest) time; of several, that of the later atom."""
    best = members[:, 0]
    for slot in range(1, members.shape[1]):
        other = members[:, slot]
        better = times[other] >= times[best] if last else times[other] < times[best]
        better &= other != NO_EVENT
        best = np.where(better | (best == NO_EVENT), other, best)
    return best


def _changes(columns: Sequence[Index]) -> Mask:
    """Where rows begin that differ from the one before."""
    mask = np.zeros(len(columns[0]), dtype=np.bool_)
    mask[:1] = True
    for column in columns:
        mask[1:] |= column[1:] != column[:-1]
    return mask


def _consuming(policy: Policy, rows: _Rows, numbered: _Numbered) -> tuple[Mask, Mask]:
    """The matches that count where events are used up, and which events are used up now."""
    from thence.engine.arrays.kernels import consume  # noqa: PLC0415 (compiles; few rules need it)

    spent = numbered.spent.copy()
    kept = consume(
        rows.members,
        rows.first,
        rows.detections,
        rows.groups,
        rows.alike,
        spent,
        policy.consumption == "exclusive",
    )
    return kept, spent & ~numbered.spent


def _spend(numbered: _Numbered, spent: Mask, used: Used) -> None:
    """Add events that are used up to those that were before."""
    for event, table in numbered.tables.items():
        fresh = take(table, spent[numbered.numbers[event]])
        if len(fresh):
            known = [used[event]] if event in used else []
            used[event] = distinct(concat([*known, fresh]))
