"""What is known, asked while events are joined: rows of relations, derived when they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import concat, distinct, select, take
from thence.engine.limits.growth import DEFAULT, Limits
from thence.engine.run.derive import Inputs
from thence.engine.state.relation import Relation
from thence.engine.state.state import empty_relation
from thence.knowledge.fact_rows import constants, rows_of, stated_rows
from thence.knowledge.folded_relation import Fold
from thence.knowledge.joined_relation import Join, Query
from thence.knowledge.row_numbers import among
from thence.model.events import Events
from thence.plan.prepared import Prepared
from thence.plan.reasoning.asks import Ask, asks_of
from thence.plan.reasoning.reasoning import Reasoning, reasoning
from thence.plan.reasoning.relation_demand import Asked, demanded
from thence.plan.tree import Part


class Reasoner:
    """The relations of a program over some tables. What it has derived it remembers."""

    def __init__(
        self,
        known: Reasoning,
        tables: Mapping[str, Relation],
        limits: Limits = DEFAULT,
    ) -> None:
        self.known, self._tables, self._limits = known, tables, limits
        self._queries: dict[Asked, Query] = {}
        self._rows: dict[Asked, Relation] = {}
        self._together: dict[str, tuple[tuple[Relation, ...], Relation]] = {}
        self._asked: dict[Ask, Relation] = {}
        self._familiar: WeakSet[Relation] = WeakSet()

    # -- one relation

    def ask(self, relation: str, columns: tuple[str, ...], seeds: Events) -> None:
        """Derive the rows of a relation with some values in some columns, if they are not there."""
        by = self.known.bound(relation, columns)
        asked = relation, by
        if (relation, ()) in self._rows:
            return
        rows = distinct(select(seeds, by)) if by else rows_of({}, 1)
        if not len(rows):
            return
        rows = rows_of(rows.columns, len(rows))
        found = self.query(asked).ask(rows)
        held = self._rows.get(asked)
        if held is None:
            self._rows[asked] = Relation(found)
        elif len(found):
            self._rows[asked] = held.added(found)

    def rows(self, relation: str) -> Relation:
        """All rows of a relation that are there by now."""
        parts = [rows for (name, _), rows in self._rows.items() if name == relation]
        whole = self._rows.get((relation, ()))
        if whole is not None or len(parts) == 1:
            return parts[0] if whole is None else whole
        if not parts:
            return empty_relation(self.known.knowledge.schemas[relation])
        before = self._together.get(relation)
        if before is None or before[0] != tuple(parts):
            joined = Relation(distinct(concat([part.whole() for part in parts])))
            before = self._together[relation] = tuple(parts), joined
        return before[1]

    def whole(self, relation: str) -> Relation:
        """All rows of a table, or of a relation."""
        knowledge = self.known.knowledge
        if relation in self._tables:
            return self._tables[relation]
        if relation in knowledge.facts:
            rows = stated_rows(knowledge.facts[relation], knowledge.schemas[relation])
            return Relation(distinct(rows))
        if (copied := self.known.copied(relation)) is not None:
            rows = self.whole(copied[0]).whole()
            columns = {name: rows.columns[of] for name, of in copied[1].items()}
            return Relation(rows_of(columns, len(rows)))
        self.ask(relation, (), rows_of({}, 1))
        return self.rows(relation)

    def query(self, asked: Asked) -> Query:
        """What answers where a relation is asked by some columns."""
        found = self._queries.get(asked)
        if found is None:
            found = self._queries[asked] = self._made(asked)
        return found

    def _made(self, asked: Asked) -> Query:
        relation, columns = asked
        schema = self.known.knowledge.schemas[relation]
        if (closure := self.known.closures.get(relation)) is not None:
            # Compiled loops take a while to load, and only closures need these.
            from thence.knowledge.graph_search import Search  # noqa: PLC0415

            edges, starts = self.whole(closure.edges), self.whole(closure.starts)
            return Search(closure, columns, edges.whole(), starts.whole())
        if (folding := self.known.foldings.get(relation)) is not None:
            return Fold(folding, columns, schema, self._fresh)
        program = demanded(self.known, relation, columns)
        return Join(program, self.whole, self._fresh, self.known.off, self._limits)

    def _fresh(self, asked: Asked) -> Query:
        """A query of its own: it has given nothing to anybody else."""
        return self._made(asked)

    def answer(self, relation: str, columns: tuple[str, ...], seeds: Events) -> Events:
        """The rows of a table or a relation that have some values in some columns, and no
        others."""
        if not self.is_made(relation):
            found = distinct(self.whole(relation).whole())
        else:
            self.ask(relation, columns, seeds)
            found = self.rows(relation).whole()
            if self.known.bound(relation, columns) == columns and relation in self.known.closures:
                return found
        if not columns:
            return found
        rows = [found.columns[name] for name in columns]
        return take(found, among(rows, [seeds.columns[name] for name in columns]))

    # -- what the joins of events ask

    def asked_by(
        self, part: Part, rules: Iterable[Prepared], inputs: Inputs
    ) -> dict[str, Relation]:
        """The rows that some joins look up, as far as the events at hand ask for them."""
        rules = tuple(rules)
        asks = part.worked_out.get(("asks", rules))
        if asks is None:
            own = {rule.conjunct.event for rule in rules}
            asks = asks_of(rules, self.known.relations, part.schemas, own)
            part.worked_out["asks", rules] = asks
        for ask in asks:
            self._answer(ask, inputs)
        return {ask.relation: self.rows(ask.relation) for ask in asks}

    def _answer(self, ask: Ask, inputs: Inputs) -> None:
        schema = self.known.knowledge.schemas[ask.relation]
        given = self._values(ask, inputs)
        if given is None:
            return
        columns = dict(zip(ask.columns, given.columns.values(), strict=True))
        count = len(given) if ask.columns else 1
        for name, value in ask.constants:
            kind = schema.type_of(name)
            assert kind is not None
            columns[name] = pa.repeat(constants([value], kind)[0], count)
        self.ask(ask.relation, ask.bound, rows_of(columns, count))

    def _values(self, ask: Ask, inputs: Inputs) -> Events | None:
        """The rows whose values are asked for; None where they have been asked for before."""
        if ask.source is None:
            return rows_of({}, 1)
        held = inputs.old[ask.source]
        known = self.known.knowledge
        if ask.source in known.schemas:
            held = self.rows(ask.source) if self.is_made(ask.source) else held
            if self._asked.get(ask) is held:
                return None
            self._asked[ask] = held
            return _selected(held.whole(), ask.values)
        new = _selected(inputs.new[ask.source], ask.values)
        if not held or held in self._familiar:
            return new
        return concat([_selected(held.whole(), ask.values), new])

    def there(self) -> dict[str, Relation]:
        """The rows of all relations, as far as they were asked for."""
        schemas = self.known.knowledge.schemas
        made = (name for name in schemas if self.is_made(name) and not schemas[name].hidden)
        return {name: self.rows(name) for name in made}

    def is_made(self, name: str) -> bool:
        """Whether a name is that of a relation, and not of a table."""
        return name in self.known.relations

    def remembered(self, events: Iterable[Relation]) -> None:
        """Events are kept for further steps: all that they ask for is there."""
        self._familiar.update(events)


def _selected(events: Events, names: tuple[str, ...]) -> Events:
    """Some columns of events, in an order, without time."""
    columns = {f"{place}": events.columns[name] for place, name in enumerate(names)}
    return Events(np.zeros(len(events), np.int64), np.zeros(len(events), np.int64), columns)


def reasoner_of(
    part: Part, tables: Mapping[str, Relation], limits: Limits = DEFAULT
) -> Reasoner | None:
    """What answers the joins of a part that look into relations, if any does."""
    if not part.knowledge.rules_of.keys() & set(part.tables):
        return None
    known = part.worked_out.get("reasoning")
    if known is None:
        known = part.worked_out["reasoning"] = reasoning(part.knowledge, part.off)
    return Reasoner(known, tables, limits)
