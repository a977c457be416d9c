"""Rows that joins look up and that somebody has to derive first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from thence.engine.run.derive import Inputs
from thence.engine.state.relation import Relation
from thence.plan.prepared import Prepared
from thence.plan.tree import Part


class Knows(Protocol):
    """Whoever knows the rows of relations that are no tables."""

    def asked_by(
        self, part: Part, rules: Iterable[Prepared], inputs: Inputs
    ) -> Mapping[str, Relation]:
        """The rows that some joins look up, as far as the events at hand ask for them."""

    def there(self) -> Mapping[str, Relation]:
        """The rows of all relations, as far as they were asked for."""

    def remembered(self, events: Iterable[Relation]) -> None:
        """Events are kept for further steps: all that they ask for is there."""


def look_up(knows: Knows | None, part: Part, rules: Iterable[Prepared], inputs: Inputs) -> None:
    """Have the rows there that some joins look up."""
    if knows is None:
        return
    for name, rows in knows.asked_by(part, rules, inputs).items():
        inputs.replace(name, rows)
