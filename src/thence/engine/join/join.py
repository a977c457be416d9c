"""Matching a conjunct's positive atoms: a left-deep join of range searches, set at a time.

What is bound when, and how, is what the plan's :class:`Order` says of the rows at hand. Each step
narrows the next atom by key and by the time range that the closed bounds allow, checks what a range
cannot express, and drops at once what cannot change the answer. That keeps the work near events
plus results, whatever the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from time import perf_counter
from typing import TypeAlias

import numpy as np

from thence.engine.arrays.array_types import Codes, Index, Mask
from thence.engine.arrays.codes import combine, join_codes, own_codes
from thence.engine.arrays.ranges import CACHED, key_order
from thence.engine.arrays.rows import is_points, take
from thence.engine.arrays.step_memo import remembered
from thence.engine.join.lookup import narrowed
from thence.engine.join.match import Match, concat_matches
from thence.engine.join.neighbours import Neighbours, Reached
from thence.engine.join.search import (
    SMALL,
    Candidates,
    Key,
    holds,
    length_classes,
    search,
    time_range,
    unsettled,
)
from thence.engine.join.shape_search import Located, by_values
from thence.engine.limits.growth import JOIN_ADVICE, Growth, expect, named
from thence.engine.limits.measure import Joined, measured
from thence.logic.bounds import Constraint
from thence.logic.conjunct import EPOCH
from thence.model.events import Events
from thence.plan.order import FEW, Order, Size, Step, order, semi_join
from thence.plan.prepared import Prepared
from thence.plan.statistics import UNKNOWN, Statistics, size

Found: TypeAlias = Candidates | Reached | Located
"""What a search gives: the rows that may continue each row of a match."""

MANY = 1 << 18
"""So many candidates are looked through sooner than another way is found."""


class TooManyCandidates(Exception):
    """A step of a join has more candidates than another way to the same matches would take."""


class Crowded(Exception):
    """A chunk of a join gives more rows than a chunk may have."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a join is cut into chunks: about so many matches at a time, where ``tied`` allows it.

    ``tied`` takes the rows of the atom that the join begins with, and that atom. It gives them in
    the order in which they may be cut, and up to before which of them a chunk may reach; None for
    any.
    """

    rows: int
    tied: Callable[[Match, int], tuple[Match, Index | None]]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How many candidates a step may have where there is another way: a number, or so many for each
    partial match, whichever is more."""

    rows: int
    each: int = 0

    def is_passed(self, candidates: int, matches: int) -> bool:
        return candidates > max(self.rows, self.each * matches)


SPLIT = Ceiling(MANY, FEW)
"""Above it a join is split by its ends, if it can be."""


def joins(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    keep_all: bool = False,
    most: Ceiling | None = None,
    term: int = -1,
    known: Statistics = UNKNOWN,
) -> Iterator[Match]:
    """The same as :func:`join`, in parts if that takes less: where many combinations of events have
    their first and their last one in common, and nothing else is asked of them. What it did is
    added to the figures of a ``term``; ``known`` is what is known of the events beforehand."""
    figures = measured(prepared).term(term)
    split = most is None and not keep_all
    began = perf_counter()
    try:
        ceiling = SPLIT if split else most
        parts = [join(prepared, rels, limits, keep_all, ceiling, figures, known)]
    except TooManyCandidates:
        if not split:
            raise
        parts = [
            join(each, rels, limits, figures=figures, known=known) for each in prepared.by_ends
        ]
    finally:
        figures.seconds += perf_counter() - began
    yield from (part for part in parts if part is not None)


def join(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    keep_all: bool = False,
    most: Ceiling | None = None,
    figures: Joined | None = None,
    known: Statistics = UNKNOWN,
) -> Match | None:
    """All matches of the positive atoms over the given relations, or None where there are none.

    ``rels`` has a relation per atom of the conjunct. ``limits`` are more constraints, such as the
    horizon. With ``keep_all`` every combination is kept, as provenance needs it. Where a step
    passes the ceiling ``most``, and there is another way, :class:`TooManyCandidates` is raised.
    """
    if not prepared.conjunct.positive:
        return Match(prepared, rels, 1, {})
    found = _ordered(prepared, rels, limits, keep_all, known)
    if found is None:
        return None
    return _Join(prepared, *found, most, Joined() if figures is None else figures).run()


def join_in_chunks(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    cut: Cut,
    term: int = -1,
    known: Statistics = UNKNOWN,
) -> Iterator[Match]:
    """The same matches as those of :func:`join`, a chunk at a time: those of some rows of the atom
    that the join begins with, then those of the next ones. There is at least one such atom."""
    figures = measured(prepared).term(term)
    found = _ordered(prepared, rels, limits, False, known)
    if found is not None:
        yield from _Join(prepared, *found, None, figures).in_chunks(cut)


def _ordered(
    prepared: Prepared,
    rels: Sequence[Events],
    limits: Sequence[Constraint],
    keep_all: bool,
    known: Statistics,
) -> tuple[Sequence[Events], Order] | None:
    """The rows that a join is over, and how it goes; None where there are no matches."""
    positive = prepared.conjunct.positive
    if any(len(rels[atom]) == 0 for atom in positive):
        return None
    rels = narrowed(prepared, rels)
    if prepared.demand is not None:
        rels = asked_for(prepared, rels)
    if any(len(rels[atom]) == 0 for atom in positive):
        return None
    found = order(prepared, sizes(prepared, rels, known), limits, keep_all)
    return None if found is None else (rels, found)


def sizes(
    prepared: Prepared, rels: Sequence[Events], known: Statistics = UNKNOWN
) -> dict[int, Size]:
    """What an order is chosen by: the sizes of the relations of the positive atoms, none of which
    is empty."""
    return {
        atom: size(rels[atom], known.distinct(prepared.uses[atom].event))
        for atom in prepared.conjunct.positive
    }


def asked_for(prepared: Prepared, rels: Sequence[Events]) -> Sequence[Events]:
    """Large relations less the rows that no asker can meet by the bounds and equal columns."""
    demand = prepared.demand
    assert demand is not None
    found = list(rels)
    for atom in prepared.conjunct.events:
        if atom != demand.atom and len(found[atom]) > max(SMALL, len(found[demand.atom])):
            found[atom] = take(found[atom], met(prepared, found, demand.atom, atom))
            if len(found[atom]) == 0:
                break
    return found


def met(prepared: Prepared, rels: Sequence[Events], asker: int, atom: int) -> Mask:
    """Which rows of an atom some row of an asker can meet: a semi-join, by time and then by key.

    Ranges are united, so it costs the rows on both sides, however many pairs there are. Where a
    range cannot say all, rows stay that are not met.
    """
    mask = np.zeros(len(rels[atom]), dtype=np.bool_)
    found = semi_join(prepared, sizes(prepared, rels), asker, atom)
    if found is None:
        return mask
    first, then = found.steps
    for keyed in (False, True) if then.links else (False,):
        kept = np.flatnonzero(mask) if keyed else np.arange(len(mask))
        some = [take(rel, kept) if keyed and a == atom else rel for a, rel in enumerate(rels)]
        mask[:] = False
        join = _Join(prepared, some, found, None, Joined())
        match = join.begin(first)
        if match.length == 0 or len(kept) == 0:
            break
        for candidates in join.searches(match, then if keyed else replace(then, links=())):
            mask[kept[_united(candidates)]] = True
    return mask


def _united(candidates: Found) -> Index:
    """The rows that lie in some range."""
    assert isinstance(candidates, Candidates)
    some = candidates.first < candidates.last
    changes = np.zeros(candidates.index.size + 1, dtype=np.int64)
    np.add.at(changes, candidates.first[some], 1)
    np.add.at(changes, candidates.last[some], -1)
    return candidates.index.at(np.flatnonzero(np.cumsum(changes[:-1]) > 0))


class _Join:
    """One run of a join; holds what its steps share."""

    def __init__(
        self,
        prepared: Prepared,
        rels: Sequence[Events],
        order: Order,
        most: Ceiling | None,
        figures: Joined,
    ) -> None:
        self.prepared = prepared
        self.rels = rels
        self.order = order
        self.bounds = order.bounds
        self.most = most
        self.figures = figures
        self.codes: dict[int, tuple[dict[int, Codes], int]] = {}
        self.bound: list[int] = []
        self.room: int | None = None
        self.neighbours = Neighbours(prepared, rels)

    def run(self) -> Match | None:
        return self.continued(self.begun())

    def in_chunks(self, cut: Cut) -> Iterator[Match]:
        """The matches of some rows of the first atom, then those of the next. Chunks grow as long
        as they give little; one that gives too much is halved, unless it is one row, or rows that
        belong together."""
        began = perf_counter()
        whole = self.begun()
        if not whole.length:
            return
        whole, ends = cut.tied(whole, self.order.steps[0].atom)
        count = whole.length if ends is None else len(ends)
        expected = whole.length * prod(self.order.grown[1:])
        size = max(1, int(count * cut.rows / max(expected, cut.rows)))
        done = 0
        while done < count:
            stop = min(done + size, count)
            if ends is None:
                first, last = done, stop
            else:
                first, last = int(ends[done - 1]) if done else 0, int(ends[stop - 1])
            self.room = cut.rows if stop - done > 1 else None
            try:
                match = self.continued(whole.take(np.arange(first, last)))
            except Crowded:
                size = (stop - done) // 2
                continue
            finally:
                self.figures.seconds += perf_counter() - began
                began = perf_counter()
            found, done = 0 if match is None else match.length, stop
            if 2 * found <= cut.rows:
                size = min(2 * size, count)
            if match is not None:
                yield match
                began = perf_counter()

    def begun(self) -> Match:
        """The first atom, and what is noted of a join when it begins."""
        steps = self.order.steps
        self.figures.begin(steps, sum(len(self.rels[step.atom]) for step in steps))
        return self.begin(steps[0])

    def continued(self, match: Match) -> Match | None:
        """Rows of the first atom with all the others bound to what goes with them."""
        first, *others = self.order.steps
        self.bound = [first.atom]
        for step in others:
            if not match.length:
                return None
            match = self.step(match, step)
        self.figures.matches += match.length
        return match if match.length else None

    def check_room(self, rows: int) -> None:
        """Give up a chunk that gets more rows than it may have."""
        if self.room is not None and rows > self.room:
            raise Crowded

    def begin(self, step: Step) -> Match:
        """The first atom: all its rows that can be in a match at all."""
        atom = step.atom
        use, rel = self.prepared.uses[atom], self.rels[atom]
        keep = np.ones(len(rel), dtype=np.bool_)
        for node, times in ((use.start, rel.start), (use.end, rel.end)):
            latest, earliest = self.bounds[node, EPOCH], -self.bounds[EPOCH, node]
            if latest < times.max():
                keep &= times <= latest
            if earliest > times.min():
                keep &= times >= earliest
        rows = self.by_key(atom, keep)
        self.bound.append(atom)
        self.figures.candidates += len(rows)
        match = Match(self.prepared, self.rels, len(rows), {atom: rows})
        mask = holds(match, step.constraints, step.predicates)
        return match if mask is None else match.where(mask)

    def by_key(self, atom: int, keep: Mask) -> Index:
        """Some rows, where these are many in the order of a key they will be joined on: the
        searches that follow then walk through their indexes instead of jumping about in them."""
        rows = np.flatnonzero(keep)
        for number, link in enumerate(self.prepared.conjunct.links):
            if len(rows) > CACHED and any(column.atom == atom for column in link):
                by_atom, groups = self.link_codes(number)
                codes, start = by_atom[atom], self.rels[atom].start
                if 2 * len(rows) < len(keep):
                    rows = rows[codes[rows] >= 0]
                    return rows[key_order(codes[rows], groups, start[rows])]
                whole = remembered(
                    "order", (codes, start), (groups,), partial(key_order, codes, groups, start)
                )
                keep &= codes >= 0
                return whole if keep.all() else whole[keep[whole]]
        return rows

    def step(self, match: Match, step: Step) -> Match:
        """Bind one more atom."""
        atom, bound = step.atom, tuple(self.bound)
        found = list(self.searches(match, step))
        searches = [self.narrowed(match, step, each, len(found)) for each in found]
        self.look_out(match, step, searches)
        self.bound.append(atom)
        parts = []
        held, width = 0, 8 * (len(self.bound) + 2)
        for candidates in searches:
            constraints = unsettled(step.constraints, candidates.exact, step.settled)
            if isinstance(candidates, Candidates) and not constraints and not step.predicates:
                # The ranges say it all, so there is no need to have them to know how many rows they
                # hold, or which of them is the first.
                candidates = self.witnessed(step, candidates)
                self.check_room(held + candidates.count)
                expect(held + candidates.count, width, lambda: self.growth(bound, atom))
            for probes, rows in candidates.pairs():
                self.figures.candidates += len(rows)
                longer = match.extend(probes, atom, rows)
                mask = holds(longer, constraints, step.predicates)
                if mask is not None:
                    kept = np.flatnonzero(mask)
                    longer = match.extend(probes[kept], atom, rows[kept])
                    probes = probes[kept]
                if longer.length:
                    parts.append(self.witnesses(longer, step, probes))
                    held += parts[-1].length
                    self.check_room(held)
                    expect(held, width, lambda: self.growth(bound, atom))
        if not parts:
            return Match(self.prepared, self.rels, 0, {})
        return concat_matches(parts, self.bound)

    def narrowed(self, match: Match, step: Step, candidates: Found, searches: int) -> Found:
        """Candidates less those that have another of their kind between them and a bound event,
        which must not be. That is told by their ends, where one search finds all of them."""
        if isinstance(candidates, Candidates) and searches == 1:
            if self.prepared.uses[step.atom].end in candidates.exact:
                for side in step.nearest:
                    candidates = candidates.outermost(side)
        if step.foremost and searches == 1 and not isinstance(candidates, Located):
            if not unsettled(step.constraints, self.points(step.atom), step.settled):
                candidates = candidates.outermost("first")
        return candidates

    def look_out(self, match: Match, step: Step, searches: Sequence[Found]) -> None:
        """Signal that there are many candidates for each partial match, if there is another way."""
        if self.most is None or step.witness != "all":
            return
        count = sum(each.count for each in searches if isinstance(each, Candidates))
        if self.most.is_passed(count, match.length):
            if self.most is not SPLIT or self.prepared.by_ends:
                raise TooManyCandidates

    def witnessed(self, step: Step, candidates: Candidates) -> Candidates:
        """Ranges that say it all, less the rows that cannot be the witness."""
        told = step.asked in candidates.exact
        if step.witness == "any" or (step.witness == "earliest" and told):
            return replace(candidates, last=np.minimum(candidates.first + 1, candidates.last))
        if step.witness == "latest" and told:
            return replace(candidates, first=np.maximum(candidates.first, candidates.last - 1))
        return candidates

    def growth(self, bound: Sequence[int], atom: int) -> Growth:
        """What a step makes grow, for a message."""
        ours, other = named(self.prepared, bound), named(self.prepared, [atom])
        return Growth(f"joining {ours} with {other}", JOIN_ADVICE)

    def points(self, atom: int) -> frozenset[int]:
        """The nodes of an atom, if its events are instants."""
        use = self.prepared.uses[atom]
        return frozenset((use.start, use.end)) if is_points(self.rels[atom]) else frozenset()

    def searches(self, match: Match, step: Step) -> Iterator[Found]:
        """The searches for an atom's rows: one, or one for each class of lengths."""
        atom = step.atom
        rel, use = self.rels[atom], self.prepared.uses[atom]
        if step.strategy == "chain":
            least, most = time_range(match, atom, use.start, step.times, self.bounds)
            ahead = self.neighbours.is_last(atom)
            yield self.neighbours.reached(match, atom, most if ahead else least)
            return
        key = self.key(match, step)
        found = by_values(match, atom, step.values, step.place, key)
        if found is not None:
            yield found
            return
        classes = length_classes(rel)
        if not classes:
            yield search(match, atom, step.times, self.bounds, step.open, key)
        for rows in classes:
            lengths = rel.end[rows] - rel.start[rows]
            bounds = self.bounds.with_constraints(
                [
                    Constraint(use.end, use.start, int(lengths.max())),
                    Constraint(use.start, use.end, -int(lengths.min())),
                ]
            )
            yield search(match, atom, step.times, bounds, step.open, key, rows)

    def key(self, match: Match, step: Step) -> Key | None:
        """Codes of the columns that must be equal, for the match and for the atom's rows."""
        if not step.links:
            return None
        probes, rows, sizes = [], [], []
        for number in step.links:
            codes, size = self.link_codes(number)
            partner = next(a for a in self.bound if a in codes)
            probes.append(codes[partner][match.rows(partner)])
            rows.append(codes[step.atom])
            sizes.append(size)
        if len(step.links) == 1:
            return Key(probes[0], rows[0], sizes[0])
        together = [
            (np.concatenate([p, r]), size) for p, r, size in zip(probes, rows, sizes, strict=True)
        ]
        codes_, groups = combine(together)
        return Key(codes_[: match.length], codes_[match.length :], groups)

    def link_codes(self, number: int) -> tuple[dict[int, Codes], int]:
        found = self.codes.get(number)
        if found is None:
            link = self.prepared.conjunct.links[number]
            columns = [self.rels[c.atom].columns[c.name] for c in link]
            codes, size = join_codes(columns)
            if len({self.prepared.repeated.get(c.atom, -1 - c.atom) for c in link}) == 1:
                # One repetition alone has nothing to agree with, whatever its value is.
                codes = [own_codes(each, size, np.arange(len(each))) for each in codes]
                size += max(map(len, columns))
            by_atom = {c.atom: code for c, code in zip(link, codes, strict=True)}
            found = self.codes[number] = (by_atom, size)
        return found

    def witnesses(self, match: Match, step: Step, probes: Index) -> Match:
        """One row per partial match where one is enough; ``probes`` is sorted."""
        if step.witness == "all" or match.length < 2:
            return match
        begins = np.flatnonzero(np.concatenate(([True], probes[1:] != probes[:-1])))
        if len(begins) == match.length:
            return match
        if step.witness == "any":
            return match.take(begins)
        times = match.time(step.asked)
        reduce = np.minimum if step.witness == "earliest" else np.maximum
        best = np.repeat(reduce.reduceat(times, begins), np.diff(np.append(begins, match.length)))
        hits = np.flatnonzero(times == best)
        groups = np.searchsorted(begins, hits, "right")
        return match.take(hits[np.concatenate(([True], groups[1:] != groups[:-1]))])
