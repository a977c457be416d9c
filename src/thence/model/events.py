"""Rows of one event type, in columns: the form in which events move through Thence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one type: their intervals as int64 microseconds UTC, and a column per attribute.

    ``columns`` maps an attribute to one contiguous Arrow array of the schema's Arrow type. Columns
    that nobody reads may be left out.

    What is known of an event beside what it is stands apart from that: two events are the same
    whatever is said of them. ``possible`` says which of the events may or may not have happened;
    where it is None, all of them have.
    """

    start: Times
    end: Times
    columns: Mapping[str, Any]
    possible: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.start)
