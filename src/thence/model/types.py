"""The types that attributes and expressions have, and their Arrow forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

Kind = Literal["int", "float", "bool", "string", "timestamp", "duration", "decimal", "list", "null"]


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value.

    ``decimal`` carries precision and scale, ``list`` the type of its elements. ``null`` is the
    type of the literal ``null`` alone: it fits wherever another type is asked for.

    >>> str(DECIMAL), str(list_of(INT))
    ('decimal(18, 6)', 'list<int>')
    """

    kind: Kind
    of: Type | None = None
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        if self.kind == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        if self.kind == "list":
            return f"list<{self.of}>"
        return self.kind

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type in which values of this type are held."""
        if self.kind == "decimal":
            return pa.decimal128(self.precision, self.scale)
        if self.kind == "list":
            assert self.of is not None
            return pa.list_(self.of.arrow)
        return _ARROW[self.kind]

    @property
    def numeric(self) -> bool:
        return self.kind in ("int", "float", "decimal")


_ARROW: dict[str, Any] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "duration": pa.duration("us"),
    "null": pa.null(),
}

INT = Type("int")
FLOAT = Type("float")
BOOL = Type("bool")
STRING = Type("string")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
NULL = Type("null")
DECIMAL = Type("decimal", precision=18, scale=6)


def list_of(element: Type) -> Type:
    """The type of a list whose elements have the given type."""
    return Type("list", of=element)
