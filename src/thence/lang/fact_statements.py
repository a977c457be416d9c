"""What is reasoned and does not happen: rows that a program states, and relations that rules derive
from tables alone.

The arrow ``:-`` is that of logic programs, whose rules may be about events or about tables. A rule
with it is a deductive one if no event can be meant by any of its names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from thence.lang import syntax as s
from thence.lang.heads import Head, WrittenTerm
from thence.lang.precedence import is_tight
from thence.lang.scope import Scope
from thence.lang.sql.syntax import CreateEvent
from thence.lang.timers import TIMERS
from thence.lang.values import Values
from thence.lang.words import MOMENT_OPERATORS
from thence.logic.check.problems import Problems
from thence.logic.expr import Aggregate, Const, Expr, Var
from thence.logic.ops import Fact
from thence.model.source import Span

_HAPPENING = frozenset({"anyone", "ticks", *MOMENT_OPERATORS, *TIMERS})
"""What is written like a call and is about events."""

_SOMETHING = ""
"""Stands for whatever such a call is about."""


def relations_of(statements: Sequence[s.Statement | CreateEvent]) -> frozenset[str]:
    """The names of what facts and deductive rules say, beside the tables that are declared."""
    declared = {st.name for st in statements if isinstance(st, s.EventDecl)}
    happening = {st.name for st in statements if isinstance(st, s.EventDecl) and not st.table}
    happening |= {st.name for st in statements if isinstance(st, CreateEvent)}
    happening.add(_SOMETHING)
    arrows = [st for st in statements if isinstance(st, s.RuleDecl)]
    happening |= {rule.name for rule in arrows if not rule.deductive}
    found = {rule.name for rule in arrows} - happening
    named = [(rule.name, frozenset(_names(rule))) for rule in arrows if rule.name in found]
    moved = True
    while moved:
        about = [name for name, names in named if name in found and names & happening]
        moved = bool(about)
        happening.update(about)
        found.difference_update(about)
    facts = {st.name for st in statements if isinstance(st, s.FactDecl)}
    return frozenset((found | facts) - declared - happening)


def _names(rule: s.RuleDecl) -> Iterator[str]:
    """Whatever stands in a body where an event could."""
    stack: list[s.Node] = list(rule.items)
    while stack:
        node = stack.pop()
        match node:
            case s.Apply(name=name):
                yield _SOMETHING if name.lower() in _HAPPENING else name
            case s.Name(text=name):
                yield name
            case s.Instant():
                yield _SOMETHING
            case s.Chain(parts=parts) if any(
                isinstance(part, s.Op) and part.kind == "infix" and is_tight(part) for part in parts
            ):
                stack.extend(part for part in parts if isinstance(part, s.Apply | s.Paren))
            case s.WhereSuffix(base=base, condition=condition):
                stack.append(base)
                if not isinstance(condition, s.Name):
                    stack.append(condition)
            case _:
                stack.extend(s.children(node))


def fact_head(fact: s.FactDecl) -> Head:
    """A fact as the head that says what the columns of its relation are called, where no rule
    does: by their positions."""
    terms = tuple(WrittenTerm(None, None, s.span_of(term)) for term in fact.terms)
    name = Span(fact.name_start, fact.name_end)
    return Head(fact.name, name, name, terms)


def fact_of(fact: s.FactDecl, relations: Collection[str], problems: Problems) -> Fact | None:
    """The row that a statement says, if it says one; what is wrong with it is noted.

    ``relations`` are the tables and relations of the program.
    """
    span = Span(fact.name_start, fact.end)
    if fact.name not in relations:
        problems.error(
            Span(fact.name_start, fact.name_end),
            f"'{fact.name}' is an event, and events come with a time when a program is run",
            f"a fact is a row of a table: declare table {fact.name}(…), or write a rule, "
            f"{fact.name}(…) <- …",
        )
        return None
    values = Values(Scope({}, {}, frozenset(), frozenset()), problems)
    found = [_value(term, values.term(term.value), problems) for term in fact.terms]
    return None if None in found else Fact(fact.name, tuple(v for v in found if v), span)


def _value(term: s.Term, value: Expr | Aggregate, problems: Problems) -> Const | None:
    if term.alias is not None:
        problems.error(
            s.span_of(term), "a value of a fact has no name", "leave `as` out, or declare the table"
        )
        return None
    if isinstance(value, Const):
        return value
    if isinstance(value, Var):
        problems.error(
            value.span,
            f"a fact holds values, and '{value.name}' is a variable",
            f"write a text in quotes, '{value.name}'; or say where it comes from, with a rule: "
            "… :- table(…);",
        )
    else:
        problems.error(s.span_of(term), "a fact holds literal values", "write the value itself")
    return None
