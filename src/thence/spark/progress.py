"""How far along the rules of a stream are: rows that each shard tells in every trigger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from thence.engine.join.match import as_timestamps
from thence.engine.limits.growth import Limits
from thence.engine.progress.progress_table import binding_name
from thence.engine.progress.remembered_progress import progress_of
from thence.engine.state.relation import Relation
from thence.engine.state.state import State
from thence.model.arrow import to_numpy
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.types import FLOAT, INT, STRING, TIMESTAMP
from thence.plan.horizons import CLOCK, NEVER
from thence.plan.tree import Part
from thence.progress_text import lists_as_json
from thence.spark.blocks import PROGRESS, Block, encode
from thence.spark.output import Output, shared_attributes

_COLUMNS = {
    "done": FLOAT,
    "met": INT,
    "of": INT,
    "parts": STRING,
    "awaiting": STRING,
    "since": TIMESTAMP,
    "until": TIMESTAMP,
    "at": TIMESTAMP,
}


def progress_output(schemas: Mapping[str, EventSchema], names: tuple[str, ...]) -> Output:
    """The columns of progress: those of a session's, with lists as JSON, and the horizon ``at``
    which it was so."""
    keys = {binding_name(n): kind for n, kind in shared_attributes(schemas, names).items()}
    return Output(tuple({"rule": STRING, **keys, **_COLUMNS}.items()), lineage=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose progress shards tell, and how long events last at most that are to come."""

    rules: tuple[str, ...]
    lengths: Mapping[str, int]

    def blocks(
        self,
        part: Part,
        state: State,
        tables: Mapping[str, Relation],
        limits: Limits,
        place: int,
    ) -> Iterator[Block]:
        """What a shard tells after a step; nothing before there is a horizon."""
        at = min([time for name, time in state.horizons.items() if name != CLOCK], default=NEVER)
        if at == NEVER:
            return
        for table in progress_of(part, state, tables, self.lengths, self.rules, {}, limits):
            count = table.num_rows
            if not count:
                continue
            columns = {name: table[name].combine_chunks() for name in table.column_names}
            for name in ("parts", "awaiting"):
                columns[name] = pa.array(list(lists_as_json(table[name])), pa.string())
            columns["at"] = as_timestamps(np.full(count, at))
            times = to_numpy(columns["since"].view(pa.int64()))
            rows = Events(times, times, columns)
            yield Block(place, PROGRESS, columns["rule"][0].as_py(), count, encode(rows))
