"""Variants as arrays, for the compiled search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Codes, Index, IntTable, Mask
from thence.engine.arrays.codes import join_codes
from thence.engine.policy.layout import BEGIN, LEVEL, SIZE, SKIPS, Places, Supply, Verdicts
from thence.engine.policy.ranking import ranks
from thence.engine.policy.variants import Level, Moments, Variant
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import EPOCH
from thence.model.events import Events

_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one level in the order of the search: by key, then by rank."""

    rows: Index
    keys: Index
    """The keys there are, in order, and where the rows of each begin."""
    begins: Index
    factors: tuple[int, ...]
    codes: Mapping[int, Codes]
    """For each link of the atom, the code that each row has."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What a search runs over. ``levels`` are those of all variants, one after another."""

    variants: Sequence[Variant]
    levels: Sequence[Rows]
    first: Index
    places: Places


@dataclass(slots=True)
class Maker:
    """Makes the arrays; ranks and codes are computed once for all variants."""

    _ranks: dict[int, Index] = field(default_factory=dict)
    _codes: dict[tuple[int, int], tuple[dict[int, Codes], int]] = field(default_factory=dict)

    def rank(self, rel: Events) -> Index:
        """The rows of a relation in the order of their ranks, each event once."""
        found = self._ranks.get(id(rel))
        if found is None:
            rank = ranks(rel)
            found = np.argsort(rank, kind="stable")
            repeated = np.append(False, rank[found][1:] == rank[found][:-1])[: len(found)]
            found = self._ranks[id(rel)] = found[~repeated] if repeated.any() else found
        return found

    def codes(self, variant: Variant, number: int) -> tuple[dict[int, Codes], int]:
        """Codes of the columns that a link holds equal, by atom, and how many there are."""
        at = (id(variant.rels), number)
        found = self._codes.get(at)
        if found is None:
            link = variant.prepared.conjunct.links[number]
            columns = [variant.rels[c.atom].columns[c.name] for c in link]
            codes, size = join_codes(columns)
            by_atom = {c.atom: code for c, code in zip(link, codes, strict=True)}
            found = self._codes[at] = (by_atom, size)
        return found

    def rows(self, variant: Variant, depth: int, moments: Moments) -> Rows | None:
        """The rows of a level; None where its key is too wide for one number."""
        level = variant.levels[depth]
        rel = variant.rels[level.atom]
        rows = self.rank(rel)
        keep = self.possible(variant, level)
        if keep is not None:
            rows = rows[keep[rows]]
        if depth == 0 and variant.conditional(0) and len(rows):
            rows = rows[variant.holding(0, {level.atom: rows}, len(rows), moments)]
        factors, key = self.key(variant, level)
        if factors is None:
            return None
        keys = begins = np.zeros(1, dtype=np.int64)
        if key is not None:
            key = key[rows]
            known = key >= 0
            if not known.all():
                rows, key = rows[known], key[known]
            small = len(key) > 0 and int(key.max()) < 1 << 16
            order = np.argsort(key.astype(np.uint16) if small else key, kind="stable")
            rows, key = rows[order], key[order]
            begins = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
            keys = key[begins]
        links = variant.prepared.conjunct.links
        mine = [n for n, link in enumerate(links) if any(c.atom == level.atom for c in link)]
        codes = {n: self.codes(variant, n)[0][level.atom][rows] for n in mine}
        return Rows(rows, keys, begins, factors, codes)

    def key(
        self, variant: Variant, level: Level
    ) -> tuple[tuple[int, ...], Codes | None] | tuple[None, None]:
        """What the codes of a level's links are multiplied with, and one code for all of them."""
        if not level.links:
            return (), None
        factors: list[int] = []
        factor = 1
        whole: Codes | None = None
        missing: Mask | None = None
        for number, _ in level.links:
            codes, size = self.codes(variant, number)
            own = codes[level.atom]
            factors.append(factor)
            whole = own * factor if whole is None else whole + own * factor
            missing = own < 0 if missing is None else missing | (own < 0)
            factor *= max(size, 1)
            if factor >= _LARGEST:
                return None, None
        assert whole is not None and missing is not None
        return tuple(factors), np.where(missing, -1, whole)

    def possible(self, variant: Variant, level: Level) -> Mask | None:
        """The rows that can be in a match by their own times; None where all can."""
        use, rel = variant.prepared.uses[level.atom], variant.rels[level.atom]
        bounds, start, end = variant.bounds, rel.start, rel.end
        keep = np.ones(len(rel), dtype=np.bool_)
        for other in variant.levels:
            for compared in other.comparisons:
                keep &= compared.known if compared.atom == level.atom else True
                keep &= compared.others_known if compared.other == level.atom else True
        for fence in level.fences:
            if fence.source == level.atom:
                times = end if fence.end else start
                keep &= times >= fence.values if fence.low else times <= fence.values
        if use.fact:
            return None if keep.all() else keep
        for node, times in ((use.start, start), (use.end, end)):
            keep &= (times <= bounds[node, EPOCH]) & (-times <= bounds[EPOCH, node])
        if start is not end:
            lengths = end - start
            keep &= (lengths <= bounds[use.end, use.start]) & (
                -lengths <= bounds[use.start, use.end]
            )
        return None if keep.all() else keep


def tables(
    variants: Sequence[Variant],
    moments: Moments,
    numbers: Mapping[int, Index] | None,
    consumption: str,
) -> Tables | None:
    """The arrays of some variants; ``numbers`` are those of events, by relation."""
    maker = Maker()
    levels: list[Rows] = []
    flat: list[tuple[Variant, int]] = []
    for variant in variants:
        for depth in range(len(variant.levels)):
            rows = maker.rows(variant, depth, moments)
            if rows is None:
                return None
            levels.append(rows)
            flat.append((variant, depth))
    first = np.concatenate(([0], np.cumsum([len(variant.levels) for variant in variants])))
    starts, ends, of = [], [], []
    for (variant, depth), own in zip(flat, levels, strict=True):
        rel = variant.rels[variant.levels[depth].atom]
        fact = variant.levels[depth].slot < 0
        starts.append(np.zeros(len(own.rows), np.int64) if fact else rel.start[own.rows])
        ends.append(starts[-1] if rel.start is rel.end or fact else rel.end[own.rows])
        of.append(starts[-1] if fact or numbers is None else numbers[id(rel)][own.rows])
    begins = _begins([len(own.rows) for own in levels])
    links: list[tuple[int, int, int]] = []
    link_counts: list[int] = []
    codes: list[Codes] = []
    at = 0
    for (variant, depth), own in zip(flat, levels, strict=True):
        base = len(link_counts) - depth
        link_counts.append(len(own.factors))
        for (number, partner), factor in zip(variant.levels[depth].links, own.factors, strict=True):
            theirs = levels[base + partner].codes[number]
            links.append((partner, at, factor))
            codes.append(theirs)
            at += len(theirs)
    fences = _Fences()
    comparisons = _Comparisons()
    for place, (variant, depth) in enumerate(flat):
        whole = levels[place - depth : place - depth + len(variant.levels)]
        fences.add(variant, depth, whole)
        comparisons.add(variant, depth, whole)
    deepest = max(len(variant.levels) for variant in variants)
    asked = np.zeros((len(flat), deepest), dtype=np.bool_)
    for place, (variant, depth) in enumerate(flat):
        asked[place, variant.involved(depth)] = True
    every = [variant.levels[depth] for variant, depth in flat]
    links_begin, fences_begin, compared_begin, keys_begin = (
        _begins(counts, more=True).tolist()
        for counts in (
            link_counts,
            fences.counts,
            comparisons.counts,
            [len(own.keys) for own in levels],
        )
    )
    described = [
        (
            begin,
            len(own.rows),
            level.mode,
            level.slot,
            level.choice,
            _skips(variant, depth, consumption),
            max((k + 1 for _, k in level.links), default=0),
            depth > 0 and variant.conditional(depth),
            *(begins[place] for begins in (links_begin, fences_begin, compared_begin, keys_begin)),
        )
        for place, (level, (variant, depth), own, begin) in enumerate(
            zip(every, flat, levels, begins.tolist(), strict=True)
        )
    ]
    ends_of_all = (links_begin[-1], fences_begin[-1], compared_begin[-1], keys_begin[-1])
    described.append((0,) * (LEVEL - 4) + ends_of_all)
    own_of = [(v.initiator, v.sharp) for v in variants]
    places = Places(
        _table(
            [(base, *own) for base, own in zip(first.tolist(), [*own_of, (0, 0)], strict=True)], 3
        ),
        _table(described, LEVEL),
        np.stack([_matrix(variant, deepest) for variant in variants]),
        asked,
        _joined(starts),
        _joined(ends),
        _joined(of),
        _table(links, 3),
        _joined(codes),
        _joined([own.keys for own in levels]),
        _joined([own.begins for own in levels]),
        _table(fences.found, 4),
        _joined(fences.values),
        _table(comparisons.found, 5),
        _joined(comparisons.numbers[0]),
        np.concatenate([np.zeros(0, dtype=np.float64), *comparisons.numbers[1]]),
    )
    return Tables(variants, levels, first, places)


class _Fences:
    """The fences of all levels, one after another."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.found: list[tuple[int, int, int, int]] = []
        self.values: list[Index] = []
        self.size = 0

    def add(self, variant: Variant, depth: int, own: Sequence[Rows]) -> None:
        """Take the fences of one more level; ``own`` are all levels of its variant."""
        level = variant.levels[depth]
        fences = [fence for fence in level.fences if fence.source != level.atom]
        self.counts.append(len(fences))
        for fence in fences:
            source = variant.depth(fence.source)
            self.found.append((source, self.size, fence.end, fence.low))
            self.values.append(fence.values[own[source].rows])
            self.size += len(self.values[-1])


class _Comparisons:
    """The comparisons of all levels, one after another."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.found: list[tuple[int, int, int, int, int]] = []
        self.numbers: tuple[list[Any], list[Any]] = ([], [])
        self.sizes = [0, 0]

    def add(self, variant: Variant, depth: int, own: Sequence[Rows]) -> None:
        """Take the comparisons of one more level; ``own`` are all levels of its variant."""
        level = variant.levels[depth]
        self.counts.append(len(level.comparisons))
        for compared in level.comparisons:
            other = variant.depth(compared.other)
            begins = []
            sides = (compared.values[own[depth].rows], compared.others[own[other].rows])
            for values in sides:
                begins.append(self.sizes[compared.real])
                self.sizes[compared.real] += len(values)
                self.numbers[compared.real].append(values)
            self.found.append((compared.sign, other, begins[0], begins[1], compared.real))


def supply(made: Tables, spent: Mask, consumption: str) -> Supply:
    """What is used up before a search begins."""
    places = made.places
    where = np.full((len(made.levels), len(spent)), -1, dtype=np.int64)
    trees, widths, parts = [], [], []
    at = 0
    for level in range(len(made.levels)):
        begin, size = int(places.levels[level, BEGIN]), int(places.levels[level, SIZE])
        skips = bool(places.levels[level, SKIPS])
        width = 1
        if skips:
            numbers = places.numbers[begin : begin + size]
            where[level, numbers] = np.arange(size)
            while width < size:
                width *= 2
            tree = np.zeros(2 * width, dtype=np.bool_)
            tree[width : width + size] = ~spent[numbers]
            half = width // 2
            while half:
                tree[half : 2 * half] = tree[2 * half : 4 * half].reshape(-1, 2).any(axis=1)
                half //= 2
            parts.append(tree)
        trees.append(at)
        widths.append(width)
        at += 2 * width if skips else 0
    return Supply(
        spent.copy(),
        where,
        np.concatenate(parts) if parts else np.zeros(1, dtype=np.bool_),
        np.array(trees, dtype=np.int64),
        np.array(widths, dtype=np.int64),
        consumption == "exclusive",
    )


def no_verdicts(size: int, width: int, requests: int) -> Verdicts:
    """An empty table of a size, which is a power of two."""
    return Verdicts(
        np.empty((size, width + 1), dtype=np.int64),
        np.zeros(size, dtype=np.int8),
        np.zeros(2, dtype=np.int64),
        np.empty(requests, dtype=np.int64),
    )


def _skips(variant: Variant, depth: int, consumption: str) -> bool:
    """Whether events that are used up cannot stand at a level."""
    if variant.levels[depth].slot < 0 or consumption == "shared":
        return False
    return consumption == "exclusive" or depth == variant.initiator


def _matrix(variant: Variant, deepest: int) -> Index:
    """The bounds between the ends of a variant's events, by level."""
    nodes: list[int | None] = []
    for level in variant.levels:
        use = variant.prepared.uses[level.atom]
        nodes += [None, None] if use.fact else [use.start, use.end]
    found = np.full((2 * deepest, 2 * deepest), UNBOUNDED, dtype=np.int64)
    for i, later in enumerate(nodes):
        for j, earlier in enumerate(nodes):
            if later is not None and earlier is not None:
                found[i, j] = variant.bounds[later, earlier]
    return found


def _table(rows: Sequence[Sequence[int]], width: int) -> IntTable:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _begins(sizes: Sequence[int], more: bool = False) -> Index:
    """Where parts of some sizes begin, one after another; with ``more``, where the last ends."""
    found = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return found if more else found[:-1]


def _joined(parts: Sequence[Index]) -> Index:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.int64)
