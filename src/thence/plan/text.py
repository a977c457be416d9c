"""A plan as text: what every join reads, keeps and gives, for people and for fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from thence.logic.bounds import UNBOUNDED, Constraint
from thence.logic.conjunct import (
    Column,
    Conjunct,
    NodeTime,
    WindowUse,
    name_of_node,
    partition_key,
)
from thence.logic.expr import Aggregate, Call, Const, Expr
from thence.logic.policy import UNRESTRICTED, policy_text
from thence.model.safe_text import shortened
from thence.model.schema import EventSchema
from thence.model.time import format_duration, format_timestamp
from thence.plan.prepared import Prepared
from thence.plan.selection import LENGTH, Selection
from thence.plan.tree import Plan, Stage
from thence.plan.value_ranges import ways_into_window


def plan_text(
    plan: Plan,
    rules: Mapping[str, Sequence[str]] | None = None,
    notes: Mapping[Prepared, Sequence[str]] | None = None,
) -> str:
    """All of a plan: inputs, stages with their joins, what is kept, partition keys.

    ``rules`` are the rules of each derived event as the user wrote them, and ``notes`` are lines on
    each join, to stand beside.
    """
    rules, notes = rules or {}, notes or {}
    inputs = plan.checked.program.events
    lines = ["inputs", *(f"  {schema}{_kept(plan, schema.name)}" for schema in inputs)]
    tables = plan.checked.program.tables
    if tables:
        lines += ["", "tables", *(f"  {schema}{_looked_up(plan, schema)}" for schema in tables)]
    if plan.relations:
        lines += ["", "relations"]
        for relation in plan.relations:
            first, *more = relation.lines()
            said = rules.get(relation.schema.name, ())
            lines += [first, *(f"    {shortened(text)}" for text in said), *more]
    for number, stage in enumerate(plan.stages, 1):
        lines += ["", *_stage(plan, stage, number, rules, notes)]
    if plan.needs.instants:
        names = ", ".join(sorted(plan.needs.instants))
        lines += ["", f"bounded if these are instants, which a stream checks: {names}"]
    if plan.needs.unbounded:
        lines += ["", "unbounded state (a stream refuses this unless allow_unbounded is set)"]
        lines += [f"  {d.message}" for d in plan.needs.unbounded]
    return "\n".join(lines) + "\n"


def _kept(plan: Plan, event: str) -> str:
    if event not in plan.needs.retention:
        return "   -- not used" if event not in plan.public else ""
    columns = ", ".join(sorted(plan.columns.get(event, ()))) or "none"
    return f"   -- {_retention(plan.needs.retention[event].micros)}; columns read: {columns}"


def _looked_up(plan: Plan, schema: EventSchema) -> str:
    rows = "" if schema.rows_from is None else f" {schema.rows_from}"
    rows += "" if schema.valid is None else f" {schema.valid}"
    if schema.name not in plan.columns:
        below = [r.schema.name for r in plan.relations if r.used and schema.name in r.rests_on]
        if below:
            return f"{rows}   -- in every place; read by {', '.join(below)}"
        return f"{rows}   -- not used"
    columns = ", ".join(sorted(plan.columns[schema.name] & set(schema.names))) or "none"
    when = "true at all times" if schema.valid is None else "true while valid"
    if schema.name in plan.checked.program.changed:
        when = "true until events delete them"
    return f"{rows}   -- {when}, in every place; columns read: {columns}"


def _uses(plan: Plan, rule: Prepared) -> list[str]:
    """How each atom of a join is read; a row of a table is no state."""
    return [
        "table"
        if use.fact
        else _retention(read.micros)
        + (", suppressed" if read.suppressed else "")
        + (", asks for the results" if read.asks else "")
        for use, read in zip(rule.uses, plan.inputs_of(rule), strict=True)
    ]


def _retention(micros: int) -> str:
    if micros >= UNBOUNDED:
        return "kept forever"
    if micros <= 0:
        return "not kept"
    # Up to a millisecond more says more to a reader than single microseconds.
    return f"kept for {format_duration(micros if micros < 1000 else -(-micros // 1000) * 1000)}"


def _stage(
    plan: Plan,
    stage: Stage,
    number: int,
    rules: Mapping[str, Sequence[str]],
    notes: Mapping[Prepared, Sequence[str]],
) -> Iterator[str]:
    names = ", ".join(_event(plan, name) for name in stage.events)
    how = " (recursive, to a fixpoint)" if stage.recursive else ""
    if stage.in_order:
        how = " (recursive, instant by instant)"
    yield f"stage {number}: {names}{how}"
    for name in stage.events:
        schema = plan.schemas[name]
        attributes = ", ".join(f"{a.name} {a.type}" for a in schema.attributes)
        yield f"  {_event(plan, name)}({attributes}){_kept(plan, name)}"
        yield from (f"    {shortened(text)}" for text in rules.get(name, ()))
    for rule in stage.rules:
        for alternative in rule:
            uses = _uses(plan, alternative)
            by = finalised_by(plan, alternative)
            yield from _rule(alternative, uses, lambda name: _event(plan, name), by)
            yield from (f"    {line}" for line in notes.get(alternative, ()))


def _remark(text: str) -> str:
    return f"   -- {text}" if text else ""


def _event(plan: Plan, name: str) -> str:
    return f"inner pattern {name}" if plan.schemas[name].hidden else name


def join_text(rule: Prepared) -> str:
    """One join as text."""
    lines = _rule(rule, [""] * len(rule.uses), str)
    return "\n".join(line.removeprefix("  ") for line in lines)


def finalised_by(plan: Plan, rule: Prepared) -> list[str]:
    """The inputs whose horizons a join waits for, in the order of the program; none where it waits
    for nothing, or reads no events and goes by whichever input is furthest."""
    lags = plan.whole.finalised_by[rule] if rule.conjunct.completions else {}
    return [name for name in plan.inputs if name in lags]


def _passed(by: Sequence[str]) -> str:
    """That the horizons of some inputs have passed, in words."""
    if not by:
        return "the horizon has passed"
    if len(by) == 1:
        return f"the horizon of {by[0]} has passed"
    return f"the horizons of {', '.join(by[:-1])} and {by[-1]} have passed"


def _rule(
    rule: Prepared,
    uses: Sequence[str],
    named: Callable[[str], str],
    by: Sequence[str] = (),
) -> Iterator[str]:
    conjunct = rule.conjunct
    word = "join" if rule.selection is None else "selection"
    word = word if rule.causes is None else f"causes of type {rule.causes}"
    yield f"  {word} for {named(conjunct.event)}"
    for atom in conjunct.positive:
        use = conjunct.atoms[atom]
        label = f"{use.label}: " if use.label else ""
        yield f"    {label}{use.event}{_remark(uses[atom])}"
    for link in conjunct.links:
        yield f"    equal: {' = '.join(column_name(conjunct, c) for c in link)}"
    for constraint in rule.constraints:
        yield f"    time:  {bound(conjunct, constraint)}"
    for predicate in conjunct.predicates:
        yield f"    where: {expression(conjunct, predicate)}"
    for window in conjunct.windows:
        yield from _window(rule, window, uses[window.atom], named)
    if rule.selection is not None:
        yield from _selection(rule.selection)
    if conjunct.policy != UNRESTRICTED:
        yield f"    using: {policy_text(conjunct.policy)}"
    start, end = (name_of_node(conjunct, n) for n in (conjunct.head.start, conjunct.head.end))
    yield f"    at:    [{start}, {end}]"
    if conjunct.completions:
        times = ", ".join(name_of_node(conjunct, completion) for completion in conjunct.completions)
        yield f"    reported when {_passed(by)} {times}"
    else:
        yield "    reported at once"
    key = ", ".join(partition_key(conjunct))
    yield f"    partition key: {key or 'none'}"


def _selection(selection: Selection) -> Iterator[str]:
    if selection.condition is not None:
        column = selection.condition.column
        yield f"    read:  in the order of {'its length' if column == LENGTH else column}"
    if selection.distinct:
        yield "    each row gives a result of its own"


def _window(
    rule: Prepared, window: WindowUse, kept: str, named: Callable[[str], str]
) -> Iterator[str]:
    conjunct = rule.conjunct
    use = conjunct.atoms[window.atom]
    if window.mode == "previous":
        return
    word = window.mode if window.last is None else f"{window.mode} the last {window.last}"
    yield f"    {word}: {named(use.event)}{_remark(kept)}"
    for name, expr in window.links:
        yield f"      equal: {use.label or use.event}.{name} = {expression(conjunct, expr)}"
    for c in rule.reduced(window.constraints):
        yield f"      time:  {bound(conjunct, c)}"
    for predicate in window.predicates:
        yield f"      where: {expression(conjunct, predicate)}"
    values, place = ways_into_window(rule, window)
    if values is not None or place is not None:
        yield f"      found: by {'a range of values' if place is None else 'where shapes are'}"
    if window.repetition is not None:
        how = window.repetition
        most = "any number of" if how.most is None else f"at most {how.most}"
        yield f"      times: at least {how.least}, {most} repetitions"
        for condition in (*how.conditions, *how.linked):
            yield f"      each:  {expression(conjunct, condition)}"


def bound(conjunct: Conjunct, constraint: Constraint) -> str:
    """A bound between two times of a join as text."""
    later, earlier, limit = constraint.later, constraint.earlier, constraint.limit
    if later == 0:
        return f"{name_of_node(conjunct, earlier)} >= {format_timestamp(-limit)}"
    if earlier == 0:
        return f"{name_of_node(conjunct, later)} <= {format_timestamp(limit)}"
    x, y = name_of_node(conjunct, later), name_of_node(conjunct, earlier)
    sign, shift = ("<", limit + 1) if constraint.strict else ("<=", limit)
    if shift < 0:
        return f"{x} + {format_duration(-shift)} {sign} {y}"
    return f"{x} {sign} {y}" + (f" + {format_duration(shift)}" if shift else "")


def atom_name(conjunct: Conjunct, atom: int) -> str:
    """What an atom goes by: its label, or its event."""
    use = conjunct.atoms[atom]
    return use.label or use.event


def column_name(conjunct: Conjunct, column: Column) -> str:
    """A column of an atom as text."""
    return f"{atom_name(conjunct, column.atom)}.{column.name}"


def expression(conjunct: Conjunct, expr: Expr | Aggregate) -> str:
    """An expression of a join as text, with labels or events where it reads columns."""
    match expr:
        case Column():
            return column_name(conjunct, expr)
        case NodeTime(node):
            return name_of_node(conjunct, node)
        case Const(value, kind):
            if kind.kind == "duration":
                return format_duration(value)
            if kind.kind == "timestamp":
                return format_timestamp(value)
            return "null" if value is None else shortened(repr(value))
        case Call(function, (left, right)) if not function.isidentifier():
            return f"({expression(conjunct, left)} {function} {expression(conjunct, right)})"
        case Call(function, args):
            return f"{function}({', '.join(expression(conjunct, arg) for arg in args)})"
    return str(expr)
