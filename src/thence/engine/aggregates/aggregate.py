"""Head aggregates over collected events, each event once per group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregates import grouped, rolling
from thence.engine.aggregates.rolling import Ranges, Slide
from thence.engine.arrays.array_types import Index
from thence.engine.arrays.codes import combine, identity_codes
from thence.engine.arrays.rows import concat, row_ids
from thence.engine.arrays.value_order import sort_order
from thence.logic.expr import Aggregate
from thence.model.events import Events


def collection_order(relations: Sequence[Events]) -> Index:
    """The rank of each event of some relations by (start, end, attributes in order, nulls first).

    Copies of one event have one rank, so a rank is an identity as well.
    """
    events = _stacked(relations)
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


@dataclass(frozen=True, slots=True)
class Computation:
    """How an aggregate is computed.

    ``grouped`` gives its value for groups ``0 .. count-1`` of values that are not null, ``sliding``
    those for ranges that overlap, where that is less work, or None where it is not after all. Whole
    events come in, from all alternatives of a rule, since an event counts once for all of them; so
    there are no parts of results that would have to be put together.
    """

    grouped: Callable[[Index, Any, int], Any]
    ordered: Callable[[pa.DataType], bool]
    """Whether it depends on the order of values of a type."""
    sliding: Slide | None = None
    distinct: Slide | None = None
    """The same of distinct values."""


def _always(kind: pa.DataType) -> bool:
    return True


def _never(kind: pa.DataType) -> bool:
    return False


AGGREGATES: dict[str, Computation] = {
    "count": Computation(grouped.counts, _never, rolling.counts, rolling.distinct_counts),
    "sum": Computation(grouped.sums, pa.types.is_floating, rolling.sums),
    "avg": Computation(grouped.means, pa.types.is_floating, rolling.means),
    "stddev": Computation(grouped.deviations, _always, rolling.deviations),
    "median": Computation(grouped.medians, _never),
    "min": Computation(grouped.least, _never, rolling.least),
    "max": Computation(grouped.greatest, _never, rolling.greatest),
    "first": Computation(grouped.first, _always, rolling.first),
    "last": Computation(grouped.last, _always, rolling.last),
    "list": Computation(grouped.lists, _always),
}
"""The columnar form of each aggregate of ``logic/functions.py``."""


def depends_on_order(call: Aggregate, kind: pa.DataType) -> bool:
    """Whether an aggregate of values of a type depends on the order in which it takes them."""
    return AGGREGATES[call.function].ordered(kind)


def rolled(call: Aggregate, ranges: Ranges, ranks: Index | None = None) -> Any | None:
    """An aggregate for each range, in the way of :data:`Slide`."""
    row = AGGREGATES[call.function]
    slide = row.distinct if call.distinct else row.sliding
    return None if slide is None else slide(ranges, ranks)


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
        return AGGREGATES[call.function].grouped(groups, None, count)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    if not valid.all():
        rows = np.flatnonzero(valid)
        groups, values = groups[rows], values.take(pa.array(rows))
    if call.distinct:
        ids, _ = combine([identity_codes(groups), identity_codes(values)])
        _, first = np.unique(ids, return_index=True)
        first.sort()
        groups, values = groups[first], values.take(pa.array(first))
    return AGGREGATES[call.function].grouped(groups, values, count)


def aggregate_once(
    call: Aggregate, groups: Index, members: Index, values: Any | None, count: int
) -> Any:
    """The same over members of groups that may come in any order, and several times: each counts
    once, in the order of members, with each of its values."""
    parts = [identity_codes(groups), identity_codes(members)]
    if values is not None:
        parts.append(identity_codes(values))
    ids, _ = combine(parts)
    _, first = np.unique(ids, return_index=True)
    first = first[np.lexsort((members[first], groups[first]))]
    if values is None:
        return aggregate(call, groups[first], None, count)
    same = (groups[first][1:] == groups[first][:-1]) & (members[first][1:] == members[first][:-1])
    if same.any():
        # One member has several values, since they depend on the match too; those go by value.
        order = sort_order([values.take(pa.array(first))])
        first = first[order[np.lexsort((members[first][order], groups[first][order]))]]
    return aggregate(call, groups[first], values.take(pa.array(first)), count)


def group_ids(columns: Sequence[Any], length: int) -> tuple[Index, Index]:
    """Number the groups of equal rows from zero; also the first row of each group."""
    if not columns:
        zeros = np.zeros(length, dtype=np.int64)
        return zeros, zeros[:1]
    codes, _ = combine([identity_codes(column) for column in columns])
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return inverse.astype(np.int64), first
