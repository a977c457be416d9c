"""The partial matches of a rule that are in progress, found among the events that are remembered.

A set of parts after another (``plan/partial.py``), the largest first: the join of the parts, less
what events that must be absent have ruled out, less what is a part of something larger that is open
or complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.rows import take
from thence.engine.join.join import join
from thence.engine.join.match import Match
from thence.engine.join.search import holds
from thence.engine.limits.growth import working_on
from thence.engine.window.completion import passed
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import Column, WindowUse
from thence.logic.expr import Expr
from thence.model.arrow import to_numpy
from thence.model.errors import LimitError
from thence.model.events import Events
from thence.plan.partial import Partial, partials
from thence.plan.prepared import Prepared

SETS = 1 << 9
"""So many sets of parts of one rule are looked at, at most."""

_ROW = "#row"
"""A column of facts that says which row each is: a join may leave out others before it begins."""


@dataclass(frozen=True, slots=True)
class Open:
    """The partial matches in progress that have the same parts, a row for each."""

    partial: Partial
    match: Match


def is_told(rule: Prepared) -> str | None:
    """Why it cannot be told how far a rule has come; None where it can."""
    if rule.conjunct.repetitions:
        return "it repeats a pattern"
    if rule.ticks:
        return "it is periodic"
    if not rule.conjunct.events:
        return "it is made of no events"
    return None


def open_matches(
    rule: Prepared,
    rels: Sequence[Events],
    after: Mapping[int, int],
    finalised: int,
    lengths: Mapping[str, int],
) -> list[Open]:
    """The partial matches of a rule that are in progress.

    ``rels`` has the events that have been seen, for each atom, each once. Those that are to come
    end later than ``after`` says, and last no longer than ``lengths`` says. Matches whose
    completion times are no later than ``finalised`` are done.
    """
    working_on(rule)
    rels = [_numbered(rel) if use.fact else rel for rel, use in zip(rels, rule.uses, strict=True)]
    events = rule.conjunct.events
    spans = {a: (int(rels[a].start.min()), int(rels[a].end.max())) for a in events if len(rels[a])}
    sets = list(islice(partials(rule, spans, after, lengths), SETS + 1))
    if len(sets) > SETS:
        raise LimitError(
            f"the parts of '{rule.conjunct.event}' may come in more than {SETS:,} orders",
            "say in which order they come ('seq'), or split the rule into several",
            rule=rule.conjunct.event,
            span=rule.conjunct.span,
        )
    found: list[Open] = []
    known: list[tuple[frozenset[int], dict[int, Index]]] = []
    for partial in sorted(sets, key=lambda each: -len(each.parts)):
        match = join(partial.join(), rels, (), keep_all=True)
        if match is not None:
            match = _not_ruled_out(_where(match, partial.implied), partial, rels)
        if match is None or not match.length:
            continue
        ids = {atom: _ids(match, atom) for atom in partial.atoms}
        left = np.ones(match.length, dtype=np.bool_)
        if not partial.missing:
            left = ~passed(
                Match(rule, rels, match.length, {}, match, _every(match)), None, finalised
            )
        for atoms, theirs in known:
            if atoms > partial.atoms:
                left &= ~_among(ids, theirs)
        known.append((partial.atoms, ids))
        if left.any():
            found.append(Open(partial, match.where(left)))
    return found


def _where(match: Match, predicates: Sequence[Expr]) -> Match:
    """The rows for which predicates hold."""
    mask = holds(match, (), predicates)
    return match if mask is None else match.where(mask)


def _every(match: Match) -> Index:
    return np.arange(match.length)


def _numbered(facts: Events) -> Events:
    """Facts that say which row each of them is."""
    columns = {**facts.columns, _ROW: pa.array(np.arange(len(facts)))}
    return Events(facts.start, facts.end, columns, facts.possible)


def _ids(match: Match, atom: int) -> Index:
    """What an atom is bound to in each row, whatever else was left out of its relation."""
    if not match.prepared.uses[atom].fact:
        return match.rows(atom)
    found: Index = to_numpy(match.column(Column(atom, _ROW)))
    return found


def _among(ids: Mapping[int, Index], others: Mapping[int, Index]) -> Mask:
    """Which rows are a part of some of the others."""
    atoms = sorted(ids)
    mine = np.stack([ids[atom] for atom in atoms], axis=1)
    theirs = np.unique(np.stack([others[atom] for atom in atoms], axis=1), axis=0)
    together = np.concatenate([theirs, mine])
    _, codes = np.unique(together, axis=0, return_inverse=True)
    return np.isin(codes.ravel()[len(theirs) :], codes.ravel()[: len(theirs)])


def _not_ruled_out(match: Match, partial: Partial, rels: Sequence[Events]) -> Match:
    """Partial matches less those that can never be completed, since something has been seen that
    then lies where nothing may."""

    def alike(one: Column, other: Column) -> bool:
        return bool(
            rels[one.atom].columns[one.name].type == rels[other.atom].columns[other.name].type
        )

    for window in partial.whole.conjunct.windows:
        if window.mode != "absent" or not len(rels[window.atom]) or not match.length:
            continue
        found = partial.ruled_out(window, alike)
        if found is None:
            continue
        prepared, predicates = found
        seen = rels[window.atom]
        if seen.possible is not None:
            seen = take(seen, ~seen.possible)
        looked_at = [seen if atom == window.atom else rel for atom, rel in enumerate(rels)]
        longer = join(prepared, looked_at, (), keep_all=True)
        if longer is None:
            continue
        longer = _where(longer, predicates)
        longer = longer.where(_certain(longer, partial, window))
        if longer.length:
            theirs = {atom: _ids(longer, atom) for atom in partial.atoms}
            mine = {atom: _ids(match, atom) for atom in partial.atoms}
            match = match.where(~_among(mine, theirs))
    return match


def _certain(match: Match, partial: Partial, window: WindowUse) -> Mask:
    """Which rows of a match with an event of a window have it there, whatever comes."""
    mask = np.ones(match.length, dtype=np.bool_)
    own = partial.atoms | {window.atom}
    for asked in window.constraints:
        latest = latest_time(match, partial, asked.later, own)
        earliest = earliest_time(match, partial, asked.earlier, own)
        if latest is None or earliest is None:
            if partial.bounds[asked.later, asked.earlier] > asked.limit:
                mask[:] = False
        else:
            between = np.minimum(latest - earliest, partial.bounds[asked.later, asked.earlier])
            mask &= between <= asked.limit
    return mask


def latest_time(
    match: Match, partial: Partial, node: int, own: frozenset[int] | None = None
) -> Index | None:
    """The time of a node in each row, or the latest that it may be; None where nothing says so.
    ``own`` are the atoms that are bound."""
    if partial.whole.node_atoms(node) <= (partial.atoms if own is None else own):
        return match.time(node)
    bounds = [(other, partial.bounds[node, other]) for other in partial.nodes]
    times = [match.time(other) + by for other, by in bounds if by < UNBOUNDED]
    return np.minimum.reduce(times) if times else None


def earliest_time(match: Match, partial: Partial, node: int, own: frozenset[int]) -> Index | None:
    """The time of a node in each row, or the earliest that it may be."""
    if partial.whole.node_atoms(node) <= own:
        return match.time(node)
    bounds = [(other, partial.bounds[other, node]) for other in partial.nodes]
    times = [match.time(other) - by for other, by in bounds if by < UNBOUNDED]
    return np.maximum.reduce(times) if times else None
