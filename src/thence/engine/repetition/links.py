"""Conditions on a repetition and the one before it, as columns of numbers.

Most such conditions compare something of the one with something of the other, like
``t.price < prev(t.price)``. Then both sides are computed once for every candidate, and a compiled
loop compares them as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import FloatTable, Index, IntTable, Mask
from thence.logic.expr import Call, Expr
from thence.model.errors import EvaluationError

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

SIGNS = ("=", "!=", "<", "<=", ">", ">=")
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Links:
    """The two sides of each comparison, candidate by candidate, whole numbers and real ones apart;
    ``able`` and ``preceding`` are where the sides have values."""

    able: Mask
    preceding: Mask
    signs: Index
    whole: IntTable
    whole_before: IntTable
    real: FloatTable
    real_before: FloatTable


@dataclass(frozen=True, slots=True)
class _Comparison:
    sign: str
    after: Any
    before: Any


def links_of(found: Candidates) -> Links | None:
    """The conditions between neighbours as comparisons of numbers; None where they are not."""
    try:
        compared = [_compared(found, condition) for condition in found.repetition.linked]
    except EvaluationError:
        # A value that nobody may ask for has no result: then each is computed when it is asked for.
        return None
    known = [each for each in compared if each is not None]
    if len(known) < len(compared):
        return None
    able, preceding = found.fit, np.ones(len(found.fit), dtype=np.bool_)
    for each in known:
        able = able & _known(each.after)
        preceding = preceding & _known(each.before)
    whole = [each for each in known if not pa.types.is_floating(each.after.type)]
    real = [each for each in known if pa.types.is_floating(each.after.type)]
    size = len(found.fit)
    return Links(
        able,
        preceding,
        np.array([SIGNS.index(each.sign) for each in (*whole, *real)], dtype=np.int64),
        _table([each.after for each in whole], np.int64, size),
        _table([each.before for each in whole], np.int64, size),
        _table([each.after for each in real], np.float64, size),
        _table([each.before for each in real], np.float64, size),
    )


def _compared(found: Candidates, condition: Expr) -> _Comparison | None:
    """The two sides of a comparison, each of which reads only one of two neighbours."""
    if not (isinstance(condition, Call) and condition.function in SIGNS):
        return None
    prepared = found.match.prepared
    after, before = found.window.atom, found.repetition.previous
    sign, sides = condition.function, condition.args
    reads = [prepared.atoms_of(prepared.reads(side)) & {after, before} for side in sides]
    if after in reads[1] or before in reads[0]:
        sign, sides, reads = MIRRORED[sign], sides[::-1], reads[::-1]
    if before in reads[0] or after in reads[1]:
        return None
    assert before is not None
    found_after, found_before = found.values(sides[0], after), found.values(sides[1], before)
    if found_after.type != found_before.type or not _is_number(found_after.type):
        return None
    return _Comparison(sign, found_after, found_before)


def _is_number(kind: pa.DataType) -> bool:
    is_ = pa.types
    return bool(
        is_.is_int64(kind)
        or is_.is_float64(kind)
        or is_.is_timestamp(kind)
        or is_.is_duration(kind)
    )


def _known(values: Any) -> Mask:
    return values.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _table(columns: Sequence[Any], kind: type, size: int) -> Any:
    """Columns as the rows of one array; what is null is 0, and not asked for."""
    table: Any = np.zeros((len(columns), size), dtype=kind)
    for number, column in enumerate(columns):
        arrow = pa.int64() if kind is np.int64 else pa.float64()
        table[number] = column.cast(arrow).fill_null(0).to_numpy(zero_copy_only=False)
    return table
