"""Points and shapes, written down as in a textbook: exact fractions, edges one by one."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

Point = tuple[Fraction, Fraction]


def distance(x1: float, y1: float, x2: float, y2: float) -> float:
    return math.hypot(float(x2) - float(x1), float(y2) - float(y1))


def inside(x: float, y: float, shape: str) -> bool:
    """Whether a point is in one of the polygons of a text: on an edge, or in the ring around it and
    in none of its holes, each of which it is in if a ray from it crosses the ring an odd number of
    times."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return False
    point = (Fraction(x), Fraction(y))
    rings = [_ring(text) for text in re.findall(r"\(([^()]+)\)", shape)]
    if any(_on_edge(point, ring) for ring in rings):
        return True
    return sum(_crossings(point, ring) for ring in rings) % 2 == 1


def _ring(text: str) -> list[Point]:
    pairs = [pair.split() for pair in text.split(",")]
    return [(Fraction(x), Fraction(y)) for x, y in pairs]


def _on_edge(point: Point, ring: list[Point]) -> bool:
    x, y = point
    for (ax, ay), (bx, by) in itertools.pairwise(ring):
        straight = (bx - ax) * (y - ay) == (by - ay) * (x - ax)
        if straight and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return True
    return False


def _crossings(point: Point, ring: list[Point]) -> int:
    x, y = point
    return sum(
        (ay > y) != (by > y) and x < ax + (bx - ax) * (y - ay) / (by - ay)
        for (ax, ay), (bx, by) in itertools.pairwise(ring)
    )
