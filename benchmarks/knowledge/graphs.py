"""Graphs to ask about: the roads of a town, and links at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Edges from ``x`` to ``y`` between so many nodes, and the nodes to ask from."""

    nodes: int
    x: Ints
    y: Ints
    sources: Ints

    @property
    def table(self) -> Any:
        return pa.table({"x": self.x, "y": self.y})


def road_grid(edges: int, sources: int, seed: int = 1) -> Graph:
    """Crossings in a square, joined by roads in both directions: about so many edges."""
    side = round((edges / 4) ** 0.5) + 1
    numbers = np.arange(side * side).reshape(side, side)
    x = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
    y = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
    random = np.random.default_rng(seed)
    asked = random.choice(side * side, sources, replace=False)
    order = random.permutation(2 * len(x))
    return Graph(
        side * side, np.concatenate([x, y])[order], np.concatenate([y, x])[order], np.sort(asked)
    )


def random_graph(nodes: int, edges: int, seed: int = 1) -> Graph:
    """Edges at random, asked from every node."""
    random = np.random.default_rng(seed)
    x, y = random.integers(nodes, size=(2, edges))
    return Graph(nodes, x, y, np.arange(nodes))
