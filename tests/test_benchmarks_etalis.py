"""The experiments of paper 4 find what their streams were made for, and notice when they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import thence
from benchmarks.etalis import run
from benchmarks.etalis.rules import Figure, figures, sequence

ALL = figures(3_000, (3_000, 6_000))


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
def test_a_stream_has_the_results_that_it_was_made_for(figure: Figure) -> None:
    for place in figure.places:
        work = figure.work(place)
        assert run.answered(thence.compile(work.program), work) == work.results


def test_every_event_is_of_use() -> None:
    work = sequence(3_000)
    found = thence.compile(work.program).run(work.tables)["d"]
    assert sorted(found["id"].to_pylist()) == list(range(1_000))


def test_a_wrong_answer_is_noticed() -> None:
    _, wrong = run.measured({9: replace(sequence(9), results=4)}, rounds=1)
    assert wrong == ["3 results instead of 4 at 9"]


@pytest.mark.parametrize(("last", "held"), [(100.0, True), (99.0, False)])
def test_throughput_may_not_fall_with_the_size_of_the_stream(last: float, held: bool) -> None:
    assert (run.falls(ALL[0], {10: 100.0, 20: 300.0, 30: last}) == []) == held


def test_a_long_chain_costs_what_it_holds() -> None:
    linear = {links: links * links * 1e-6 for links in run.CHAINS}
    assert run.costs_more(linear) == []
    cubic = {links: links**3 * 2e-9 for links in run.CHAINS}
    slow, deep = run.costs_more(cubic)
    assert slow.startswith("a result costs")
    assert deep == "800 links take 1.02 s"


def test_a_quick_run_draws_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--quick", "--only", "5c", "chains", "--folder", str(tmp_path)]) == 0
    assert "copies of rule (6)" in capsys.readouterr().out
    assert (tmp_path / "etalis-5c.svg").read_text(encoding="utf-8").startswith("<svg")
