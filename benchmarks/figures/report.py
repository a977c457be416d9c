"""From seconds to verdicts: are the answers equal, is Thence faster, and does the gap grow.

The gap at a point is how many more seconds of work (CPU time, all cores together) the join takes
than Thence for the same events: work that somebody who knows about sequences does not do. Whether
it grows along a figure is finalised over the whole figure, since two neighbours differ by less than
two runs of one may. Neither DuckDB nor Spark keeps windows of a stream: both compare all pairs of
one attribute whatever the window, so along figure 7 their work hardly changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import linear_regression
from typing import Any

from benchmarks.figures.measure import Measured
from benchmarks.figures.questions import Figure
from benchmarks.figures.ways import Kind


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured at one point of a figure."""

    x: int
    events: int
    ways: tuple[Measured, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(way.host for way in self.ways))

    def way(self, host: str, kind: Kind) -> Measured:
        return next(way for way in self.ways if (way.host, way.kind) == (host, kind))

    def times_as_fast(self, other: Measured) -> float:
        """How many times as fast as another way Thence is on the same host."""
        return other.median / self.way(other.host, "ours").median

    def gap(self, other: Measured) -> float:
        """How many seconds of work more than Thence another way takes on the same host."""
        return other.work - self.way(other.host, "ours").work

    def rate(self, way: Measured) -> float:
        return self.events / way.median

    @property
    def problems(self) -> tuple[str, ...]:
        """Ways whose answer differs from that of Thence in one process, or whoever is first."""
        first, *others = self.ways
        return tuple(
            f"{_said(way)}, {_said(first)}" for way in others if way.answer != first.answer
        )


def _said(way: Measured) -> str:
    found = way.answer
    return f"{way.name} {way.host}: {found.results:,} results, checksum {found.checksum}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something that should hold does."""

    what: str
    held: bool

    def __str__(self) -> str:
        return f"{'ok' if self.held else 'FAIL':<5} {self.what}"


def verdicts(figure: Figure, results: Sequence[Result]) -> Iterator[Verdict]:
    """Thence is faster than the join at every point, and the gap grows along the figure."""
    for host in results[0].hosts:
        joins = [result.way(host, "join") for result in results]
        where, name = f"figure {figure.name} {host}", joins[0].name
        times = [r.times_as_fast(join) for r, join in zip(results, joins, strict=True)]
        slower = [str(r.x) for r, ratio in zip(results, times, strict=True) if ratio <= 1]
        at = f"; not at {', '.join(slower)}" if slower else f" at every point: {_listed(times)}"
        yield Verdict(f"{where}: faster than {name}{at}", not slower)
        gaps = {r.x: r.gap(join) for r, join in zip(results, joins, strict=True)}
        shown = f"{_listed(list(gaps.values()), 2)} s"
        yield Verdict(f"{where}: the gap to {name} grows: {shown}", grows(figure, gaps))


def _listed(numbers: Sequence[float], digits: int = 1) -> str:
    return ", ".join(f"{number:.{digits}f}" for number in numbers)


def grows(figure: Figure, gaps: Mapping[int, float]) -> bool:
    """Whether a gap is more where the figure says that it must be, and its trend is upwards.

    The trend is the slope of a line through the logarithms of all gaps and of the points, in the
    order of the figure.
    """
    if min(gaps.values()) <= 0:
        return False
    more = all(gaps[larger] > gaps[smaller] for smaller, larger in figure.compared)
    points, heights = list(map(log, gaps)), list(map(log, gaps.values()))
    slope = linear_regression(points, heights).slope
    return more and slope * (points[-1] - points[0]) > 0


def lines(result: Result, *, bars: bool = True) -> Iterator[str]:
    """A point as the table shows it: a line for each way, beside it how Thence compares with it."""
    for way in result.ways:
        ratio = verdict = ""
        if way.kind != "ours":
            times = result.times_as_fast(way)
            ratio = f"{times:.2f}"
            verdict = ("ok" if times > 1 else "FAIL") if bars and way.kind == "join" else ""
        yield (
            f"{result.x:>8,} {way.host:<15} {way.name:<21} {way.median * 1e3:>10,.1f}"
            f" {result.rate(way):>12,.0f} {ratio:>9}  {verdict:<5} {way.answer.results:>12,}"
        ).rstrip()


HEAD = (
    f"{'x':>8} {'host':<15} {'way':<21} {'ms':>10} {'events/s':>12} {'Thence is':>9}"
    f"  {'':<5} {'results':>12}"
)


def as_json(result: Result) -> dict[str, Any]:
    """Everything about a point, for the file of results."""
    return {
        "x": result.x,
        "events": result.events,
        "problems": list(result.problems),
        "ways": [
            {
                "name": way.name,
                "host": way.host,
                "kind": way.kind,
                "results": way.answer.results,
                "checksum": way.answer.checksum,
                "seconds": way.median,
                "events_per_second": result.rate(way),
                "times_as_fast": result.times_as_fast(way),
                "gap_seconds": result.gap(way),
                "samples": list(way.seconds),
            }
            for way in result.ways
        ],
    }
