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
    """

    start: Times
    end: Times
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.start)
