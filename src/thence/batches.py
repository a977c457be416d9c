"""What ``program.run_batches`` gives back: results as Arrow record batches, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import pyarrow as pa

from thence.engine.arrays.rows import sliced, take
from thence.engine.provenance.lineage import LINEAGE
from thence.engine.provenance.lineage import TYPE as LINEAGE_TYPE
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.results import as_table, start_order

CHUNK_ROWS = 1 << 16
"""Results are made so many at a time at least: to begin a chunk costs more than a few results."""


class Batches(Iterator[tuple[str, Any]]):
    """The results of a run as pairs: the name of an event, and a ``pyarrow.RecordBatch`` of it.

    Rows of a batch are sorted by start. ``schemas`` are the schemas of all events that are asked
    for, whether there are any or not. Whoever does not go on to the end may ``close``, or use a
    ``with`` block: then all that the run holds is free.
    """

    def __init__(self, schemas: Mapping[str, pa.Schema], found: Iterator[tuple[str, Any]]) -> None:
        self.schemas = dict(schemas)
        self._found = found

    def __next__(self) -> tuple[str, Any]:
        return next(self._found)

    def close(self) -> None:
        """Free what the run holds; there is nothing more after that."""
        self._found = iter(())

    def __enter__(self) -> Batches:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<thence.Batches of {', '.join(self.schemas) or 'nothing'}>"


def schema_of(event: EventSchema, lineage: bool) -> pa.Schema:
    """The columns of results: attributes, ``start``, ``end``, and ``lineage`` if asked for."""
    fields = [pa.field(attribute.name, attribute.type.arrow) for attribute in event.attributes]
    fields += [pa.field(side, pa.timestamp("us", "UTC")) for side in ("start", "end")]
    return pa.schema([*fields, pa.field(LINEAGE, LINEAGE_TYPE)] if lineage else fields)


def record_batches(
    pieces: Iterable[tuple[str, Events]],
    schemas: Mapping[str, pa.Schema],
    rows: int,
    guard: Callable[[], AbstractContextManager[None]],
    told: Callable[[str, Events], Events] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Pieces of results as batches of at most so many rows. ``guard`` is around all work that is
    done for one of them; ``told`` gives them their lineage, where that is asked for."""
    waiting = iter(pieces)
    while True:
        with guard():
            piece = next(waiting, None)
        if piece is None:
            return
        name, events = piece
        order = start_order(events)
        for begin in range(0, len(events), rows):
            end = min(begin + rows, len(events))
            with guard():
                some = (
                    sliced(events, begin, end) if order is None else take(events, order[begin:end])
                )
                some = some if told is None else told(name, some)
                (batch,) = as_table(some).cast(schemas[name]).combine_chunks().to_batches()
            yield name, batch


def checked_rows(rows: Any) -> int:
    """How many rows a batch is to have, if that can be."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(f"batch_rows must be a whole number from 1 on, not {rows!r}")
    return rows
