"""Values in Python: attributes, times, variables, and whatever is computed from them.

A value is no number or text: it says how to get one, for each match. So its operators give values
again, and asking whether one is true is refused, since nobody knows yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Self, TypeVar

from thence.lang.python.places import Place, calling_place
from thence.lang.python.relations import Relations
from thence.lang.values_text import format_expr
from thence.logic.expr import Aggregate, Attr, Call, CausedBy, Const, Expr, Folded, TimeOf, Var
from thence.logic.widening import literal_type
from thence.model.errors import BuildError, InputError
from thence.model.instants import instant
from thence.model.time import parse_duration
from thence.model.types import BOOL, DURATION, FLOAT, INT, NULL, STRING, TIMESTAMP

if TYPE_CHECKING:
    from thence.lang.python.patterns import Pattern

T = TypeVar("T")
_MICROSECOND = timedelta(microseconds=1)


class Value:
    """Something that each match has a value of: compare it, compute with it, select it.

    >>> x = var("x")
    >>> condition = (x > 1) & (x % 2 == 0)
    >>> if condition:
    ...     pass
    Traceback (most recent call last):
    ...
    thence.model.errors.BuildError: a condition has no truth value here: it is looked at for each \
match, when the program runs; use & for `and`, | for `or` and ~ for `not`, with parentheses around \
each comparison, and (1 < x) & (x < 5) for 1 < x < 5
    """

    __slots__ = ("_place",)
    _place: Place

    def __new__(cls, *_: object, **__: object) -> Self:
        made = object.__new__(cls)
        object.__setattr__(made, "_place", calling_place())
        return made

    # -- comparisons

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return call("=", self, _not_null(other))

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return call("!=", self, _not_null(other))

    def __lt__(self, other: object) -> Value:
        return call("<", self, other)

    def __le__(self, other: object) -> Value:
        return call("<=", self, other)

    def __gt__(self, other: object) -> Value:
        return call(">", self, other)

    def __ge__(self, other: object) -> Value:
        return call(">=", self, other)

    def is_null(self) -> Value:
        """Whether there is no value."""
        return call("is_null", self)

    def is_not_null(self) -> Value:
        """Whether there is a value."""
        return ~self.is_null()

    def is_distinct_from(self, other: object) -> Value:
        """Whether two values differ, where null is equal to null and NaN to NaN."""
        return call("is distinct from", self, other)

    def is_not_distinct_from(self, other: object) -> Value:
        """Whether two values are the same, where null is equal to null and NaN to NaN."""
        return ~self.is_distinct_from(other)

    def is_in(self, *choices: object) -> Value:
        """Whether the value is one of those given, one by one or as a list."""
        listed = choices[0] if len(choices) == 1 and isinstance(choices[0], (list, tuple)) else None
        given = choices if listed is None else tuple(listed)
        if not given:
            raise BuildError("is_in needs at least one value to choose from: is_in(1, 2)")
        return call("in", self, *given)

    def between(self, low: object, high: object) -> Value:
        """Whether the value is at least ``low`` and at most ``high``."""
        return (self >= low) & (self <= high)

    def like(self, pattern: object) -> Value:
        """Whether a text fits a pattern in which ``%`` is any text and ``_`` any character."""
        return call("like", self, pattern)

    # -- truth values

    def __and__(self, other: object) -> Value:
        return call("and", self, other)

    def __rand__(self, other: object) -> Value:
        return call("and", other, self)

    def __or__(self, other: object) -> Value:
        return call("or", self, other)

    def __ror__(self, other: object) -> Value:
        return call("or", other, self)

    def __invert__(self) -> Value:
        return call("not", self)

    def __bool__(self) -> NoReturn:
        raise BuildError(
            "a condition has no truth value here: it is looked at for each match, when the program "
            "runs; use & for `and`, | for `or` and ~ for `not`, with parentheses around each "
            "comparison, and (1 < x) & (x < 5) for 1 < x < 5"
        )

    # -- arithmetic

    def __add__(self, other: object) -> Value:
        return call("+", self, other)

    def __radd__(self, other: object) -> Value:
        return call("+", other, self)

    def __sub__(self, other: object) -> Value:
        return call("-", self, other)

    def __rsub__(self, other: object) -> Value:
        return call("-", other, self)

    def __mul__(self, other: object) -> Value:
        return call("*", self, other)

    def __rmul__(self, other: object) -> Value:
        return call("*", other, self)

    def __truediv__(self, other: object) -> Value:
        return call("/", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return call("/", other, self)

    def __mod__(self, other: object) -> Value:
        return call("%", self, other)

    def __rmod__(self, other: object) -> Value:
        return call("%", other, self)

    def __neg__(self) -> Value:
        return call("neg", self)

    def __pos__(self) -> Value:
        return self

    def concat(self, other: object) -> Value:
        """Two texts joined: ``||`` in the rule language."""
        return call("||", self, other)

    def __repr__(self) -> str:
        return f"<thence value {shown_value(self)}>"

    # Values are compared with == to build conditions, so they can be no keys.
    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal_(Value):
    """A value that is the same for each match."""

    const: Const


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variable(Value):
    """A name that has one value in all of a match. Made by :func:`var`."""

    name: str


class Attribute(Value, Generic[T]):
    """An attribute of an event, for declarations: ``qty: Attribute[int]``.

    Means what ``qty: int`` does, and tells editors and type checkers that ``order.qty`` is a value.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttributeOf(Attribute[Any]):
    """An attribute of an event."""

    owner: Pattern
    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EndPoint(Value):
    """When an occurrence of a pattern starts or ends."""

    owner: Pattern
    which: Literal["start", "end"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Caused(Value):
    """Whether an occurrence is among the events that another was made of."""

    effect: Pattern
    cause: Pattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Computed(Value):
    """An operator or function of other values."""

    function: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregated(Value):
    """An aggregate: over collected events a column of ``select`` by itself, over repetitions a
    value like any other."""

    function: Literal["count", "sum", "avg", "min", "max", "first", "last", "list"]
    arg: Value | None
    distinct: bool = False


def shown_value(value: Value) -> str:
    """A value as the rule language would write it."""
    return format_expr(_shown(value))


def _shown(value: Value) -> Expr:
    """A value as an expression to look at, in which occurrences go by label or event."""
    match value:
        case Literal_(const):
            return const
        case Variable(name):
            return Var(name)
        case AttributeOf(owner, name):
            return Attr(owner._shown, name)
        case Caused(effect, cause):
            return CausedBy(effect._shown, cause._shown)
        case EndPoint(owner, which):
            return TimeOf(owner._shown, which)
        case Computed(function, args):
            return Call(function, tuple(_shown(arg) for arg in args))
        case Aggregated(function, arg, distinct):
            return Folded(Aggregate(function, None if arg is None else _shown(arg), distinct))
    raise AssertionError(f"no form is known for {type(value).__name__}")


def var(name: str, /) -> Variable:
    """A variable: as an argument of events, it joins them; anywhere else, it is that value.

    >>> x = var("x")
    >>> x + 1
    <thence value x + 1>
    """
    given: object = name
    if not isinstance(given, str) or not is_name(given) or given == "_":
        raise BuildError(f"a variable needs a name on one line, other than '_', not {given!r}")
    return Variable(given)


def call(function: str, *args: object) -> Computed:
    """An operator or function applied to values and to plain Python values."""
    return Computed(function, tuple(value_of(arg, function) for arg in args))


def value_of(given: object, place: str) -> Value:
    """What was given, as a value: plain Python values become literals."""
    if isinstance(given, Value):
        return given
    return literal(given, place)


def literal(given: Any, place: str) -> Value:
    """A plain Python value as a literal of the language."""
    if given is None:
        return Literal_(Const(None, NULL))
    if isinstance(given, bool):
        return Literal_(Const(given, BOOL))
    if isinstance(given, Integral):
        if not -(2**63) <= int(given) < 2**63:
            raise BuildError(f"{given} does not fit 64 bits; write it as a float")
        return Literal_(Const(int(given), INT))
    if isinstance(given, Decimal):
        return _decimal(given)
    if isinstance(given, Real):
        number = float(given)
        if not math.isfinite(number):
            raise BuildError(f"{number} cannot be written in a program; use fn.float('{number}')")
        return Literal_(Const(number, FLOAT))
    if isinstance(given, str):
        if not is_line(given):
            raise BuildError(
                f"a text in a program stands on one line and has whole characters, unlike {given!r}"
            )
        return Literal_(Const(given, STRING))
    if isinstance(given, timedelta):
        return Literal_(Const(micros(given, place), DURATION))
    if isinstance(given, date):
        return Literal_(Const(instant(given, place), TIMESTAMP))
    raise BuildError(_no_value(given, place))


def _no_value(given: Any, place: str) -> str:
    if isinstance(given, Relations):
        return (
            f"`{place}` takes values, and this is a pattern: read one of its attributes, such as "
            "a.price, or its times, a.start and a.end"
        )
    if callable(given):
        name = getattr(given, "__name__", "…")
        return (
            f"`{place}` takes values, and '{name}' is a method; if an attribute of the event has "
            f'that name, write a["{name}"]'
        )
    return f"`{place}` takes values, and a {type(given).__name__} is none: {given!r}"


def _not_null(other: object) -> object:
    if other is None:
        raise BuildError(
            "null is equal to nothing, not even to null; write x.is_null() or x.is_not_null()"
        )
    return other


def is_line(text: str) -> bool:
    """Whether a text can stand in a program: no line ends in it, and nothing is half of a surrogate
    pair."""
    return not any(c in "\n\r" or "\ud800" <= c <= "\udfff" for c in text)


def is_name(text: str) -> bool:
    """Whether a text can be the name of something: a line of text, with something on it."""
    return bool(text) and is_line(text) and "\0" not in text


def _decimal(given: Decimal) -> Value:
    if not given.is_finite():
        raise BuildError(f"{given} is no decimal of the language")
    kind = literal_type(given)
    if kind is None:
        raise BuildError(f"{given} has more than 38 digits, the most that a decimal has")
    shown = f"{given:f}"
    if kind.scale:
        return Literal_(Const(Decimal(shown), kind))
    return call("decimal", shown, kind.precision, kind.scale)


def micros(given: object, place: str) -> int:
    """A duration as microseconds: text with a unit, or a timedelta."""
    if isinstance(given, timedelta):
        if not -(2**63) < (found := given // _MICROSECOND) < 2**63:
            raise BuildError(f"{place}: the duration {given!r} is too long")
        return found
    if isinstance(given, str):
        try:
            return parse_duration(given)
        except ValueError as problem:
            raise BuildError(f"{place}: {problem}") from None
    raise BuildError(
        f"{place} needs a duration: text with a unit such as '10 s', or a timedelta, not {given!r}"
    )


def moment(given: object, place: str) -> int:
    """A point in time as microseconds UTC: ISO 8601 text or a datetime."""
    if not isinstance(given, (str, date)):
        raise BuildError(f"{place} needs a time: ISO 8601 text, or a datetime, not {given!r}")
    try:
        return instant(given, place)
    except InputError as problem:
        raise BuildError(str(problem)) from None


def conditions_of(given: Sequence[object]) -> tuple[Value, ...]:
    """The conditions of a ``where``, which are values and never plain truth values."""
    for each in given:
        if not isinstance(each, Value):
            hint = (
                "it compared two plain Python values; compare attributes, such as b.id == a.id (an "
                'attribute with the name of a method is read as b["…"])'
                if isinstance(each, bool)
                else "write comparisons of attributes, such as b.price > a.price"
            )
            raise BuildError(f"where needs conditions, and this is {each!r}: {hint}")
    return tuple(each for each in given if isinstance(each, Value))
