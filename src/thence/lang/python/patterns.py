"""Patterns in Python: what operators and methods make of events.

Each is a small immutable object that says what was written; ``lower.py`` turns a whole definition
into logic. An object stands for one occurrence: used twice in a pattern, it is the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from typing import Any, Literal, NoReturn, Self, TypeAlias

from thence.lang.build import MOST_TIMES
from thence.lang.python.definition_columns import Term, columns_of
from thence.lang.python.identity import Origin, Tag
from thence.lang.python.places import Place, calling_place
from thence.lang.python.relations import Relations, Timers
from thence.lang.python.values import (
    AttributeOf,
    EndPoint,
    Value,
    call,
    conditions_of,
    micros,
    shown_value,
    value_of,
)
from thence.logic.ops import AllenRelation
from thence.model.errors import BuildError, UnknownAttributeError

Row = Literal["seq", "and", "or"]
Choices: TypeAlias = "tuple[tuple[Literal['first', 'last', 'cumulative'], Pattern], ...]"


class Pattern(Relations, Timers):
    """Something that occurs at intervals: an event, or what operators make of events.

    ``a >> b`` is `seq`, ``a & b`` is `and`, ``a | b`` is `or`. Python reads ``>>`` before ``&``
    before ``|``; parentheses say the rest.
    """

    __slots__ = ("_place",)
    _place: Place

    def __new__(cls, *_: object, **__: object) -> Self:
        made = object.__new__(cls)
        object.__setattr__(made, "_place", calling_place())
        return made

    # -- operators

    def __rshift__(self, other: Pattern) -> Pattern:
        return _row("seq", self, other)

    def __and__(self, other: Pattern) -> Pattern:
        return _row("and", self, other)

    def __or__(self, other: Pattern) -> Pattern:
        return _row("or", self, other)

    # Only what is no pattern has these tried, and gets told so.

    def __rrshift__(self, other: object) -> Pattern:
        return pattern_of(other, ">>") >> self

    def __rand__(self, other: object) -> Pattern:
        return pattern_of(other, "&") & self

    def __ror__(self, other: object) -> Pattern:
        return pattern_of(other, "|") | self

    def par(self, other: Pattern) -> Pattern:
        """Both, going on together for some time."""
        return Related("par", self, pattern_of(other, "par"))

    def times(self, least: int, most: int | Literal["as many"] | None = "as many") -> Pattern:
        """Repeated, one after another: ``b.times(3)``, ``b.times(2, 5)``, ``b.times(2, None)`` for
        two times or more."""
        upper = least if most == "as many" else most
        numbers: tuple[object, ...] = (least, upper)
        for given in numbers:
            if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
                raise BuildError(f"times takes whole numbers, such as times(2, 5), not {given!r}")
        if least < 0 or (upper is not None and (upper < max(least, 1) or upper > MOST_TIMES)):
            raise BuildError(
                f"times({least}, {upper}) is not possible: write the lower limit first, then the "
                f"upper one, of at most {MOST_TIMES}"
            )
        return Repeating(self, least, upper)

    def one_or_more(self) -> Pattern:
        """Repeated any number of times, at least once: `b+`."""
        return Repeating(self, 1, None)

    def any_number(self) -> Pattern:
        """Repeated any number of times, perhaps none: `b*`."""
        return Repeating(self, 0, None)

    def optional(self) -> Pattern:
        """Once, or not at all: `b?`."""
        return Repeating(self, 0, 1)

    def until(self, closing: Pattern) -> Pattern:
        """This, and then the first of another pattern since it began."""
        return Closed(self, pattern_of(closing, "until"))

    @property
    def _shown(self) -> str:
        return "p"

    def _related(self, relation: AllenRelation, other: Pattern) -> Pattern:
        return Related(relation, self, pattern_of(other, relation))

    def _timed(self, timer: str, duration: Any) -> Pattern:
        return Timed(timer, self, micros(duration, timer))

    def __bool__(self) -> NoReturn:
        raise BuildError(
            "a pattern is neither true nor false; join patterns with >> (seq), & (and) and | (or), "
            "and say what must not occur with absent(…)"
        )

    # -- conditions and names

    def where(self, *conditions: Any) -> Pattern:
        """Only where all the conditions are true: ``p.where(b.id == a.id, b.price > 3)``."""
        return Filtered(self, conditions_of(conditions)) if conditions else self

    def within(self, duration: Any) -> Pattern:
        """Only where it lasts at most so long: text such as ``"10 s"``, or a timedelta."""
        return Limited(self, micros(duration, "within"))

    def using(
        self,
        *words: str,
        first: Pattern | Sequence[Pattern] = (),
        last: Pattern | Sequence[Pattern] = (),
        cumulative: Pattern | Sequence[Pattern] = (),
    ) -> Pattern:
        """Only the occurrences that a policy chooses, whatever the pattern is a part of."""
        return Judged(self, _words(words), _choices(first, last, cumulative))

    def same(self, *attributes: str) -> Pattern:
        """Only where all its events agree in these attributes, absent and collected ones too."""
        for name in attributes:
            if not isinstance(name, str):
                raise BuildError(
                    f"same takes names of attributes, such as same('id'), not {name!r}"
                )
        return Shared(self, attributes)

    def label(self, name: str) -> Pattern:
        """The same occurrence under a name of your own, which texts and lineage show."""
        raise BuildError(
            "absent(…).inside(w) and collect(…).inside(w) have no label; "
            "label what they are joined to"
        )

    @property
    def start(self) -> Value:
        """When it starts."""
        return EndPoint(core(self), "start")

    @property
    def end(self) -> Value:
        """When it ends."""
        return EndPoint(core(self), "end")

    @property
    def duration(self) -> Value:
        """How long it lasts."""
        return lasting(self)

    # -- definitions

    def select(self, name: str, /, *columns: Any, **named: Any) -> Definition:
        """Define an event: it occurs wherever this pattern does, with these columns.

        A value without a name of its own is called after the attribute or variable that it is.
        The definition makes events for other definitions: ``spike("s")``.
        """
        terms, names = columns_of(name, columns, named)
        return Definition(name, names, terms, self, calling_place())


@dataclass(frozen=True, slots=True, eq=False)
class Tagged(Pattern):
    """A pattern that can have a label."""

    tag: Tag = field(default_factory=Tag, kw_only=True)

    @property
    def _shown(self) -> str:
        return self.tag.label or "p"

    def label(self, name: str) -> Pattern:
        if self.tag.label is not None:
            return Renamed(self, tag=Tag(name))
        return with_changes(self, tag=Tag(name, self.tag.key))


@dataclass(frozen=True, slots=True, eq=False)
class Renamed(Tagged):
    """An occurrence that has a label, under another one."""

    inner: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Tagged):
    """A row of one operator."""

    operator: Row
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Related(Tagged):
    """Two patterns that lie to each other in a certain way."""

    relation: AllenRelation | Literal["par"]
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Between(Tagged):
    """Two patterns one after the other, and nothing of a third in between."""

    absent: Pattern
    first: Pattern
    last: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Repeating(Tagged):
    """A pattern several times, one after another."""

    inner: Pattern
    least: int
    most: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Closed(Tagged):
    """A pattern, and then the first of another one since it began."""

    inner: Pattern
    closing: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Instant(Tagged):
    """A point in time."""

    time: int


@dataclass(frozen=True, slots=True, eq=False)
class Timed(Tagged):
    """An interval relative to an occurrence."""

    timer: str
    of: Pattern
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Moment(Tagged):
    """Patterns whose ends lie as an operator says, what must be absent, and what is collected."""

    operator: str
    parts: tuple[Pattern, ...]
    absent: tuple[Pattern, ...] = ()
    limit: int = 0
    collected: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Whichever(Tagged):
    """The end of whichever occurs."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ticking(Tagged):
    """The whole multiples of a period at and after the end of a pattern."""

    pattern: Pattern
    period: int
    reach: int


@dataclass(frozen=True, slots=True, eq=False)
class Judged(Tagged):
    """The occurrences of a pattern that a policy chooses."""

    inner: Pattern
    words: tuple[str, ...]
    choices: Choices


@dataclass(frozen=True, slots=True, eq=False)
class Inside(Pattern):
    """Nothing of a pattern, or all of it, inside an interval; with ``reach`` or ``rows``, what ends
    up to its end."""

    mode: Literal["not", "collect"]
    pattern: Pattern
    window: Pattern
    reach: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Missing(Pattern):
    """A pattern that must not occur; by itself, a row that a table does not have."""

    pattern: Pattern

    @property
    def _is_fact(self) -> bool:
        inner = self.pattern
        while isinstance(inner, (Layer, Renamed)):
            inner = inner.inner
        return isinstance(inner, Occurrence) and inner._origin.is_table


# -- layers: conditions around an occurrence, which do not make it another one


@dataclass(frozen=True, slots=True, eq=False)
class Layer(Pattern):
    """A pattern with a condition around it."""

    inner: Pattern

    def label(self, name: str) -> Pattern:
        return with_changes(self, inner=self.inner.label(name))


@dataclass(frozen=True, slots=True, eq=False)
class Filtered(Layer):
    """A pattern where conditions are true."""

    conditions: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Limited(Layer):
    """A pattern that lasts no longer than so long."""

    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Shared(Layer):
    """A pattern whose events agree in attributes."""

    attributes: tuple[str, ...]


def core(pattern: Pattern) -> Pattern:
    """The pattern inside all conditions around it: the occurrence itself."""
    while isinstance(pattern, Layer):
        pattern = pattern.inner
    if isinstance(pattern, Inside):
        raise BuildError(
            "absent(…).inside(w) and collect(…).inside(w) occur at no time of their own: join them "
            "to an event with &, and use that one's times"
        )
    if isinstance(pattern, Missing):
        raise BuildError(
            "what a table does not have occurs at no time: join absent(…) to an event with &, and "
            "use that one's times"
        )
    return pattern


def lasting(pattern: Pattern) -> Value:
    """How long an occurrence lasts."""
    return call("-", EndPoint(core(pattern), "end"), EndPoint(core(pattern), "start"))


def pattern_of(given: object, place: str) -> Pattern:
    """What was given, if it is a pattern; otherwise the error says what to write."""
    if isinstance(given, Pattern) and not (isinstance(given, Missing) and not given._is_fact):
        return given
    if isinstance(given, Definition):
        hint = f"make an event of the definition first: {given.name}()"
    elif isinstance(given, type) and issubclass(given, Pattern):
        hint = f"make an event of the type first: {given.__name__}()"
    elif isinstance(given, Value):
        hint = "a condition goes into where: (a & b).where(a.x == 3)"
    elif hasattr(given, "inside"):
        hint = (
            "say where it is: absent(c).between(a, b), absent(c).inside(w), collect(c).inside(w); "
            "only a row of a table is absent by itself"
        )
    else:
        hint = "use events, and what operators make of them"
    raise BuildError(f"`{place}` takes patterns, and this is {given!r}: {hint}")


def _row(operator: Row, left: Pattern, right: object) -> Pattern:
    """Two patterns joined; what already is a row of the operator, on the left, grows by one."""
    other = pattern_of(right, {"seq": ">>", "and": "&", "or": "|"}[operator])
    if isinstance(left, Joined) and left.operator == operator and left.tag.label is None:
        return Joined(operator, (*left.parts, other))
    return Joined(operator, (left, other))


# -- events


class Occurrence(Pattern):
    """One event. Its attributes are read by name: ``order.qty``, or ``order["qty"]``.

    The second form reads attributes that are called like a method, too.
    """

    __slots__ = ("_args", "_origin", "_tag")
    _args: tuple[tuple[str, Value], ...]
    _origin: Origin
    _tag: Tag

    @classmethod
    def _made(cls, origin: Origin, tag: Tag, attributes: Mapping[str, object]) -> Self:
        made = cls.__new__(cls)
        made._fill(origin, tag, attributes)
        return made

    def _fill(self, origin: Origin, tag: Tag, attributes: Mapping[str, object]) -> None:
        for name, value in attributes.items():
            if name not in origin.columns:
                raise UnknownAttributeError(origin.lacks(name))
            if value is None:
                raise BuildError(
                    f"null is equal to nothing, so {origin.name}({name}=None) never occurs; "
                    f'write where(e["{name}"].is_null())'
                )
        # In the order of the declaration, so that the order of keywords means nothing.
        given = [name for name in origin.columns if name in attributes]
        args = tuple((name, value_of(attributes[name], f"{name}=…")) for name in given)
        object.__setattr__(self, "_origin", origin)
        object.__setattr__(self, "_tag", tag)
        object.__setattr__(self, "_args", args)

    def label(self, name: str) -> Any:
        if self._tag.label is not None:
            return Renamed(self, tag=Tag(name))
        return self._made(self._origin, Tag(name, self._tag.key), dict(self._args))

    @property
    def _shown(self) -> str:
        return self._tag.label or self._origin.name

    @property
    def duration(self) -> Value:
        if "duration" in self._origin.columns:
            raise BuildError(
                f"'{self._origin.name}' has an attribute 'duration': read it as e[\"duration\"], "
                "and how long the event lasts as fn.duration(e)"
            )
        return lasting(self)

    def __getitem__(self, name: str) -> Value:
        if name in self._origin.columns:
            return AttributeOf(self, name)
        if name in ("start", "end"):
            return self.start if name == "start" else self.end
        raise UnknownAttributeError(self._origin.lacks(name))

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._origin.columns})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise BuildError(
            f"an event in a pattern is not changed; where '{name}' must have a value, say so when "
            f"the event is made: {self._origin.name}({name}=…)"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise BuildError(f"an event in a pattern is not changed, so '{name}' stays")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    __iter__ = None

    def __repr__(self) -> str:
        label = "" if self._tag.label is None else f"{self._tag.label}: "
        given = ", ".join(f"{name}={shown_value(value)}" for name, value in self._args)
        kind = "row" if self._origin.is_table else "event"
        return f"<thence {kind} {label}{self._origin.name}({given})>"


# -- definitions


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """An event that is derived, and the pattern wherever which it occurs. Made by ``select``.

    Call it to use the derived event in other patterns: ``spike("s")``, ``spike(id=x)``.
    """

    name: str
    columns: tuple[str, ...]
    terms: tuple[Term, ...]
    pattern: Pattern
    place: Place
    words: tuple[str, ...] = ()
    choices: Choices = ()

    def using(
        self,
        *words: str,
        first: Pattern | Sequence[Pattern] = (),
        last: Pattern | Sequence[Pattern] = (),
        cumulative: Pattern | Sequence[Pattern] = (),
    ) -> Definition:
        """The same with a policy: which matches count, and what they use up.

        ``words`` are those of the language, such as ``"chronicle"``, or ``"last", "exclusive"``.
        ``first`` and ``last`` are events of the pattern to choose the first or the last of,
        ``cumulative`` those of which all are taken as one.
        """
        return with_changes(self, words=_words(words), choices=_choices(first, last, cumulative))

    def __call__(self, label: str | None = None, /, **attributes: Any) -> Occurrence:
        """An occurrence of the derived event, with a label if one is given."""
        origin = Origin(self.name, self.columns, definition=self)
        return Occurrence._made(origin, Tag(label), attributes)

    @property
    def reasoned(self) -> bool:
        """Whether it derives rows: it is about tables and relations alone."""
        from thence.lang.python.walk import inner_patterns  # noqa: PLC0415 (it walks patterns)

        stack, rows = [self.pattern], False
        while stack:
            pattern = stack.pop()
            inner = list(inner_patterns(pattern))
            stack += inner
            if isinstance(pattern, Occurrence):
                rows = True
                if not pattern._origin.is_table:
                    return False
            elif not inner:
                return False
        return rows

    def __bool__(self) -> NoReturn:
        raise BuildError("a definition is neither true nor false; give it to thence.build(…)")

    def __repr__(self) -> str:
        return f"<thence definition {self.name}({', '.join(self.columns)})>"


def _words(given: tuple[object, ...]) -> tuple[str, ...]:
    """The words of a policy."""
    words = tuple(word for word in given if isinstance(word, str) and word.isidentifier())
    for word in given:
        if word not in words:
            raise BuildError(f"using takes words such as 'chronicle', not {word!r}")
    return words


def _choices(
    first: Pattern | Sequence[Pattern],
    last: Pattern | Sequence[Pattern],
    cumulative: Pattern | Sequence[Pattern],
) -> Choices:
    """Events of a pattern, and which of them to choose."""
    chosen: list[tuple[Literal["first", "last", "cumulative"], Pattern]] = []
    chosen += [("first", each) for each in _listed(first, "first")]
    chosen += [("last", each) for each in _listed(last, "last")]
    chosen += [("cumulative", each) for each in _listed(cumulative, "cumulative")]
    return tuple(chosen)


def _listed(given: Pattern | Sequence[Pattern], option: str) -> list[Pattern]:
    """One pattern, or several."""
    several = [given] if isinstance(given, Pattern) else list(given)
    return [pattern_of(each, f"using({option}=…)") for each in several]
