"""What an event type looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from thence.model.time import format_duration
from thence.model.types import TIMESTAMP, Type

RESERVED_ATTRIBUTES = frozenset(
    {"start", "end", "time", "type", "lineage", "probability", "source"}
)


Role = Literal["value", "carried", "technical"]
"""What an attribute is to an event: a value that is a part of it; something that comes along, and
is not what tells it from others; or a technical one, which does, and which nobody wrote."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A named, typed attribute of an event."""

    name: str
    type: Type
    role: Role = "value"


RowsFromKind = Literal["file", "spark", "postgres"]
"""Where the rows of a static table can come from: files, a table of Spark's catalog, a table of
PostgreSQL."""


@dataclass(frozen=True, slots=True)
class RowsFrom:
    """What a program says of where the rows of a static table are: a path, or a table's name."""

    kind: RowsFromKind
    name: str

    def __str__(self) -> str:
        word = "" if self.kind == "file" else f"{self.kind} "
        name = self.name.replace("'", "''")
        return f"from {word}'{name}'"


VALID_FROM, VALID_TO = "#valid from", "#valid to"
"""The columns of a versioned table that say when its rows are valid, neither of them ever null."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The columns of what is read for a table that say from when, and up to when, a row is valid;
    None for a side without a bound.

    >>> print(Validity("since", "until"), Validity(None, "until"))
    valid from since to until valid to until
    """

    since: str | None
    until: str | None

    def __str__(self) -> str:
        return "valid" + self.written(str)

    def written(self, name: Callable[[str], str]) -> str:
        """The bounds as they are written, with names in some way."""
        since = "" if self.since is None else f" from {name(self.since)}"
        return since + ("" if self.until is None else f" to {name(self.until)}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        return tuple(dict.fromkeys(c for c in (self.since, self.until) if c is not None))


@dataclass(frozen=True, slots=True)
class EventSchema:
    """An event type: its name and its attributes in order. The interval is always there.

    >>> from thence.model.types import INT, STRING
    >>> print(EventSchema("order", (Attribute("id", STRING), Attribute("qty", INT))))
    order(id string, qty int)
    """

    name: str
    attributes: tuple[Attribute, ...]
    longest: int | None = None
    """How long such an event lasts at most, in microseconds, where the program says so."""
    table: bool = False
    """Whether it is a static table, whose rows are facts: true at all times."""
    hidden: bool = False
    """Whether it stands for a pattern inside a rule, so that no user knows it."""
    rows_from: RowsFrom | None = None
    """Where the rows of a static table are, unless others are given; None if they must be given."""
    valid: Validity | None = None
    """When the rows of a table are valid, where that is not at all times."""

    def __str__(self) -> str:
        attributes = ", ".join(f"{a.name} {a.type}" for a in self.attributes)
        limit = "" if self.longest is None else f" within {format_duration(self.longest)}"
        return f"{self.name}({attributes}){limit}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def stored(self) -> tuple[Attribute, ...]:
        """The columns that rows or events are held in: the attributes, and those that say when a
        row is valid."""
        if self.valid is None:
            return self.attributes
        return (*self.attributes, *(Attribute(n, TIMESTAMP) for n in (VALID_FROM, VALID_TO)))

    @property
    def read_names(self) -> tuple[str, ...]:
        """The columns that are read from wherever rows come from, each once."""
        more = () if self.valid is None else self.valid.columns
        return tuple(dict.fromkeys((*self.names, *more)))

    def with_role(self, role: Role) -> tuple[str, ...]:
        """The names of the attributes with a role."""
        return tuple(a.name for a in self.attributes if a.role == role)

    def type_of(self, attribute: str) -> Type | None:
        """The type of an attribute, or None where there is no such attribute."""
        for candidate in self.stored:
            if candidate.name == attribute:
                return candidate.type
        return None
