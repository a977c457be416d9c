"""What is in progress, written down as directly as Python allows: by trying everything.

A rule is given as its parts and the inequalities between their times, as the table of meanings in
``docs/semantics.md`` has them, not by what the engine makes of its text. Times are small whole
numbers, so what may still come is tried instant by instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

Seen = tuple[str, int, int, int]
"""An event: its type, its key, its start and its end."""

Point = tuple[str, str]
"""The ``start`` or the ``end`` of a part, by its label."""

Inequality = tuple[Point, Point, int]
"""The first time less the second is at most so much."""


@dataclass(frozen=True)
class Absence:
    """No event of a type with the key of the rule may lie where the inequalities say; ``"absent"``
    is its label in them. It is certain once the point ``closes``, moved by ``by``, is past."""

    event: str
    inside: tuple[Inequality, ...]
    closes: Point
    by: int = 0


@dataclass(frozen=True)
class Spec:
    """A rule: its parts by label, all with one key, and what must hold of their times."""

    text: str
    parts: Mapping[str, str]
    times: tuple[Inequality, ...]
    absences: tuple[Absence, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)
    """The least key that the event of a part may have, where there is one; all have one key, so
    what is missing has none that is less."""
    instants: bool = False
    """Whether its state has a bound only if all events are instants."""


Row = tuple[int, frozenset[tuple[str, Seen]], tuple[tuple[str, int], ...], int]
"""The key, the parts that are there, what is awaited and until when, and until when at all."""

Chosen = dict[str, Seen]


def in_progress(spec: Spec, seen: Sequence[Seen], horizon: int, reach: int) -> set[Row]:
    """The partial matches of a rule that are open, and part of nothing larger that is open or
    complete. What comes is tried up to ``reach`` after the horizon."""
    rows: dict[frozenset[tuple[str, Seen]], Row | None] = {}
    for chosen in assignments(spec, sorted(set(seen))):
        ways = list(completions(spec, chosen, horizon, reach))
        if not ways or any(
            ruled_out(spec, absence, ways, chosen, seen) for absence in spec.absences
        ):
            continue
        there = frozenset(chosen.items())
        rows[there] = None  # it is complete, if nothing is awaited
        closing = [max(time(way, a.closes) + a.by for way in ways) for a in spec.absences]
        if len(chosen) < len(spec.parts) or any(at > horizon for at in closing):
            key = next(iter(chosen.values()))[1]
            latest = {
                label: max(time(way, (label, "end")) for way in ways)
                for label in spec.parts
                if label not in chosen
            }
            until = max([*latest.values(), *closing])
            awaited = [*latest.items(), *((f"no {a.event}", until) for a in spec.absences)]
            rows[there] = key, there, tuple(awaited), until
    return {row for there, row in rows.items() if row and not any(there < other for other in rows)}


def assignments(spec: Spec, seen: Sequence[Seen]) -> Iterator[Chosen]:
    """Some of the parts, bound to events with one key that agree in time as far as they go."""
    labels = list(spec.parts)
    for size in range(1, len(labels) + 1):
        for there in combinations(labels, size):
            least = max(spec.least.values(), default=0)
            fitting = [
                [e for e in seen if e[0] == spec.parts[label] and e[1] >= least] for label in there
            ]
            for events in product(*fitting):
                chosen = dict(zip(there, events, strict=True))
                if len({event[1] for event in events}) == 1 and hold(spec.times, chosen):
                    yield chosen


def completions(spec: Spec, chosen: Chosen, horizon: int, reach: int) -> Iterator[Chosen]:
    """Every way in which the parts that are missing may come: as instants after the horizon."""
    missing = [label for label in spec.parts if label not in chosen]
    key = next(iter(chosen.values()))[1]
    for times in product(range(horizon + 1, horizon + 1 + reach), repeat=len(missing)):
        way = chosen | {
            label: (spec.parts[label], key, at, at)
            for label, at in zip(missing, times, strict=True)
        }
        if hold(spec.times, way):
            yield way


def ruled_out(
    spec: Spec, absence: Absence, ways: list[Chosen], chosen: Chosen, seen: Sequence[Seen]
) -> bool:
    """Whether an event that was seen lies where nothing may, whatever comes."""
    key = next(iter(chosen.values()))[1]
    return any(
        all(hold(absence.inside, way | {"absent": event}) for way in ways)
        for event in seen
        if event[0] == absence.event and event[1] == key
    )


def hold(times: Sequence[Inequality], chosen: Chosen) -> bool:
    """Whether all inequalities hold that are about events that are there."""
    return all(
        time(chosen, one) - time(chosen, other) <= limit
        for one, other, limit in times
        if one[0] in chosen and other[0] in chosen
    )


def time(chosen: Chosen, point: Point) -> int:
    """When a part starts or ends."""
    return chosen[point[0]][2 if point[1] == "start" else 3]
