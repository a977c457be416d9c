"""``thence trace`` and ``thence explain --hierarchy``."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command, on_terminal

RULES = """event order(id string, qty int);
event shipped(id string);
overdue(id) <- o: order(id, _), w: extend(o, 6h), while w: not shipped(id);
"""
EVENTS = """type,id,qty,time
order,a,1,2026-01-01T00:00:00Z
order,b,2,2026-01-01T01:00:00Z
shipped,a,,2026-01-01T02:00:00Z
order,c,3,2026-01-02T00:00:00Z
order,d,3,2026-01-03T00:00:00Z
"""
TREE_OF_B = """overdue(id='b') at [2026-01-01T01:00:00Z, 2026-01-01T07:00:00Z]
├─ o: order(id='b', qty=2) at 2026-01-01T01:00:00Z
└─ not shipped(id='b') in (2026-01-01T01:00:00Z, 2026-01-01T07:00:00Z): nothing came
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.thence"
    path.write_text(RULES)
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)
    return path


def test_trees_of_all_results(thence: Command, rules: Path, events: Path) -> None:
    done = thence("trace", rules, "overdue", "--events", events)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(TREE_OF_B + "\noverdue(id='c')")


def test_the_event_may_stand_behind_the_events(
    thence: Command,
    rules: Path,
    events: Path,
) -> None:
    done = thence("trace", rules, "--events", events, "overdue", "--where", "id=b")
    assert (done.code, done.out) == (0, TREE_OF_B)


def test_results_with_some_values(thence: Command, rules: Path, events: Path) -> None:
    where = ("--where", "id=b", "start=2026-01-01T01:00:00Z")
    done = thence("trace", rules, "overdue", "--events", events, *where)
    assert (done.code, done.out) == (0, TREE_OF_B)


def test_a_limit_says_that_there_is_more(thence: Command, rules: Path, events: Path) -> None:
    done = thence("trace", rules, "overdue", "--events", events, "--limit", "1")
    assert (done.code, done.out) == (0, TREE_OF_B)
    assert done.err == "there are more results of 'overdue': --limit shows more, --where chooses\n"


def test_a_record_for_each_tree(thence: Command, rules: Path, events: Path) -> None:
    done = thence("trace", rules, "overdue", "--events", events, "--format", "json")
    assert done.code == 0
    assert [record["values"]["id"] for record in done.records] == ["b", "c"]


def test_until_moves_the_horizon(thence: Command, rules: Path, events: Path) -> None:
    until = ("--until", "2026-02-01")
    done = thence("trace", rules, "overdue", "--events", events, *until, "--where", "id=d")
    assert (done.code, done.out.count("\n")) == (0, 3)


def test_a_terminal_shows_colours(rules: Path, events: Path) -> None:
    code, shown = on_terminal("trace", rules, "overdue", "--events", events)
    assert code == 0
    assert "\x1b[1moverdue(id='b')" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("overdu",), "error: EVENT: the program derives no 'overdu'. Did you mean 'overdue'?"),
        (("overdue", "--where", "id"), "error: --where id: write it as NAME=VALUE."),
        (
            ("overdue", "--where", "id=b", "--where", "id=c"),
            "error: --where: 'id' cannot be both 'b' and 'c'.",
        ),
        (("overdue", "--where", "id=x"), "error: there is no result of 'overdue' with id='x'"),
        (("overdue", "--where", "ids=x"), "error: 'overdue' has no attribute 'ids'. Did you mean"),
        (("overdue", "--until", "soon"), "error: --until: 'soon' is not a timestamp"),
    ],
)
def test_what_does_not_fit_ends_with_2(
    thence: Command,
    rules: Path,
    events: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    event, *options = arguments
    done = thence("trace", rules, event, "--events", events, *options)
    assert done.code == 2
    assert done.err.startswith(message)


def test_a_tree_too_deep_for_json_says_what_to_do(thence: Command, tmp_path: Path) -> None:
    rules, events = tmp_path / "clock.thence", tmp_path / "start.csv"
    rules.write_text("event a(); tick() <- a; tick() <- t: tick, w: shift(t, 1 s);")
    events.write_text("time\n1970-01-01T00:00:00Z\n")
    last = ("--until", "1970-01-01T00:05:00Z", "--where", "end=1970-01-01T00:05:00Z")
    asked = ("trace", rules, "tick", "--events", f"a={events}", *last, "--format", "json")
    done = thence(*asked)
    assert (done.code, done.err) == (
        2,
        "error: a tree is too deep for JSON: cut it with --depth, say 100.\n",
    )
    assert thence(*asked, "--depth", "100").code == 0


def test_the_layers_of_a_program(thence: Command, rules: Path) -> None:
    done = thence("explain", rules, "--hierarchy")
    assert done.code == 0
    assert done.out.splitlines()[-2:] == ["layer 2", "  overdue(id string) from order, not shipped"]
