"""The id of an event: 64 bits that follow from its type, its interval and its attributes alone.

An event *is* these, so its id is the same in every run, on every machine, and for every replay.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import pyarrow as pa

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.hashing import combined, identity_hashes
from thence.engine.arrays.rows import is_points
from thence.model.events import Events
from thence.model.schema import EventSchema


def event_ids(schema: EventSchema, events: Events) -> Index:
    """The ids of events of a type, which have all its attributes.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT
    >>> times = np.array([1, 1, 2])
    >>> events = Events(times, times, {"k": pa.array([7, 7, 7])})
    >>> a, b = (EventSchema(name, (Attribute("k", INT),)) for name in "ab")
    >>> first, again, later = event_ids(a, events).tolist()
    >>> first == again, first == later, first == int(event_ids(b, events)[0])
    (True, False, False)
    """
    found = np.full(len(events), _type_hash(schema.name))
    if not schema.table:  # a fact has no time
        start = identity_hashes(pa.array(events.start))
        found = combined(found, start)
        same = is_points(events)
        found = combined(found, start if same else identity_hashes(pa.array(events.end)))
    for name in schema.names:
        found = combined(found, identity_hashes(events.columns[name]))
    return found.view(np.int64)


@lru_cache(maxsize=1 << 12)
def _type_hash(name: str) -> np.uint64:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
