"""Completion times: those that the horizon must have passed before a match counts."""

from __future__ import annotations

from functools import reduce

import numpy as np

from thence.engine.arrays.array_types import Mask
from thence.engine.join.match import Match


def passed(match: Match, before: int | None, now: int) -> Mask:
    """The rows whose completions the horizon has passed; with ``before``, passed since then."""
    completions = match.prepared.conjunct.completions
    if not completions:
        return np.ones(match.length, dtype=np.bool_)
    latest = reduce(np.maximum, [match.time(completion) for completion in completions])
    mask: Mask = latest <= now
    return mask if before is None else mask & (latest > before)
