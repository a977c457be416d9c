"""Expressions: what conditions, head terms and arguments are made of.

Five tiny immutable classes. Operators and functions are all a :class:`Call`; their names, types
and meaning stand in one table (``logic/functions.py``), their columnar form in
``engine/evaluate.py``. Spans are carried for messages and never compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from thence.logic.roles import VALUE, role
from thence.model.source import NOWHERE, Span
from thence.model.types import Type


@dataclass(frozen=True, slots=True)
class Expr:
    """A value computed from the bindings of one match."""


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A literal. Timestamps and durations hold integer microseconds, decimals a Decimal."""

    value: Any
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """A variable bound by an argument of an atom, or by ``c = a + b``."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Attr(Expr):
    """``l.price``: an attribute of the event that a label names."""

    label: str
    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TimeOf(Expr):
    """``l.start`` or ``l.end``: an end point of the event that a label names, a timestamp.

    ``made`` is when the first of the events began that it is made of; it cannot be written.
    """

    label: str
    which: Literal["start", "end", "made"]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CausedBy(Expr):
    """``caused_by(x, y)``: whether the event labelled ``y`` is among those that ``x`` was made of,
    directly or through derived events."""

    effect: str
    cause: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """An operator or function applied to arguments: ``Call("+", (a, b))``, ``Call("lower", (x,))``.

    ``duration(l)`` is ``l.end - l.start`` from the start; it has no name of its own here.
    """

    function: str
    args: tuple[Expr, ...] = field(metadata=VALUE)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A head aggregate over the events that ``while w: collect p`` collects.

    ``arg`` is None for ``count()``, which counts events. The functions are ``AGGREGATES`` in
    ``logic/functions.py``.
    """

    function: str
    arg: Expr | None = field(metadata=VALUE)
    distinct: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Folded(Expr):
    """A leaf: an aggregate over the repetitions of a match, in a condition: ``count(b) > 3``."""

    aggregate: Aggregate = field(metadata=role("aggregate"))
    span: Span = field(default=NOWHERE, compare=False, repr=False)


def has_aggregate(expr: Expr) -> bool:
    """Whether an expression reads an aggregate over repetitions."""
    return any(isinstance(leaf, Folded) for leaf in leaves(expr))


PREVIOUS = "prev"
"""The function that reads a value of the repetition before."""


def leaves(expr: Expr) -> Iterator[Expr]:
    """Every leaf (anything but a call) of an expression, from left to right.

    >>> from thence.model.types import INT
    >>> [leaf for leaf in leaves(Call("+", (Var("x"), Const(1, INT))))]
    [Var(name='x'), Const(value=1, type=Type(kind='int', of=None, precision=0, scale=0))]
    """
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            stack.extend(reversed(node.args))
        else:
            yield node


def read_by(expr: Expr) -> Iterator[Expr]:
    """Every leaf of an expression, those inside its aggregates instead of these."""
    for leaf in leaves(expr):
        if not isinstance(leaf, Folded):
            yield leaf
        elif leaf.aggregate.arg is not None:
            yield from leaves(leaf.aggregate.arg)


def variables(expr: Expr) -> frozenset[str]:
    """The names of the variables in an expression."""
    return frozenset(leaf.name for leaf in leaves(expr) if isinstance(leaf, Var))


def labels(expr: Expr) -> frozenset[str]:
    """The labels whose attributes or times an expression reads."""
    return frozenset(leaf.label for leaf in leaves(expr) if isinstance(leaf, (Attr, TimeOf)))


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that are joined by ``and``."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.function == "and":
            stack.extend(reversed(node.args))
        else:
            yield node
