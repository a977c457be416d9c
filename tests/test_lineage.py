"""Lineage names the base events behind each result, exactly: all of them, and no others."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hosts import MICROSECOND, arrivals, batch, cuts, rows_of, tables
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st
from lineage_oracle import Entry, Lineages, lineages
from notation import Written, parse_events
from oracle_values import EPOCH, canonical
from run_sizes import drawn_run_sizes
from strategies import Example, examples

import thence
from thence.model.time import format_timestamp

# Brute force over all derivations takes its time.
fewer_examples = settings(max_examples=settings().max_examples // 5)

A_B_C = "event a(k int); event b(k int); event c(k int);\n"


def entries(row: Mapping[str, Any]) -> frozenset[Entry]:
    """The lineage of a result's row; no entry may be there twice."""
    listed = [
        Entry(
            entry["label"],
            entry["event"],
            tuple(json.loads(entry["attributes"], parse_constant=pytest.fail).values()),
            (entry["start"] - EPOCH) // MICROSECOND,
            (entry["end"] - EPOCH) // MICROSECOND,
        )
        for entry in row["lineage"]
    ]
    assert len(set(listed)) == len(listed), listed
    return frozenset(listed)


def written(value: Any) -> Any:
    """A value as lineage writes it: as text where JSON has no form, a duration in microseconds."""
    match value:
        case float() if not math.isfinite(value):
            return str(value).replace("nan", "NaN").replace("inf", "Infinity")
        case datetime():
            return format_timestamp((value - EPOCH) // MICROSECOND)
        case timedelta():
            return value // MICROSECOND
        case Decimal():
            return str(value)
    return value


def expected(text: str, events: Sequence[Written], until: int | None = None) -> Lineages:
    """What the brute force finds, written as lineage writes it."""
    return {
        name: {
            key: frozenset(e._replace(values=tuple(map(written, e.values))) for e in entries)
            for key, entries in rows.items()
        }
        for name, rows in lineages(text, events, until).items()
    }


def lineages_of(results: Mapping[str, Any]) -> Lineages:
    found: Lineages = {}
    for name, table in results.items():
        rows: Any = {}
        for row in table.to_pylist():
            start, end = ((row[side] - EPOCH) // MICROSECOND for side in ("start", "end"))
            names = [n for n in table.column_names if n not in ("start", "end", "lineage")]
            key = (canonical(tuple(row[n] for n in names)), start, end)
            assert key not in rows, f"{name} has a row twice: {key}"
            rows[key] = entries(row)
        found[name] = rows
    return found


def in_one_go(text: str, events: Sequence[Written], until: int | None = None) -> Lineages:
    return lineages_of(thence.compile(text).run(tables(text, events), until=until, lineage=True))


def in_a_session(
    text: str, events: Sequence[Written], source: random.Random, save: bool = False
) -> Lineages:
    """The same from a session, in pieces and out of order."""
    program = thence.compile(text)
    delay = source.choice([0, 3, 10_000_000]) * MICROSECOND
    session = program.session(delay, lineage=True, allow_unbounded=True)
    found: Lineages = {name: {} for name in (schema.name for schema in program.derived)}
    with drawn_run_sizes(source):
        for part in [*cuts(arrivals(events, delay // MICROSECOND, source), source), None]:
            step = session.finish() if part is None else session.push(tables(text, part))
            for name, rows in lineages_of(step).items():
                assert not found[name].keys() & rows.keys(), "a result came twice"
                found[name] |= rows
            if save:
                session = program.session(
                    delay, state=session.save(), lineage=True, allow_unbounded=True
                )
    return found


PROGRAMS = {
    "seq": "r(k) <- x: a(k) seq y: b(k);",
    "and": "r(k) <- a(k) and b(k) and z: c(k);",
    "or": "r(k) <- x: a(k) or y: b(k);",
    "one result, many derivations": "r() <- (a(_) seq b(_) seq c(_)) within 6 us;",
    "a label for a span": "r(k) <- p: (a(k) and b(k)) seq c(k) where duration(p) >= 1 us;",
    "absence": "r(k) <- not(c(k)).[x: a(k), y: b(k)];",
    "absence in a window": "r(k) <- x: a(k), w: extend(x, 5 us), while w: not b(k);",
    "rules over rules": "q(k) <- x: a(k) seq b(k); r(k) <- l: q(k) seq z: c(k);",
    "several rules for one head": "r(k) <- x: a(k); r(k) <- b(k); r(k) <- a(k) and c(k);",
    "recursion": "r(k) <- x: a(k); r(k) <- r(k) seq y: b(k);",
    "mutual recursion": "q(k) <- a(k); q(k) <- r(k) seq a(k); r(k) <- q(k) seq y: b(k);",
    "collect": "r(k, count()) <- x: a(k), w: extend(x, 6 us), while w: collect y: b(k);",
    "collect over matches of a group": (
        "r(count(k)) <- a(_), x: a(_), w: from_start(x, 6 us), while w: collect y: b(k);"
    ),
    "collect what is derived": (
        "q(k) <- a(k) seq b(k); r(sum(k)) <- x: c(_), w: extend_backward(x, 9 us), "
        "while w: collect q(k);"
    ),
    "collect what is compound": (
        "r(count(k)) <- x: c(_), w: extend_backward(x, 9 us), while w: collect (a(k) seq y: b(k));"
    ),
    "two collects": (
        "r(count(k), sum(m)) <- x: c(_), w: extend_backward(x, 9 us), while w: collect a(k), "
        "while w: collect b(m);"
    ),
    "collects in branches": (
        "r(count(k)) <- ((x: a(_), w: extend(x, 4 us)) or (x: b(_), w: extend(x, 4 us))), "
        "while w: collect c(k);"
    ),
    "an anonymous event twice": "r() <- a(_) and a(_);",
    "time points": "r() <- a(_) seq at '1970-01-01T00:00:00.000006Z';",
}


def scattered(seed: int, count: int = 14) -> list[Written]:
    source = random.Random(seed)
    times = [source.randint(0, 12) for _ in range(count)]
    return [
        Written(source.choice("abc"), (source.choice([1, 2]),), t, t + source.choice([0, 0, 0, 1]))
        for t in times
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_base_events_of_all_derivations(name: str) -> None:
    text = A_B_C + PROGRAMS[name]
    seen = 0
    for seed in range(4):
        events = scattered(seed)
        right = expected(text, events)
        seen += sum(len(rows) for rows in right.values())
        assert in_one_go(text, events) == right
        for save in (False, True):
            assert in_a_session(text, events, random.Random(seed), save) == right
    assert seen


def accepted(example: Example) -> thence.Program:
    note(example.program)
    try:
        return thence.compile(example.program)
    except thence.CheckError:
        reject()


@given(examples())
@fewer_examples
def test_generated_programs(example: Example) -> None:
    program = accepted(example)
    found = program.run(tables(example.program, example.events), until=example.until, lineage=True)
    assert lineages_of(found) == expected(example.program, example.events, example.until)


@given(examples(), st.integers(0, 2**16), st.booleans())
@fewer_examples
def test_generated_programs_in_sessions(example: Example, seed: int, save: bool) -> None:
    accepted(example)
    found = in_a_session(example.program, example.events, random.Random(seed), save)
    assert found == expected(example.program, example.events)


@given(examples())
@fewer_examples
def test_asking_for_lineage_changes_no_result(example: Example) -> None:
    program = accepted(example)
    events = tables(example.program, example.events)
    with_lineage = lineages_of(program.run(events, until=example.until, lineage=True))
    plain = rows_of(program.run(events, until=example.until))
    assert {name: set(rows) for name, rows in with_lineage.items()} == plain


# --- how it looks ---------------------------------------------------------------------------------


def test_the_column() -> None:
    program = thence.compile("event a(k int, s string); r(k) <- first: a(k, _) seq a(k, 'x');")
    table = program.run(
        {"a": [{"k": 1, "s": "é", "time": 5}, {"k": 1, "s": "x", "time": 7}]}, lineage=True
    )["r"]
    assert table.column_names == ["k", "start", "end", "lineage"]
    kind = table.schema.field("lineage").type
    assert pa.types.is_list(kind)
    assert table["lineage"].to_pylist() == [
        [
            {
                "label": "first",
                "event": "a",
                "start": datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC),
                "end": datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC),
                "attributes": '{"k": 1, "s": "é"}',
            },
            {
                "label": None,
                "event": "a",
                "start": datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
                "end": datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
                "attributes": '{"k": 1, "s": "x"}',
            },
        ]
    ]


def test_all_attributes_are_named_even_those_that_no_rule_reads() -> None:
    program = thence.compile("event a(k int, s string); r(k) <- a(k, _);")
    table = program.run({"a": [{"k": 1, "s": "x", "time": 5}]}, lineage=True)["r"]
    assert json.loads(table["lineage"][0].as_py()[0]["attributes"]) == {"k": 1, "s": "x"}


def test_values_of_every_type_are_readable_json() -> None:
    program = thence.compile(
        "event a(i int, f float, b bool, s string, t timestamp, d duration, m decimal(5, 2), "
        "l list<int>); r() <- a();"
    )
    row = {
        "i": 2**63 - 1, "f": float("nan"), "b": True, "s": 'quo"te', "d": MICROSECOND,
        "t": datetime(2026, 1, 1, tzinfo=UTC), "m": Decimal("1.50"), "l": [1, None], "time": 0,
    }  # fmt: skip
    table = program.run({"a": [row]}, lineage=True)["r"]
    text = table["lineage"][0].as_py()[0]["attributes"]
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["i"] == 2**63 - 1
    assert (found["b"], found["s"], found["m"], found["l"]) == (True, 'quo"te', "1.50", [1, None])
    assert (found["f"], found["d"], found["t"]) == ("NaN", 1, "2026-01-01T00:00:00Z")


def test_the_same_event_delivered_twice_is_named_once() -> None:
    text = A_B_C + "r(k) <- a(k) seq b(k);"
    events = parse_events("a(1) @ 1\na(1) @ 1\nb(1) @ 2\nb(1) @ 2")
    ((_, found),) = in_one_go(text, events)["r"].items()
    assert len(found) == 2


def test_an_end_of_time_holds_back_no_result_that_needs_no_waiting() -> None:
    text = A_B_C + "r(k) <- a(k);"
    events = parse_events("a(1) @ 5")
    assert in_one_go(text, events, until=0)["r"].keys() == batch(text, events, 0)["r"]


def test_nothing_collected_has_no_lineage_and_is_no_result() -> None:
    text = A_B_C + "r(count(k)) <- x: a(_), w: extend(x, 5 s), while w: collect b(k);"
    assert in_one_go(text, parse_events("a(1) @ 5\nb(1) @ 5"), until=100_000_000) == {"r": {}}


def test_a_result_without_an_event_has_an_empty_lineage() -> None:
    program = thence.compile("event a(); r() <- at '1970-01-01T00:00:03Z'; s() <- r and a;")
    results = program.run({"a": [{"time": 5_000_000}]}, lineage=True)
    assert [row["lineage"] for row in results["r"].to_pylist()] == [[]]
    (entries,) = [row["lineage"] for row in results["s"].to_pylist()]
    assert [entry["event"] for entry in entries] == ["a"]
    assert "r" in str(results.trace("r", 0))
