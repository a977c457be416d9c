"""Writes logic programs as text again, such that reading the text gives the same program.

Used by ``program.text()``, by ``explain`` and wherever a message shows a rule. What can be written
in several ways comes out in one: a comma between the items of a body, labels inside ``where``,
positions for arguments where the event's attributes are known. An operator that has no form here
is a mistake of ours and raises AssertionError: nothing is written that would read as something
else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from thence.lang.line_breaks import laid_out
from thence.lang.readable import readable
from thence.lang.timers import written
from thence.lang.values_text import format_aggregate, format_expr, quoted
from thence.lang.words import FUNCTIONS
from thence.logic.expr import Aggregate, Call, Expr, Var, conjuncts
from thence.logic.heads import preferred_name
from thence.logic.moments import OPERATORS
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    At,
    Atom,
    Change,
    Fact,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    NoFact,
    Not,
    Or,
    Par,
    Pattern,
    Ref,
    Repeat,
    Rule,
    SemiJoin,
    Seq,
    Since,
    Ticks,
    Timer,
    Until,
    Using,
    Where,
    While,
    Within,
)
from thence.logic.policy import UNRESTRICTED, policy_text
from thence.logic.reactions import CallFunction, Credential, Post, Reaction
from thence.model.schema import EventSchema
from thence.model.time import format_duration, format_timestamp

Columns = Mapping[str, tuple[str, ...]]


def format_program(program: LogicProgram) -> str:
    """A program as text: its declarations, then its rules, in lines that are easy to read.

    >>> from thence.lang.parser import parse_program
    >>> from thence.model.source import Source
    >>> text = "event a(x int, y int); b(x) <- l:a(x,_) SEQ a(x,3) within 90s, l.y<2;"
    >>> print(format_program(parse_program(Source(text))))
    event a(x int, y int);
    <BLANKLINE>
    b(x) <- l: a(x, _) seq a(x, 3) within 90 s where l.y < 2;
    """
    program = readable(program)
    columns = columns_of(program)
    events = [laid_out(format_event(event)) for event in program.declared]
    known = [format_fact(fact) for fact in program.facts]
    known += [laid_out(format_rule(rule, columns, ":-")) for rule in program.deductions]
    changes = [laid_out(format_change(change, columns)) for change in program.changes]
    rules = [laid_out(format_rule(rule, columns)) for rule in program.rules]
    reactions = [laid_out(format_reaction(reaction, columns)) for reaction in program.reactions]
    parts = (events, known, changes, rules, reactions)
    return "\n\n".join("\n".join(part) for part in parts if part)


def columns_of(program: LogicProgram) -> dict[str, tuple[str, ...]]:
    """The attributes of every event that a program declares or derives, in order."""
    columns = {event.name: event.names for event in program.declared}
    for rule in (*program.deductions, *program.rules):
        columns.setdefault(rule.event, tuple(term.name for term in rule.terms))
    for fact in program.facts:
        columns.setdefault(fact.relation, fact.columns)
    return columns


def format_event(event: EventSchema) -> str:
    """The declaration of an event, or of a table, as text."""
    attributes = ", ".join(f"{quoted(a.name)} {a.type}" for a in event.attributes)
    limit = "" if event.longest is None else f" within {_limit(event.longest)}"
    word = "table" if event.table else "event"
    rows = "" if event.rows_from is None else f" {event.rows_from}"
    valid = "" if event.valid is None else f" valid{event.valid.written(quoted)}"
    return f"{word} {quoted(event.name)}({attributes}){limit}{rows}{valid};"


def format_fact(fact: Fact) -> str:
    """A row that a program says, as text."""
    return f"{quoted(fact.relation)}({', '.join(map(format_expr, fact.values))});"


def format_change(change: Change, columns: Columns | None = None) -> str:
    """What an event does to a table, as text."""
    names = (columns or {}).get(change.table, ())
    values = {term.name: format_expr(term.value) for term in change.rule.terms}  # type: ignore[arg-type]
    row = ", ".join(values.get(name, "_") for name in names)
    body = _suffixed(change.rule.body, columns or {})
    return f"on {body}: {change.verb} {quoted(change.table)}({row});"


def format_rule(rule: Rule, columns: Columns | None = None, arrow: str = "<-") -> str:
    """A rule as text. ``columns`` lets arguments be written by position."""
    return f"{format_head(rule)} {arrow} {_body(rule.body, columns or {})}{_using(rule)};"


def _using(rule: Rule) -> str:
    return "" if rule.policy == UNRESTRICTED else f" using {policy_text(rule.policy, quoted)}"


def format_reaction(reaction: Reaction, columns: Columns | None = None) -> str:
    """A reaction as text."""
    body = format_pattern(reaction.rule.body, columns)
    return f"on {body}: {_action(reaction)};"


def _action(reaction: Reaction) -> str:
    payload = "" if reaction.whole else f"({', '.join(map(_sent, reaction.rule.terms))})"
    match reaction.action:
        case CallFunction(name):
            return f"call {quoted(name)}{payload}"
        case Post(url, credentials):
            sent = f" with {payload}" if payload else ""
            signed = " ".join(map(_credential, credentials))
            return f"post {_text(url)}{sent}" + (f" using {signed}" if signed else "")
    raise AssertionError(f"no text is known for {type(reaction.action).__name__}")


def _sent(term: HeadTerm) -> str:
    assert isinstance(term.value, Expr)
    text = format_expr(term.value)
    return text if preferred_name(term.value) == term.name else f"{quoted(term.name)} = {text}"


def _credential(credential: Credential) -> str:
    header = f" {_text(credential.header)}" if credential.scheme == "header" else ""
    return f"{credential.scheme}{header} env {_text(credential.variable)}"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def format_head(rule: Rule) -> str:
    """The head of a rule as text."""
    terms = ", ".join(_term(term, at) for at, term in enumerate(rule.terms, 1))
    return f"{quoted(rule.event)}({terms})"


def _term(term: HeadTerm, position: int) -> str:
    value = term.value
    text = format_aggregate(value) if isinstance(value, Aggregate) else format_expr(value)
    if term.name == (preferred_name(value) or f"c{position}"):
        return text
    return f"{text} as {quoted(term.name)}"


def _body(body: Pattern, columns: Columns) -> str:
    if isinstance(body, And):
        return ", ".join(_suffixed(part, columns) for part in body.parts)
    if isinstance(body, Where) and isinstance(body.pattern, And):
        conditions = tuple(conjuncts(body.condition))
        has_while = any(isinstance(part, While) for part in body.pattern.parts)
        if has_while or all(map(_is_plain_condition, conditions)):
            items = [_body(body.pattern, columns), *map(format_expr, conditions)]
            return ", ".join(items)
    return format_pattern(body, columns)


def _is_plain_condition(condition: Expr) -> bool:
    """Whether a condition is one at first sight, so that it can stand between commas.

    A bare variable or call could be taken for an event.
    """
    while isinstance(condition, Call) and condition.function in ("and", "or", "not"):
        if not all(map(_is_plain_condition, condition.args[1:])):
            return False
        condition = condition.args[0]
    return not isinstance(condition, Var) and not (
        isinstance(condition, Call) and condition.function in FUNCTIONS
    )


def format_pattern(pattern: Pattern, columns: Columns | None = None) -> str:
    """A pattern as text, without parentheses around it.

    >>> format_pattern(Within(Seq((Atom("a"), Label("l", Atom("b", (("x", Var("x")),))))), 1500000))
    'a() seq l: b(x=x) within 1.5 s'
    """
    known = columns or {}
    match pattern:
        case Within(inner, limit):
            return f"{_suffixed(inner, known)} within {_limit(limit)}"
        case Where(inner, condition):
            return f"{_suffixed(inner, known)} where {format_expr(condition)}"
        case Seq(parts):
            return " seq ".join([_operand(part, known) for part in parts])
        case Or(parts):
            return " or ".join([_operand(part, known) for part in parts])
        case And(parts):
            if all(isinstance(part, Ref) for part in parts):
                return "{" + ", ".join([_operand(part, known) for part in parts]) + "}"
            if _has_while(pattern):
                return ", ".join([_suffixed(part, known) for part in parts])
            return " and ".join([_operand(part, known) for part in parts])
        case Par(left, right):
            return f"{_operand(left, known)} par {_operand(right, known)}"
        case Allen(relation, left, right):
            return f"{_operand(left, known)} {relation} {_operand(right, known)}"
        case Until(inner, closing):
            return f"{_operand(inner, known)} until {_operand(closing, known)}"
        case While(window, mode, inner) if pattern.over:
            return f"over {_over(pattern)} of {quoted(window)}: collect {_operand(inner, known)}"
        case While(window, mode, inner):
            return f"while {quoted(window)}: {mode} {_operand(inner, known)}"
    return _operand(pattern, known)


def _limit(micros: int) -> str:
    """A duration after ``within``, where a sign must stand in quotes."""
    text = format_duration(micros)
    return f"'{text}'" if micros < 0 else text


def _over(pattern: While) -> str:
    """How far ``over`` looks back."""
    reach = None if pattern.reach is None else format_duration(pattern.reach)
    if pattern.rows is None:
        return str(reach)
    rows = f"{pattern.rows} {'row' if pattern.rows == 1 else 'rows'}"
    return rows if reach is None else f"{rows} in {reach}"


def _has_while(pattern: Pattern) -> bool:
    """Whether a pattern is a conjunction that must be written with commas."""
    return isinstance(pattern, And) and any(isinstance(part, While) for part in pattern.parts)


def _suffixed(pattern: Pattern, known: Columns) -> str:
    """A pattern as text that `within`, `where` or a comma can follow."""
    return _operand(pattern, known) if _has_while(pattern) else format_pattern(pattern, known)


def _operand(pattern: Pattern, known: Columns) -> str:
    """A pattern as text that can stand beside an operator."""
    match pattern:
        case Atom():
            return _atom(pattern, known)
        case Ref(label):
            return quoted(label)
        case Label(name, Repeat() as inner):  # without parentheses each one would have the label
            return f"{quoted(name)}: ({_operand(inner, known)})"
        case Label(name, inner):
            return f"{quoted(name)}: {_operand(inner, known)}"
        case Repeat(Repeat() as inner, least, most):
            return f"({_operand(inner, known)}){_times(least, most)}"
        case Repeat(inner, least, most):
            return f"{_operand(inner, known)}{_times(least, most)}"
        case Not(absent, first, last):
            outside = f"{_suffixed(first, known)}, {_suffixed(last, known)}"
            return f"not({_suffixed(absent, known)}).[{outside}]"
        case NoFact(inner):
            return f"not {_operand(inner, known)}"
        case At(time):
            return f"at '{format_timestamp(time)}'"
        case Timer():
            name, duration = written(pattern)
            return f"{name}({quoted(pattern.of)}, {format_duration(duration)})"
        case Moments():
            return _moments(pattern, known)
        case Ticks(inner, period, reach):
            durations = f"{format_duration(period)}, {format_duration(reach)}"
            return f"ticks({_suffixed(inner, known)}, {durations})"
        case SemiJoin(inner, other):
            return f"({_body(inner, known)} semi-join {_operand(other, known)})"
        case Since(inner, context):
            return f"({_body(inner, known)} since {_operand(context, known)})"
        case Using(inner, policy):
            return f"({_body(inner, known)} using {policy_text(policy, quoted)})"
        case AnyOne(parts):
            return f"anyone({', '.join([_suffixed(part, known) for part in parts])})"
        case Within() | Where() | Seq() | Or() | And() | Par() | Allen() | While() | Until():
            return f"({format_pattern(pattern, known)})"
    raise AssertionError(f"no text is known for {type(pattern).__name__}")


def _times(least: int, most: int | None) -> str:
    """How often something is repeated.

    >>> _times(1, None), _times(2, 2), _times(2, None), _times(0, 3), _times(0, 1)
    ('+', '{2}', '{2,}', '{0,3}', '?')
    """
    if (least, most) == (0, 1):
        return "?"
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _moments(pattern: Moments, known: Columns) -> str:
    """A call with its arguments in the order in which they are written."""
    operator = OPERATORS[pattern.operator]
    given = operator.arguments(pattern.parts, pattern.absent, pattern.collected)
    if operator.last == "same" and given[-1] == given[-2]:
        given.pop()
    if operator.last == "among":
        choice = given.pop()
        given += choice.parts if isinstance(choice, Or) else (choice,)
    shown = [_suffixed(argument, known) for argument in given]
    if operator.duration is not None:
        shown.insert(operator.duration, format_duration(pattern.limit))
    return f"{pattern.operator}({', '.join(shown)})"


def _atom(atom: Atom, known: Columns) -> str:
    args = dict(atom.args)
    columns = known.get(atom.event)
    if columns is not None and args and 2 * len(args) >= len(columns):
        if tuple(args) == tuple(name for name in columns if name in args):
            listed = [format_expr(args[c]) if c in args else "_" for c in columns]
            # `x = 1` as an argument by position would be read as the attribute x.
            if not any(re.match(r"[\w`]+\s*=", text) for text in listed):
                return f"{quoted(atom.event)}({', '.join(listed)})"
    named = ", ".join(f"{quoted(name)}={format_expr(value)}" for name, value in atom.args)
    return f"{quoted(atom.event)}({named})"
