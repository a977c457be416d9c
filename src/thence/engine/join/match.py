"""Partial matches: for each bound atom, an array of row numbers. Columns are read on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.engine.aggregates.aggregate import aggregate
from thence.engine.arrays.array_types import Index
from thence.engine.arrays.rows import is_points
from thence.engine.join.chains import Chains, chains_of
from thence.engine.values.evaluate import evaluate
from thence.logic.conjunct import (
    EPOCH,
    Column,
    EndPoint,
    Extreme,
    NodeTime,
    Shifted,
    Tick,
    WindowUse,
)
from thence.logic.expr import Aggregate, Expr, Folded
from thence.model.arrow import from_numpy
from thence.model.events import Events
from thence.plan.prepared import Prepared

TIME = pa.timestamp("us", "UTC")


def as_timestamps(times: Index) -> Any:
    """Microseconds as an Arrow timestamp column, without a copy."""
    return from_numpy(times).view(TIME)


class Match:
    """Rows that agree so far. Immutable; a longer match keeps the shorter one and which of its
    rows it continues, so that a column nobody reads is never gathered."""

    __slots__ = (
        "_chains", "_chosen", "_columns", "_parent", "_rows", "_times",
        "length", "prepared", "rels",
    )  # fmt: skip

    def __init__(
        self,
        prepared: Prepared,
        rels: Sequence[Events],
        length: int,
        rows: dict[int, Index],
        parent: Match | None = None,
        chosen: Index | None = None,
    ) -> None:
        self.prepared = prepared
        self.rels = rels
        self.length = length
        self._rows = rows
        self._parent = parent
        self._chosen = chosen
        self._times: dict[int, Index] = {}
        self._columns: dict[Column, Any] = {}
        self._chains: dict[int, Chains] = {}

    def extend(self, chosen: Index, atom: int, rows: Index) -> Match:
        """For each chosen row of this match, the same with one more atom bound."""
        return Match(self.prepared, self.rels, len(chosen), {atom: rows}, self, chosen)

    def take(self, chosen: Index) -> Match:
        """Some of the rows."""
        return Match(self.prepared, self.rels, len(chosen), {}, self, chosen)

    def ticking(self, chosen: Index, tick: int, times: Index) -> Match:
        """For each chosen row of this match, the same with a tick at some time."""
        found = self.take(chosen)
        found._times[tick] = times
        return found

    def chained(self, chosen: Index | None, atom: int, chains: Chains) -> Match:
        """The chosen rows (all of them, if none are said), each with its repetitions of an atom."""
        every = np.arange(self.length) if chosen is None else chosen
        found = self.take(every)
        found._chains[atom] = chains
        return found

    def has_chains(self, atom: int) -> bool:
        """Whether the repetitions of an atom have been found already."""
        return atom in self._chains or (self._parent is not None and self._parent.has_chains(atom))

    def chains(self, atom: int) -> Chains:
        """The repetitions that each row has of an atom."""
        found = self._chains.get(atom)
        if found is None:
            if self._parent is None or self._chosen is None:
                raise AssertionError(f"atom {atom} is not repeated")
            found = self._chains[atom] = self._parent.chains(atom).take(self._chosen)
        return found

    def where(self, mask: npt.NDArray[np.bool_]) -> Match:
        """The rows for which a mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def rows(self, atom: int) -> Index:
        """The row numbers that an atom is bound to."""
        found = self._rows.get(atom)
        if found is None:
            if self._parent is None or self._chosen is None:
                raise AssertionError(f"atom {atom} is not bound")
            found = self._rows[atom] = self._parent.rows(atom)[self._chosen]
        return found

    def time(self, node: int) -> Index:
        """The time of a node in each row."""
        found = self._times.get(node)
        if found is None:
            found = self._times[node] = self._time(node)
        return found

    def _time(self, node: int) -> Index:
        match self.prepared.conjunct.nodes[node]:
            case EndPoint(atom, which):
                rel = self.rels[atom]
                if which == "end" and is_points(rel):
                    return self.time(self.prepared.uses[atom].start)
                return (rel.start if which == "start" else rel.end)[self.rows(atom)]
            case Shifted(of, by):
                return self.time(of) + by
            case Extreme("earliest", parts):
                return np.minimum.reduce([self.time(part) for part in parts])  # type: ignore[no-any-return]
            case Extreme("latest", parts):
                return np.maximum.reduce([self.time(part) for part in parts])  # type: ignore[no-any-return]
            case Tick():
                assert self._parent is not None and self._chosen is not None
                return self._parent.time(node)[self._chosen]
        assert node == EPOCH
        return np.zeros(self.length, dtype=np.int64)

    def column(self, column: Column) -> Any:
        """An attribute of the event that an atom is bound to, in each row."""
        found = self._columns.get(column)
        if found is None:
            values = self.rels[column.atom].columns[column.name]
            found = self._columns[column] = values.take(from_numpy(self.rows(column.atom)))
        return found

    @property
    def leaf(self) -> Callable[[Expr], Any]:
        """Reads the leaves of an expression, for ``evaluate``."""

        def read(expr: Expr) -> Any:
            if isinstance(expr, Column):
                return self.column(expr)
            if isinstance(expr, Folded):
                return self.folded(expr.aggregate)
            assert isinstance(expr, NodeTime)
            return as_timestamps(self.time(expr.node))

        return read

    def folded(self, term: Aggregate) -> Any:
        """An aggregate over the repetitions of each row."""
        atom = self.repetition_of(term).atom
        chains = self.chains(atom)
        owners = chains.owners
        values = None
        if term.arg is not None:
            longer = self.extend(owners, atom, chains.members)
            values = evaluate(term.arg, longer.leaf, longer.length)
        return aggregate(term, owners, values, self.length)

    def repetition_of(self, term: Aggregate) -> WindowUse:
        """The repetition that an aggregate is over: the only one, or the one its argument reads."""
        windows = self.prepared.conjunct.repetitions
        read = self.prepared.atoms_of(self.prepared.reads(term))
        return next((window for window in windows if window.atom in read), windows[0])


def concat_matches(parts: Sequence[Match], atoms: Sequence[int]) -> Match:
    """Several matches over the same relations, one after another."""
    if len(parts) == 1:
        return parts[0]
    rows = {atom: np.concatenate([part.rows(atom) for part in parts]) for atom in atoms}
    return Match(parts[0].prepared, parts[0].rels, sum(p.length for p in parts), rows)


def concat_chained(parts: Sequence[Match]) -> Match:
    """Matches over the same relations, one after another, with their repetitions."""
    if len(parts) == 1:
        return parts[0]
    conjunct = parts[0].prepared.conjunct
    whole = concat_matches(parts, conjunct.positive)
    for tick in parts[0].prepared.ticks:
        whole._times[tick] = np.concatenate([part.time(tick) for part in parts])
    for window in conjunct.repetitions:
        if all(part.has_chains(window.atom) for part in parts):
            found = [part.chains(window.atom) for part in parts]
            sizes = np.concatenate([chains.sizes for chains in found])
            members = np.concatenate([chains.members for chains in found])
            whole = whole.chained(None, window.atom, chains_of(sizes, members))
    return whole
