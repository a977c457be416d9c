"""``expired(id, missing) <- timeout(completed);``: the matches of a sequence that began and were
not completed in time.

It is written out as ordinary rules, one for each part that may be missing: the parts before it have
come, in time, and it has not, until the time was over. So it is absence, on every host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thence.lang import syntax as s
from thence.lang.precedence import join
from thence.lang.timers import timer
from thence.logic.check.problems import Problems
from thence.logic.expr import (
    Aggregate,
    Call,
    Const,
    Expr,
    TimeOf,
    Var,
    conjuncts,
    labels,
    variables,
)
from thence.logic.ops import (
    And,
    Atom,
    HeadTerm,
    Label,
    Pattern,
    Rule,
    Seq,
    Where,
    While,
    Within,
    walk,
)
from thence.logic.policy import UNRESTRICTED
from thence.model.source import Span
from thence.model.types import NULL, STRING

TIMEOUT = "timeout"
MISSING = "missing"
"""The attribute that says which part did not come."""


def timed_out(rule: s.RuleDecl, events: Mapping[str, object]) -> s.Apply | None:
    """What stands behind the arrow of a rule for timeouts; None where it is another rule."""
    if len(rule.items) != 1 or TIMEOUT in events:
        return None
    item = s.strip(rule.items[0])
    return item if isinstance(item, s.Apply) and item.name == TIMEOUT else None


def timeout_rules(
    decl: s.RuleDecl, asked: s.Apply, rules: Sequence[Rule], problems: Problems
) -> Iterator[Rule]:
    """The rules that a rule for timeouts stands for; ``rules`` are those of the program."""
    name = s.strip(asked.args[0]) if len(asked.args) == 1 else None
    if not isinstance(name, s.Name) or decl.policy:
        problems.error(
            s.span_of(asked),
            "timeout takes the name of a derived event, and stands alone in its rule",
            "write it as expired(id, missing) <- timeout(completed);",
        )
        return
    of = [rule for rule in rules if rule.event == name.text]
    if not of:
        known = ", ".join(dict.fromkeys(rule.event for rule in rules)) or "none"
        problems.error(
            s.span_of(name),
            f"no rule derives '{name.text}', so it never times out",
            f"name an event that rules derive: {known}",
        )
    for rule in of:
        sequence = _sequence(rule)
        if isinstance(sequence, str):
            problems.error(s.span_of(name), f"'{name.text}' {sequence}", _HINT)
            continue
        values = {term.name: term.value for term in rule.terms}
        for at in range(1, len(sequence.parts)):
            yield _without(decl, sequence, at, values, name.text, problems)


_HINT = "let it be a sequence of events with an end: (o: order(id) seq s: shipped(id)) within 2 h"


@dataclass(frozen=True, slots=True)
class _Sequence:
    """Events one after another, all within a time, and what must hold of them."""

    parts: tuple[Label, ...]
    limit: int
    conditions: tuple[Expr, ...]
    names: frozenset[str]

    def free(self, name: str) -> str:
        """A name that nothing has."""
        while name in self.names:
            name += "_"
        return name


def _sequence(rule: Rule) -> _Sequence | str:
    """The body of a rule as a sequence; why it is none otherwise."""
    body, limits = rule.body, []
    conditions: list[Expr] = []
    while isinstance(body, Within | Where):
        if isinstance(body, Within):
            limits.append(body.limit)
        else:
            conditions += conjuncts(body.condition)
        body = body.pattern
    if rule.policy != UNRESTRICTED:
        return "has a policy, which chooses among matches that are complete: none of them times out"
    if not isinstance(body, Seq):
        return "is no sequence, and only of sequences it is known which part is missing"
    if not limits:
        return "never times out: add `within`"
    names = {p.name for p in walk(body) if isinstance(p, Label)}
    for part in walk(body):
        if isinstance(part, Atom):
            names |= {n for _, value in part.args for n in variables(value)}
    made = _Sequence((), min(limits), tuple(conditions), frozenset(names))
    parts = []
    for number, part in enumerate(body.parts, 1):
        if not isinstance(part, Label):
            part = Label(made.free(f"part_{number}"), part)
        if not isinstance(part.pattern, Atom):
            return (
                "is a sequence of more than single events, of which it is not told what is missing"
            )
        parts.append(part)
    return _Sequence(tuple(parts), made.limit, made.conditions, made.names)


def _without(
    decl: s.RuleDecl,
    sequence: _Sequence,
    at: int,
    values: Mapping[str, Expr | Aggregate],
    event: str,
    problems: Problems,
) -> Rule:
    """The rule for a sequence whose first parts came, but not the next one."""
    span, head = Span(decl.start, decl.end), Span(decl.start, decl.head_end)
    there, missing = sequence.parts[:at], sequence.parts[at]
    known = _bound(there)
    met = [each for each in sequence.conditions if _reads(each) <= known]
    asked = [
        each
        for each in sequence.conditions
        if _reads(each) <= known | _bound((missing,)) and each not in met
    ]
    begun: Pattern = Seq(there, span) if at > 1 else there[0]
    if at > 1:
        begun = Within(begun, sequence.limit, span)
    if met:
        begun = Where(begun, join("and", met, span), span)
    after = Call("<", (TimeOf(there[-1].name, "end"), TimeOf(missing.name, "start")))
    absent = Where(missing, join("and", [after, *asked], span), span)
    deadline = sequence.free("deadline")
    # What lies in a window ends before it does: a microsecond more lets the last instant count.
    until = timer("from_start", there[0].name, sequence.limit + 1, span)
    body = And((begun, Label(deadline, until, span), While(deadline, "not", absent, span)), span)
    terms = tuple(
        _term(term, missing, values, known, event, sequence.names, problems) for term in decl.terms
    )
    return Rule(decl.name, terms, body, span, head)


def _term(
    term: s.Term,
    missing: Label,
    values: Mapping[str, Expr | Aggregate],
    known: frozenset[str],
    event: str,
    labelled: frozenset[str],
    problems: Problems,
) -> HeadTerm:
    """A column: what the sequence would have had there, null where that is not known yet."""
    node, span = s.strip(term.value), s.span_of(term)
    value: Expr | Aggregate = Const(None, NULL)
    name = node.text if isinstance(node, s.Name) else ""
    if name == MISSING and MISSING not in values:
        atom = missing.pattern
        assert isinstance(atom, Atom)
        value = Const(missing.name if missing.name in labelled else atom.event, STRING)
    elif name in values:
        held = values[name]
        if not isinstance(held, Aggregate) and _reads(held) <= known:
            value = held
    else:
        problems.error(
            span,
            f"a timeout of '{event}' has no such attribute",
            f"it has those of '{event}' and '{MISSING}': {', '.join([*values, MISSING])}",
        )
    return HeadTerm(term.alias or name, value, span, named=True)


def _bound(parts: Sequence[Label]) -> frozenset[str]:
    """The labels of some parts, and the variables in them."""
    found = {part.name for part in parts}
    for part in parts:
        assert isinstance(part.pattern, Atom)
        for _, value in part.pattern.args:
            if isinstance(value, Var):
                found.add(value.name)
    return frozenset(found)


def _reads(expr: Expr) -> frozenset[str]:
    return variables(expr) | labels(expr)
