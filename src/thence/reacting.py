"""What a program does with its results, while it runs: in one process, or for rows from Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from thence.actions import dead_letters as dead
from thence.actions.courier import Courier
from thence.actions.letters import DeadLetter
from thence.actions.reactor import (
    Called,
    Reactions,
    Reactor,
    Registered,
    events_of,
    reactions_of,
    told_of,
)
from thence.actions.settings import Delivery
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.suggestions import question

if TYPE_CHECKING:
    from thence.program import Program

Told: TypeAlias = Callable[[str, dict[str, Any]], object]
Actions: TypeAlias = Mapping[str, Called] | Told | bool


class Reacting:
    """The reactions of a program at work. At the end of a ``with`` block all of it has been
    delivered or given up."""

    def __init__(self, program: Program, actions: Actions, delivery: Delivery | None) -> None:
        if not isinstance(delivery, Delivery | None):
            raise InputError(f"delivery must be a thence.Delivery, not {type(delivery).__name__}")
        self._actions, self._settings = actions, delivery or Delivery()
        if not isinstance(actions, Mapping | bool):
            # Who is only told takes nothing out of an outbox.
            self._settings = replace(self._settings, outbox=None)
        self._program = program
        self._reactor = Reactor(_reactions(program, actions, self._settings), self._settings)

    def react(self, results: Mapping[str, Events]) -> None:
        """Put what is done with some results on its way."""
        self._reactor.react(results)

    def reacted(self, found: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Batches of results as they are, with a reaction to each; after the last one, all of it
        has been delivered or given up."""
        with self:
            for name, batch in found:
                self.react({name: events_of(batch, self._program._checked.schemas[name])})
                yield name, batch

    def replace(self, program: Program) -> None:
        """React as another program says from now on."""
        self._reactor.replace(_reactions(program, self._actions, self._settings))
        self._program = program

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is delivered or given up; False if that takes longer."""
        return self._reactor.courier.flush(timeout)

    def close(self) -> None:
        """Wait as long as the settings say, and end."""
        self._reactor.courier.close()

    def __enter__(self) -> Reacting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def deliveries(self) -> dict[str, int]:
        """What became of what was sent so far."""
        courier = self._reactor.courier
        delivered, given_up = courier.counts
        return {"delivered": delivered, "outstanding": courier.outstanding, "dead": given_up}


def check_reactions(program: Program, actions: Actions, delivery: Delivery) -> None:
    """Raise InputError where a function or a secret is not there that reactions need."""
    _reactions(program, actions, delivery)


def react_to(
    program: Program, tables: Mapping[str, Any], actions: Actions, delivery: Delivery | None
) -> None:
    """React to tables of results; all of it has been delivered or given up when this returns."""
    at_work = program._reacting(actions, delivery)
    if at_work is not None:
        schemas = program._checked.schemas
        with at_work:
            at_work.react({name: events_of(rows, schemas[name]) for name, rows in tables.items()})


def _reactions(program: Program, actions: Actions, settings: Delivery) -> Reactions:
    if actions is False:
        return Reactions({}, {})
    known = program._registered
    if isinstance(actions, Mapping) or actions is True:
        given = actions if isinstance(actions, Mapping) else {}
        return reactions_of(program._checked, known, given, settings)
    if not callable(actions):
        raise InputError(
            "actions must be functions by their names, {'notify': f}; False for no reactions; or "
            f"a function that is told what would be done; not {type(actions).__name__}"
        )
    return told_of(program._checked, known, actions)


def registered(
    event: Any, function: Any, name: Any, known: Sequence[Registered], derived: Sequence[str]
) -> Registered:
    """A function that ``program.on`` was given, if it can be one."""
    if event not in derived:
        shown = ", ".join(f"'{each}'" for each in derived) or "none"
        asked = question(event, derived) if isinstance(event, str) else ""
        raise InputError(f"on: the program derives no event {event!r}.{asked} It derives: {shown}.")
    if not callable(function):
        raise InputError(f"on: a function is needed, not {type(function).__name__}")
    if name is None:
        own = getattr(function, "__qualname__", type(function).__qualname__)
        name = f"{getattr(function, '__module__', None) or 'python'}.{own}"
        same = sum(each.event == event and each.name.partition("#")[0] == name for each in known)
        name = f"{name}#{same + 1}" if same else name
    elif not isinstance(name, str) or not name.isprintable() or not name:
        raise InputError(f"on: a name is text on one line, not {name!r}")
    elif any(each.event == event and each.name == name for each in known):
        raise InputError(f"on: '{event}' has a reaction called '{name}' already")
    return Registered(event, name, function)


def replay(
    program: Program, path: str | Path | None, actions: Actions, delivery: Delivery | None
) -> tuple[int, int]:
    """Deliver the dead letters of a file; how many were delivered, and how many were not."""
    if actions is not True and not isinstance(actions, Mapping):
        raise InputError("replay: actions are functions by their names, {'notify': f}")
    settings = delivery or Delivery()
    if path is not None:
        settings = replace(settings, dead_letters=path)
    found = _reactions(program, actions, settings)
    aside = dead.take(settings.dead_letter_file)
    for _ in dead.read(aside):  # all of it can be read, or nothing is delivered
        pass
    courier = Courier(found.handlers, settings)
    try:
        for chunk in dead.chunks(aside):
            fit = [each.letter for each in chunk if _fits(each, found)]
            courier.send(fit)
            courier.bury([each for each in chunk if not _fits(each, found)])
    finally:
        courier.close()
    aside.unlink()
    return courier.counts


def _fits(letter: DeadLetter, reactions: Reactions) -> bool:
    """Whether a letter is one that the program's reactions send."""
    senders = (each for some in reactions.senders.values() for each in some)
    types = next((s.types for s in senders if s.reaction == letter.letter.reaction), None)
    return types is not None and list(json.loads(letter.letter.payload)) == list(types)
