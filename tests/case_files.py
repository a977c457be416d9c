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
FIELDS = {"name", "doc", "program", "events", "tables", "until", "expect"}


@dataclass(frozen=True)
class Case:
    """A program, the events it sees with the rows of its tables, and everything it derives."""

    name: str
    program: str
    events: tuple[Written, ...]
    until: int | None
    expect: tuple[Written, ...]

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
                    until=parse_events(f"until @ {raw['until']}")[0].end
                    if "until" in raw
                    else None,
                    expect=tuple(parse_events(raw["expect"])),
                )
            )
    return tuple(cases)
