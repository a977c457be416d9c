"""What had to be absent for a match, where and when: a row of columns for each match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index, Mask
from thence.engine.arrays.hashing import Hashes, combined, hash_of, identity_hashes
from thence.engine.join.match import Match
from thence.engine.values.evaluate import evaluate
from thence.logic.bounds import Constraint
from thence.logic.conjunct import WindowUse
from thence.model.events import Times
from thence.model.time import EARLIEST, LATEST
from thence.plan.prepared import Prepared


@dataclass(frozen=True, slots=True, eq=False)
class Absences:
    """A window from which something was absent, for each of some matches.

    ``place`` is the number of the window among those of the match, ``values`` are the attributes
    that it would have had. The window reaches from ``start`` to
    ``end``; each of them is a part of it unless it is open. Equal ``hashes`` say the same.
    ``derivations`` are those that the matches are, once these have ids.
    """

    prepared: Prepared
    window: WindowUse
    place: int
    values: Mapping[str, Any]
    start: Times
    end: Times
    open_start: Mask
    open_end: Mask
    hashes: Hashes
    derivations: Index


def absences_of(match: Match) -> list[Absences]:
    """The windows of a match from which something was absent."""
    conjunct = match.prepared.conjunct
    absent = [
        w for w in conjunct.windows if w.mode == "absent" and not conjunct.atoms[w.atom].silent
    ]
    return [_absences(match, window, place) for place, window in enumerate(absent)]


def lengths(prepared: Prepared, window: WindowUse) -> tuple[Constraint, ...]:
    """How long what was absent would have lasted: bounds between its own two ends."""
    use = prepared.uses[window.atom]
    found = prepared.reduced(window.constraints)
    return tuple(c for c in found if {c.later, c.earlier} == {use.start, use.end})


def _absences(match: Match, window: WindowUse, place: int) -> Absences:
    prepared = match.prepared
    use = prepared.uses[window.atom]
    # An end that is open lies just inside of one at the same time that is not.
    low = np.full(match.length, 2 * EARLIEST)
    high = np.full(match.length, 2 * LATEST + 1)
    for c in prepared.reduced(window.constraints):
        own = (c.later in (use.start, use.end), c.earlier in (use.start, use.end))
        if own == (False, True):
            low = np.maximum(low, 2 * (match.time(c.later) - c.limit - c.strict) + c.strict)
        elif own == (True, False):
            time = match.time(c.earlier) + c.limit + c.strict
            high = np.minimum(high, 2 * time + (not c.strict))
    start, end = low >> 1, high >> 1
    open_start, open_end = (low & 1).astype(np.bool_), (high & 1 == 0)
    values = {name: evaluate(expr, match.leaf, match.length) for name, expr in window.links}
    said = repr((lengths(prepared, window), window.predicates))
    hashes = np.full(match.length, hash_of((use.event, said)))
    for column in (*(pa.array(each) for each in (low, high)), *values.values()):
        hashes = combined(hashes, identity_hashes(column))
    none = np.empty(0, np.int64)
    return Absences(
        prepared, window, place, values, start, end, open_start, open_end, hashes, none
    )  # fmt: skip
