"""How far the rules of a program have come, by what a state remembers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thence.engine.arrays.rows import distinct, empty, take
from thence.engine.join.search import fulfilling
from thence.engine.limits.growth import Budget, Limits, owner, spending
from thence.engine.progress.open_matches import Open, is_told, open_matches
from thence.engine.progress.progress_table import binding_name, progress_table
from thence.engine.state.known import Known
from thence.engine.state.relation import Relation
from thence.engine.state.state import State
from thence.logic.conjunct import Column, equal_columns
from thence.model.arrow import to_numpy
from thence.model.events import Events
from thence.plan.horizons import completed, reached
from thence.plan.prepared import Prepared
from thence.plan.tree import Part, Stage

Filters = Mapping[str, Any]
"""Values, as Arrow scalars, that attributes of a rule's head must have."""


def untold(part: Part) -> dict[str, str]:
    """The rules of which it cannot be told how far they have come, and why."""
    found: dict[str, str] = {}
    for rule in part.prepared:
        reason = is_told(rule)
        if reason is not None and not rule.conjunct.head.hidden:
            found[rule.conjunct.event] = reason
    return found


def progress_of(
    part: Part,
    state: State,
    tables: Mapping[str, Relation],
    lengths: Mapping[str, int],
    rules: Collection[str],
    filters: Filters,
    limits: Limits,
) -> Iterator[Any]:
    """A table for each rule of some: the partial matches that are in progress, with some values in
    their heads if these are asked for. ``lengths`` says how long events last that are to come."""
    with spending(Budget(limits, lambda event: owner(event, part))):
        for stage in part.stages:
            for number, rule in enumerate(stage.rules):
                event = stage.rules[number][0].conjunct.event
                if event not in rules:
                    continue
                search = _Search(part, state, tables, lengths, filters)
                found = [
                    each for alternative in rule for each in search.of(alternative, stage, number)
                ]
                table = progress_table(part.schemas[event], found)
                for name, value in filters.items():
                    table = table.filter(pc.equal(table[binding_name(name)], value))
                yield table


class _Search:
    """The events that are remembered, as joins read them."""

    def __init__(
        self,
        part: Part,
        state: State,
        tables: Mapping[str, Relation],
        lengths: Mapping[str, int],
        filters: Filters,
    ) -> None:
        self.part, self.state, self.tables = part, state, tables
        self.lengths, self.filters = lengths, filters
        self.horizons = completed(state.horizons, part.origins)

    def of(self, rule: Prepared, stage: Stage, number: int) -> list[Open]:
        """The partial matches of one alternative of a rule."""
        if is_told(rule) is not None:
            return []
        used = f"{stage.rule_name(number)}|"
        rels = [
            fulfilling(rule, atom, self.rows(use.event, used)) for atom, use in enumerate(rule.uses)
        ]
        for column, value in self.asked(rule):
            rels[column.atom] = _having(rels[column.atom], column.name, value)
        comes = self.part.horizons.comes
        after = {
            atom: reached(comes[rule.uses[atom].event], self.horizons)
            for atom in rule.conjunct.events
        }
        finalised = reached(self.part.finalised_by[rule], self.horizons)
        return open_matches(rule, rels, after, finalised, self.lengths)

    def rows(self, event: str, used: str) -> Events:
        """The events of a type that a rule has not used up, each once."""
        if event in self.tables:
            return self.tables[event].whole()
        held = self.state.events.get(event)
        if held is None:
            return empty(self.part.schemas[event])
        gone = self.state.used.get(used + event)
        rows = held.whole()
        return distinct(rows) if gone is None else Known(gone).fresh(rows, once=False)

    def asked(self, rule: Prepared) -> Iterator[tuple[Column, Any]]:
        """The columns of events that have a value that is asked for, where a head has it from
        there."""
        conjunct = rule.conjunct
        groups = equal_columns(conjunct)
        windows = {window.atom for window in conjunct.windows}
        for name, term in zip(conjunct.head.columns, conjunct.head.terms, strict=True):
            if name in self.filters and isinstance(term, Column):
                same = next((group for group in groups if term in group), frozenset({term}))
                yield from (
                    (column, self.filters[name]) for column in same if column.atom not in windows
                )


def _having(rows: Events, name: str, value: Any) -> Events:
    """The events with a value in a column."""
    column = rows.columns[name]
    if column.type != value.type:
        return rows
    return take(rows, to_numpy(pc.fill_null(pc.equal(column, value), pa.scalar(False))))
