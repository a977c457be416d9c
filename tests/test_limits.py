"""Programs and data of unreasonable size: a clear refusal with a position, or the right answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence

A_B = "event a(k int); event b(k int);\n"
EVENTS = {"a": [{"k": 1, "time": 0}], "b": [{"k": 1, "time": 1}]}
DEEP = 5000


# --- nesting --------------------------------------------------------------------------------------

NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "a(k)" + ")" * n,
    "absences": lambda n: "not(" * n + "a(k)" + ").[a(k), b(k)]" * n,
    "sequences to the right": lambda n: "(a(k) seq " * n + "b(k)" + ")" * n,
    "windows": lambda n: "(" * n + "a(k)" + " within 5 s)" * n,
    "conditions": lambda n: "(" * n + "a(k)" + " where k > 0)" * n,
    "labels": lambda n: "".join(f"l{i}: (" for i in range(n)) + "a(k)" + ")" * n,
    "semantic windows": lambda n: "follows(" * n + "a(k)" + ", b(k), 1 s)" * n,
    "alternatives": lambda n: "(b(k) or " * n + "a(k)" + ")" * n,
    "parentheses in a condition": lambda n: "a(k) where " + "(" * n + "k > 0" + ")" * n,
    "not in a condition": lambda n: "a(k) where " + "not " * n + "k > 0",
    "minus": lambda n: "a(k) where " + "- " * n + "k < 5",
    "a sum": lambda n: "a(k) where " + "k + " * n + "k > 0",
    "functions": lambda n: "a(k) where " + "abs(" * n + "k" + ")" * n + " > 0",
}


@pytest.mark.parametrize("what", NESTED)
def test_nesting_beyond_reason_is_refused_where_it_goes_too_far(what: str) -> None:
    with pytest.raises(thence.ProgramError) as caught:
        thence.compile(f"{A_B}r(k) <- {NESTED[what](DEEP)};")
    assert "nested more than" in str(caught.value)
    assert caught.value.line == 2
    assert caught.value.column > 1
    assert "hint" in str(caught.value)


@pytest.mark.parametrize("what", NESTED)
def test_nesting_within_reason_runs(what: str) -> None:
    found = thence.compile(f"{A_B}r(k) <- {NESTED[what](40)};").run(EVENTS)["r"]
    if what in ("sequences to the right", "semantic windows"):
        assert found.num_rows == 0
    else:
        assert found["k"].to_pylist()[:1] == [1]


COPIED: dict[str, Callable[[int], str]] = {
    "without": lambda n: "without(a(k), b(k), " * n + "a(k)" + ")" * n,
    "any": lambda n: "any(2, " * n + "a(k)" + ", a(k), b(k))" * n,
}
"""Patterns that have a part of theirs more than once, when all is written out."""


@pytest.mark.parametrize("what", COPIED)
def test_nesting_that_multiplies_is_refused_before_it_does(what: str) -> None:
    with pytest.raises(thence.ProgramError) as caught:
        thence.compile(f"{A_B}r(k) <- {COPIED[what](40)};")
    assert "more than 10,000 parts" in str(caught.value)
    assert (caught.value.line, caught.value.column) == (2, 9)


@pytest.mark.parametrize("what", COPIED)
def test_nesting_that_multiplies_is_refused_in_queries(what: str) -> None:
    event = COPIED[what](40).replace("a(k)", "x").replace("b(k)", "y").upper()
    with pytest.raises(thence.ProgramError) as caught:
        thence.compile(f"{A_B}CREATE EVENT r AS SELECT * FROM a X, b Y EVENT {event};")
    assert "more than 10,000 parts" in str(caught.value)
    assert caught.value.line == 2


def test_nesting_that_multiplies_is_refused_in_python() -> None:
    a, b = thence.event("a", k=int), thence.event("b", k=int)
    pattern = a()
    for _ in range(40):
        pattern = thence.moments.without(a(), b(), pattern)
    with pytest.raises(thence.BuildError, match="more than 10,000 parts"):
        thence.build(a, b, pattern.select("r"))


LONG: dict[str, tuple[str, str]] = {
    "seq": ("a(k) seq " * DEEP + "a(k)", "at most 200 events"),
    "and": ("a(k) and " * DEEP + "a(k)", "at most 200 events"),
    "comma": ("a(k), " * DEEP + "a(k)", "at most 200 events"),
    "or": ("a(k) or " * DEEP + "a(k)", "more than a thousand"),
    "or in sequences": (" seq ".join(["(a(k) or b(k))"] * 12), "more than a thousand"),
    "anyone": (f"anyone({', '.join(['a(k)'] * 1500)})", "more than a thousand"),
}


@pytest.mark.parametrize("what", LONG)
def test_a_pattern_that_is_too_long_is_refused_where_it_is(what: str) -> None:
    body, message = LONG[what]
    with pytest.raises(thence.CheckError) as caught:
        thence.compile(f"{A_B}r(k) <- {body};")
    assert message in str(caught.value)
    assert caught.value.line == 2
    assert "hint" in str(caught.value)


def test_a_thousand_alternatives_are_accepted() -> None:
    body = " or ".join(f"a({n})" for n in range(999))
    found = thence.compile(f"{A_B}r() <- {body};").run(
        {"a": [{"k": n, "time": n} for n in range(0, 2000, 100)]}
    )["r"]
    assert found.num_rows == 10


@pytest.mark.parametrize("word", ["and", "or"])
def test_a_condition_may_be_as_long_as_one_likes(word: str) -> None:
    condition = f" {word} ".join(f"k != {n}" for n in range(2, 3000))
    assert thence.compile(f"{A_B}r(k) <- a(k) where {condition};").run(EVENTS)["r"].num_rows == 1


def test_a_long_list_of_values() -> None:
    values = ", ".join(map(str, range(-5000, 5000)))
    assert thence.compile(f"{A_B}r(k) <- a(k) where k in ({values});").run(EVENTS)["r"].num_rows


def test_an_event_with_thousands_of_attributes() -> None:
    names = [f"x{i}" for i in range(3000)]
    text = f"event wide({', '.join(f'{n} int' for n in names)}); r(x2999) <- wide(x2999=x2999);"
    rows = [dict.fromkeys(names, 7) | {"time": 0}]
    assert thence.compile(text).run({"wide": rows})["r"]["x2999"].to_pylist() == [7]


# --- many rules -----------------------------------------------------------------------------------


def many_rules(count: int) -> str:
    """Half are patterns over the input, half build on one another."""
    rules = [f"near{i}(k) <- (a(k) seq b(k)) within {i + 1} ms;" for i in range(count // 2)]
    chain = [f"step{i}(k) <- step{i - 1}(k);" for i in range(1, count // 2)]
    return "\n".join([A_B, *rules, "step0(k) <- a(k);", *chain])


def test_thousands_of_rules() -> None:
    """They are compiled, run, streamed, saved and restored."""
    count = 2_000
    program = thence.compile(many_rules(count))
    found = program.run({"a": [{"k": 1, "time": 0}], "b": [{"k": 1, "time": 20_000}]})
    assert [name for name in found if name.startswith("near") and found.count(name) == 0] == [
        f"near{i}" for i in range(19)
    ]
    assert found[f"step{count // 2 - 1}"]["k"].to_pylist() == [1]
    assert found.total == count - 19
    session = program.session()
    assert session.push({"a": [{"k": 1, "time": 0}]}).total == count // 2
    assert program.session(state=session.save()).state_rows == session.state_rows


# --- many results ---------------------------------------------------------------------------------


def test_a_join_of_everything_with_everything() -> None:
    """Nine million results from two tables of three thousand, with nothing to join them by."""
    text = "event a(i int); event b(j int); r(i, j) <- a(i) and b(j);"
    rows = np.arange(3000)
    found = thence.compile(text).run(
        {"a": pa.table({"i": rows, "time": rows}), "b": pa.table({"j": rows, "time": rows})}
    )
    assert found.count("r") == 9_000_000


def test_what_only_asks_whether_there_is_one_does_not_make_all_combinations() -> None:
    """Three tables of three thousand; only their number of different starts and ends shows."""
    text = "event a(); event b(); event c(); r() <- a() seq b() seq c();"
    rows = np.arange(2000)
    tables = {name: pa.table({"time": rows * 3 + i}) for i, name in enumerate("abc")}
    assert thence.compile(text).run(tables).count("r") == sum(range(1, 2001))


def test_recursion_over_a_long_chain() -> None:
    text = (
        "event link(x int, y int); path(x, y) <- link(x, y); "
        "path(x, z) <- path(x, y) seq link(y, z);"
    )
    rows = [{"x": i, "y": i + 1, "time": i} for i in range(150)]
    assert thence.compile(text).run({"link": rows}).count("path") == 150 * 151 // 2


# --- time -----------------------------------------------------------------------------------------

FIRST = "0001-01-01T00:00:00Z"
LAST = "9999-12-31T23:59:59.999999Z"


def found(rule: str, until: Any = None, **events: str) -> list[tuple[int, int]]:
    """The intervals of a rule's results, in microseconds."""
    program = thence.compile(f"event a(); event b();\nr() <- {rule};")
    rows = {name: [{"time": time}] for name, time in events.items()}
    table = program.run(rows, until=until)["r"]
    return list(
        zip(
            table["start"].cast(pa.int64()).to_pylist(),
            table["end"].cast(pa.int64()).to_pylist(),
            strict=True,
        )
    )


YEAR_1, YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999


def test_from_the_first_to_the_last_instant() -> None:
    assert found("a() seq b()", a=FIRST, b=LAST) == [(YEAR_1, YEAR_9999)]
    assert found("a() before b()", a=LAST, b=FIRST) == []


@pytest.mark.parametrize("limit", [2**63 - 1, 2**62, 2**61, 2**61 - 1, 2**60, YEAR_9999 - YEAR_1])
def test_a_window_longer_than_all_time_limits_nothing(limit: int) -> None:
    assert found(f"(a() seq b()) within {limit} us", a=FIRST, b=LAST) == [(YEAR_1, YEAR_9999)]
    assert found(f"follows(a(), b(), {limit} us)", a=FIRST, b=LAST) == [(YEAR_9999, YEAR_9999)]
    assert found(f"notprecedes(a(), b(), {limit} us)", a=LAST, b=FIRST) == []
    assert found(f"x: a(), y: b(), y.start <= x.start + {limit} us", a=FIRST, b=LAST)
    assert found(f"x: a(), y: b(), y.start > x.start + {limit} us", a=FIRST, b=LAST) == []


def test_a_window_just_shorter_than_all_time_limits_that() -> None:
    limit = YEAR_9999 - YEAR_1 - 1
    assert found(f"(a() seq b()) within {limit} us", a=FIRST, b=LAST) == []
    assert found(f"notprecedes(a(), b(), {limit} us)", a=LAST, b=FIRST) == [(YEAR_9999,) * 2]


@pytest.mark.parametrize("limit", [2**63 - 1, 2**62, 2**61, 10**18, 3 * 10**17])
def test_a_wait_that_never_ends_is_never_judged(limit: int) -> None:
    assert found(f"notfollows(a(), b(), {limit} us)", a="2026-01-01") == []
    assert found(f"x: a(), w: extend(x, {limit} us), while w: not b()", a="2026-01-01") == []
    assert found(f"x: a(), w: shift(x, {limit} us), v: shift(w, {limit} us)", a="2026-01-01") == []


@pytest.mark.parametrize("limit", [2**63 - 1, 2**62, 2**61, 10**18, 3 * 10**17])
def test_a_result_outside_the_years_1_to_9999_is_refused(limit: int) -> None:
    with pytest.raises(thence.EvaluationError, match="outside the years 1 to 9999"):
        found(f"x: a(), w: extend_backward(x, {limit} us)", a="2026-01-01")


def test_a_result_just_outside_the_years_is_refused() -> None:
    with pytest.raises(thence.EvaluationError, match="outside the years 1 to 9999"):
        found("x: a(), w: extend_backward(x, 1 us)", a=FIRST)


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1, 2**62, YEAR_1 - 1, YEAR_9999 + 1])
def test_events_outside_the_years_1_to_9999_are_refused(time: int) -> None:
    with pytest.raises(thence.InputError, match="years 1 to 9999"):
        found("a()", a=time)  # type: ignore[arg-type]


@pytest.mark.parametrize("until", [2**63, 2**61, YEAR_9999 + 1, YEAR_1 - 1, -(2**63), -(10**40)])
def test_an_end_of_time_outside_the_years_1_to_9999_is_refused(until: int) -> None:
    with pytest.raises(thence.InputError, match="outside the years 1 to 9999"):
        found("notfollows(a(), b(), 5 us)", a="1970-01-01", until=until)


def test_an_end_of_time_at_either_end_of_all_time() -> None:
    wait = "notfollows(a(), b(), 5 us)"
    assert found(wait, a="1970-01-01", until=YEAR_9999) == [(5, 5)]
    assert found(wait, a="1970-01-01", until=YEAR_1) == []
    assert found("a()", a="1970-01-01", until=YEAR_1) == [(0, 0)]


def test_intervals_as_long_as_all_time() -> None:
    program = thence.compile(
        "event a(); event b(); r() <- a() contains b(); s() <- a() equals a();"
    )
    results = program.run(
        {"a": [{"start": FIRST, "end": LAST}], "b": [{"time": "2026-01-01"}, {"time": FIRST}]}
    )
    assert results.count("r") == 1
    assert results.count("s") == 1


# --- how work grows -------------------------------------------------------------------------------


def seconds_for(text: str, events: dict[str, Any]) -> float:
    """The best of three runs."""
    program = thence.compile(text)
    times = []
    for _ in range(3):
        begin = time.process_time()
        program.run(events)
        times.append(time.process_time() - begin)
    return min(times)


def keyed(count: int) -> dict[str, Any]:
    source = np.random.default_rng(5)
    return {
        name: pa.table(
            {"k": source.integers(0, 1000, count), "time": np.arange(count) * 3000 + i * 1000}
        )
        for i, name in enumerate("ab")
    }


GROWING = {
    "a pair in a window": "r(k) <- (a(k) seq b(k)) within 10 s;",
    "an absence": "r(k) <- x: a(k), w: extend(x, 10 s), while w: not b(k);",
    "a count": "r(k, count(j)) <- x: a(k), w: extend(x, 1 s), while w: collect b(j);",
}


@pytest.mark.parametrize("what", GROWING)
def test_four_times_the_events_take_about_four_times_as_long(what: str) -> None:
    text = A_B + GROWING[what]
    small, large = seconds_for(text, keyed(50_000)), seconds_for(text, keyed(200_000))
    assert large < 8 * small + 0.1


@pytest.mark.long
@pytest.mark.parametrize("what", GROWING)
def test_throughput_is_about_flat_from_one_to_eight_million_events(what: str) -> None:
    text = A_B + GROWING[what]
    one = seconds_for(text, keyed(500_000))
    eight = seconds_for(text, keyed(4_000_000))
    assert eight < 8 * 2 * one
