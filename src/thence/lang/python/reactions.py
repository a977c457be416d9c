"""Reactions in Python: ``on(o, post("https://…", order=o.id))``, the same as the text has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thence.lang.python.definition_columns import Term, columns_of, preferred
from thence.lang.python.patterns import Definition, Filtered, Occurrence, Pattern
from thence.lang.python.places import Place, calling_place
from thence.lang.python.table_changes import ChangeReaction, TableChange, changed_by
from thence.lang.python.values import Aggregated, is_name
from thence.logic import reactions as logic
from thence.model.errors import BuildError
from thence.model.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """What is done with a payload. Made by ``post`` and ``call``."""

    action: logic.Action
    columns: tuple[str, ...]
    terms: tuple[Term, ...]

    def using(
        self,
        *,
        bearer: str | None = None,
        basic: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Sent:
        """The same with secrets, each by the name of the variable of the environment that has it:
        ``using(bearer="TOKEN")``, ``using(headers={"X-Api-Key": "KEY"})``."""
        if not isinstance(self.action, logic.Post):
            raise BuildError("only a post carries secrets; a function has its own")
        found = [logic.Credential("bearer", bearer)] if bearer is not None else []
        found += [logic.Credential("basic", basic)] if basic is not None else []
        found += [
            logic.Credential("header", variable, name) for name, variable in (headers or {}).items()
        ]
        names: list[object] = [name for each in found for name in (each.variable, each.header)]
        if not all(isinstance(name, str) for name in names):
            raise BuildError("using takes names of variables of the environment, as text")
        return replace(self, action=replace(self.action, credentials=tuple(found)))


@dataclass(frozen=True, slots=True, eq=False)
class Reaction:
    """What is done on an event. Made by ``on``; give it to ``thence.build``."""

    definition: Definition
    action: logic.Action
    whole: bool
    place: Place

    def logic(self, rule: Any, span: Span) -> logic.Reaction:
        """The reaction whose rule was lowered; errors point at the line that made it."""
        action = self.action
        if isinstance(action, logic.Post):
            signed = tuple(replace(each, span=span) for each in action.credentials)
            action = replace(action, credentials=signed, span=span)
        elif isinstance(action, logic.CallFunction):
            action = replace(action, span=span)
        return logic.Reaction(rule, action, self.whole, span)


def post(url: str, /, *values: Any, **named: Any) -> Sent:
    """Post values as JSON to an address: ``post("https://…", order=o.id)``. Without values, the
    whole result is posted."""
    if not isinstance(url, str):
        raise BuildError(f"post takes an address as text, not {url!r}")
    return _sent(logic.Post(url), "post", values, named)


def call(name: str, /, *values: Any, **named: Any) -> Sent:
    """Call the function that is given under a name when the program runs, with values by their
    names. Without values, it is given the whole result."""
    if not is_name(name):
        raise BuildError(f"call takes the name of a function, not {name!r}")
    return _sent(logic.CallFunction(name), "call", values, named)


def _sent(
    action: logic.Action, word: str, values: tuple[Any, ...], named: Mapping[str, Any]
) -> Sent:
    terms, _ = columns_of(word, values, named)
    columns = [alias or preferred(value) for alias, value in terms]
    if any(isinstance(value, Aggregated) for _, value in terms):
        raise BuildError(f"{word}: a reaction is to one result, so there is nothing to aggregate")
    if None in columns:
        raise BuildError(f"{word}: a value that is sent needs a name: {word}(…, name=value)")
    return Sent(action, tuple(map(str, columns)), terms)


def on(pattern: Pattern, action: object) -> Reaction | ChangeReaction:
    """Do something with each result: ``on(o.where(o.qty > 3), call("notify", o.id))``; or change a
    table: ``on(o, insert(Linked, o.a, o.b))``."""
    inner = pattern
    while isinstance(inner, Filtered):
        inner = inner.inner
    if not isinstance(inner, Occurrence) or inner._origin.is_table:
        raise BuildError(
            "on takes an event, perhaps with conditions: o = late('o'), then on(o.where(…), …)"
        )
    place = calling_place()
    if isinstance(action, TableChange):
        return changed_by(pattern, action, place)
    if not isinstance(action, Sent):
        raise BuildError(
            "on takes what is done: thence.post(…), thence.call(…), thence.insert(…) or "
            "thence.delete(…)"
        )
    named = tuple(
        (name, value) for name, (_, value) in zip(action.columns, action.terms, strict=True)
    )
    definition = Definition(f"on {inner._origin.name}", action.columns, named, pattern, place)
    return Reaction(definition, action.action, not named, place)
