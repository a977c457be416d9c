"""Reads the case files: ``cases/*.yaml``, each a list of small programs with what they find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from notation import Written, parse_events, parse_rows

FOLDER = Path(__file__).parent / "cases"
FIELDS = {"name", "doc", "program", "events", "tables", "until", "coverage", "expect"}


Coverage = dict[str, list[tuple[int, int | None]]]


@dataclass(frozen=True)
class Case:
    """A program, the events it sees with the rows of its tables, and everything it derives."""

    name: str
    program: str
    events: tuple[Written, ...]
    until: int | dict[str, int] | None
    expect: tuple[Written, ...]
    coverage: Coverage | None = None

    @property
    def plain(self) -> bool:
        """Whether all inputs have one horizon, and no gaps."""
        return not isinstance(self.until, dict) and self.coverage is None

    def expected(self, derived: Iterable[str]) -> dict[str, set[tuple[Any, int, int]]]:
        """The expected rows of each derived event; what is not mentioned must not occur."""
        rows: dict[str, set[tuple[Any, int, int]]] = {name: set() for name in derived}
        for event in self.expect:
            rows[event.type].add((event.values, event.start, event.end))
        return rows


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases of all files, named ``file: case``."""
    cases = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for raw in yaml.load(path.read_text(), Loader=yaml.BaseLoader):
            unknown = raw.keys() - FIELDS
            if unknown:
                raise ValueError(f"{path.name}: unknown fields {sorted(unknown)}")
            cases.append(
                Case(
                    name=f"{path.stem}: {raw['name']}",
                    program=raw["program"],
                    events=(
                        *parse_events(raw["events"]),
                        *parse_rows(raw.get("tables", "")),
                    ),
                    until=until_of(raw.get("until")),
                    expect=tuple(parse_events(raw["expect"])),
                    coverage=coverage_of(raw["coverage"]) if "coverage" in raw else None,
                )
            )
    return tuple(cases)


def time_of(text: str) -> int:
    """A time, written as in events."""
    return int(parse_events(f"time @ {text}")[0].end)


def until_of(raw: Any) -> int | dict[str, int] | None:
    """A horizon for all inputs, or one for each."""
    if isinstance(raw, dict):
        return {name: time_of(text) for name, text in raw.items()}
    return None if raw is None else time_of(raw)


def coverage_of(raw: dict[str, str]) -> Coverage:
    """The times over which inputs are known.

    >>> coverage_of({"b": "from 1 to 2, from 3"})
    {'b': [(1000000, 2000000), (3000000, None)]}
    """
    found: Coverage = {}
    for name, text in raw.items():
        found[name] = []
        for stretch in text.split(","):
            since, _, until = stretch.strip().removeprefix("from ").partition(" to ")
            found[name].append((time_of(since), time_of(until) if until else None))
    return found
