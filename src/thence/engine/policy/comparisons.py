"""Conditions that compare something of one event with something of another, as columns of numbers.

Most conditions are of this kind, like ``b.price > 1.1 * a.price``. Both sides are computed once for
every event, and the search compares them as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Mask
from thence.engine.join.match import Match
from thence.engine.repetition.links import MIRRORED, SIGNS
from thence.engine.values.evaluate import evaluate
from thence.logic.expr import Call, Expr
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.plan.prepared import Prepared


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What must hold between two atoms: a sign, and a number for each row of the one's and of the
    other's relation, with where there is one."""

    sign: int
    atom: int
    other: int
    values: Any
    others: Any
    known: Mask
    others_known: Mask

    @property
    def real(self) -> bool:
        """Whether the numbers are floats."""
        return bool(self.values.dtype == np.float64)

    def turned(self) -> Comparison:
        """The same, with its sides exchanged."""
        sign = SIGNS.index(MIRRORED[SIGNS[self.sign]])
        return Comparison(
            sign,
            self.other,
            self.atom,
            self.others,
            self.values,
            self.others_known,
            self.known,
        )


def comparison(prepared: Prepared, rels: Sequence[Events], condition: Expr) -> Comparison | None:
    """A condition as a comparison of numbers of two atoms; None where it is more than that."""
    if not (isinstance(condition, Call) and condition.function in SIGNS):
        return None
    sides = condition.args
    reads = [prepared.atoms_of(prepared.reads(side)) for side in sides]
    if any(len(atoms) != 1 for atoms in reads) or reads[0] == reads[1]:
        return None
    atoms = [next(iter(read)) for read in reads]
    found = []
    for atom, side in zip(atoms, sides, strict=True):
        count = len(rels[atom])
        match = Match(prepared, rels, count, {atom: np.arange(count)})
        try:
            found.append(evaluate(side, match.leaf, count))
        except EvaluationError:
            return None  # It is computed when it is asked for.
    numbers = _numbers(found[0], found[1])
    if numbers is None:
        return None
    known = [side.is_valid().to_numpy(zero_copy_only=False) for side in found]
    sign = SIGNS.index(condition.function)
    return Comparison(sign, atoms[0], atoms[1], numbers[0], numbers[1], known[0], known[1])


def _numbers(one: Any, other: Any) -> tuple[Any, Any] | None:
    """Two columns as numbers of one kind that compare as the values do; what is null is any."""
    is_ = pa.types
    if one.type != other.type:
        return None
    if is_.is_int64(one.type) or is_.is_timestamp(one.type) or is_.is_duration(one.type):
        return _plain(one, pa.int64()), _plain(other, pa.int64())
    if is_.is_float64(one.type):
        return _plain(one, pa.float64()), _plain(other, pa.float64())
    if is_.is_string(one.type) or is_.is_decimal(one.type):
        ranks = pc.rank(pa.concat_arrays([one, other]), tiebreaker="dense")
        whole = _plain(ranks, pa.int64())
        return whole[: len(one)], whole[len(one) :]
    return None


def _plain(column: Any, kind: pa.DataType) -> Any:
    return column.cast(kind).fill_null(0).to_numpy(zero_copy_only=False)
