"""Reactions at work: results in, letters out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from thence.actions.courier import Clock, Courier
from thence.actions.handlers import Function, address, function
from thence.actions.letters import Handler
from thence.actions.payloads import Sender, sender, whole_types
from thence.actions.settings import Delivery
from thence.engine.arrays.rows import take
from thence.lang.text import format_reaction
from thence.logic.check import Checked
from thence.logic.check.reactions import KEY
from thence.logic.reactions import CallFunction, Post
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.types import TIMESTAMP

Called: TypeAlias = Callable[[dict[str, Any]], object]
Functions: TypeAlias = Mapping[str, Called]


@dataclass(frozen=True, slots=True)
class Registered:
    """A function that is called with each result of an event."""

    event: str
    name: str
    function: Called

    @property
    def text(self) -> str:
        """What stands for it where reactions of a program are told apart."""
        return f"on {self.event}: {self.name}"


@dataclass(frozen=True, slots=True)
class Reactions:
    """What a program does with results: how letters are made, and who delivers them."""

    senders: Mapping[str, Sequence[Sender]]
    handlers: Mapping[str, Handler]


def reactions_of(
    checked: Checked, registered: Sequence[Registered], functions: Functions, settings: Delivery
) -> Reactions:
    """The reactions of a program, its functions and its secrets looked up. Raises InputError where
    one of these is not there."""
    senders = senders_of(checked, registered)
    types = {each.reaction: each.types for some in senders.values() for each in some}
    handlers: dict[str, Handler] = {}
    for reaction in checked.program.reactions:
        text = format_reaction(reaction)
        match reaction.action:
            case Post() as post:
                handlers[text] = address(post, settings.seconds("timeout"))
            case CallFunction(name):
                handlers[text] = Function(name, function(name, functions, text), types[text])
            case other:
                raise AssertionError(f"nothing carries out {type(other).__name__}")
    for each in registered:
        handlers[each.text] = Function(each.name, each.function, types[each.text])
    return Reactions(senders, handlers)


def told_of(
    checked: Checked, registered: Sequence[Registered], tell: Callable[[str, Any], object]
) -> Reactions:
    """The reactions of a program, of which only somebody is told."""
    senders = senders_of(checked, registered)
    handlers = {
        each.reaction: Function("told", partial(tell, each.reaction), each.types)
        for some in senders.values()
        for each in some
    }
    return Reactions(senders, handlers)


def senders_of(checked: Checked, registered: Sequence[Registered]) -> dict[str, list[Sender]]:
    """For each event, what makes the letters of its reactions."""
    found: dict[str, list[Sender]] = {}
    for reaction in checked.program.reactions:
        schema = checked.schemas[reaction.event]
        made = sender(reaction.rule, reaction.whole, format_reaction(reaction), schema)
        found.setdefault(reaction.event, []).append(made)
    for each in registered:
        schema = checked.schemas[each.event]
        made = Sender(each.text, schema, None, whole_types(schema), computed=False)
        found.setdefault(each.event, []).append(made)
    for senders in found.values():
        for made in senders:
            if KEY in made.types:
                raise InputError(
                    f"'{made.schema.name}' has an attribute '{KEY}', which is what the id of a "
                    "delivery is called: give it another name in the rule's head, with 'as'"
                )
    return found


class Reactor:
    """Reacts to results."""

    def __init__(
        self,
        reactions: Reactions,
        settings: Delivery,
        clock: Clock = Clock(),  # noqa: B008 (immutable)
    ) -> None:
        self._reactions = reactions
        self.courier = Courier(reactions.handlers, settings, clock)

    def replace(self, reactions: Reactions) -> None:
        """React as another program says from now on."""
        self.courier.learn(reactions.handlers)
        self._reactions = reactions

    def react(self, results: Mapping[str, Events]) -> None:
        """Make and keep the letters for some results; they are delivered meanwhile."""
        for event, senders in self._reactions.senders.items():
            events = results.get(event)
            if events is not None and len(events):
                if (events.start[1:] < events.start[:-1]).any():
                    events = take(events, np.argsort(events.start, kind="stable"))
                for each in senders:
                    for letters, dead in each.letters(events):
                        self.courier.send(letters)
                        self.courier.bury(dead)


def events_of(table: Any, schema: EventSchema) -> Events:
    """A table of results, with attributes, ``start`` and ``end``, as events."""
    columns = {a.name: _whole(table.column(a.name)).cast(a.type.arrow) for a in schema.attributes}
    start, end = (
        _whole(table.column(side)).cast(TIMESTAMP.arrow).view(pa.int64()).to_numpy()
        for side in ("start", "end")
    )
    return Events(start, end, columns)


def _whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
