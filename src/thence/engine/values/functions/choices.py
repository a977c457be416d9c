"""Comparison, three-valued logic, and choosing between values, over columns."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.codes import identity_codes
from thence.engine.values.functions.conversions import (
    BOOLEAN,
    FLOAT_ID,
    INSTANT_ID,
    INT64,
    LENGTH_ID,
    LIST_ID,
    NULL_ID,
    Kernel,
    Value,
    aligned,
    as_int64,
    broadcast,
    comparable,
    compute,
    exactly_aligned,
    is_scalar,
    length_of,
    strict,
)

_UNKNOWN = pa.nulls(1, BOOLEAN)[0]
_SHORT_LIST = 4


def _comparison(name: str) -> Kernel:
    kernel = pc.get_function(name).call

    def run(left: Value, right: Value) -> Value:
        one = left.type
        if one == right.type and one.id != NULL_ID:
            return kernel([left, right])
        if one.id == NULL_ID or right.type.id == NULL_ID:
            return _UNKNOWN
        return kernel([*comparable(left, right)])

    return run


_equal = _comparison("equal")
_and, _or, _not = compute("and_kleene"), compute("or_kleene"), compute("invert")


def _truth(value: Value) -> Value:
    return pc.cast(value, BOOLEAN) if value.type.id == NULL_ID else value


def _all(*values: Value) -> Value:
    found = _truth(values[0])
    for value in values[1:]:
        found = _and(found, _truth(value))
    return found


def _any(*values: Value) -> Value:
    found = _truth(values[0])
    for value in values[1:]:
        found = _or(found, _truth(value))
    return found


def _in(value: Value, *items: Value) -> Value:
    if len(items) <= _SHORT_LIST or not all(is_scalar(item) for item in items):
        return _any(*(_equal(value, item) for item in items))
    known = [item for item in items if item.is_valid]
    if not known or value.type.id == NULL_ID:
        return _UNKNOWN
    if not exactly_aligned((value, *known)):
        return _any(*(_equal(value, item) for item in items))
    value, *known = aligned((value, *known))
    if value.type.id in (INSTANT_ID, LENGTH_ID):
        value, *known = map(as_int64, (value, *known))
    members = [item.as_py() for item in known]
    if value.type.id == FLOAT_ID:
        # As for `=`: NaN equals nothing, and the two zeros are equal.
        members = [number for number in members if not math.isnan(number)]
        members += [0.0, -0.0] if 0.0 in members else []
    found = pc.is_in(value, value_set=pa.array(members, value.type))
    # Not among the items is unknown, rather than false, where the value or an item is null.
    if len(known) < len(items):
        return pc.if_else(found, found, _UNKNOWN)
    return pc.if_else(pc.is_valid(value), found, _UNKNOWN)


def _distinct(left: Value, right: Value) -> Value:
    """Whether two values are not identical: null is null, NaN is NaN, and -0.0 is 0.0."""
    if left.type.id == NULL_ID or right.type.id == NULL_ID:
        return pc.is_valid(right if left.type.id == NULL_ID else left)
    if LIST_ID in (left.type.id, right.type.id):
        return _distinct_lists(left, right)
    if left.type != right.type:
        left, right = comparable(left, right)
    same = pc.fill_null(pc.equal(left, right), False)
    if left.type.id == FLOAT_ID:
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    same = pc.or_(same, pc.and_(pc.is_null(left), pc.is_null(right)))
    return pc.invert(same)


def _distinct_lists(left: Value, right: Value) -> Value:
    left, right = aligned((left, right))
    rows = length_of((left, right))
    columns = [broadcast(value, 1 if rows is None else rows) for value in (left, right)]
    codes, _ = identity_codes(pa.concat_arrays(columns))
    one, two = np.split(codes, 2)
    found = pa.array(one != two)
    return found[0] if rows is None else found


def _if(condition: Value, then: Value, otherwise: Value) -> Value:
    condition = pc.fill_null(_truth(condition), False)
    if then.type != otherwise.type:
        then, otherwise = aligned((then, otherwise))
    if is_scalar(condition):
        chosen, other = (then, otherwise) if condition.as_py() else (otherwise, then)
        return broadcast(chosen, len(other)) if not is_scalar(other) else chosen
    if then.type.id == NULL_ID:
        return then
    return pc.if_else(condition, then, otherwise)


def _coalesce(*values: Value) -> Value:
    if any(value.type != values[0].type for value in values):
        values = tuple(aligned(values))
    if len(values) == 1 or values[0].type.id == NULL_ID:
        return values[0]
    return pc.coalesce(*values)


def _nullif(left: Value, right: Value) -> Value:
    if left.type.id == NULL_ID:
        return left
    same = pc.fill_null(_equal(left, right), False)
    if is_scalar(same):
        return pa.scalar(None, left.type) if same.as_py() else left
    return pc.if_else(same, pa.scalar(None, left.type), left)


def _size(values: Value) -> Value:
    return pc.cast(pc.list_value_length(values), INT64)


def _element(values: Value, position: Value) -> Value:
    """The element at a position counted from 1; null where the list has no such position."""
    if values.type.id == NULL_ID:
        return values
    rows = length_of((values, position))
    lists = broadcast(values, 1 if rows is None else rows)
    if position.type.id == NULL_ID:
        return pa.scalar(None, lists.type.value_type)
    places = broadcast(position, len(lists))
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    requested = np.asarray(pc.fill_null(places, 0))
    inside = (requested >= 1) & (requested <= lengths)
    starts = np.asarray(lists.offsets)[:-1].astype(np.int64)
    found = lists.values.take(pa.array(starts + np.where(inside, requested, 1) - 1, mask=~inside))
    return found[0] if rows is None else found


CHOICES: dict[str, Kernel] = {
    "=": _equal,
    "!=": _comparison("not_equal"),
    "<": _comparison("less"),
    "<=": _comparison("less_equal"),
    ">": _comparison("greater"),
    ">=": _comparison("greater_equal"),
    "and": _all,
    "or": _any,
    "not": strict(_not, BOOLEAN),
    "is_null": compute("is_null"),
    "is distinct from": _distinct,
    "in": _in,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "if": _if,
    "size": strict(_size, INT64),
    "element": _element,
}
