"""How trees of causes look and are asked for: text, HTML, JSON, rows by number and by value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest

import thence

ORDERS = """
event order(id string, qty int);
event shipped(id string);
overdue(id) <- o: order(id, qty), w: extend(o, 6 h), while w: not shipped(id), qty < 10;
report(count(sid) as others) <- o: overdue(_), w: extend_backward(o, 24 h),
                                while w: collect s: shipped(sid);
"""


def at(hour: float, **values: Any) -> dict[str, Any]:
    return {"time": int(hour * 3_600_000_000), **values}


EVENTS = {
    "order": [at(8, id="o1", qty=1), at(9, id="o2", qty=2), at(9.5, id="o3", qty=3)],
    "shipped": [at(10.5, id="o1"), at(16.5, id="o2")],
}


@pytest.fixture(scope="module")
def results() -> thence.Results:
    return thence.compile(ORDERS).run(EVENTS, trace=True)


def drawn(text: str, events: dict[str, list[dict[str, Any]]], **options: Any) -> Sequence[str]:
    found = thence.compile(text).run(events, until=10**12, trace=True)
    return str(found.trace("r", 0, **options)).splitlines()


# --- text -----------------------------------------------------------------------------------------


def test_a_tree_is_drawn_with_lines(results: thence.Results) -> None:
    assert str(results.trace("report", 0)).splitlines() == [
        "report(others=1) at [1969-12-31T09:00:00Z, 1970-01-01T15:00:00Z]",
        "├─ o: overdue(id='o2') at [1970-01-01T09:00:00Z, 1970-01-01T15:00:00Z]",
        "│  ├─ o: order(id='o2', qty=2) at 1970-01-01T09:00:00Z",
        "│  └─ not shipped(id='o2') in (1970-01-01T09:00:00Z, 1970-01-01T15:00:00Z): nothing came",
        "└─ collected s: shipped(id='o1') at 1970-01-01T10:30:00Z",
    ]


def test_depth_cuts_a_tree(results: thence.Results) -> None:
    tree = results.trace("report", 0, depth=1)
    assert str(tree).splitlines()[1:] == [
        "├─ o: overdue(id='o2') at [1970-01-01T09:00:00Z, 1970-01-01T15:00:00Z] …",
        "└─ collected s: shipped(id='o1') at 1970-01-01T10:30:00Z",
    ]
    assert [cause.cut for cause in tree.causes] == ["depth", None]


def test_more_derivations_than_the_limit_are_counted() -> None:
    text = "event a(x int); event b(); r() <- a(_) and b and a(_);"
    events = {"a": [at(1, x=1), at(1, x=2), at(1, x=3)], "b": [at(1)]}
    lines = drawn(text, events, limit=2)
    assert [line for line in lines if "derivation" in line] == [
        "├─ derivation 1 of 6, by the rule in line 1",
        "├─ derivation 2 of 6, by the rule in line 1",
        "└─ … and 4 more derivations",
    ]


def test_what_is_behind_an_event_is_told_once() -> None:
    text = "event a(x int); q() <- a(_); r() <- s: q and t: q;"
    assert drawn(text, {"a": [at(1, x=1)]}) == [
        "r() at 1970-01-01T01:00:00Z",
        "├─ s: q() at 1970-01-01T01:00:00Z",
        "│  └─ a(x=1) at 1970-01-01T01:00:00Z",
        "└─ t: q() at 1970-01-01T01:00:00Z (as above)",
    ]


def test_what_time_alone_brings_says_so() -> None:
    lines = drawn("event a(); r() <- at '1970-01-01T01:00:00Z';", {"a": []})
    assert lines[1:] == ["└─ nothing but the passing of time"]


@pytest.mark.parametrize(
    ("body", "window"),
    [
        ("not(b(_)).[a, c]", "not b() in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z)"),
        ("notfollows(a, b(_), 2 h)", "not b() in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z]"),
        ("notprecedes(c, b(_), 1 h)", "not b() in [1970-01-01T02:00:00Z, 1970-01-01T03:00:00Z)"),
        (
            "not((b(k) where k > 3)).[a, c]",
            "not b() where (b.k > 3) in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z)",
        ),
        (
            "not((b(_) within 2 s)).[a, c]",
            "not b() where b.end <= b.start + 2 s in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z)",
        ),
        (
            "not(b(7)).[a, c]",
            "not b() where (b.k = 7) in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z)",
        ),
        (
            "not((b(k) seq b(k))).[a, c]",
            "not (b, b) in (1970-01-01T01:00:00Z, 1970-01-01T03:00:00Z)",
        ),
    ],
)
def test_an_absence_says_what_did_not_come_and_when(body: str, window: str) -> None:
    text = f"event a(); event b(k int); event c(); r() <- {body};"
    lines = drawn(text, {"a": [at(1)], "c": [at(3)]})
    assert lines[-1] == f"└─ {window}: nothing came"


def test_an_absence_up_to_a_time_that_is_included_says_so_whatever_the_figure() -> None:
    text = "event a(); event b(); r() <- notfollows(a, b, 999 us);"
    lines = drawn(text, {"a": [at(1)]})
    assert lines[-1] == (
        "└─ not b() in (1970-01-01T01:00:00Z, 1970-01-01T01:00:00.000999Z]: nothing came"
    )


def test_two_absences_in_one_window_are_both_told() -> None:
    text = """event a(); event b(); event c();
    r(count()) <- x: a, w: extend(x, 2 h), while w: not b, while w: not (b within 1 s),
                  while w: collect c;"""
    tree = thence.compile(text).run({"a": [at(1)], "c": [at(2)]}, until=10**12, trace=True)
    absences = tree.trace("r", 0).absences
    assert [absence.conditions for absence in absences] == [(), ("b.end <= b.start + 1 s",)]


def test_a_window_before_all_time_begins_with_it() -> None:
    text = "event a(); event b(); r() <- notprecedes(a, b, 1000000 d);"
    absence = thence.compile(text).run({"a": [at(1)]}, trace=True).trace("r", 0).absences[0]
    assert absence.start == datetime(1, 1, 1, tzinfo=UTC)


def test_values_are_written_as_in_programs() -> None:
    text = """
    event a(s string, d duration, t timestamp, m decimal(5, 2), b bool, f float, l list<int>);
    r() <- a;"""
    row = {
        "s": "it's", "d": 90_000_000, "t": "2026-01-01", "m": Decimal("1.50"), "b": True, "f": 0.5,
        "l": [1, None],
    }  # fmt: skip
    assert drawn(text, {"a": [at(1, **row)]})[1] == (
        "└─ a(s='it''s', d=90 s, t=2026-01-01T00:00:00Z, m=1.50, b=true, f=0.5, l=[1, null]) "
        "at 1970-01-01T01:00:00Z"
    )


def test_of_many_collected_events_some_are_drawn_and_all_are_there() -> None:
    text = """event a(k int); event c();
    r(count(k)) <- x: c, w: extend(x, 9 h), while w: collect a(k);"""
    events = {"a": [at(2 + k / 100, k=k) for k in range(30)], "c": [at(1)]}
    tree = thence.compile(text).run(events, until=10**12, trace=True).trace("r", 0)
    lines = str(tree).splitlines()
    assert (len(lines), lines[-1]) == (23, "└─ … and 10 more collected")
    assert (len(tree.causes), len(tree.base())) == (31, 31)


def test_odd_names_are_written_as_they_must_be() -> None:
    text = "event `my event`(`a.b` int, `#` int); r() <- `the first`: `my event`;"
    assert drawn(text, {"my event": [at(1, **{"a.b": 1, "#": 2})]})[1] == (
        "└─ `the first`: `my event`(`a.b`=1, `#`=2) at 1970-01-01T01:00:00Z"
    )


def test_a_collected_pattern_is_its_events_in_parentheses() -> None:
    text = """event a(k int); event b(k int); event c();
    r(count(k)) <- x: c, w: extend(x, 9 h), while w: collect (a(k) seq y: b(k));"""
    assert drawn(text, {"a": [at(2, k=1)], "b": [at(3, k=1)], "c": [at(1)]})[1:] == [
        "├─ x: c() at 1970-01-01T01:00:00Z",
        "└─ collected (a, b)(k=1) at [1970-01-01T02:00:00Z, 1970-01-01T03:00:00Z]",
        "   ├─ a(k=1) at 1970-01-01T02:00:00Z",
        "   └─ y: b(k=1) at 1970-01-01T03:00:00Z",
    ]


def test_data_cannot_break_lines_nor_steer_a_terminal() -> None:
    text = "event a(s string); r() <- a;"
    lines = drawn(text, {"a": [at(1, s="x\n\x1b[31m")]})
    assert lines[1:] == ["└─ a(s='x\\n\\x1b[31m') at 1970-01-01T01:00:00Z"]


# --- HTML and JSON --------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Checks that tags close in order, and keeps the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_notebook_shows_nested_lists(results: thence.Results) -> None:
    tree = results.trace("report", 0)
    reader = Reader()
    reader.feed(tree._repr_html_())
    assert reader.open == []
    assert reader.texts == [line.lstrip("│├└─ ") for line in str(tree).splitlines()]


def test_nothing_of_an_event_is_taken_for_html() -> None:
    program = thence.compile("event a(s string); r(s) <- `<i>`: a(s);")
    tree = program.run({"a": [at(1, s="<script>alert(1)</script>&")]}, trace=True).trace("r", 0)
    shown = tree._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in shown
    assert "`<i>`" not in shown


def test_a_tree_as_json(results: thence.Results) -> None:
    record = results.trace("overdue", {"id": "o2"}).to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == {
        "event": "overdue",
        "values": {"id": "o2"},
        "start": "1970-01-01T09:00:00Z",
        "end": "1970-01-01T15:00:00Z",
        "label": None,
        "derivations": [
            {
                "line": 4,
                "causes": [
                    {
                        "event": "order",
                        "values": {"id": "o2", "qty": 2},
                        "start": "1970-01-01T09:00:00Z",
                        "end": "1970-01-01T09:00:00Z",
                        "label": "o",
                    }
                ],
                "absences": [
                    {
                        "event": "shipped",
                        "values": {"id": "o2"},
                        "start": "1970-01-01T09:00:00Z",
                        "end": "1970-01-01T15:00:00Z",
                        "open_start": True,
                        "open_end": True,
                        "conditions": [],
                    }
                ],
            }
        ],
        "more": 0,
    }


def test_json_tells_what_is_behind_an_event_once() -> None:
    program = thence.compile("event a(x int); q() <- a(_); r() <- s: q and t: q;")
    tree = program.run({"a": [at(1, x=1)]}, trace=True).trace("r", 0)
    first, again = tree.to_dict()["derivations"][0]["causes"]
    assert first["derivations"][0]["causes"][0]["event"] == "a"
    assert again["again"] is True


# --- which result ---------------------------------------------------------------------------------


def test_a_row_is_that_of_the_table() -> None:
    program = thence.compile("event a(k int); r(k) <- a(k);")
    results = program.run({"a": [at(3, k=1), at(1, k=2), at(2, k=3)]}, trace=True)
    for number, row in enumerate(results["r"].to_pylist()):
        assert results.trace("r", number).values["k"] == row["k"]


@pytest.mark.parametrize(
    "where",
    [
        {"k": 1},
        {"k": "1"},
        {"f": float("nan")},
        {"s": None, "f": float("nan")},
        {"start": 3_600_000_000},
        {"end": "1970-01-01T01:00:00Z"},
        {"k": 1, "start": datetime(1970, 1, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_result_by_its_values(where: dict[str, Any]) -> None:
    program = thence.compile("event a(k int, f float, s string); r(k, f, s) <- a(k, f, s);")
    events = [at(1, k=1, f=float("nan"), s=None), at(2, k=2, f=0.5, s="x")]
    assert program.run({"a": events}, trace=True).trace("r", where).values["k"] == 1


def test_all_results_with_some_values(results: thence.Results) -> None:
    assert [tree.values["id"] for tree in results.traces("overdue")] == ["o2", "o3"]
    assert [tree.values["id"] for tree in results.traces("overdue", first=1)] == ["o2"]
    assert [tree.values["id"] for tree in results.traces("overdue", {"id": "o3"})] == ["o3"]


@pytest.mark.parametrize(
    ("event", "row", "message"),
    [
        ("overdue", {"id": "x"}, "there is no result of 'overdue' with id='x', among 2 in all"),
        ("overdue", {"idd": "x"}, "'overdue' has no attribute 'idd'. Did you mean 'id'?"),
        ("overdue", {"zzz": 1}, "'overdue' has no attribute 'zzz'. It has: id, start, end."),
        ("overdue", 2, "there is no row 2 of 'overdue'"),
        ("overdue", -1, "there is no row -1 of 'overdue'"),
        ("overdue", "o2", "which result of 'overdue'? Give the number of a row, or a dict"),
        ("overdue", {"start": "noon"}, "start = 'noon': "),
        ("report", {"others": "many"}, "others = 'many': "),
        ("overdue", {}, "there are 2 results of 'overdue': give more values, such as 'start', or"),
        ("order", 0, "there are no results of 'order'; there are those of 'overdue', 'report'"),
    ],
)
def test_a_result_that_is_not_there(
    results: thence.Results, event: str, row: Any, message: str
) -> None:
    with pytest.raises(thence.InputError) as refused:
        results.trace(event, row)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("option", ["limit", "depth"])
def test_a_tree_of_nothing_is_refused(results: thence.Results, option: str) -> None:
    with pytest.raises(thence.InputError, match=f"{option} must be at least 1"):
        results.trace("overdue", 0, **{option: 0})  # type: ignore[arg-type]


def test_a_run_that_kept_nothing_says_what_to_pass() -> None:
    program = thence.compile(ORDERS)
    with pytest.raises(thence.InputError, match="pass trace=True"):
        program.run(EVENTS).trace("overdue", 0)
    session = program.session()
    with pytest.raises(thence.InputError, match="results of a session cannot be traced"):
        session.push(EVENTS).trace("overdue", 0)


def test_lineage_keeps_what_a_trace_needs() -> None:
    traced = thence.compile(ORDERS).run(EVENTS, trace=True)
    lined = thence.compile(ORDERS).run(EVENTS, lineage=True)
    assert str(lined.trace("report", 0)) == str(traced.trace("report", 0))
    assert "lineage" not in traced["report"].column_names


def test_events_that_are_not_given_back_are_causes_all_the_same() -> None:
    found = thence.compile(ORDERS).run(EVENTS, trace=True, emit="report")
    assert list(found) == ["report"]
    assert found.trace("report", 0).causes[0].event == "overdue"


def test_an_event_given_twice_is_one_cause() -> None:
    program = thence.compile("event a(k int); r(k) <- a(k);")
    tree = program.run({"a": [at(1, k=1), at(1, k=1)]}, trace=True).trace("r", 0)
    assert len(tree.derivations) == len(tree.causes) == 1


def test_trees_cannot_be_changed(results: thence.Results) -> None:
    tree = results.trace("overdue", 0)
    with pytest.raises(AttributeError):
        tree.label = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        tree.values["id"] = "x"  # type: ignore[index]


def test_tracing_one_result_looks_at_few_of_many_combinations() -> None:
    """With a result to start from, a join that would give a million matches gives a handful."""
    program = thence.compile(
        "event a(k int); event b(k int); r(k, m) <- (a(k) seq b(m)) within 1000 s;"
    )
    events = {
        "a": [{"k": i, "time": i * 1_000_000} for i in range(1000)],
        "b": [{"k": i, "time": i * 1_000_000 + 5} for i in range(1000)],
    }
    results = program.run(events, trace=True)
    assert results.count("r") > 400_000
    tree = results.trace("r", {"k": 500, "m": 600})
    assert [(c.event, c.values["k"]) for c in tree.causes] == [("a", 500), ("b", 600)]


def test_a_pattern_inside_a_rule_is_named_by_what_it_repeats() -> None:
    lines = drawn(
        "event a; event b; event c; event d; r <- (a seq b+ seq c using greedy) seq d;",
        {"a": [at(1)], "b": [at(2), at(3)], "c": [at(4)], "d": [at(5)]},
    )
    assert lines[1].startswith("├─ (a, c, b+)")
    assert len([line for line in lines if "─ b() at" in line]) == 2
