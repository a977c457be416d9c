"""The figures as files: throughput on the y-axis, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.etalis.rules import Figure
from benchmarks.figures.draw import FOLDER, FORMATS, HEIGHT, WIDTH

COLOUR = "#c2410c"


def draw(figure: Figure, rates: Mapping[int, float], folder: Path = FOLDER) -> list[Path]:
    """Write a figure in every format."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = chart(figure, rates)
    paths = [folder / f"etalis-{figure.name}.{suffix}" for suffix in FORMATS]
    for path in paths:
        drawn.save(str(path), ppi=144)
    return paths


def chart(figure: Figure, rates: Mapping[int, float]) -> Any:
    """A line through what was measured at each place, from no throughput at all upwards."""
    places = sorted(rates)
    scale = alt.Scale(type="log" if places[-1] >= 20 * places[0] else "linear")
    title = alt.TitleParams(
        f"Figure {figure.name} of paper 4: {figure.title}",
        subtitle="one thread, by CPU time; higher is faster",
        anchor="start",
    )
    values = [{"x": place, "rate": rate} for place, rate in rates.items()]
    return (
        alt.Chart(alt.InlineData(values=values), title=title, width=WIDTH, height=HEIGHT)
        .mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2, color=COLOUR)
        .encode(
            x=alt.X(
                "x:Q",
                title=figure.x_title,
                scale=scale,
                axis=alt.Axis(values=places, format=",d", labelAngle=0),
            ),
            y=alt.Y(
                "rate:Q",
                title="events per second",
                scale=alt.Scale(domainMin=0),
                axis=alt.Axis(format="~s", tickCount=6),
            ),
        )
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, gridColor="#e5e7eb")
    )
