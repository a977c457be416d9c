"""Facts where something with a time is needed: the rows of a table have none."""

from __future__ import annotations

from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView
from thence.logic.conjunct import INNER
from thence.logic.expr import CausedBy, Expr, TimeOf, read_by
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    Atom,
    Label,
    Moments,
    NoFact,
    Not,
    Or,
    Par,
    Pattern,
    Ref,
    Repeat,
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
    children,
    exprs_of,
    span_of,
    walk,
)
from thence.logic.repetition import element_of


def check_facts(view: RuleView, tables: frozenset[str], problems: Problems) -> None:
    """Refuse a rule that asks when a fact happens, and an absence of facts that is none."""
    facts = _Facts(view, tables)
    for part in walk(view.rule.body):
        if isinstance(part, NoFact):
            _check_absent(part, facts, problems)
        else:
            _check_occurs(part, facts, problems)
    if not tables:
        return
    whole = facts.table_of(view.rule.body)
    if whole is not None:
        rule = view.rule
        where = "this part of a rule" if rule.hidden else f"the body of '{rule.event}'"
        problems.error(
            view.rule.span,
            f"nothing in {where} occurs: the table '{whole}' has rows, "
            "which are true at all times, and no events",
            "name an event that the row is looked up for, or derive rows: head :- table(…)",
        )
        return
    for part in walk(view.rule.body):
        _check_operands(part, facts, problems)
        _check_label(part, facts, problems)
    for expr in exprs_of(view.rule):
        for leaf in read_by(expr):
            _check_leaf(leaf, facts, problems)
    for label, _ in view.rule.policy.labels:
        if (table := facts.labelled(label)) is not None:
            problems.error(
                view.rule.policy.span,
                f"the policy chooses '{label}', which is a row of the table '{table}'",
                "a policy chooses among events; every row of a table that fits counts",
            )


def check_timeless(view: RuleView, tables: frozenset[str], problems: Problems) -> None:
    """Refuse what is about time in a deductive rule, all of which is about rows of tables."""
    facts = _Facts(view, tables)
    for part in walk(view.rule.body):
        if isinstance(part, NoFact):
            _check_absent(part, facts, problems)
        elif not isinstance(part, Atom | And | Or | Where | Label):
            word = written(part) or type(part).__name__.lower()
            problems.error(
                span_of(part),
                f"rows of tables have no time, so `{word}` cannot stand in a deductive rule",
                "join rows with a comma, `and` or `or`; a rule about events has the arrow `<-`",
            )
    for expr in exprs_of(view.rule):
        for leaf in read_by(expr):
            _check_leaf(leaf, facts, problems)


def _check_leaf(leaf: Expr, facts: _Facts, problems: Problems) -> None:
    """Refuse the times of a row, and a row among causes and effects."""
    match leaf:
        case TimeOf(label, which, span):
            if (table := facts.labelled(label)) is not None:
                problems.error(
                    span,
                    f"'{label}' is a row of the table '{table}', which has no {which}",
                    "a row of a table is true at all times; read the time of an event",
                )
        case CausedBy():
            for label in (leaf.effect, leaf.cause):
                if (table := facts.labelled(label)) is not None:
                    problems.error(
                        leaf.span,
                        f"'{label}' is a row of the table '{table}', and no event",
                        "`caused_by` is about events; rows are compared by their columns",
                    )


class _Facts:
    """Which patterns of a rule have no time, because they are facts."""

    def __init__(self, view: RuleView, tables: frozenset[str]) -> None:
        self.view = view
        self.tables = tables

    def table_of(self, pattern: Pattern, seen: frozenset[str] = frozenset()) -> str | None:
        """A table that a pattern is about, where it is about tables alone."""
        match pattern:
            case Atom(event):
                return event if event in self.tables else None
            case Label(_, inner) | Where(inner, _) | NoFact(inner):
                return self.table_of(inner, seen)
            case Ref(label):
                return self.labelled(label, seen)
            case And(parts) | Or(parts):
                found = [self.table_of(part, seen) for part in parts]
                return None if None in found else found[0]
        return None

    def labelled(self, label: str, seen: frozenset[str] = frozenset()) -> str | None:
        """The table whose row a label names."""
        definitions = self.view.definitions.get(label, ())
        if label in seen or not definitions:
            return None
        return self.table_of(definitions[0].pattern, seen | {label})


def _check_absent(part: NoFact, facts: _Facts, problems: Problems) -> None:
    inner = part.pattern
    while isinstance(inner, (Label, Where)):
        inner = inner.pattern
    table = facts.table_of(inner)
    if isinstance(inner, Atom) and inner.event.startswith(INNER):
        return  # what only rewrites make: it says itself when
    if table is not None and not isinstance(inner, Atom):
        problems.error(
            part.span,
            "`not` takes one row of one table",
            f"write one for each table, after a comma: not {table}(…), not …",
        )
    elif table is None:
        problems.error(
            part.span,
            "an absence needs the time in which nothing happens",
            "only a row of a table is absent at all times: not catalogue(…)",
        )


def _check_occurs(part: Pattern, facts: _Facts, problems: Problems) -> None:
    """Refuse what only says what is absent or collected, unless it is beside what occurs."""
    for each in children(part):
        timeless = isinstance(each, While | NoFact) and not isinstance(part, And)
        if isinstance(each, And):
            timeless = all(isinstance(inner, While | NoFact) for inner in each.parts)
        if timeless and (written(part) is None or facts.table_of(each) is None):
            problems.error(
                span_of(each),
                "there is no event here, only conditions",
                "name at least one event that the conditions are about",
            )


def _check_operands(part: Pattern, facts: _Facts, problems: Problems) -> None:
    """Refuse what relates the time of a fact to something, or is itself related."""
    parts = children(part)
    tables = [facts.table_of(each) for each in parts]
    if isinstance(part, Or) and None in tables and any(tables):
        named = next(table for table in tables if table is not None)
        problems.error(
            part.span,
            f"a branch of this `or` is a row of the table '{named}', which happens at no time",
            "join it to an event with `and`, or write one rule per branch",
        )
        return
    word = written(part)
    if word is None:
        return
    for each, table in zip(parts, tables, strict=True):
        if table is not None:
            problems.error(
                span_of(each),
                f"a row of the table '{table}' has no time, so `{word}` cannot be about it",
                _hint(part, table),
            )


def _hint(part: Pattern, table: str) -> str:
    if isinstance(part, While) and part.mode == "not":
        return f"what a table does not have is absent at all times: write `not {table}(…)` instead"
    if isinstance(part, While):
        return f"collect the events that it is looked up for: collect (event(…) and {table}(…))"
    return f"look it up beside the event, after a comma or with `and`: event(…) and {table}(…)"


def written(part: Pattern) -> str | None:
    """How an operator that is about times is written."""
    match part:
        case Seq():
            return "seq"
        case Until():
            return "until"
        case Par():
            return "par"
        case Allen(relation):
            return relation
        case Within():
            return "within"
        case While(_, mode):
            return f"{'over' if part.over else 'while'} … {mode}"
        case Not():
            return "not(…).[…]"
        case Moments(operator):
            return operator
        case AnyOne():
            return "anyone"
        case Repeat():
            return "+" if element_of(part) is None else None
        case Ticks():
            return "ticks"
        case And() | Or() | Label() | Where() | Using() | NoFact() | SemiJoin() | Since():
            return None
    assert not children(part), f"is {type(part).__name__} about times?"
    return None


def _check_label(part: Pattern, facts: _Facts, problems: Problems) -> None:
    """Refuse timers of facts, and facts as windows."""
    match part:
        case Timer(of, name=name, span=span):
            label, word = of, name
        case While(window, _, _, span):
            label, word = window, "over" if part.over else "while"
        case _:
            return
    if (table := facts.labelled(label)) is not None:
        problems.error(
            span,
            f"'{label}' is a row of the table '{table}', which has no time, so `{word}` cannot be "
            "relative to it",
            "label an event instead",
        )
