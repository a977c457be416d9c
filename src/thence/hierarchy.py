"""The layers of a program: which events are built on which.

The events of the input are the first layer. An event that rules derive is one layer above the
highest event that it is built on; events that depend on each other share a layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thence.model.schema import EventSchema
from thence.plan.prepared import Prepared
from thence.plan.tree import Plan, Stage


@dataclass(frozen=True, slots=True)
class Member:
    """An event of a layer, and the events that its rules look at: those it is made of, those it
    collects, and those whose absence it rests on."""

    schema: EventSchema
    made_of: tuple[str, ...] = ()
    collects: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def event(self) -> str:
        return self.schema.name

    @property
    def built_on(self) -> tuple[str, ...]:
        """All the events that its rules look at."""
        return tuple(dict.fromkeys((*self.made_of, *self.collects, *self.absent)))

    def __str__(self) -> str:
        parts = [*self.made_of]
        parts += [f"collect {name}" for name in self.collects]
        parts += [f"not {name}" for name in self.absent]
        shown = f"table {self.schema}" if self.schema.table else str(self.schema)
        return f"{shown} from {', '.join(parts)}" if parts else shown


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The layers of a program from the bottom upwards; the first are the events of the input, and
    the tables."""

    layers: tuple[tuple[Member, ...], ...]

    def layer_of(self, event: str) -> int:
        """The number of the layer of an event, counted from 1."""
        for number, layer in enumerate(self.layers, 1):
            if any(member.event == event for member in layer):
                return number
        raise KeyError(event)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for number, layer in enumerate(self.layers, 1):
            tables = " and the tables" if any(member.schema.table for member in layer) else ""
            yield f"layer {number}{f': the events of the input{tables}' if number == 1 else ''}"
            yield from (f"  {member}" for member in layer)


def hierarchy(plan: Plan) -> Hierarchy:
    """The layers of a program, from its stages."""
    given = (*plan.inputs, *plan.tables)
    layer_of = dict.fromkeys(given, 1)
    layers = [[Member(plan.schemas[name]) for name in given]]
    inner = {event: s for s in plan.written for event in s.events if plan.schemas[event].hidden}
    for stage in plan.written:
        members = [_member(plan, stage, name, inner) for name in stage.events]
        members = [member for member in members if not member.schema.hidden]
        below = [layer_of[n] for m in members for n in m.built_on if n not in stage.events]
        layer = 1 + max(below, default=1)
        layer_of |= dict.fromkeys((member.event for member in members), layer)
        layers += [[] for _ in range(layer - len(layers))] if members else []
        if members:
            layers[layer - 1] += members
    return Hierarchy(tuple(tuple(layer) for layer in layers))


def _member(plan: Plan, stage: Stage, event: str, inner: dict[str, Stage]) -> Member:
    """An event with what its rules look at; inner patterns are looked through."""
    made_of: dict[str, None] = {}
    collects: dict[str, None] = {}
    absent: dict[str, None] = {}
    kinds = {"absent": absent, "collect": collects, "repeat": made_of, "previous": made_of}
    waiting, seen = [(event, stage)], {event}
    for name, where in waiting:
        for conjunct in (a.conjunct for a in _alternatives(where, name)):
            for part in (conjunct.atoms[atom].event for atom in conjunct.parts):
                if part not in inner:
                    made_of[part] = None
                elif part not in seen:
                    seen.add(part)
                    waiting.append((part, inner[part]))
            for window in conjunct.windows:
                if conjunct.atoms[window.atom].silent:
                    continue
                found = _named(conjunct.atoms[window.atom].event, inner)
                kinds[window.mode].update(dict.fromkeys(found))
    return Member(plan.schemas[event], tuple(made_of), tuple(collects), tuple(absent))


def _alternatives(stage: Stage, event: str) -> Iterable[Prepared]:
    return (a for rule in stage.rules for a in rule if a.conjunct.event == event)


def _named(event: str, inner: dict[str, Stage]) -> Iterator[str]:
    """The event, or all those that an inner pattern is about."""
    waiting = [event]
    for name in waiting:
        if name not in inner:
            yield name
            continue
        uses = [use.event for each in _alternatives(inner[name], name) for use in each.uses]
        waiting.extend(use for use in dict.fromkeys(uses) if use not in waiting)
