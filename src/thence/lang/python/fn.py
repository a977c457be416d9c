"""The functions and aggregates of the language, each under its own name: ``fn.lower(a.name)``.

Arguments are values, or plain Python values. ``if`` is written ``if_``, since Python has it.
"""

from __future__ import annotations

from typing import Any

from thence.lang.python.patterns import Pattern, core, lasting, pattern_of
from thence.lang.python.values import (
    Aggregated,
    Caused,
    Literal_,
    Value,
    call,
    micros,
    moment,
    value_of,
)
from thence.logic.expr import Const
from thence.model.errors import BuildError
from thence.model.types import DURATION, TIMESTAMP

# -- literals, and how long something lasts


def lit(value: Any) -> Value:
    """A plain Python value, to begin an expression with: ``fn.lit("a-").concat(o.id)``."""
    return value_of(value, "lit")


def timestamp(text: Any) -> Value:
    """A point in time: ISO 8601 text, or a datetime; without a zone, UTC."""
    return Literal_(Const(moment(text, "timestamp"), TIMESTAMP))


def duration(what: Any) -> Value:
    """How long a pattern lasts; or, of text such as ``"10 s"``, that duration."""
    if isinstance(what, Pattern):
        return lasting(what)
    return Literal_(Const(micros(what, "duration"), DURATION))


def caused_by(effect: Pattern, cause: Pattern) -> Value:
    """Whether an event is among those that a derived event was made of, at any depth."""
    return Caused(core(pattern_of(effect, "caused_by")), core(pattern_of(cause, "caused_by")))


# -- functions


def if_(condition: Any, then: Any, otherwise: Any) -> Value:
    """``then`` where the condition is true, else the other, also where it is null."""
    return call("if", condition, then, otherwise)


def round(x: Any, *digits: Any) -> Value:
    """Rounded, halves away from zero; the type stays."""
    return call("round", x, *digits)


def substring(text: Any, start: Any, *length: Any) -> Value:
    """A part of a text, from a position counted from 1, as long as said or to the end."""
    return call("substring", text, start, *length)


def decimal(x: Any, *precision_and_scale: Any) -> Value:
    """A decimal, rounded with halves away from zero; with its precision and scale."""
    return call("decimal", x, *precision_and_scale)


def abs(x: Any) -> Value:
    """The absolute value of a number or duration."""
    return call("abs", x)


def floor(x: Any) -> Value:
    """Rounded down; the type stays."""
    return call("floor", x)


def ceil(x: Any) -> Value:
    """Rounded up; the type stays."""
    return call("ceil", x)


def sqrt(x: Any) -> Value:
    """The square root, a float."""
    return call("sqrt", x)


def exp(x: Any) -> Value:
    """e to the power of ``x``, a float."""
    return call("exp", x)


def ln(x: Any) -> Value:
    """The natural logarithm, a float."""
    return call("ln", x)


def log10(x: Any) -> Value:
    """The logarithm to base 10, a float."""
    return call("log10", x)


def distance(x1: Any, y1: Any, x2: Any, y2: Any) -> Value:
    """How far two points of the plane are apart, a float."""
    return call("distance", x1, y1, x2, y2)


def inside(x: Any, y: Any, shape: Any) -> Value:
    """Whether a point lies in a shape, its edge included; the shape is text in WKT."""
    return call("inside", x, y, shape)


def power(x: Any, y: Any) -> Value:
    """``x`` to the power of ``y``, a float."""
    return call("power", x, y)


def sign(x: Any) -> Value:
    """-1, 0 or 1."""
    return call("sign", x)


def length(text: Any) -> Value:
    """The number of characters."""
    return call("length", text)


def lower(text: Any) -> Value:
    """In small letters."""
    return call("lower", text)


def upper(text: Any) -> Value:
    """In capital letters."""
    return call("upper", text)


def trim(text: Any) -> Value:
    """Without spaces at both ends."""
    return call("trim", text)


def ltrim(text: Any) -> Value:
    """Without spaces in front."""
    return call("ltrim", text)


def rtrim(text: Any) -> Value:
    """Without spaces behind."""
    return call("rtrim", text)


def replace(text: Any, old: Any, new: Any) -> Value:
    """Every ``old`` replaced."""
    return call("replace", text, old, new)


def starts_with(text: Any, start: Any) -> Value:
    """Whether a text starts with another."""
    return call("starts_with", text, start)


def ends_with(text: Any, end: Any) -> Value:
    """Whether a text ends with another."""
    return call("ends_with", text, end)


def matches(text: Any, regex: Any) -> Value:
    """Whether a part of a text matches the regular expression, as RE2 writes it."""
    return call("matches", text, regex)


def nullif(a: Any, b: Any) -> Value:
    """Null if they are equal, else ``a``."""
    return call("nullif", a, b)


def int(x: Any) -> Value:
    """An int, from a number (cut off, not rounded), text or truth value."""
    return call("int", x)


def float(x: Any) -> Value:
    """A float, from a number or text."""
    return call("float", x)


def bool(x: Any) -> Value:
    """A truth value, from a number or text."""
    return call("bool", x)


def string(x: Any) -> Value:
    """Any value but a list as text."""
    return call("string", x)


def year(time: Any) -> Value:
    """The year, in UTC."""
    return call("year", time)


def month(time: Any) -> Value:
    """The month, in UTC."""
    return call("month", time)


def day(time: Any) -> Value:
    """The day of the month, in UTC."""
    return call("day", time)


def hour(time: Any) -> Value:
    """The hour, in UTC."""
    return call("hour", time)


def minute(time: Any) -> Value:
    """The minute, in UTC."""
    return call("minute", time)


def second(time: Any) -> Value:
    """The second, in UTC."""
    return call("second", time)


def weekday(time: Any) -> Value:
    """1 for Monday to 7 for Sunday."""
    return call("weekday", time)


def date_trunc(unit: Any, time: Any) -> Value:
    """The start of the year, month, week, day, hour and so on that a time is in."""
    return call("date_trunc", unit, time)


def size(values: Any) -> Value:
    """The number of elements of a list."""
    return call("size", values)


def element(values: Any, position: Any) -> Value:
    """The element at a position, counted from 1; null outside."""
    return call("element", values, position)


def greatest(*values: Any) -> Value:
    """The largest that is not null."""
    return call("greatest", *values)


def least(*values: Any) -> Value:
    """The smallest that is not null."""
    return call("least", *values)


def concat(*values: Any) -> Value:
    """Texts joined."""
    return call("concat", *values)


def coalesce(*values: Any) -> Value:
    """The first that is not null."""
    return call("coalesce", *values)


def prev(x: Any) -> Value:
    """A value of the repetition before: ``b.price > fn.prev(b.price)``."""
    return call("prev", x)


# -- aggregates: columns of a definition whose pattern collects


def count(x: Any = None, distinct: Any = False) -> Aggregated:
    """How many events were collected; or of how many ``x`` is not null; or how many values."""
    if x is None and distinct:
        raise BuildError(
            "distinct events are all of them; say which values: count(x, distinct=True)"
        )
    if isinstance(x, Pattern):
        x = x.start  # which every event has
    return Aggregated("count", None if x is None else value_of(x, "count"), distinct is True)


def sum(x: Any, distinct: Any = False) -> Aggregated:
    """The sum over the collected events."""
    return Aggregated("sum", value_of(x, "sum"), distinct is True)


def avg(x: Any, distinct: Any = False) -> Aggregated:
    """The mean over the collected events."""
    return Aggregated("avg", value_of(x, "avg"), distinct is True)


def stddev(x: Any, distinct: Any = False) -> Aggregated:
    """The standard deviation of the collected events, as a sample."""
    return Aggregated("stddev", value_of(x, "stddev"), distinct is True)


def median(x: Any, distinct: Any = False) -> Aggregated:
    """The value in the middle of the collected events."""
    return Aggregated("median", value_of(x, "median"), distinct is True)


def min(x: Any) -> Aggregated:
    """The smallest value among the collected events."""
    return Aggregated("min", value_of(x, "min"))


def max(x: Any) -> Aggregated:
    """The largest value among the collected events."""
    return Aggregated("max", value_of(x, "max"))


def first(x: Any) -> Aggregated:
    """The value of the earliest collected event."""
    return Aggregated("first", value_of(x, "first"))


def last(x: Any) -> Aggregated:
    """The value of the latest collected event."""
    return Aggregated("last", value_of(x, "last"))


def list(x: Any, distinct: Any = False) -> Aggregated:
    """All values, in the order of the collected events."""
    return Aggregated("list", value_of(x, "list"), distinct is True)
