"""Relations with aggregates: folded from the matches of their rules' bodies, group by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.aggregates.aggregate import aggregate, depends_on_order, group_ids
from thence.engine.arrays.rows import concat, distinct, none_of
from thence.engine.arrays.value_order import sort_order
from thence.knowledge.fact_rows import rows_of
from thence.knowledge.joined_relation import Query
from thence.logic.expr import Aggregate
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.plan.reasoning.reasoning import FoldedRule, Folding
from thence.plan.reasoning.relation_demand import Asked


class Fold:
    """A relation with aggregates, asked by columns of its groups: the groups that are asked for are
    there as a whole."""

    def __init__(
        self,
        folding: Folding,
        columns: tuple[str, ...],
        schema: EventSchema,
        query: Callable[[Asked], Query],
    ) -> None:
        self._schema = schema
        self._columns = columns
        self._rules: list[tuple[FoldedRule, tuple[str, ...], Query]] = []
        for rule in folding.rules:
            named = dict(zip(schema.names, rule.terms, strict=True))
            by = tuple(str(named[name]) for name in columns)
            self._rules.append((rule, by, query((rule.matches, by))))
        self._others = None if folding.others is None else query((folding.others, columns))

    def ask(self, seeds: Events) -> Events:
        found = [none_of(rows_of(self._none(), 0))]
        for rule, by, query in self._rules:
            columns = dict(zip(by, seeds.columns.values(), strict=True))
            matches = query.ask(Events(seeds.start, seeds.end, columns))
            if len(matches):
                found.append(self._folded(rule, matches))
        if self._others is not None:
            found.append(self._others.ask(seeds))
        # Groups that were asked for before are no part of this: their matches were given.
        return distinct(concat(found))

    def _none(self) -> dict[str, Any]:
        return {a.name: pa.array([], a.type.arrow) for a in self._schema.attributes}

    def _folded(self, rule: FoldedRule, matches: Events) -> Events:
        """A row for each group of matches."""
        keys = [matches.columns[term] for term in rule.terms if isinstance(term, str)]
        groups, first = group_ids(keys, len(matches))
        rows = pa.array(first)
        columns: dict[str, Any] = {}
        for attribute, term in zip(self._schema.attributes, rule.terms, strict=True):
            if isinstance(term, str):
                found = matches.columns[term].take(rows)
            else:
                found = _aggregated(*term, matches, groups, len(first))
            columns[attribute.name] = found.cast(attribute.type.arrow)
        return rows_of(columns, len(first))


def _aggregated(
    call: Aggregate, column: str | None, matches: Events, groups: Any, count: int
) -> Any:
    values = None if column is None else matches.columns[column]
    if values is not None and depends_on_order(call, values.type):
        # There is no order of time: values come in their own, so that every run agrees.
        order = sort_order([values])
        order = order[np.argsort(groups[order], kind="stable")]
        groups, values = groups[order], values.take(pa.array(order))
    return aggregate(call, groups, values, count)
