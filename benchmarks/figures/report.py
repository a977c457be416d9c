"""From seconds to verdicts: are the answers equal, is Thence faster, and does the gap grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures.measure import Measured
from benchmarks.figures.questions import Figure
from benchmarks.figures.ways import Kind

JOINS: dict[Kind, str] = {"join": "the join", "pieces": "the join in pieces"}
NOISE = 0.1  # a ratio may be smaller by this share than one before it and still count as no less


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
        """How many times as fast as another way Thence is on the same host: the gap."""
        return other.median / self.way(other.host, "ours").median

    def gap(self, host: str, kind: Kind) -> float:
        return self.times_as_fast(self.way(host, kind))

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
    """At every point Thence is faster than the join, and from point to point no gap gets less."""
    for host in results[0].hosts:
        where = f"figure {figure.name} {host}"
        slower = [str(result.x) for result in results if result.gap(host, "join") <= 1]
        at = f"; not at {', '.join(slower)}" if slower else " at every point"
        yield Verdict(f"{where}: faster than the join{at}", not slower)
        for kind, name in JOINS.items():
            gaps = [result.gap(host, kind) for result in results]
            shown = ", ".join(f"{gap:.1f}" for gap in gaps)
            yield Verdict(f"{where}: the gap to {name} grows or stays: {shown}", not_less(gaps))


def not_less(ratios: Sequence[float]) -> bool:
    """Whether no ratio is less than one before it, but for noise.

    >>> not_less([1.0, 3.0, 2.8, 5.0]), not_less([1.0, 3.0, 2.8, 2.6])
    (True, False)
    """
    return all(
        ratio >= (1 - NOISE) * max(ratios[: place + 1]) for place, ratio in enumerate(ratios)
    )


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
                "gap": result.times_as_fast(way),
                "samples": list(way.seconds),
            }
            for way in result.ways
        ],
    }
