"""Gates: the times that the horizon must have passed before a match counts."""

from __future__ import annotations

from functools import reduce

import numpy as np

from thence.engine.arrays import Mask
from thence.engine.match import Match


def passed(match: Match, before: int | None, now: int) -> Mask:
    """The rows whose gates the horizon has passed; with ``before``, passed since then."""
    gates = match.prepared.conjunct.gates
    if not gates:
        return np.ones(match.length, dtype=np.bool_)
    latest = reduce(np.maximum, [match.time(gate) for gate in gates])
    mask: Mask = latest <= now
    return mask if before is None else mask & (latest > before)
