"""Windows of a match: what must be absent from them, and what lies in them.

Both are the same search as a join step, against bounds that place the windowed atom relative to
the match; absence keeps the rows for which nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TypeGuard

import numpy as np

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.codes import combine, join_codes, own_codes
from thence.engine.arrays.rows import is_points, take
from thence.engine.join.lookup import having
from thence.engine.join.match import Match
from thence.engine.join.search import Candidates, Key, holds, search, unsettled
from thence.engine.join.shape_search import by_values
from thence.engine.limits.growth import Growth, expect, listed
from thence.engine.values.evaluate import evaluate
from thence.logic.bounds import Constraint
from thence.logic.conjunct import EPOCH, Column, WindowUse
from thence.logic.expr import Call, Expr
from thence.model.events import Events
from thence.plan.prepared import TICK, Prepared
from thence.plan.value_ranges import ways_into_window


def is_asked(window: WindowUse) -> bool:
    """Whether what lies in a window decides whether there is a match: nothing may lie in it, or
    something that is collected must."""
    return window.mode == "absent" or (window.mode == "collect" and not window.optional)


def satisfied(match: Match, window: WindowUse) -> Mask:
    """Which rows of a match have in their window what :func:`is_asked`."""
    if window.mode == "absent":
        return certainly_lacking(match, window)
    return ~lacking(match, window)


def lacking(match: Match, window: WindowUse) -> Mask:
    """Which rows of a match have nothing in their window."""
    free = np.ones(match.length, dtype=np.bool_)
    if len(match.rels[window.atom]) == 0 or match.length == 0:
        return free
    asked = holds(match, (), _of_match(match, window))
    rows = np.arange(match.length) if asked is None else np.flatnonzero(asked)
    probing = _probing(match if asked is None else match.take(rows), window)
    if len(probing.rels[window.atom]) and probing.length:
        free[rows] = ~having_any(probing, WindowSearch(probing, window))
    return free


def certainly_lacking(match: Match, window: WindowUse) -> Mask:
    """Which rows of a match have nothing in their window that is certain to have happened."""
    possible = match.rels[window.atom].possible
    if possible is None:
        return lacking(match, window)
    return lacking(_looking_at(match, window, np.flatnonzero(~possible)), window)


def blockers(match: Match, window: WindowUse) -> tuple[Match, Index, Index]:
    """What may or may not have happened in the window of each row of a match: pairs of a row, and a
    row of the windowed relation of the match that is given with them."""
    possible = match.rels[window.atom].possible
    none = np.empty(0, dtype=np.int64)
    if possible is None or not possible.any() or not match.length:
        return match, none, none
    probing = _looking_at(match, window, np.flatnonzero(possible))
    asked = holds(probing, (), _of_match(probing, window))
    rows = np.arange(probing.length) if asked is None else np.flatnonzero(asked)
    found, members = WindowSearch(probing.take(rows), window).all()
    return probing, rows[found], members


def _looking_at(match: Match, window: WindowUse, rows: Index) -> Match:
    """The match with only some rows of the windowed relation."""
    return _with(match, window, take(match.rels[window.atom], rows))


def _with(match: Match, window: WindowUse, rows: Events) -> Match:
    """The match with another windowed relation."""
    rels = [rows if atom == window.atom else rel for atom, rel in enumerate(match.rels)]
    return Match(match.prepared, rels, match.length, {}, match, np.arange(match.length))


def having_any(match: Match, search_: WindowSearch) -> Mask:
    """Which rows of a match have something in their window; ranges that say it all need no look at
    what they hold."""
    if search_.exact:
        return search_.candidates.first < search_.candidates.last
    found = np.zeros(match.length, dtype=np.bool_)
    for probes, _ in search_.found():
        found[probes] = True
    return found


def _probing(match: Match, window: WindowUse) -> Match:
    """The match with only those rows of a large table that few of its rows can meet."""
    rows = match.rels[window.atom]
    if not match.prepared.uses[window.atom].fact:
        return match
    for name, expr in window.links:
        rows = having(rows, name, evaluate(expr, match.leaf, match.length))
    return _with(match, window, rows)


def lies_inside(match: Match, window: WindowUse, rows: Index) -> Mask:
    """For each row of a match, whether one row of the windowed relation, which is the first or the
    last of the repetition in it, lies in its window."""
    longer = match.extend(np.arange(match.length), window.atom, rows)
    equal = [
        Call("=", (Column(window.atom, name), expr))
        for name, expr in window.links
        if not is_own(expr, match, window)
    ]
    constraints = match.prepared.reduced(window.constraints)
    mask = holds(longer, constraints, [*_between(match, window), *equal])
    return np.ones(match.length, dtype=np.bool_) if mask is None else mask


def _of_match(match: Match, window: WindowUse) -> list[Expr]:
    """The predicates of a window that read the match alone: where they do not hold, nothing need be
    looked for."""
    prepared = match.prepared
    return [p for p in window.predicates if window.atom not in prepared.atoms_of(prepared.reads(p))]


def is_own(expr: Expr, match: Match, window: WindowUse) -> TypeGuard[Column]:
    """Whether what a link asks for is of an event of the repetition itself."""
    return isinstance(expr, Column) and match.prepared.repeated.get(expr.atom) == window.atom


def _between(match: Match, window: WindowUse) -> list[Expr]:
    """The predicates of a window that read more than its own atom."""
    prepared = match.prepared
    return [p for p in window.predicates if prepared.atoms_of(prepared.reads(p)) != {window.atom}]


class WindowSearch:
    """The search for a windowed atom, for every row of a match at once."""

    def __init__(self, match: Match, window: WindowUse) -> None:
        self.match = match
        self.window = window
        prepared = match.prepared
        use, rel = prepared.uses[window.atom], match.rels[window.atom]
        lengths = rel.end - rel.start if len(rel) and not is_points(rel) else np.zeros(1, np.int64)
        bounds = window.bounds.with_constraints(
            [
                Constraint(use.end, use.start, int(lengths.max())),
                Constraint(use.start, use.end, -int(lengths.min())),
            ]
        )
        nodes = _match_nodes(prepared)
        key, self.predicates = window_key(match, window)
        asked = prepared.reduced(window.constraints)
        self.candidates: Candidates = search(match, window.atom, nodes, bounds, asked, key)
        self.constraints = unsettled(asked, self.candidates.exact, frozenset((EPOCH, *nodes)))
        self.looked_up = by_values(match, window.atom, *ways_into_window(prepared, window), key)

    @property
    def exact(self) -> bool:
        """Whether the ranges say it all."""
        return not self.constraints and not self.predicates

    def take(self, match: Match, rows: Index) -> WindowSearch:
        """The same search for some rows of its match, which ``match`` is."""
        assert self.looked_up is None  # rows of tables are absent, and never collected
        found = copy(self)
        found.match, found.candidates = match, self.candidates.take(rows)
        return found

    def all(self) -> tuple[Index, Index]:
        """The same as :meth:`found`, in one go; a :class:`LimitError` where that is too much."""
        if self.exact:
            expect(self.candidates.count, 32, self._growth)
        rows, members, held = [], [], 0
        for some, found in self.found():
            rows.append(some)
            members.append(found)
            held += len(some)
            expect(held, 16, self._growth)
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *rows]), np.concatenate([none, *members])

    def _growth(self) -> Growth:
        what = listed(self.match.prepared, [self.window.atom], "listing")
        return Growth(f"{what} in its window", "make the window shorter, or its key finer")

    def found(self) -> Iterator[tuple[Index, Index]]:
        """Chunks of (row of the match, row of the windowed relation) for what lies inside."""
        for probes, rows in (self.looked_up or self.candidates).pairs():
            longer = self.match.extend(probes, self.window.atom, rows)
            mask = holds(longer, self.constraints, self.predicates)
            if mask is None:
                yield probes, rows
            else:
                kept = np.flatnonzero(mask)
                if len(kept):
                    yield probes[kept], rows[kept]


def window_key(match: Match, window: WindowUse) -> tuple[Key | None, list[Expr]]:
    """Codes of the columns of a windowed atom that must be equal to something in the match, and
    what else must hold of the two. Links of unlike types become predicates."""
    rel = match.rels[window.atom]
    predicates = _between(match, window)
    pairs = []
    for name, expr in window.links:
        values = evaluate(expr, match.leaf, match.length)
        if values.type == rel.columns[name].type:
            codes, size = join_codes([values, rel.columns[name]])
            if is_own(expr, match, window):
                # What is null in one repetition is so in no other.
                rows = (match.rows(expr.atom), np.arange(len(rel)))
                codes = [own_codes(c, size, r) for c, r in zip(codes, rows, strict=True)]
                size += len(rel)
            pairs.append((np.concatenate(codes), size))
        else:
            predicates.append(Call("=", (Column(window.atom, name), expr)))
    if not pairs:
        return None, predicates
    joined, groups = combine(pairs) if len(pairs) > 1 else pairs[0]
    return Key(joined[: match.length], joined[match.length :], groups), predicates


def _match_nodes(prepared: Prepared) -> list[int]:
    """All nodes that have a time once the positive atoms are bound."""
    positive = frozenset((*prepared.conjunct.positive, TICK))
    return [
        node
        for node in range(1, len(prepared.conjunct.nodes))
        if prepared.base(node) == (node, 0) and prepared.node_atoms(node) <= positive
    ]
