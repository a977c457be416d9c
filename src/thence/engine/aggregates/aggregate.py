"""Head aggregates over collected events, each event once per group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.order import sort_order
from thence.engine.arrays.rows import concat, row_ids, without_lineage
from thence.engine.arrays.types import Index
from thence.engine.values.functions.values import to_float
from thence.logic.expr import Aggregate
from thence.model.errors import EvaluationError
from thence.model.events import Events


def collection_order(relations: Sequence[Events]) -> Index:
    """The rank of each event of some relations by (start, end, attributes in order, nulls first).

    Copies of one event have one rank, so a rank is an identity as well.
    """
    events = _stacked([without_lineage(relation) for relation in relations])
    times = [pa.array(events.start), pa.array(events.end)]
    order = sort_order([*times, *events.columns.values()])
    ids = row_ids(events)
    _, first, same = np.unique(ids[order], return_index=True, return_inverse=True)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = first[same]
    return ranks


def _stacked(relations: Sequence[Events]) -> Events:
    """Relations one after another; those of unlike columns are told apart by which they are."""
    if all(list(r.columns) == list(relations[0].columns) for r in relations):
        return concat(relations)
    names = dict.fromkeys(name for relation in relations for name in relation.columns)
    kinds = {n: r.columns[n].type for n in names for r in relations if n in r.columns}
    padded = [
        Events(
            relation.start,
            relation.end,
            {"#": pa.array(np.full(len(relation), number))}
            | {n: relation.columns.get(n, pa.nulls(len(relation), kinds[n])) for n in names},
        )
        for number, relation in enumerate(relations)
    ]
    return concat(padded)


def once_per_group(
    groups: Index, members: Index, values: Any | None
) -> tuple[Index, Index, Any | None]:
    """Distinct (group, member, value) triples, sorted by group, member and value."""
    parts = [identity_codes(groups), identity_codes(members)]
    if values is not None:
        parts.append(identity_codes(values))
    ids, _ = combine(parts)
    _, first = np.unique(ids, return_index=True)
    first = first[np.lexsort((members[first], groups[first]))]
    if values is None:
        return groups[first], members[first], None
    same = (groups[first][1:] == groups[first][:-1]) & (members[first][1:] == members[first][:-1])
    if same.any():
        # One member has several values, since they depend on the match too; those go by value.
        order = sort_order([values.take(pa.array(first))])
        first = first[order[np.lexsort((members[first][order], groups[first][order]))]]
    return groups[first], members[first], values.take(pa.array(first))


def aggregate(call: Aggregate, groups: Index, values: Any | None, count: int) -> Any:
    """The aggregate's value for groups ``0 .. count-1``; rows are in the order that counts.

    >>> from thence.logic.expr import Var
    >>> aggregate(Aggregate("sum", Var("x")), np.array([0, 0, 1]), pa.array([1, None, 5]), 2)
    <pyarrow.lib.Int64Array object at ...>
    [
      1,
      5
    ]
    """
    if values is None:
        return pa.array(np.bincount(groups, minlength=count).astype(np.int64))
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    if not valid.all():
        rows = np.flatnonzero(valid)
        groups, values = groups[rows], values.take(pa.array(rows))
    if call.distinct:
        ids, _ = combine([identity_codes(groups), identity_codes(values)])
        _, first = np.unique(ids, return_index=True)
        first.sort()
        groups, values = groups[first], values.take(pa.array(first))
    if call.function == "count":
        return pa.array(np.bincount(groups, minlength=count).astype(np.int64))
    return _spread(call, groups, values, count)


def _spread(call: Aggregate, groups: Index, values: Any, count: int) -> Any:
    """Aggregate per group, and null (an empty list for ``list``) for groups without a value."""
    extreme = call.function in ("min", "max")
    if call.function in ("first", "last") or (extreme and _needs_sorting(values)):
        return _by_position(call, groups, values, count)
    if call.function == "list":
        return _lists(groups, values, count)
    kind = values.type
    if pa.types.is_duration(kind):
        values = values.view(pa.int64())
    if extreme:
        found, result = _grouped(groups, values, call.function)
    else:
        found, result = _grouped(groups, _summable(values), "sum")
        if call.function == "avg":
            counts = np.bincount(groups, minlength=count)[found]
            result = pc.divide(to_float(result), pa.array(counts.astype(np.float64)))
            result = pc.round(result).cast(pa.int64()) if pa.types.is_duration(kind) else result
        elif pa.types.is_integer(values.type):
            result = _as_int(result)
    if pa.types.is_duration(kind):
        result = result.view(kind)
    return _at(found, result, count)


def _grouped(groups: Index, values: Any, function: str) -> tuple[Index, Any]:
    """The groups that occur, and Arrow's aggregate for each."""
    table = pa.table({"g": groups, "v": values})
    done = table.group_by("g", use_threads=False).aggregate([("v", function)])
    return done.column("g").to_numpy(), done.column(f"v_{function}").combine_chunks()


def _summable(values: Any) -> Any:
    """Values in a type in which their sum is exact: ints that may overflow as decimals."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return values.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_integer(kind) and _may_overflow(values):
        return values.cast(pa.decimal128(38, 0))
    return values


def _as_int(sums: Any) -> Any:
    try:
        return sums.cast(pa.int64())
    except pa.ArrowInvalid:
        raise EvaluationError("sum overflows the range of int (64 bits)") from None


def _may_overflow(values: Any) -> bool:
    if len(values) == 0:
        return False
    extremes = pc.min_max(values)
    most = max(abs(extremes["min"].as_py()), abs(extremes["max"].as_py()))
    return bool(most * len(values) >= 2**63)


def _at(groups: Index, values: Any, count: int) -> Any:
    """Values at their groups' positions, null elsewhere."""
    positions = np.full(count, -1, dtype=np.int64)
    positions[groups] = np.arange(len(groups))
    return values.take(pa.array(positions, mask=positions < 0))


def _needs_sorting(values: Any) -> bool:
    """Whether least and greatest follow an order of our own: NaN is the greatest number."""
    kind = values.type
    return pa.types.is_boolean(kind) or (
        pa.types.is_floating(kind) and bool(np.isnan(values.to_numpy(zero_copy_only=False)).any())
    )


def _by_position(call: Aggregate, groups: Index, values: Any, count: int) -> Any:
    """The first or last value of each group, after sorting where least or greatest is asked."""
    if call.function in ("min", "max"):
        order = np.lexsort((values.to_numpy(zero_copy_only=False), groups))
        groups, values = groups[order], values.take(pa.array(order))
    requested = "first" if call.function in ("first", "min") else "last"
    positions = np.full(count, -1, dtype=np.int64)
    rows = np.arange(len(groups))
    if requested == "first":
        rows, groups = rows[::-1], groups[::-1]
    positions[groups] = rows
    return values.take(pa.array(positions, mask=positions < 0))


def _lists(groups: Index, values: Any, count: int) -> Any:
    sizes = np.bincount(groups, minlength=count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def group_ids(columns: Sequence[Any], length: int) -> tuple[Index, Index]:
    """Number the groups of equal rows from zero; also the first row of each group."""
    if not columns:
        zeros = np.zeros(length, dtype=np.int64)
        return zeros, zeros[:1]
    codes, _ = combine([identity_codes(column) for column in columns])
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return inverse.astype(np.int64), first
