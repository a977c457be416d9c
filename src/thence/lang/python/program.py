"""Puts a program together: which events it declares, and which definitions it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thence.lang.heads import check_event_name, check_schema
from thence.lang.python.events import Event
from thence.lang.python.facts import Stated
from thence.lang.python.identity import Origin
from thence.lang.python.lower import lower_rule
from thence.lang.python.patterns import (
    Definition,
    Inside,
    Occurrence,
    Pattern,
    Timed,
)
from thence.lang.python.places import Spans
from thence.lang.python.reactions import Reaction
from thence.lang.python.table_changes import ChangeReaction
from thence.lang.python.walk import inner_patterns
from thence.logic.check.problems import Problems
from thence.logic.ops import Change, Fact, LogicProgram, Rule
from thence.model.errors import BuildError
from thence.model.schema import EventSchema
from thence.model.source import Source, Span


def lower_program(items: Sequence[object]) -> LogicProgram:
    """The program that definitions make, with whatever they are made of. Its source is the files of
    Python in which they were made.

    Definitions that others use, and events, need not be listed; listed, they come in that order.
    Raises CheckError with what is wrong with names and policies, BuildError with anything else.
    """
    listed = [item for item in items if isinstance(item, Definition)]
    stated = [item for item in items if isinstance(item, Stated)]
    reactions = [item for item in items if isinstance(item, Reaction)]
    for item in items:
        known = isinstance(item, Definition | Stated | Reaction | ChangeReaction)
        if not known and not _is_event(item):
            raise BuildError(_not_a_part(item))
    changing = [item for item in items if isinstance(item, ChangeReaction)]
    reacted = [each.definition for each in reactions] + [each.definition for each in changing]
    definitions = _with_needed(listed, reacted)
    schemas: dict[str, EventSchema] = {}
    declared = [item._declared for item in items if isinstance(item, type)]  # type: ignore[attr-defined]
    used = [origin for each in (*definitions, *reacted) for origin in _origins(each.pattern)]
    spans, problems = Spans(), Problems(Source(""))
    for origin in (*declared, *used):
        if origin is not None and origin.schema is not None:
            _declare(origin.schema, schemas, spans.of(origin.place), problems)
    for reaction in changing:
        _declare(reaction.schema, schemas, spans.of(reaction.place), problems)
    for row in stated:
        if row.schema is not None:
            _declare(row.schema, schemas, spans.of(row.place), problems)
    said = {row.relation for row in stated}
    first: dict[str, Definition] = {}
    for each in definitions:
        if first.setdefault(each.name, each) is each:
            check_event_name(each.name, spans.of(each.place), problems)
    for origin in used:
        if origin.schema is None and origin.name not in first and origin.name not in said:
            raise BuildError(
                f"nothing defines '{origin.name}': give its definition to thence.build(…), too"
            )
    rules: list[Rule] = []
    deductions: list[Rule] = []
    for each in definitions:
        lowered = lower_rule(each, _columns(each, first[each.name]), spans, problems)
        (deductions if first[each.name].reasoned else rules).append(lowered)
    changes = [
        Change(
            reaction.action.verb,
            reaction.action.table.name,
            lower_rule(reaction.definition, reaction.definition.columns, spans, problems),
            spans.of(reaction.place),
        )
        for reaction in changing
    ]
    facts = tuple(Fact(row.relation, row.values, spans.of(row.place)) for row in stated)
    reacting = tuple(
        each.logic(
            lower_rule(each.definition, each.definition.columns, spans, problems),
            spans.of(each.place),
        )
        for each in reactions
    )
    source = problems.source = spans.source
    problems.raise_if_any()
    streams = tuple(schema for schema in schemas.values() if not schema.table)
    tables = tuple(schema for schema in schemas.values() if schema.table)
    return LogicProgram(
        streams, tuple(rules), source, tables, tuple(deductions), facts, reacting, tuple(changes)
    )


def _is_event(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, Event) and item._declared is not None


def _not_a_part(item: object) -> str:
    if isinstance(item, Pattern):
        return (
            "thence.build takes definitions, and this is a pattern: say what it derives, with "
            "p.select('name', column=…)"
        )
    return (
        "thence.build takes definitions, which p.select('name', …) makes, and reactions, which "
        f"thence.on(…) makes, not {item!r}"
    )


def _with_needed(listed: Sequence[Definition], reacting: Sequence[Definition]) -> list[Definition]:
    """The definitions listed, each with those that it needs and that are not listed before it; and
    those that reactions need."""
    known = {id(each) for each in (*listed, *reacting)}
    found: list[Definition] = []
    for each in (*listed, *reacting):
        ready: list[Definition] = []
        stack = [each]
        while stack:
            top = stack.pop()
            ready.append(top)
            for origin in reversed(list(_origins(top.pattern))):
                needed = origin.definition
                if needed is not None and id(needed) not in known:
                    known.add(id(needed))
                    stack.append(needed)
        found.extend(reversed(ready))
    own = {id(each) for each in reacting}
    return [each for each in found if id(each) not in own]


def _origins(root: Pattern) -> Iterator[Origin]:
    """Where each event of a pattern comes from, in the order of the pattern."""
    stack = [root]
    seen: set[int] = set()
    while stack:
        pattern = stack.pop()
        if id(pattern) in seen:
            continue
        seen.add(id(pattern))
        if isinstance(pattern, Occurrence):
            yield pattern._origin
        inside: list[Pattern] = list(inner_patterns(pattern))
        if isinstance(pattern, Inside):
            inside.insert(0, pattern.window)
        elif isinstance(pattern, Timed):
            inside.append(pattern.of)
        stack.extend(reversed(inside))


def _declare(
    schema: EventSchema, schemas: dict[str, EventSchema], span: Span, problems: Problems
) -> None:
    if schema.name not in schemas:
        check_schema(schema, span, [span] * len(schema.names), problems)
    known = schemas.setdefault(schema.name, schema)
    if known != schema:
        raise BuildError(
            f"'{schema.name}' is declared twice, as {known} and as {schema}: declare it "
            "once, or give one of them another name"
        )


def _columns(definition: Definition, first: Definition) -> tuple[str, ...]:
    """The first definition of an event names its columns; others may leave their names out."""
    if len(first.columns) != len(definition.columns):
        return definition.columns
    return tuple(
        own if alias is not None else named
        for (alias, _), own, named in zip(
            definition.terms, definition.columns, first.columns, strict=True
        )
    )
