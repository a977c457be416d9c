"""Rows of a table by where their shapes are: a spatial index, not each shape for each point.

An R-tree over the boxes around the shapes gives, for each point, those whose box it is in. That is
a superset of the shapes that it is in, for the conditions to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thence.engine.arrays.array_types import Index
from thence.engine.arrays.ranges import CHUNK
from thence.engine.arrays.step_memo import kept_with
from thence.engine.join.match import Match
from thence.engine.join.search import Candidates, Key
from thence.engine.join.value_search import value_search
from thence.engine.values.evaluate import evaluate
from thence.engine.values.functions.conversions import to_float
from thence.model.arrow import to_numpy
from thence.model.errors import EvaluationError, InputError
from thence.model.events import Events
from thence.model.shapes import MISSING, read_shapes, shape_problem, shapely
from thence.plan.prepared import Prepared
from thence.plan.value_ranges import Place, ValueRange, shape_columns

MOST_PAIRS = 1 << 24
"""How many pairs of a point and a box may be there at a time, if all points are in all boxes."""
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Located:
    """Candidates of a step: for the point of each row of a match, the shapes around it. Nothing is
    settled by that, and no time."""

    tree: Any
    rows: Index
    points: Callable[[Index], Any]
    probes: Index
    key: Key | None

    @property
    def exact(self) -> frozenset[int]:
        return frozenset()

    def pairs(self) -> Iterator[tuple[Index, Index]]:
        """Chunks of (row of the match, row of the relation), probes in order."""
        size = min(CHUNK, max(1, MOST_PAIRS // max(1, len(self.rows))))
        held: list[tuple[Index, Index]] = []
        for begin in range(0, len(self.probes), size):
            held.append(self._found(begin, begin + size))
            if sum(len(rows) for _, rows in held) >= CHUNK:
                yield _together(held)
                held = []
        if held:
            yield _together(held)

    def _found(self, begin: int, end: int) -> tuple[Index, Index]:
        """The pairs of some points."""
        asked = self.probes[begin:end]
        points, places = self.tree.query(self.points(asked))
        probes, rows = asked[points], self.rows[places]
        if self.key is not None:
            code = self.key.probes[probes]
            same = np.flatnonzero((code == self.key.rows[rows]) & (code >= 0))
            probes, rows = probes[same], rows[same]
        order = np.lexsort((rows, probes))
        return probes[order], rows[order]


def _together(parts: list[tuple[Index, Index]]) -> tuple[Index, Index]:
    return np.concatenate([p for p, _ in parts]), np.concatenate([r for _, r in parts])


def by_values(
    match: Match, atom: int, values: ValueRange | None, place: Place | None, key: Key | None
) -> Candidates | Located | None:
    """The rows of a table that lie around a point, or in a range, where that can be told."""
    if place is not None:
        return shape_search(match, atom, place, key)
    return None if values is None else value_search(match, atom, values, key)


def shape_search(match: Match, atom: int, place: Place, key: Key | None) -> Located | None:
    """For each row of a match, the rows of a table with a shape around its point; None where that
    cannot be told: then the condition says why, if it is asked for."""
    library = shapely()
    column = match.rels[atom].columns[place.column]
    if library is None:
        return None
    try:
        x, y = (_floats(evaluate(each, match.leaf, match.length)) for each in (place.x, place.y))
    except EvaluationError:
        return None
    tree = kept_with("shapes", (column,), (), lambda: _tree(library, column))
    if tree is None:
        return None
    known = np.flatnonzero(to_numpy(column.is_valid()))
    probes = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    return Located(tree, known, lambda some: library.points(x[some], y[some]), probes, key)


def _tree(library: Any, column: Any) -> Any:
    shapes, wrong = read_shapes(library, column.drop_null().to_pylist())
    return library.STRtree(shapes) if wrong is None else None


def _floats(values: Any) -> Any:
    """Coordinates as floats; NaN is nowhere, and so is null."""
    floats = to_float(values).fill_null(float("nan"))
    return floats.to_numpy(zero_copy_only=False)


def check_shapes(joins: Iterable[Prepared], tables: Mapping[str, Events]) -> None:
    """Refuse rows of tables whose shapes are none, where some rule asks what is inside of them."""
    for table, name in dict.fromkeys(pair for join in joins for pair in shape_columns(join)):
        column = tables[table].columns.get(name) if table in tables else None
        if column is None or not len(column):
            continue
        library = shapely()
        if library is None:
            raise InputError(f"table '{table}', column '{name}': {MISSING}.")
        texts = column.fill_null("POINT EMPTY") if column.null_count else column
        values = texts.to_pylist()
        _, wrong = read_shapes(library, values)
        if wrong is not None:
            text = values[wrong]
            shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
            raise InputError(
                f"table '{table}', column '{name}', row {wrong + 1}: {shown} is no shape: "
                f"{shape_problem(text)}. Shapes are written as WKT, such as "
                "'POLYGON ((0 0, 4 0, 4 3, 0 0))'."
            )
