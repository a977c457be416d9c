"""What a batch job knows of all its events together, and every task of it has to be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thence.model.time import LATEST
from thence.plan.horizons import NEVER
from thence.spark.chain import Chain


@dataclass(frozen=True, slots=True)
class Context:
    """What every task of a batch job is told besides its events."""

    horizon: int
    columns: tuple[tuple[Any, Any], ...]
    """The same as further columns of blocks: a field and a value of each."""

    @staticmethod
    def read(chain: Chain, batch: pa.RecordBatch) -> Context:
        """The context in the further columns of blocks."""
        found = {field.name: batch.column(field.name)[0] for field in list(batch.schema)[5:]}
        horizon = chain.horizon
        if horizon is None:
            horizon = found["horizon"].as_py() if "horizon" in found else LATEST
        columns = tuple((batch.schema.field(name), value) for name, value in found.items())
        return Context(NEVER if horizon is None else horizon, columns)

    def added(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Blocks with these columns behind their own."""
        arrays = [pa.array([v.as_py()] * batch.num_rows, f.type) for f, v in self.columns]
        return pa.RecordBatch.from_arrays(
            [*batch.columns, *arrays],
            schema=pa.schema([*batch.schema, *(f for f, _ in self.columns)]),
        )
