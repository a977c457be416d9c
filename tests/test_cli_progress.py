"""``thence progress``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command

RULES = """event order(id string, qty int);
event shipped(id string);
completed(id, qty) <- (o: order(id, qty) seq shipped(id)) within 2 days;
thrice(id) <- shipped(id){3} within 1 day;
"""
EVENTS = """type,id,qty,time
order,a,1,2026-01-01T00:00:00Z
order,b,2,2026-01-01T01:00:00Z
shipped,a,,2026-01-01T02:00:00Z
"""
B_IS_AWAITED = """completed(id='b', qty=2): 1 of 2, 50%
  there     o: order(id='b', qty=2) at 2026-01-01T01:00:00Z
  awaiting  shipped until 2026-01-03T01:00:00Z
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rules, events = tmp_path / "rules.thence", tmp_path / "events.csv"
    rules.write_text(RULES)
    events.write_text(EVENTS)
    return rules, events


def test_it_shows_what_is_open_at_the_end_and_names_what_is_not_told(
    thence: Command, files: tuple[Path, Path]
) -> None:
    shown = thence("progress", files[0], "--events", files[1])
    assert (shown.code, shown.out) == (0, B_IS_AWAITED)
    assert shown.err == "not told: thrice: it repeats a pattern\n"


def test_it_is_what_is_open_at_a_later_time(thence: Command, files: tuple[Path, Path]) -> None:
    shown = thence("progress", files[0], "--events", files[1], "--until", "2026-01-04T00:00:00Z")
    assert (shown.code, shown.out) == (0, "nothing is in progress\n")


def test_a_rule_and_values_choose(thence: Command, files: tuple[Path, Path]) -> None:
    asked = ("progress", files[0], "--events", files[1], "--rule", "completed", "--where")
    assert thence(*asked, "qty=2").out == B_IS_AWAITED
    assert thence(*asked, "qty=1").out == "nothing is in progress\n"
    refused = thence(*asked, "qty=x")
    assert refused.code == 2 and "'qty' of 'completed' is int" in refused.err


def test_json_is_a_record_a_line(thence: Command, files: tuple[Path, Path]) -> None:
    shown = thence("progress", files[0], "--events", files[1], "--json", "--rule", "completed")
    (record,) = map(json.loads, shown.out.splitlines())
    assert (record["id"], record["qty"], record["done"]) == ("b", 2, 0.5)
    assert record["parts"][0]["attributes"] == {"id": "b", "qty": 2}
    assert record["awaiting"] == [
        {"label": None, "event": "shipped", "what": "event", "until": "2026-01-03T01:00:00Z"}
    ]
