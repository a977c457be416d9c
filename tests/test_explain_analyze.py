"""``explain(analyze=…)``: what every operator did, beside what was expected of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hosts import tables
from hypothesis import given, reject
from strategies import Example, examples

import thence
from thence.plan import statistics as known

TYPES = "event a(k int, v int); event b(k int, v int); event c(k int, v int);"
RULES = (
    TYPES
    + """
    r(k) <- (x: a(k, _) seq y: b(k, _)) within 10 us where x.v > 4;
    quiet(k) <- x: a(k, _), w: extend(x, 5 us), while w: not b(k, _);
    """
)


def events(**rows: int) -> dict[str, Any]:
    """Events one microsecond apart: keys 0 to 9, values 0 to 9."""
    return {
        name: pa.table({"k": n % 10, "v": n % 10, "time": n})
        for name, n in ((name, np.arange(count)) for name, count in rows.items())
    }


def joins(text: str) -> list[dict[str, Any]]:
    return [join for stage in json.loads(text)["stages"] for join in stage["joins"]]


def test_figures_are_those_of_the_run() -> None:
    program = thence.compile(RULES)
    results = program.run(events(a=100, b=100))
    found, quiet = joins(program.explain(analyze=results, format="json"))
    assert found["measured"]["filters"] == {
        "x": {"rows": 100, "kept": 50, "seconds": found["measured"]["filters"]["x"]["seconds"]}
    }
    join = found["measured"]["join"]
    assert join["rows"] == 50 + 100
    assert join["matches"] == results.count("r") == 45
    assert join["candidates"] == 49 + 45  # the last `a` has nothing after it
    assert found["measured"]["orders"] == [
        {"new": "x", "atoms": ["x", "y"], "strategies": ["scan", "range"], "times": 1}
    ]
    absent = quiet["measured"]["windows"]["b"]
    assert absent["rows"] == quiet["measured"]["join"]["matches"]
    assert absent["kept"] == results.count("quiet")


def test_estimates_of_a_sample_are_near() -> None:
    program = thence.compile(RULES)
    found, quiet = joins(
        program.explain(analyze=program.run(events(a=3000, b=3000)), format="json")
    )
    assert found["measured"]["estimate"]["matches"] == pytest.approx(1500, rel=0.3)
    assert quiet["measured"]["estimate"]["kept"] == pytest.approx(3000 * np.exp(-0.5), rel=0.3)


def test_text_has_a_line_for_each_operator() -> None:
    program = thence.compile(RULES + "f(k) <- a(k, _) seq y: b(k, _) using first(y);")
    text = program.explain(analyze=program.run(events(a=20, b=20)))
    assert "order taken: x, then y by time and key" in text
    for operator in ("where x", "join", "absent b", "policy"):
        assert any(line.split("  ")[2:3] == [operator] for line in text.splitlines()), operator
    assert "r: " in text and "found" in text


def test_the_last_run_and_results_and_sessions() -> None:
    program = thence.compile(RULES)
    with pytest.raises(thence.InputError, match="run the program first"):
        program.explain(analyze=True)
    results = program.run(events(a=20, b=20))
    assert program.explain(analyze=True) == program.explain(analyze=results)
    session = program.session()
    pushed = session.push(events(a=20, b=20))
    assert "1 steps" not in program.explain(analyze=session)
    with pytest.raises(thence.InputError, match="pass the session"):
        program.explain(analyze=pushed)
    with pytest.raises(thence.InputError, match="not of another one"):
        thence.compile(TYPES + "r() <- a(_, _);").explain(analyze=results)
    with pytest.raises(thence.InputError, match="not str"):
        program.explain(analyze="results")  # type: ignore[arg-type]
    with pytest.raises(thence.InputError, match="'text' or 'json'"):
        program.explain(format="yaml")  # type: ignore[arg-type]


def test_a_session_adds_up_its_steps() -> None:
    program = thence.compile(RULES)
    session, found = program.session(), 0
    whole = events(a=100, b=100)
    for begin in range(0, 100, 10):
        found += session.push({name: t.slice(begin, 10) for name, t in whole.items()}).count("r")
    assert found == 45
    text = program.explain(analyze=session)
    assert "10 steps; statistics drifted 0 times" in text
    join, _ = joins(program.explain(analyze=session, format="json"))
    assert join["measured"]["join"]["matches"] == 45
    assert {order["new"] for order in join["measured"]["orders"]} == {"x", "y"}


@given(examples())
def test_every_run_can_be_analysed(example: Example) -> None:
    try:
        program = thence.compile(example.program)
    except thence.CheckError:
        reject()
    results = program.run(tables(example.program, example.events), until=example.until)
    assert "derived" in program.explain(analyze=results)
    report = json.loads(program.explain(analyze=results, format="json"))
    for event in results:
        assert report["run"]["derived"][event]["kept"] == results.count(event)


# --- drift ----------------------------------------------------------------------------------------

THREE = TYPES + "r(k) <- (x: a(k, _) seq y: b(k, _) seq z: c(k, _)) within 20 us where z.v >= 0;"


def drifting(turns: int) -> list[dict[str, Any]]:
    """Batches in which first `a` is rare, and then `c`."""
    found = []
    for turn in range(turns):
        few, many = ("a", "c") if turn < turns // 2 else ("c", "a")
        batch = {}
        for name, step in ((few, 10), ("b", 1), (many, 1)):
            times = np.arange(turn * 100, turn * 100 + 100, step)
            batch[name] = pa.table({"k": times % 3, "v": times % 7, "time": times})
        found.append(batch)
    return found


def test_a_stream_that_drifts_takes_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "RECENT", 1000)
    program = thence.compile(THREE)
    batches = drifting(40)
    whole = {n: pa.concat_tables([b[n] for b in batches]) for n in "abc"}
    expected = program.run(whole)["r"].to_pylist()
    assert expected
    for cut in (10, 20, 25):
        session, found = program.session(), []
        for turn, batch in enumerate(batches):
            if turn == cut:
                session = program.session(state=session.save())
            found += session.push(batch)["r"].to_pylist()
        found += session.finish()["r"].to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, expected))
    assert session._generations[0].replanned
    report = json.loads(program.explain(analyze=session, format="json"))
    assert report["run"]["replanned"] == session._generations[0].replanned

    session = program.session()
    for batch in batches:
        session.push(batch)
    (join,) = joins(program.explain(analyze=session, format="json"))
    orders = [order["atoms"] for order in join["measured"]["orders"] if order["new"] == "z"]
    assert {tuple(order[:1]) for order in orders} == {("x",), ("z",)}
    assert join["measured"]["changes"] >= 1
    assert "changed 1 times" in program.explain(analyze=session)


def test_figures_that_stay_are_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "RECENT", 500)
    program = thence.compile(THREE)
    session = program.session()
    for batch in drifting(40)[:20]:
        session.push(batch)
    assert session._generations[0].replanned == 1  # from knowing nothing
