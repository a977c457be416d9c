"""The experiments ask every way the same, notice a wrong or slow answer, and draw the rest."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import measure as machine
from benchmarks.figures import draw, run
from benchmarks.figures.answers import Answer, of_table
from benchmarks.figures.data import DOMAINS, TYPES, base, base_folder
from benchmarks.figures.measure import Effort, Measured, measured
from benchmarks.figures.questions import Figure, Point, Question, figures
from benchmarks.figures.report import Result, lines, verdicts
from benchmarks.figures.ways import IN_PROCESS, ON_SPARK, Way, in_process

QUESTIONS = (Question(2, "a3", 500), Question(2, "a1", 100), Question(3, "a1", 200))
ONCE = Effort(rounds=1, warm_up=0, patience=60.0)


# The base stream


def test_an_event_is_at_the_tick_of_its_place() -> None:
    assert base(5)["time"].to_pylist() == [0, 1, 2, 3, 4]


def test_the_stream_is_the_same_each_time() -> None:
    assert base(100).equals(base(100))
    assert not base(100).equals(base(100, seed=2))


def test_every_type_is_about_as_frequent_as_any_other() -> None:
    found = base(20_000)["type"].value_counts().to_pylist()
    assert {entry["values"] for entry in found} == set(TYPES)
    assert all(850 <= entry["counts"] <= 1_150 for entry in found)


@pytest.mark.parametrize(("name", "size"), DOMAINS.items())
def test_an_attribute_takes_every_value_of_its_domain(name: str, size: int) -> None:
    assert set(base(20_000)[name].to_pylist()) == set(range(size))


def test_the_folder_holds_the_same_stream(tmp_path: Path) -> None:
    assert pq.read_table(base_folder(1_000, within=tmp_path)).equals(base(1_000))


# The questions


def sequences(question: Question, events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Every sequence that a question asks for, by trying all combinations of events in order."""
    wanted = [f"e{place + 1}" for place in range(question.length)]
    by_type = [[event for event in events if event["type"] == name] for name in wanted]
    return [
        list(chosen)
        for chosen in product(*by_type)
        if len({event[question.attribute] for event in chosen}) == 1
        and all(one["time"] < next_["time"] for one, next_ in combinations(chosen, 2))
        and chosen[-1]["time"] - chosen[0]["time"] <= question.window
    ]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_every_way_in_one_process_finds_each_sequence(question: Question) -> None:
    table = base(2_000)
    rows = [
        [event["time"] for event in chosen] + [event[name] for event in chosen for name in DOMAINS]
        for chosen in sequences(question, table.to_pylist())
    ]
    columns = dict(zip(question.columns, zip(*rows, strict=True), strict=True))
    expected = of_table(pa.table({name: list(values) for name, values in columns.items()}), columns)
    assert expected.results > 0
    with in_process(table) as ask:
        found = {way.name: way.answer(way.run()) for way in ask(question)}
    assert found == {"Thence": expected, "DuckDB": expected, "DuckDB, in pieces": expected}


def test_every_way_on_spark_finds_the_same(spark: Any, tmp_path: Path) -> None:
    from benchmarks.figures.spark_ways import on_spark

    ask_spark = on_spark(spark, base_folder(2_000, within=tmp_path))
    ways = ask_spark(QUESTIONS[0])
    assert [way.run() for way in ways] == [None] * len(ways)  # a run throws its results away
    with in_process(base(2_000)) as ask:
        for question in (QUESTIONS[0], QUESTIONS[-1]):
            ours, *_ = ask(question)
            answers = {way.name: way.answer(None) for way in ask_spark(question)}
            assert set(answers) == {"Thence", "Spark SQL", "Spark SQL, in pieces"}
            assert set(answers.values()) == {ours.answer(ours.run())}


def test_the_checksum_depends_on_which_values_stand_together() -> None:
    together = of_table(pa.table({"x": [1, 2], "y": [3, 4]}), ["x", "y"])
    crossed = of_table(pa.table({"x": [1, 2], "y": [4, 3]}), ["x", "y"])
    assert together.results == crossed.results
    assert together.checksum != crossed.checksum


def test_the_figures_vary_what_the_paper_varies() -> None:
    windows, domains, lengths = (
        [point.question for point in figure.points] for figure in figures(1, 1)
    )
    assert {(q.attribute, q.length) for q in windows} == {("a3", 2)}
    assert (windows[0].window, windows[-1].window) == (100, 10_000)
    assert [q.attribute for q in domains] == ["a5", "a4", "a3", "a2", "a1"]
    assert {q.window for q in domains} == {10_000}
    assert [(q.length, q.attribute, q.window) for q in lengths][:2] == [
        (2, "a1", 1_000),
        (3, "a1", 1_000),
    ]


# Measuring


def way(name: str, log: list[str]) -> Way:
    return Way(name, IN_PROCESS, "join", lambda: log.append(name), lambda _: Answer(0, 0))


def test_ways_take_turns_and_every_other_round_goes_backwards() -> None:
    log: list[str] = []
    found = measured([way("x", log), way("y", log)], Effort(rounds=1, warm_up=2, patience=9.0))
    assert log == ["x", "y", "y", "x", "x", "y"]
    assert [len(measured_way.seconds) for measured_way in found] == [1, 1]


def test_a_way_that_has_taken_too_long_is_not_run_again() -> None:
    log: list[str] = []
    found = measured([way("x", log)], Effort(rounds=5, warm_up=2, patience=0.0))
    assert log == ["x"]
    assert len(found[0].seconds) == 1


# The verdict

FIGURE, *_ = figures(1_000, 1_000)


def result(
    theirs: float, *, x: int = 1, pieces: float = 0.5, found: int = 7, host: str = IN_PROCESS
) -> Result:
    """Thence takes a second, the join ``theirs``."""
    ways = (
        Measured("Thence", host, "ours", Answer(7, 1), (1.0,)),
        Measured("DuckDB", host, "join", Answer(found, 1), (theirs,)),
        Measured("DuckDB, in pieces", host, "pieces", Answer(7, 1), (pieces,)),
    )
    return Result(x, 1_000, ways)


def held(*results: Result) -> list[bool]:
    return [verdict.held for verdict in verdicts(FIGURE, results)]


def along_the_windows(*theirs: float) -> list[bool]:
    """The verdicts where the join takes so long at each of the figure's points."""
    points = zip(FIGURE.points, theirs, strict=True)
    return held(*(result(seconds, x=point.x) for point, seconds in points))


def test_thence_must_be_faster_than_the_join_at_every_point() -> None:
    assert along_the_windows(2.0, 2.1, 2.2, 2.3, 2.4, 2.5) == [True, True]
    assert along_the_windows(2.0, 2.1, 0.9, 2.3, 2.4, 2.5)[0] is False


def test_the_message_names_the_points_where_it_is_slower() -> None:
    slow, _ = verdicts(FIGURE, [result(2.0, x=100), result(0.5, x=10_000)])
    assert str(slow) == "FAIL  figure 7 in one process: faster than DuckDB; not at 10000"


def test_the_message_tells_the_gaps() -> None:
    _, gap = verdicts(FIGURE, [result(2.0, x=100), result(3.5, x=10_000)])
    assert str(gap) == "ok    figure 7 in one process: the gap to DuckDB grows: 1.00, 2.50 s"


def test_neighbours_may_differ_by_noise_if_the_gap_grows_over_all() -> None:
    assert along_the_windows(2.0, 2.3, 2.1, 2.2, 2.8, 2.6) == [True, True]


def test_the_gap_must_be_more_at_the_end_than_at_the_beginning() -> None:
    assert along_the_windows(2.5, 2.0, 2.1, 2.4, 2.6, 2.4) == [True, False]


def test_a_high_end_alone_is_no_trend() -> None:
    assert along_the_windows(2.5, 3.0, 2.9, 1.5, 1.4, 2.6) == [True, False]


def test_where_thence_is_slower_no_gap_grows() -> None:
    assert along_the_windows(2.0, 2.1, 0.9, 2.3, 2.4, 2.5)[1] is False


def test_the_gap_grows_to_the_left_where_the_figure_says_so() -> None:
    _, domains, _ = figures(1_000, 1_000)
    rising = [result(2.0 + place, x=point.x) for place, point in enumerate(domains.points)]
    falling = [result(9.0 - place, x=point.x) for place, point in enumerate(domains.points)]
    assert [verdict.held for verdict in verdicts(domains, rising)] == [True, True]
    assert [verdict.held for verdict in verdicts(domains, falling)] == [True, False]


def test_each_step_of_the_length_must_widen_the_gap() -> None:
    *_, lengths = figures(1_000, 1_000)
    found = [result(theirs, x=x) for x, theirs in ((2, 4.0), (3, 3.0), (4, 9.0))]
    assert [verdict.held for verdict in verdicts(lengths, found)] == [True, False]


def test_the_join_in_pieces_is_not_judged() -> None:
    slow = [result(2.0, x=100, pieces=0.5), result(3.0, x=10_000, pieces=0.1)]
    assert held(*slow) == [True, True]


def test_each_host_is_judged_by_itself() -> None:
    def both(x: int, here: float, there: float) -> Result:
        ways = result(here).ways + result(there, host=ON_SPARK).ways
        return Result(x, 1_000, ways)

    assert held(both(100, 2.0, 0.5), both(10_000, 3.0, 0.4)) == [True, True, False, False]


def test_other_answers_are_noticed() -> None:
    assert result(2.0).problems == ()
    problem, *_ = result(2.0, found=6).problems
    assert problem.startswith("DuckDB in one process: 6 results")


def test_a_line_shows_what_was_measured() -> None:
    shown = [" ".join(line.split()) for line in lines(result(2.5, x=300))]
    assert shown == [
        "300 in one process Thence 1,000.0 1,000 7",
        "300 in one process DuckDB 2,500.0 400 2.50 ok 7",
        "300 in one process DuckDB, in pieces 500.0 2,000 0.50 7",
    ]


# The whole


def test_a_figure_is_drawn_into_files(tmp_path: Path) -> None:
    questions = (Question(2, "a3", 10), Question(2, "a3", 100))
    points = tuple(Point(q.window, q) for q in questions)
    figure = Figure("0", "a title", "window", 1_000, points, compared=())
    found = run.run([figure], ONCE)
    paths = draw.draw(figure, found[figure], tmp_path)
    assert [path.name for path in paths] == ["figure-0.svg", "figure-0.png"]
    drawing = paths[0].read_text(encoding="utf-8")
    assert drawing.startswith("<svg")
    assert all(
        text in drawing for text in ("a title", "events per second", "DuckDB, in pieces", "The gap")
    )
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_a_question_of_two_figures_is_asked_once(capsys: pytest.CaptureFixture[str]) -> None:
    shared = Point(1, Question(2, "a3", 10))
    one, other = (Figure(name, "", "", 1_000, (shared,), ()) for name in "ab")
    found = run.run([one, other], ONCE)
    assert found[one][0].ways is found[other][0].ways
    assert capsys.readouterr().out.count("Thence") == 4  # twice in a head, twice in a table


def test_a_quick_run_measures_draws_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "benchmarks" / "results"
    results.parent.mkdir()
    monkeypatch.setattr(machine, "RESULTS", results)
    monkeypatch.setattr(run, "DRAWINGS", tmp_path / "build" / "figures")
    monkeypatch.setattr(run, "SMALL", run.Sizes(4_000, 2_000))
    assert run.main(["--quick", "--no-spark"]) == 0
    assert {path.name for path in (tmp_path / "build" / "figures").iterdir()} == {
        f"figure-{name}.{suffix}" for name in "789" for suffix in ("svg", "png")
    }
    (written,) = results.iterdir()
    report = json.loads(written.read_text(encoding="utf-8"))["figures_quick"]
    assert [len(report[f"figure_{name}"]["points"]) for name in "789"] == [2, 2, 2]
    assert "WRONG" not in capsys.readouterr().out
