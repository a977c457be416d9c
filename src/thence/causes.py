"""The tree of causes of a derived event: what it was made of, and that of what, down to the input.

A :class:`Cause` is an event with its derivations; a :class:`Derivation` has the events that it is
directly made of, each a cause again, and what had to be absent. All are immutable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from thence.causes_text import as_html, as_text, described
from thence.engine.provenance.derivation_tree import Key
from thence.io.render import plain


@dataclass(frozen=True, slots=True)
class Absence:
    """Something that a derivation rests on because it did not come.

    ``values`` are the attributes that it would have had; ``conditions`` is what else would have
    been true of it. It did not come between ``start`` and ``end``; each of the two belongs to that
    time unless it is ``open_start`` or ``open_end``. A row that a table does not have is absent at
    all times, and both are None.
    """

    event: str
    values: Mapping[str, Any]
    start: datetime | None
    end: datetime | None
    open_start: bool
    open_end: bool
    conditions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The absence in what JSON has."""
        return {
            "event": self.event,
            "values": plain(dict(self.values)),
            "start": plain(self.start),
            "end": plain(self.end),
            "open_start": self.open_start,
            "open_end": self.open_end,
            "conditions": list(self.conditions),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Derivation:
    """One way in which an event was derived: the line of the rule (None where the rule has none),
    the events that it is directly made of, in the order of time, and what was absent."""

    line: int | None
    causes: tuple[Cause, ...]
    absences: tuple[Absence, ...]

    def __repr__(self) -> str:
        return f"<thence.Derivation of {len(self.causes)} causes>"


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """An event, and what it was made of.

    ``label`` is its name in the rule that uses it, and ``collected`` says that a window collected
    it there. A derived event has ``derivations``, those of least depth first, and ``more`` beyond
    the limit. An event of the input has none; nor has one that is ``cut``: because it is further
    down than was asked for (``"depth"``), or because it stands above, among what it is itself a
    cause of (``"cycle"``). A row of a table has neither ``start`` nor ``end``.
    """

    event: str
    values: Mapping[str, Any]
    start: datetime | None
    end: datetime | None
    label: str | None = None
    derivations: tuple[Derivation, ...] = ()
    more: int = 0
    collected: bool = False
    cut: Literal["cycle", "depth"] | None = None
    _key: Key = field(default=("", 0), repr=False)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The events that it is directly made of, over all its derivations, each once."""
        found: dict[tuple[Key, str | None, bool], Cause] = {}
        for derivation in self.derivations:
            for cause in derivation.causes:
                found.setdefault((cause._key, cause.label, cause.collected), cause)
        return tuple(found.values())

    @property
    def absences(self) -> tuple[Absence, ...]:
        """What had to be absent, over all derivations."""
        return tuple(a for derivation in self.derivations for a in derivation.absences)

    @property
    def is_base(self) -> bool:
        """Whether it is an event of the input, or a row of a table."""
        return not self.derivations and self.cut is None

    @property
    def is_fact(self) -> bool:
        """Whether it is a row of a table, which is true at all times."""
        return self.start is None

    @property
    def order(self) -> tuple[Any, ...]:
        """What causes are sorted by: time, then names. Facts have no time, and come last."""
        times = () if self.is_fact else (self.start, self.end)
        return (self.is_fact, *times, self.collected, self.event, self.label or "", self._key)

    def walk(self) -> Iterator[Cause]:
        """This event and all that is behind it. What is a cause in several places comes once for
        each, but what is behind it only once."""
        stack, told = [self], set()
        while stack:
            cause = stack.pop()
            yield cause
            if id(cause.derivations) not in told:
                told.add(id(cause.derivations))
                stack += [c for d in reversed(cause.derivations) for c in reversed(d.causes)]

    def base(self) -> tuple[Cause, ...]:
        """The events of the input in this tree, each once under each label, in order of time; then
        the rows of tables."""
        found = {(cause._key, cause.label): cause for cause in self.walk() if cause.is_base}
        return tuple(sorted(found.values(), key=lambda cause: cause.order))

    def to_dict(self) -> dict[str, Any]:
        """The tree in what JSON has: dicts, lists, texts and numbers.

        An event whose derivations stand further up already has ``"again": true`` instead.
        """
        whole = self._record()
        stack, told = [(self, whole)], set()
        while stack:
            cause, record = stack.pop()
            if not cause.derivations:
                continue
            if id(cause.derivations) in told:
                record["again"] = True
                continue
            told.add(id(cause.derivations))
            below: list[tuple[Cause, dict[str, Any]]] = []
            record["derivations"] = []
            for derivation in cause.derivations:
                parts = [(part, part._record()) for part in derivation.causes]
                below += parts
                record["derivations"].append(
                    {
                        "line": derivation.line,
                        "causes": [part for _, part in parts],
                        "absences": [absence.to_dict() for absence in derivation.absences],
                    }
                )
            record["more"] = cause.more
            stack += reversed(below)
        return whole

    def _record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "event": self.event,
            "values": plain(dict(self.values)),
            "start": plain(self.start),
            "end": plain(self.end),
            "label": self.label,
        }
        if self.collected:
            record["collected"] = True
        if self.cut is not None:
            record["cut"] = self.cut
        return record

    def __repr__(self) -> str:
        return f"<thence.Cause {described(self)}>"

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
