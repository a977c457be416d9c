"""The bodies of deductive rules as what they are made of: rows that are there, rows that are not,
and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thence.logic.alternatives import alternatives
from thence.logic.expr import Attr, Call, Expr, Var, conjuncts, leaves
from thence.logic.ops import And, Atom, Label, NoFact, Pattern, Rule, Where


@dataclass(frozen=True, slots=True)
class Row:
    """An atom that must be there, perhaps under a label."""

    atom: Atom
    label: str | None = None

    @property
    def pattern(self) -> Pattern:
        return self.atom if self.label is None else Label(self.label, self.atom)

    @property
    def names(self) -> frozenset[Expr]:
        """What it binds: variables, and the columns that its label reads stand under the label."""
        found: set[Expr] = {arg for _, arg in self.atom.args if isinstance(arg, Var)}
        if self.label is not None:
            found.add(Var(self.label))
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Body:
    """One alternative of a body."""

    rows: tuple[Row, ...]
    absent: tuple[NoFact, ...]
    conditions: tuple[Expr, ...]

    def with_rows(self, rows: tuple[Row, ...]) -> Pattern:
        """The body with other rows in place of its own."""
        return conjunction(rows, self.absent, self.conditions)


def conjunction(
    rows: tuple[Row, ...], absent: tuple[NoFact, ...], conditions: tuple[Expr, ...]
) -> Pattern:
    """Rows that are there, rows that are not, and conditions, as one pattern."""
    parts = (*(row.pattern for row in rows), *absent)
    joined: Pattern = parts[0] if len(parts) == 1 else And(parts)
    if not conditions:
        return joined
    condition = conditions[0]
    for each in conditions[1:]:
        condition = Call("and", (condition, each))
    return Where(joined, condition)


def bodies(rule: Rule) -> list[Body]:
    """The alternatives of a deductive rule's body."""
    return [_body(pattern) for pattern in alternatives(rule.body)]


def _body(pattern: Pattern) -> Body:
    rows: list[Row] = []
    absent: list[NoFact] = []
    conditions: list[Expr] = []
    stack = [pattern]
    while stack:
        match stack.pop():
            case And(parts):
                stack.extend(reversed(parts))
            case Where(inner, condition):
                conditions += conjuncts(condition)
                stack.append(inner)
            case NoFact() as none:
                absent.append(none)
            case Label(name, Atom() as atom):
                rows.append(Row(atom, name))
            case Atom() as atom:
                rows.append(Row(atom))
            case Label(name, Where(inner, condition)):
                conditions += conjuncts(condition)
                stack.append(Label(name, inner))
            case other:
                raise AssertionError(f"{type(other).__name__} in a deductive rule")
    return Body(tuple(rows), tuple(absent), tuple(conditions))


def reads(expr: Expr) -> Iterator[Expr]:
    """The names that an expression reads: variables, and labels as variables."""
    for leaf in leaves(expr):
        if isinstance(leaf, Var):
            yield Var(leaf.name)
        elif isinstance(leaf, Attr):
            yield Var(leaf.label)


def known_after(names: frozenset[Expr], conditions: tuple[Expr, ...]) -> frozenset[Expr]:
    """What is bound once some names are: conditions such as ``z = x + 1`` bind one more."""
    known = set(names)
    grown = True
    while grown:
        grown = False
        for condition in conditions:
            match condition:
                case Call("=", (left, right)):
                    for one, other in ((left, right), (right, left)):
                        if (
                            isinstance(one, Var)
                            and one not in known
                            and known.issuperset(reads(other))
                        ):
                            known.add(one)
                            grown = True
    return frozenset(known)
