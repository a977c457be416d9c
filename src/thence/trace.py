"""From a row of a run's results to its tree of causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from thence.causes import Absence, Cause, Derivation
from thence.causes_text import value as shown
from thence.engine.arrays.array_types import Mask
from thence.engine.arrays.codes import identity_codes
from thence.engine.join.match import as_timestamps
from thence.engine.output.absences import lengths
from thence.engine.provenance.derivation_tree import Absent, Derived, Graph, Key, Use
from thence.engine.provenance.direct_causes import History
from thence.io.python_values import to_instant, to_value
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.source import NOWHERE, Source
from thence.model.suggestions import question
from thence.model.types import Type
from thence.plan.text import bound, expression
from thence.plan.tree import Part


@dataclass(slots=True)
class Run:
    """What a run has kept to be asked about: its program, its events, and up to when it has seen
    which inputs, but for which gaps."""

    part: Part
    source: Source
    events: Mapping[str, Events]
    horizons: Mapping[str, int]
    gaps: Mapping[str, Sequence[tuple[int, int]]]
    _history: History | None = None

    @property
    def history(self) -> History:
        """The events made ready for questions, when the first one is asked."""
        if self._history is None:
            self._history = History(self.part, self.events, self.horizons, self.gaps)
        return self._history

    def trees(
        self, event: str, rows: Sequence[int], limit: int | None, depth: int | None
    ) -> list[Cause]:
        """The trees of causes of some derived events, by their numbers."""
        for name, most in (("limit", limit), ("depth", depth)):
            if most is not None and (isinstance(most, bool) or most < 1):
                raise InputError(f"{name} must be at least 1, or None for no limit, not {most!r}")
        builder = _Builder(self, Graph(self.history, event, rows), limit)
        return [builder.tree((event, row), depth) for row in rows]

    def pattern(self, event: str) -> str:
        """The name of an event; for a pattern inside a rule, the events in it."""
        if not self.part.schemas[event].hidden:
            return event
        rules = (rule for stage in self.part.stages for rule in stage.rules)
        alternatives = [a for rule in rules for a in rule if a.conjunct.event == event]
        texts = []
        for alternative in alternatives:
            conjunct = alternative.conjunct
            # A pattern that goes on from itself says nothing new of itself.
            uses = [conjunct.atoms[atom].event for atom in conjunct.positive]
            if event in uses:
                continue
            parts = [self.pattern(use) for use in uses]
            parts += [
                _MODES[window.mode].format(self.pattern(conjunct.atoms[window.atom].event))
                for window in conjunct.windows
                if window.mode in _MODES
            ]
            texts.append(", ".join(parts))
        return f"({' or '.join(dict.fromkeys(texts))})"


_MODES = {"absent": "not {}", "collect": "collect {}", "repeat": "{}+"}
"""How what a window holds is named; one for the repetition before says nothing new."""


class _Builder:
    """Makes immutable trees from what the engine knows, without ever calling itself: a recursion of
    a program may be deeper than Python's."""

    def __init__(self, run: Run, graph: Graph, limit: int | None) -> None:
        self.run = run
        self.graph = graph
        self.limit = limit
        self.told: dict[tuple[Key, int | None], tuple[Derivation, ...]] = {}
        self.known: dict[Key, tuple[list[Derived], int]] = {}
        self.facts: dict[Key, tuple[Mapping[str, Any], Any, Any]] = {}

    def tree(self, root: Key, depth: int | None) -> Cause:
        """The tree of an event: parts first, each once."""
        self.told = {}
        path = {root}
        frames = [(root, depth, self.children(root))]
        while frames:
            key, left, children = frames[-1]
            below = None if left is None else left - 1
            child = next(children, None)
            if child is None:
                shown, _ = self.derivations(key)
                self.told[key, left] = tuple(self.derivation(d, below) for d in shown)
                path.discard(key)
                frames.pop()
            elif child in self.graph and child not in path and below != 0:
                if (child, below) not in self.told:
                    path.add(child)
                    frames.append((child, below, self.children(child)))
        return self.cause(Use(*root, label=None), depth)

    def children(self, key: Key) -> Iterator[Key]:
        return (use.key for derived in self.derivations(key)[0] for use in derived.uses)

    def derivations(self, key: Key) -> tuple[list[Derived], int]:
        """The derivations of an event that are shown, and how many there are."""
        if key not in self.known:
            self.known[key] = self.graph.derivations(key, self.limit)
            uses = [use.key for derived in self.known[key][0] for use in derived.uses]
            self.facts |= _facts(self.run.history, {key, *uses} - self.facts.keys())
        return self.known[key]

    def cause(self, use: Use, left: int | None) -> Cause:
        values, start, end = self.facts[use.key]
        told = self.told.get((use.key, left), ())
        cut: Literal["cycle", "depth"] | None = None
        if use.key in self.graph and not told:
            cut = "depth" if left == 0 else "cycle"
        more = self.derivations(use.key)[1] - len(told) if told else 0
        name = self.run.pattern(use.event)
        return Cause(
            name, values, start, end, use.label, told, more, use.collected, cut, use.key
        )  # fmt: skip

    def derivation(self, derived: Derived, left: int | None) -> Derivation:
        line = None
        if derived.span != NOWHERE:
            line, _ = self.run.source.position(derived.span.start)
        causes = [self.cause(use, left) for use in derived.uses]
        causes.sort(key=lambda cause: cause.order)
        return Derivation(line, tuple(causes), tuple(map(self.absence, derived.absent)))

    def absence(self, absent: Absent) -> Absence:
        (table, row), schemas = absent, self.run.part.schemas
        use = table.prepared.uses[table.window.atom]
        known = schemas[use.event].with_role("value")
        times = np.array([table.start[row], table.end[row]])
        start, end = (None, None) if use.fact else as_timestamps(times).to_pylist()
        values = {name: each[row].as_py() for name, each in table.values.items() if name in known}
        return Absence(
            self.run.pattern(use.event),
            MappingProxyType(values),
            start,
            end,
            bool(table.open_start[row]),
            bool(table.open_end[row]),
            _conditions(absent),
        )


def _conditions(absent: Absent) -> tuple[str, ...]:
    """What would have been true of an absent event beside its time: how long it lasted, and what
    its rule asks of its attributes."""
    prepared, window = absent.table.prepared, absent.table.window
    return (
        *(bound(prepared.conjunct, each) for each in lengths(prepared, window)),
        *(expression(prepared.conjunct, predicate) for predicate in window.predicates),
    )


def _facts(history: History, keys: Iterable[Key]) -> dict[Key, tuple[Mapping[str, Any], Any, Any]]:
    """Attributes, start and end of some events, as Python has them."""
    rows: dict[str, set[int]] = {}
    for event, row in keys:
        rows.setdefault(event, set()).add(row)
    facts: dict[Key, tuple[Mapping[str, Any], Any, Any]] = {}
    for event, found in rows.items():
        events = history.events[event]
        chosen = np.array(sorted(found), dtype=np.int64)
        names = history.part.schemas[event].with_role("value")
        columns = [events.columns[name].take(pa.array(chosen)).to_pylist() for name in names]
        starts = as_timestamps(events.start[chosen]).to_pylist()
        ends = as_timestamps(events.end[chosen]).to_pylist()
        if event in history.part.tables:
            starts = ends = [None] * len(chosen)
        for i, row in enumerate(chosen.tolist()):
            values = {name: column[i] for name, column in zip(names, columns, strict=True)}
            facts[event, row] = (MappingProxyType(values), starts[i], ends[i])
    return facts


def matching(events: Events, schema: EventSchema, where: Mapping[str, Any]) -> Mask:
    """Which events have the given values, each in its own type or as text."""
    mask = np.ones(len(events), dtype=np.bool_)
    for name, given in where.items():
        if name in ("start", "end"):
            mask &= getattr(events, name) == _converted(name, given, None)
            continue
        declared = schema.type_of(name)
        if declared is None:
            known = [*schema.names, "start", "end"]
            hint = question(name, known) or f" It has: {', '.join(known)}."
            raise InputError(f"'{schema.name}' has no attribute '{name}'.{hint}")
        one = pa.array([_converted(name, given, declared)], declared.arrow)
        codes, _ = identity_codes(pa.concat_arrays([events.columns[name], one]))
        mask &= codes[:-1] == codes[-1]
    return mask


def _converted(name: str, given: Any, declared: Type | None) -> Any:
    try:
        return to_instant(given, True) if declared is None else to_value(given, declared, True)
    except ValueError as problem:
        raise InputError(f"{name} = {given!r}: {problem}") from None


def none_found(event: str, where: Mapping[str, Any], count: int) -> InputError:
    """The error that there is no result with some values."""
    if not count:
        return InputError(f"there is no result of '{event}'")
    return InputError(f"there is no result of '{event}'{_having(where)}, among {count:,} in all")


def several_found(event: str, where: Mapping[str, Any], rows: Sequence[int]) -> InputError:
    """The error that several results have some values."""
    first = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
    return InputError(
        f"there are {len(rows):,} results of '{event}'{_having(where)}: give more values, such as "
        f"'start', or the number of one row: {first}"
    )


def _having(where: Mapping[str, Any]) -> str:
    asked = ", ".join(f"{name}={shown(given)}" for name, given in where.items())
    return f" with {asked}" if asked else ""
