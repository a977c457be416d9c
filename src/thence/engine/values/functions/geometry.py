"""Where things are in the plane: distances between points, and points in shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thence.engine.values.functions.conversions import (
    BOOLEAN,
    FLOAT64,
    Kernel,
    Uncomputable,
    Value,
    by_row,
    is_scalar,
    strict,
    to_float,
)
from thence.model.shapes import MISSING, read_shapes, shape_problem, shapely

Numbers = npt.NDArray[np.float64]


def _apart(x1: Numbers, y1: Numbers, x2: Numbers, y2: Numbers) -> Numbers:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.hypot(x2 - x1, y2 - y1)


_distances = by_row(_apart, FLOAT64)


def _distance(*coordinates: Value) -> Value:
    return _distances(*map(to_float, coordinates))


def _is_inside(x: Value, y: Value, shape: Value) -> Value:
    library = shapely()
    if library is None:
        raise Uncomputable(MISSING)
    # Each shape is read once, however many points are asked about.
    column = pa.array([shape.as_py()], shape.type) if is_scalar(shape) else shape
    encoded = column.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    shapes, wrong = read_shapes(library, texts)
    if wrong is not None:
        raise Uncomputable(f"this is no shape in WKT: {shape_problem(texts[wrong])}")
    library.prepare(shapes)

    def contained(x: Numbers, y: Numbers, which: Any) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = library.intersects_xy(shapes[which], x, y)
        return found

    which = encoded.indices[0] if is_scalar(shape) else encoded.indices
    return by_row(contained, BOOLEAN)(to_float(x), to_float(y), which)


GEOMETRY: dict[str, Kernel] = {
    "distance": strict(_distance, FLOAT64),
    "inside": strict(_is_inside, BOOLEAN),
}
