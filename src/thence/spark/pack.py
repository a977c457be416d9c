"""Packing: rows that come from Spark become blocks. This is where events enter Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import take
from thence.model.events import Events
from thence.model.time import EARLIEST
from thence.model.types import Type
from thence.spark.blocks import horizons_block, to_batch
from thence.spark.chain import Chain
from thence.spark.route import sent, ticks
from thence.spark.row_layout import Layout

ROWS = 1 << 16
"""How many rows are packed together."""

SPARE_BITS = 5
"""How many bits the microseconds of the years 1 to 9999 leave of a 64-bit number."""

WHEN = "when"
"""A column with the end of an event, and in the spare bits the number of its type."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A packing task: how rows are laid out, and where events go.

    With ``tick``, every task also has every shard of the first hop looked at, events or not. Where
    several ``chains`` run side by side, each is given the events that ended after it began.
    """

    chains: tuple[Chain, ...]
    layout: Layout
    tick: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.tick:
            yield to_batch([block for chain in self.chains for block in ticks(chain.hops[0])])
        latest: dict[str, int] = {}
        for number, rows in enumerate(_gathered(batches)):
            blocks = [
                block
                for event, events in self._by_event(rows, latest)
                for chain in self.chains
                for block in sent(chain, event, _seen(chain, events), chain.first - 1, number)
            ]
            if blocks:
                yield to_batch(blocks)
        delays = self._delays
        if delays is not None and latest:
            horizons = {name: time - delays[name] - 1 for name, time in latest.items()}
            firsts = [chain.hops[0] for chain in self.chains]
            yield to_batch(
                [
                    horizons_block(place, first.number, horizons)
                    for first in firsts
                    for place in first.places
                ]
            )

    @property
    def _delays(self) -> Mapping[str, int] | None:
        return self.chains[0].delays

    def _by_event(self, rows: Any, latest: dict[str, int]) -> Iterator[tuple[str, Events]]:
        """Rows of mixed types as events of each type; ``latest`` is told how far each has come."""
        codes = events_of(rows)
        sizes = np.bincount(codes, minlength=self.layout.numbers)
        present = np.flatnonzero(sizes)
        if len(present) > 1:
            rows = rows.take(pa.array(np.argsort(codes, kind="stable")))
        start, count = 0, len(self.layout.events)
        for code in present.tolist():
            event = self.layout.events[code % count]
            own = rows.slice(start, int(sizes[code]))
            start += int(sizes[code])
            if self._delays is not None:
                latest[event] = max(latest.get(event, EARLIEST), int(ends_of(own).max()))
            if code < count:
                yield event, self._events(event, own)

    def _events(self, event: str, rows: Any) -> Events:
        end = ends_of(rows)
        start = end if self.layout.points else _numbers(rows.column("start"))
        if start is not end and np.array_equal(start, end):
            start = end
        schema = next(chain.schemas[event] for chain in self.chains if event in chain.schemas)
        columns = {}
        for attribute, slot in self.layout.slots[event].items():
            declared = schema.type_of(attribute)
            assert declared is not None
            columns[attribute] = _typed(rows.column(slot), declared)
        return Events(start, end, columns)


def _seen(chain: Chain, events: Events) -> Events:
    """The events that the rules of a chain see."""
    return events if chain.begin is None else take(events, events.end > chain.begin)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Rows in portions of a good size: many small batches cost more than a few large ones."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def events_of(rows: Any) -> Any:
    """The number of the type of each row's event, in 16 bits."""
    if WHEN in rows.column_names:
        return (_numbers(rows.column(WHEN)) & ((1 << SPARE_BITS) - 1)).astype(np.int16)
    return _numbers(rows.column("event"))


def ends_of(rows: Any) -> Any:
    """The end of each row's event."""
    if WHEN in rows.column_names:
        return _numbers(rows.column(WHEN)) >> SPARE_BITS
    return _numbers(rows.column("end"))


def _numbers(column: Any) -> Any:
    return _one(column).to_numpy()


def _one(column: Any) -> Any:
    """A column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    return column


def _typed(column: Any, declared: Type) -> Any:
    """A column in the type that the engine expects; Spark's differ in the name of the time zone,
    and may use large offsets."""
    array = _one(column)
    if array.type == declared.arrow:
        return array
    if pa.types.is_timestamp(array.type):
        return array.view(pa.int64()).view(declared.arrow)
    return array.cast(declared.arrow)
