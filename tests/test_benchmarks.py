"""The benchmarks' reference is right, and Thence gives its answers."""

from __future__ import annotations

from typing import Any

import pytest

import thence
from benchmarks import growth, measure, reference, run
from benchmarks.generate import RARE, TYPES, w1
from benchmarks.hard import many_rules
from benchmarks.hard import run as hard
from benchmarks.hard.rows import Row
from benchmarks.knowledge import run as knowledge
from benchmarks.queries import BY_NAME, QUERIES, RATIOS, Query
from benchmarks.sharing import run as sharing
from benchmarks.sharing.families import FAMILIES, Family, events
from benchmarks.state import provenance
from benchmarks.state import run as state
from benchmarks.state.subjects import BARRED, OPERATORS, Feed, Subject
from benchmarks.suppress import run as suppress
from benchmarks.tables import run as lookups


def test_events_are_a_millisecond_apart() -> None:
    times = w1(3)["time"].cast("int64").to_pylist()
    assert [later - times[0] for later in times] == [0, 1_000, 2_000]


def test_events_are_the_same_each_time() -> None:
    assert w1(100).equals(w1(100))
    assert not w1(100).equals(w1(100, seed=2))


def test_every_type_is_about_as_frequent_as_any_other() -> None:
    found = w1(20_000)["type"].value_counts().to_pylist()
    assert {entry["values"] for entry in found} == set(TYPES)
    assert all(850 <= entry["counts"] <= 1_150 for entry in found)


def test_rare_events_are_as_rare_as_asked_for() -> None:
    assert w1(1_000, rare_every=250)["type"].to_pylist().count(RARE) == 4


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_two_references_agree(query: Query) -> None:
    table = w1(20_000, ids=300, rare_every=250 if query.rare else None)
    expected = len(reference.rows(query.name, table))
    assert expected > 0
    assert reference.count(query.name, table) == expected


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_thence_gives_the_results_of_the_reference(query: Query) -> None:
    assert measure.wrong(query) is None


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "as_rows", lambda table: [])
    problem = measure.wrong(BY_NAME["q2"])
    assert problem is not None
    assert problem.startswith("q2: 0 results instead of")


def samples(*cpu: float) -> list[measure.Sample]:
    return [measure.Sample(seconds, 0.0, seconds) for seconds in cpu]


@pytest.mark.parametrize(("seconds", "held"), [(6.0, True), (6.1, False)])
def test_a_policy_may_take_three_times_what_the_sequence_takes(seconds: float, held: bool) -> None:
    times = {"q2": samples(2.0, 2.0, 2.0), "q2_chronicle": samples(1.0, seconds, 9.0)}
    report, all_held = run._ratios(times)
    assert set(report) == {"policy chronicle"}  # the others were not measured
    assert all_held == held


def test_every_ratio_is_between_two_queries() -> None:
    assert {name for ratio in RATIOS for name in (ratio.query, ratio.base)} <= set(BY_NAME)


def test_cutting_keeps_every_event_in_order() -> None:
    table = w1(1_003)
    batches = measure.cut(table, 10)
    assert len(batches) == 10
    assert [row for batch in batches for row in batch["time"].to_pylist()] == table[
        "time"
    ].to_pylist()


def test_a_session_holds_what_its_window_needs_and_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After ten windows the saved state of Q1 and Q2 is as large as it will ever be."""
    report, flat = growth.memory(windows=25)
    capsys.readouterr()
    assert flat
    for name in ("q1", "q2"):
        # Of the 10,000 events of a window about 1,000 are an a or a b; 8 bytes a value.
        assert max(report[name]["state_bytes"]) < 1_500 * 4 * 8 + 10_000


def test_hard_programs_compile_and_have_events_that_fit_them() -> None:
    names = [each.name for each in hard.ROWS]
    assert len(set(names)) == len(names) > 0
    for each in hard.ROWS:
        if each in many_rules.ROWS:
            continue  # its programs are what it makes instead of events
        program = thence.compile(each.program)
        events = {name: table[:1] for name, table in each.events().items()}
        assert set(events) <= {schema.name for schema in program.events}
        program.run(events)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"cpu": 0.5, "memory": 0, "found": 3}, None),
        ({"cpu": 1.5, "memory": 0, "found": 3}, "too slow"),
        ({"cpu": 0.5, "memory": 9, "found": 3}, "too much memory"),
        ({"cpu": 0.5, "memory": 0, "found": 4}, "instead of 3"),
        ({"cpu": 0.5, "memory": 0, "found": "LimitError"}, "refused"),
        ({"died": "exit code -9"}, "exit code -9"),
    ],
)
def test_what_counts_as_a_failure_of_a_hard_program(
    found: dict[str, Any], problem: str | None
) -> None:
    row = Row("a row", "event a(); r() <- a;", dict, bar=1.0, results=3, memory=5)
    problems = hard._problems(row, found)
    assert (problem in problems) if problem else not problems
    assert ("FAIL" in hard._line(row, found, problems)) == (problem is not None)


def test_an_error_that_is_asked_for_is_no_failure() -> None:
    row = Row("a row", "event a(); r() <- a;", dict, bar=1.0, refused=thence.LimitError)
    assert not hard._problems(row, {"cpu": 0.5, "memory": 0, "found": "LimitError"})
    assert hard._problems(row, {"cpu": 0.5, "memory": 0, "found": 7})


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_rules_of_a_family_find_the_same_where_nothing_is_shared(family: Family) -> None:
    given = events(w1(4_000, ids=5), family.one_stream)
    assert sharing.differing(family, given) == []
    assert sharing.rows(thence.compile(family.text(family.many)), given)["r0"] > 0


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_shares_as_much_as_it_is_meant_to(family: Family) -> None:
    plan = thence.compile(family.text(family.many)).plan
    joins = [each for each in plan.prepared if each.selection is None]
    assert len(joins) == {"apart": family.many, "select": 0}.get(family.name, 1)


def test_rules_reach_what_searches_of_graphs_reach(capsys: pytest.CaptureFixture[str]) -> None:
    assert knowledge.main(["--quick"]) == 0
    assert "rules, to the right" in capsys.readouterr().out


def test_a_suppressed_sub_expression_answers_as_an_eager_one_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert suppress.main(["--quick"]) == 0
    assert "answers differ" not in capsys.readouterr().out


def test_look_ups_find_what_they_must(capsys: pytest.CaptureFixture[str]) -> None:
    assert lookups.main(["--quick"]) == 0
    assert "WRONG" not in capsys.readouterr().out


def test_lineage_changes_no_result_of_its_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert provenance.main(["--quick"]) == 0
    assert "differ" not in capsys.readouterr().out


@pytest.mark.parametrize("subject", [*BARRED, *OPERATORS], ids=lambda subject: subject.name)
def test_a_session_retains_as_much_as_asked_for(subject: Subject) -> None:
    feed = Feed(subject, 4_000)
    assert subject.table or 4_000 <= feed.session.state_rows <= 12_000
    records = [one for _ in range(200) for one in feed.one()]
    found = sum(feed.session.push_one(name, record).total for name, record in records)
    assert found > 0
    assert feed.session.late_count == 0


def test_pushes_are_timed_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "WARM", 1)
    feeds = [Feed(BARRED[1], size) for size in (100, 200)]
    found = state.singly(feeds, 3)
    kinds = [kind for feed, kind in found if feed is feeds[0]]
    assert kinds == ["a", "b", "a push_one", "b push_one"]
    assert all(len(pushes.cpu) == len(pushes.wall) == 3 for pushes in found.values())
    assert len(state.in_batches(feeds[0].session, feeds[0].mixed, 2).cpu) == 2
    row = state._row(feeds[0], "a", found[feeds[0], "a"], bar=0.0)
    assert not row["held"]
    assert "FAIL" in state._line(row)
