"""What an occurrence is known by, and where its event comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thence.lang.python.places import Place, calling_place
from thence.lang.python.values import is_name
from thence.model.errors import BuildError
from thence.model.schema import EventSchema
from thence.model.suggestions import no_attribute

if TYPE_CHECKING:
    from thence.lang.python.patterns import Definition


@dataclass(frozen=True, slots=True, eq=False)
class Tag:
    """What makes an occurrence itself: its label, if it has one, and something to know it by."""

    label: str | None = None
    key: object = field(default_factory=object)

    def __post_init__(self) -> None:
        label: object = self.label
        if label is None:
            return
        if not isinstance(label, str) or label == "_" or not is_name(label):
            raise BuildError(
                f"a label is a name on one line, other than '_', not {label!r}; attributes are "
                "given by name: Order('o', id=x)"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where an event comes from: declared with a schema, or derived by a definition; or the static
    table that a row is of."""

    name: str
    columns: tuple[str, ...]
    schema: EventSchema | None = None
    place: Place = field(default_factory=calling_place)
    definition: Definition | None = None
    rows: bool = False
    """Whether it is known by name alone to be a relation."""

    @property
    def is_table(self) -> bool:
        """Whether it is a static table, or a relation, rather than an event."""
        if self.definition is not None:
            return self.definition.reasoned
        return self.rows or (self.schema is not None and self.schema.table)

    def lacks(self, attribute: str) -> str:
        """What to say about an attribute that the event does not have."""
        known = self.columns if self.is_table else (*self.columns, "start", "end")
        return ": ".join(no_attribute(self.name, attribute, known))
