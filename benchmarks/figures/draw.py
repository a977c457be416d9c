"""The figures as files: throughput on the y-axis, as in the paper, and a line for each way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.figures.questions import Figure
from benchmarks.figures.report import Result
from benchmarks.figures.ways import Kind

FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "figures"
FORMATS = ("svg", "png")

# One colour for each kind, wherever it runs.
COLOURS: dict[Kind, str] = {"ours": "#c2410c", "join": "#1e3a5f", "pieces": "#8fb8d6"}
WIDTH, HEIGHT = 330, 260


def draw(figure: Figure, results: Sequence[Result], folder: Path = FOLDER) -> list[Path]:
    """Write a figure in every format; nothing is fetched from anywhere."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = chart(figure, results)
    paths = [folder / f"figure-{figure.name}.{suffix}" for suffix in FORMATS]
    for path in paths:
        drawn.save(str(path), ppi=144)
    return paths


def chart(figure: Figure, results: Sequence[Result]) -> Any:
    """A panel for each host, on one scale, so that they can be compared."""
    rates = [result.rate(way) for result in results for way in result.ways]
    scale = alt.Scale(type="log", domain=[min(rates) / 1.5, max(rates) * 1.5], nice=False)
    panels = [_panel(figure, results, host, scale) for host in results[0].hosts]
    title = alt.TitleParams(
        f"Figure {figure.name}: {figure.title}",
        subtitle=[
            f"{figure.events:,} events; higher is faster; throughput on a logarithmic scale",
            f"The gap, how much more CPU time the join takes than Thence: {_gaps(results)}",
        ],
        anchor="start",
    )
    return (
        alt.hconcat(*panels, title=title)
        .resolve_scale(color="independent")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, gridColor="#e5e7eb")
        .configure_legend(labelFontSize=11, title=None, orient="bottom", columns=3)
    )


def _gaps(results: Sequence[Result]) -> str:
    """The gap on each host, from the first point of the figure to the last."""
    first, last = results[0], results[-1]
    return "; ".join(
        f"{first.gap(first.way(host, 'join')):.2f} s to {last.gap(last.way(host, 'join')):.2f} s"
        f" {host}"
        for host in first.hosts
    )


def _panel(figure: Figure, results: Sequence[Result], host: str, scale: Any) -> Any:
    rows = [
        {"x": result.x, "rate": result.rate(way), "way": way.name}
        for result in results
        for way in result.ways
        if way.host == host
    ]
    colours = {way.name: COLOURS[way.kind] for way in results[0].ways if way.host == host}
    places = sorted(result.x for result in results)
    wide = places[-1] >= 10 * places[0]
    x_scale = alt.Scale(type="log" if wide else "linear", domain=[places[0], places[-1]])
    y_axis = alt.Axis(format="~s", tickCount=6)
    x_axis = alt.Axis(values=places, format=",d", labelAngle=0)
    return (
        alt.Chart(alt.InlineData(values=rows), title=host, width=WIDTH, height=HEIGHT)
        .mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=figure.x_title, scale=x_scale, axis=x_axis),
            y=alt.Y("rate:Q", title="events per second", scale=scale, axis=y_axis),
            color=alt.Color(
                "way:N",
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            ),
        )
    )
