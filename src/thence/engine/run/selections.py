"""Selections: rows of one relation that meet a condition, without a scan for each of them.

Many rules may ask for one column of a relation, each with a constant of its own. Its rows are put
in the order of that column once in a step; those that meet a comparison with a constant then lie
together, and where they begin and end is found by looking at few of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.array_types import Codes, Index
from thence.engine.arrays.rows import distinct, is_points, select, take, unique_by
from thence.engine.arrays.value_order import order_codes
from thence.engine.join.match import Match
from thence.engine.join.search import holds, truth
from thence.engine.values.evaluate import evaluate
from thence.logic.conjunct import Column
from thence.logic.expr import Call, Expr
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.selection import LENGTH, Condition, Selection

_LOOKED_AT = 1024
"""So many values are compared at a time where a boundary between them is sought."""

_FEW = 16
"""Rows are few where the relation has so many times as many: then their numbers are sorted sooner
than the whole is looked through for them."""


class Sorted:
    """The rows of a relation in the order of one column, less those that have no value there:
    null and NaN compare with nothing."""

    def __init__(self, events: Events, column: str) -> None:
        values = pa.array(events.end - events.start) if column == LENGTH else events.columns[column]
        if column == LENGTH:
            values = values.view(pa.duration("us"))
        known = values.is_valid()
        if pa.types.is_floating(values.type):
            known = pc.and_(known, pc.fill_null(pc.invert(pc.is_nan(values)), False))
        rows = np.flatnonzero(known.to_numpy(zero_copy_only=False))
        values = values if len(rows) == len(values) else values.take(pa.array(rows))
        codes, order = _ordered(values)
        self._events = events
        self._rows = rows[order]
        self._firsts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
        self._values = values.take(pa.array(order[self._firsts]))
        self._column = Column(0, column)
        self._places: Any = None
        self._columns: dict[str, Any] = {}

    def select(self, condition: Condition, names: frozenset[str]) -> Events:
        """The rows that meet a condition, with some columns, in the order in which they came."""
        first, last = self._between(condition)
        if last - first == len(self._events):
            return select(self._events, names)
        if condition.function != "=":
            return take(select(self._events, names), self._rows_of(first, last))
        # Rows with one value are in the order in which they came, and so they can be a slice.
        start = self._start[first:last]
        end = start if is_points(self._events) else self._end[first:last]
        return Events(start, end, {n: self._gathered(n)[first:last] for n in names})

    def _rows_of(self, first: int, last: int) -> Index:
        """The rows at some places of the order, by number."""
        if (last - first) * _FEW < len(self._rows):
            return np.sort(self._rows[first:last])
        if self._places is None:
            self._places = np.full(len(self._events), -1, dtype=np.int32)
            self._places[self._rows] = np.arange(len(self._rows), dtype=np.int32)
        return np.flatnonzero((self._places >= first) & (self._places < last))

    @cached_property
    def _start(self) -> Index:
        return self._events.start[self._rows]

    @cached_property
    def _end(self) -> Index:
        return self._events.end[self._rows]

    def _gathered(self, name: str) -> Any:
        found = self._columns.get(name)
        if found is None:
            found = self._events.columns[name].take(pa.array(self._rows))
            self._columns[name] = found
        return found

    def _between(self, condition: Condition) -> tuple[int, int]:
        """From which row on, and up to before which one, a condition is met."""
        match condition.function:
            case "<" | "<=":
                return 0, self._first_without(condition, condition.function)
            case ">":
                return self._first_without(condition, "<="), len(self._rows)
            case ">=":
                return self._first_without(condition, "<"), len(self._rows)
        return self._first_without(condition, "<"), self._first_without(condition, "<=")

    def _first_without(self, condition: Condition, function: str) -> int:
        """The first row whose value does not stand so to a constant; all before it do."""
        call = Call(function, (self._column, condition.value))
        low, high = 0, len(self._values)
        while low < high:
            stride = -(-(high - low) // _LOOKED_AT)
            places = np.arange(low + stride - 1, high, stride)
            met = int(truth(evaluate(call, self._reader(places), len(places))).sum())
            low, high = low + met * stride, min(high, low + (met + 1) * stride - 1)
        return int(self._firsts[low]) if low < len(self._firsts) else len(self._rows)

    def _reader(self, places: Index) -> Callable[[Expr], Any]:
        values = self._values.take(pa.array(places))
        return lambda _: values


def _ordered(values: Any) -> tuple[Codes, Index]:
    """Numbers in the order of values, sorted; and the order of rows, equal ones as they come."""
    if pa.types.is_boolean(values.type) or not pa.types.is_primitive(values.type):
        encoded = values.dictionary_encode()
        ranks = order_codes(encoded.dictionary)
        codes = ranks[encoded.indices.to_numpy(zero_copy_only=False)]
        if len(ranks) <= 1 << 16:
            codes = codes.astype(np.uint16)
    else:
        codes = order_codes(values)
    order = np.argsort(codes, kind="stable")
    return codes[order], order


class Selections:
    """What the selections of one step share: for each relation, its orders, and whether the
    intervals of its rows alone tell them apart."""

    def __init__(self) -> None:
        self._sorted: dict[tuple[str, str], Sorted] = {}
        self._apart: dict[str, bool] = {}

    def of(self, prepared: Prepared, selection: Selection, events: Events, given: bool) -> Events:
        """The results of a rule from the rows of its event, each once. ``given`` says that the
        event comes from outside, so that a row may be there twice."""
        event, rows, condition = prepared.uses[0].event, events, selection.condition
        if condition is not None and len(events):
            key = event, condition.column
            if key not in self._sorted:
                self._sorted[key] = Sorted(events, condition.column)
            read = {c.name for p in selection.predicates for c in prepared.reads(p).columns}
            rows = self._sorted[key].select(condition, frozenset((*selection.names, *read)))
        rows = _meeting(prepared, selection, rows)
        columns = prepared.conjunct.head.columns
        named = zip(columns, selection.names, strict=True)
        found = Events(rows.start, rows.end, {own: rows.columns[name] for own, name in named})
        if (selection.distinct and not given) or self._is_apart(event, events):
            return found
        return distinct(found)

    def _is_apart(self, event: str, events: Events) -> bool:
        if event not in self._apart:
            self._apart[event] = unique_by(events, (), True, True)
        return self._apart[event]


def _meeting(prepared: Prepared, selection: Selection, events: Events) -> Events:
    """The rows that meet the other conditions of a selection."""
    if not (selection.constraints or selection.predicates) or len(events) == 0:
        return events
    match = Match(prepared, [events], len(events), {0: np.arange(len(events))})
    mask = holds(match, selection.constraints, selection.predicates)
    return events if mask is None else take(events, mask)
