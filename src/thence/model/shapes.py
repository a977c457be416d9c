"""Shapes in the plane, written as WKT: ``POLYGON ((0 0, 4 0, 4 3, 0 0))``.

They are read by shapely, which is an optional dependency.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

MISSING = "shapes need shapely: pip install 'thence[geo]'"


def shapely() -> ModuleType | None:
    """The library that knows shapes; None where it is not installed."""
    try:
        import shapely as found  # noqa: PLC0415 (an optional dependency, and few programs need it)
    except ModuleNotFoundError:
        return None
    module: ModuleType = found
    return module


def read_shapes(library: ModuleType, texts: Any) -> tuple[Any, int | None]:
    """The shapes that texts stand for, and the place of the first text that is none."""
    shapes = library.from_wkt(np.asarray(texts, dtype=object), on_invalid="ignore")
    wrong = np.flatnonzero(library.is_missing(shapes) | ~library.is_valid(shapes))
    return shapes, int(wrong[0]) if len(wrong) else None


def shape_problem(text: str) -> str | None:
    """Why a text is no shape; None where it is one, or where nobody here can tell.

    >>> shape_problem("POLYGON ((0 0, 4 0, 4 3, 0 0))")
    """
    library = shapely()
    if library is None:
        return None
    try:
        shape = library.from_wkt(text)
    except library.errors.ShapelyError as problem:
        return str(problem).removeprefix("ParseException: ").rstrip(".")
    return None if library.is_valid(shape) else str(library.is_valid_reason(shape))
