"""What a reaction sends for each result, worked out for many results at once.

A reaction is a rule over results, so the engine runs it: over the results as events, each with its
number, and with the payload as the head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from thence.actions.letters import DeadLetter, Letter, letter_ids
from thence.engine.arrays.rows import sliced, take
from thence.engine.join.match import as_timestamps
from thence.engine.output.event_ids import event_ids
from thence.engine.provenance.json_texts import json_objects
from thence.engine.run.step import step
from thence.engine.state.state import State
from thence.logic.changes import changed
from thence.logic.check import check_program
from thence.logic.expr import Var
from thence.logic.ops import Atom, HeadTerm, LogicProgram, Rule
from thence.model.errors import EvaluationError
from thence.model.events import Events
from thence.model.schema import Attribute, EventSchema
from thence.model.types import INT, STRING, TIMESTAMP, Type
from thence.plan import Plan, make
from thence.plan.horizons import CLOCK

CHUNK_ROWS = 10_000
"""How many results are turned into letters at a time."""

_ROW, _SENT = "\nrow", "\nsent"


@dataclass(frozen=True, slots=True)
class Sender:
    """What makes the letters of a reaction. ``reaction`` is the reaction as text, ``schema`` that
    of the event, and ``plan`` how results are selected and payloads computed; None where every
    result is sent. ``types`` are those of the payload; unless it is ``computed``, it is the
    result."""

    reaction: str
    schema: EventSchema
    plan: Plan | None
    types: dict[str, Type]
    computed: bool

    def letters(self, events: Events) -> Iterator[tuple[list[Letter], list[DeadLetter]]]:
        """Letters for results, chunk by chunk; and those whose payload cannot be computed."""
        for begin in range(0, len(events), CHUNK_ROWS):
            yield self._some(sliced(events, begin, min(begin + CHUNK_ROWS, len(events))))

    def _some(self, events: Events) -> tuple[list[Letter], list[DeadLetter]]:
        try:
            return self._made(events), []
        except EvaluationError as problem:
            if len(events) == 1:
                (lost,) = self._written(events, self._result(events))
                return [], [DeadLetter(lost, 0, str(problem))]
        half = len(events) // 2
        first = self._some(sliced(events, 0, half))
        last = self._some(sliced(events, half, len(events)))
        return [*first[0], *last[0]], [*first[1], *last[1]]

    def _made(self, events: Events) -> list[Letter]:
        if self.plan is None:
            return self._written(events, self._result(events))
        name = self.schema.name
        numbered = pa.array(np.arange(len(events)))
        given = replace(events, columns={**events.columns, _ROW: numbered})
        latest = int(events.end.max())
        _, found = step(self.plan.whole, State(), {name: given}, {name: latest, CLOCK: latest})
        sent = found[_SENT]
        rows = np.asarray(sent.columns[_ROW])
        order = np.argsort(rows)
        chosen = take(events, rows[order])
        if not self.computed:
            return self._written(chosen, self._result(chosen))
        sent = take(sent, order)
        columns = {name: sent.columns[str(place)] for place, name in enumerate(self.types)}
        return self._written(chosen, columns)

    def _result(self, events: Events) -> dict[str, Any]:
        """Results as payloads."""
        kind = pa.repeat(pa.scalar(self.schema.name), len(events))
        columns = {name: events.columns[name] for name in self.schema.names}
        times = {"start": as_timestamps(events.start), "end": as_timestamps(events.end)}
        return {"type": kind, **columns, **times}

    def _written(self, events: Events, columns: dict[str, Any]) -> list[Letter]:
        ids = letter_ids(self.reaction, event_ids(self.schema, events))
        texts = json_objects(columns, len(events)).to_pylist()
        return [Letter(id_, self.reaction, text) for id_, text in zip(ids, texts, strict=True)]


def whole_types(schema: EventSchema) -> dict[str, Type]:
    """The payload that is a result itself."""
    own = {attribute.name: attribute.type for attribute in schema.attributes}
    return {"type": STRING, **own, "start": TIMESTAMP, "end": TIMESTAMP}


def sender(rule: Rule, whole: bool, text: str, schema: EventSchema) -> Sender:
    """What makes the letters of a reaction that was checked."""
    numbered = replace(schema, attributes=(*schema.attributes, Attribute(_ROW, INT)))

    def with_number(node: Any) -> Any:
        return replace(node, args=(*node.args, (_ROW, Var(_ROW)))) if type(node) is Atom else node

    terms = [HeadTerm(_ROW, Var(_ROW))]
    terms += [replace(term, name=str(place)) for place, term in enumerate(rule.terms)]
    own = Rule(_SENT, tuple(terms), changed(rule.body, with_number))
    checked = check_program(LogicProgram((numbered,), (own,)))
    if whole:
        types = whole_types(schema)
    else:
        found = checked.schemas[_SENT].attributes[1:]
        types = {t.name: a.type for t, a in zip(rule.terms, found, strict=True)}
    return Sender(text, schema, make(checked), types, not whole)
