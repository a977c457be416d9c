"""Results as rows: the columns of the DataFrame that a user gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thence.engine.arrays.rows import bytes_of, sliced
from thence.engine.join.match import as_timestamps
from thence.engine.provenance.lineage import LINEAGE
from thence.engine.provenance.lineage import TYPE as LINEAGE_TYPE
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.types import BOOL, STRING, TIMESTAMP, Type
from thence.spark.blocks import LATE, decode, from_batch

ROWS = 1 << 16
"""How many rows a batch of results has at most."""

BYTES = 1 << 26
"""How many bytes it has at most, about, unless one row has more."""


@dataclass(frozen=True, slots=True)
class Output:
    """The columns of results: their names and types in order.

    One event's are its attributes, ``start`` and ``end``. Those of several events are ``type``,
    ``late`` where latecomers are asked for, all attributes, ``start`` and ``end``.
    """

    columns: tuple[tuple[str, Type], ...]
    lineage: bool

    @property
    def schema(self) -> pa.Schema:
        fields = [pa.field(name, kind.arrow) for name, kind in self.columns]
        if self.lineage:
            fields.append(pa.field(LINEAGE, LINEAGE_TYPE))
        return pa.schema(fields)

    def batches(self, event: str, events: Events, late: bool = False) -> Iterator[pa.RecordBatch]:
        """Events of one type as rows, in batches of a moderate size."""
        count = len(events)
        rows = min(ROWS, max(1, count * BYTES // max(bytes_of(events), 1)))
        for start in range(0, count, rows):
            yield self._batch(event, sliced(events, start, min(start + rows, count)), late)

    def _batch(self, event: str, events: Events, late: bool) -> pa.RecordBatch:
        arrays = []
        for name, kind in self.columns:
            arrays.append(self._column(name, kind, event, events, late))
        if self.lineage:
            known = events.columns.get(LINEAGE)
            arrays.append(pa.nulls(len(events), LINEAGE_TYPE) if known is None else known)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, name: str, kind: Type, event: str, events: Events, late: bool) -> Any:
        if name == "start":
            return as_timestamps(events.start)
        if name == "end":
            return as_timestamps(events.end)
        if name == "type":
            return pa.repeat(pa.scalar(event), len(events))
        if name == "late":
            return pa.repeat(pa.scalar(late), len(events))
        found = events.columns.get(name)
        return pa.nulls(len(events), kind.arrow) if found is None else found


@dataclass(frozen=True, slots=True)
class Unpack:
    """The task that turns blocks of results into rows."""

    output: Output

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in from_batch(batch):
                events = decode(block.data)
                yield from self.output.batches(block.event, events, block.hop == LATE)


def make_output(
    schemas: Mapping[str, EventSchema],
    emit: Iterable[str],
    single: bool,
    late: Iterable[str],
    lineage: bool,
) -> Output:
    """The columns of one event's results, or of several events' together.

    ``late`` names the input events that may come as latecomers; none where they are not asked for.
    """
    events = [*emit, *late]
    if single and not list(late):
        attributes = {a.name: a.type for a in schemas[events[0]].attributes}
        head: dict[str, Type] = {}
    else:
        attributes = shared_attributes(schemas, events)
        head = {"type": STRING} | ({"late": BOOL} if list(late) else {})
    for name in (*head, "start", "end"):
        if name in attributes:
            raise InputError(
                f"an attribute is called '{name}', which the rows of results need for themselves: "
                f"give it another name in the rule's head, with 'as'"
            )
    columns = {**head, **attributes, "start": TIMESTAMP, "end": TIMESTAMP}
    return Output(tuple(columns.items()), lineage)


def shared_attributes(schemas: Mapping[str, EventSchema], events: Iterable[str]) -> dict[str, Type]:
    """The attributes of several events, each name with the one type that all of them give it."""
    found: dict[str, tuple[str, Type]] = {}
    for event in events:
        for attribute in schemas[event].attributes:
            first, kind = found.setdefault(attribute.name, (event, attribute.type))
            if kind != attribute.type:
                raise InputError(
                    f"'{attribute.name}' is {kind} in '{first}' and {attribute.type} in '{event}', "
                    "so both cannot be in one DataFrame: emit one of them alone, as in "
                    f"emit='{event}', or rename the attribute in a rule's head, with 'as'"
                )
    spelt: dict[str, str] = {}
    for name in found:
        other = spelt.setdefault(name.lower(), name)
        if other != name:
            raise InputError(
                f"'{other}' and '{name}' differ only in case, which is one column to Spark: rename "
                "one of them in a rule's head, with 'as', or emit one event alone"
            )
    return {name: kind for name, (_, kind) in found.items()}
