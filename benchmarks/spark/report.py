"""From figures to verdicts: is the answer right, is the bar held, and how that reads in a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.spark.batch import OURS, PLAIN
from benchmarks.spark.stream import JOIN
from benchmarks.spark.works import Work

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A work as the table shows it. ``held`` is None where there is no bar to hold."""

    work: str
    ours: str
    theirs: str
    ratio: str
    bar: str
    held: bool | None
    results: str
    problems: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return not self.problems

    @property
    def verdict(self) -> str:
        if self.problems:
            return "WRONG"
        return {None: "", True: "ok", False: "FAIL"}[self.held]


HEAD = Line("work", "ours", "theirs", "ratio", "bar", None, "results")


def judge(work: Work, figures: Figures, *, bars: bool = True) -> Line:
    """What a work's figures say. Without ``bars``, only the answers are finalised."""
    problems = tuple(f"{work.name}: {problem}" for problem in _problems(figures))
    ours, theirs, ratio, held = _compared(work, figures)
    if work.bar is None:
        bar = ""
    elif work.kind == "nothing":
        bar = f"<= +{work.bar:.1f} s"
    else:
        bar = f"{'>' if work.bar == 1 else '>='} {work.bar:.1f}"
    results = ""
    if work.kind not in ("triggers", "latency"):
        results = f"{_first(figures)['results']:,}"
    return Line(work.name, ours, theirs, ratio, bar, held if bars else None, results, problems)


def unfinished(work: Work) -> Line:
    """A work whose process failed."""
    return Line(work.name, "", "", "", "", False, "", (f"{work.name}: did not finish",))


def _compared(work: Work, figures: Figures) -> tuple[str, str, str, bool | None]:
    """Ours, theirs, how they compare, and whether the bar is held."""
    bar = work.bar or 0.0
    if work.kind == "latency":
        found = figures["ways"][OURS]
        return f"{found['median']:.2f} s", "", f"95 %: {found['p95']:.2f} s", None
    if work.kind == "stream":
        ways = figures["ways"]
        # In the same session: with the state store that it has for Thence.
        theirs = ways[JOIN]["events_per_second"]
        return _rates(ways[OURS]["events_per_second"], theirs, bar)
    if work.kind == "triggers":
        many, few = (_first(figures[part])["events_per_second"] for part in ("many", "few"))
        return _rates(many, few, bar)
    if work.kind == "cores":
        ours, theirs = (_first(figures[part])["wall"] for part in ("local[2]", "local[1]"))
    else:
        ours, theirs = (figures["ways"][way]["wall"] for way in (OURS, PLAIN))
    more = "" if figures.get("ways", {}).get(PLAIN, {}).get("finished", True) else "> "
    if work.kind == "nothing":
        return f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours - theirs:+.2f} s", ours - theirs <= bar
    held = theirs / ours > bar if bar == 1 else theirs / ours >= bar
    return f"{ours:.2f} s", f"{more}{theirs:.2f} s", f"{more}{theirs / ours:.2f}", held


def _rates(ours: float, theirs: float, bar: float) -> tuple[str, str, str, bool]:
    ratio = ours / theirs
    held = ratio > bar if bar == 1 else ratio >= bar
    return f"{ours / 1e3:,.0f} k/s", f"{theirs / 1e3:,.0f} k/s", f"{ratio:.2f}", held


def _first(figures: Figures) -> Figures:
    """The figures of Thence, of the first part that has them."""
    if "ways" in figures:
        return dict(figures["ways"][OURS])
    return next(_first(part) for part in figures.values() if isinstance(part, dict))


def _problems(figures: Figures) -> Iterator[str]:
    """Ways whose answer is not the reference's, or differs from that of the others."""
    if "ways" not in figures:
        for part in figures.values():
            if isinstance(part, dict):
                yield from _problems(part)
        return
    checksum = figures["ways"][OURS].get("checksum")
    for way, found in figures["ways"].items():
        expected = figures.get("expected", found["results"])
        if found["results"] is None:  # it was stopped before it had any
            continue
        if found["results"] != expected:
            yield f"{way} has {found['results']:,} results instead of {expected:,}"
        elif found.get("checksum") not in (None, checksum):
            yield f"{way} has other results than {OURS}"


def show(line: Line) -> str:
    """
    >>> print(show(HEAD))
    work                ours      theirs         ratio        bar         results
    """
    return (
        f"{line.work:<14} {line.ours:>9} {line.theirs:>11} {line.ratio:>13} {line.bar:>10}"
        f"  {line.verdict:<5} {line.results:>10}"
    ).rstrip()


def details(work: Work, figures: Figures) -> Iterator[str]:
    """A line for each way a work was done: time, events a second, CPU, bytes shuffled."""
    for part, found in _parts(figures):
        events, runs_over = found.get("events"), found.get("per_trigger")
        for way, way_found in found["ways"].items():
            name = f"{work.name}{f' {part}' if part else ''}: {way}"
            yield _detail(name, way_found, None if runs_over else events)


DETAILS_HEAD = (
    f"{'':<32} {'seconds':>8} {'events/s':>11} {'CPU Java':>9} {'Python':>7} {'shuffled':>11}"
)


def _detail(name: str, found: Figures, events: int | None) -> str:
    if "median" in found:  # latency
        return f"{name:<32} {found['median']:>8.2f} (95 %: {found['p95']:.2f} s)"
    seconds = found["wall"] if "wall" in found else found["seconds_per_trigger"]
    rate = found["events_per_second"] if events is None else events / seconds
    java, python = (
        "" if found[kind] is None else f"{found[kind]:.2f}" for kind in ("java", "python")
    )
    shuffled = f"{found['shuffled'] / 1e6:,.1f} MB" if "shuffled" in found else ""
    return f"{name:<32} {seconds:>8.2f} {rate:>11,.0f} {java:>9} {python:>7} {shuffled:>11}"


def _parts(figures: Figures) -> Iterator[tuple[str, Figures]]:
    if "ways" in figures:
        yield "", figures
    else:
        yield from ((name, part) for name, part in figures.items() if isinstance(part, dict))
