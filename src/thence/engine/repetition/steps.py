"""Greedy chains whose neighbours fulfil whatever condition: some candidates of each row at a time.

Which pairs of neighbours are asked about depends on the answers so far, and a condition is computed
for many pairs at once, or slowly. So all pairs among the next few candidates of a row are asked
about together, and a compiled loop goes through the answers. The fewer rows there are, the more
candidates of each are looked at in a round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thence.engine.arrays import ranges
from thence.engine.arrays.array_types import Index, Mask
from thence.model.errors import EvaluationError

if TYPE_CHECKING:
    from thence.engine.repetition.repeat import Candidates

_NEVER = np.iinfo(np.int64).max
_AT_FIRST, _AT_MOST = 4, 512
"""How many candidates of a row are looked at in the first round, and in any."""


def steps(found: Candidates, begins: Index, limit: int) -> Mask:
    """Which candidates the greedy chains take, from where the chain of each row begins (-1:
    nowhere)."""
    from thence.engine.arrays.kernels import following, go_on, places  # noqa: PLC0415 (compiles)

    strict = found.repetition.strict
    taken = np.zeros(len(found.starts), dtype=np.bool_)
    rows = np.flatnonzero(begins >= 0)
    current = begins[rows]
    taken[current] = True
    pointer, count = current + 1, np.ones(len(rows), dtype=np.int64)
    nearest = np.full(len(rows), _NEVER, dtype=np.int64)
    size, most = _AT_FIRST, _AT_MOST
    while True:
        going = (pointer < found.offsets[rows + 1]) & (count < limit)
        if strict:
            going[going] &= found.starts[pointer[going]] <= nearest[going]
        rows, current, pointer, nearest, count = (
            part[going] for part in (rows, current, pointer, nearest, count)
        )
        if not len(rows):
            return taken
        size = min(size, most, max(int((2 * ranges.CHUNK / len(rows)) ** 0.5), 1))
        stop = np.minimum(pointer + size, found.offsets[rows + 1])
        block = (current, pointer, stop, nearest, found.starts, found.ends, found.fit, strict)
        offsets = places(*block)
        before, after = following(*block, offsets)
        try:
            linked = found.linked(before, after)
        except EvaluationError:
            if size == 1:
                raise
            # Perhaps of a pair that nobody asks about: then no more than what is asked.
            size = most = 1
            continue
        go_on(*block, offsets, after, linked, limit, count, taken)
        pointer, size = stop, size * 2
