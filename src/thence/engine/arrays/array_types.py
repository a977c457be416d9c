"""The arrays that the engine works on, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
"""Numbers of rows, or positions in a sorted order."""

Codes = npt.NDArray[np.int64]
"""Values as small integers; -1 is a value that equals nothing."""

Times = npt.NDArray[np.int64]
"""Microseconds UTC."""

Mask = npt.NDArray[np.bool_]
"""Which rows."""

IntTable = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Rows of whole numbers."""

FloatTable = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""Rows of real numbers."""

Floats = npt.NDArray[np.float64]
"""Real numbers."""
