"""State: no larger than the windows need, and saved and restored without a trace."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hosts import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

import thence

SECOND = 1_000_000
TYPES = "event a(id int, price float); event b(id int, price float); event c(id int, price float);"

# Each keeps events for a window of ten seconds.
WINDOWED = {
    "Q1": "r(id, x.start, y.start, z.start) <- "
    "(x: a(id, _) seq y: b(id, _) seq z: c(id, _)) within 10 s;",
    "Q2": "r(id) <- (x: a(id, _) seq y: b(id, _)) within 10 s where y.price > x.price;",
    "Q3": "r(id) <- x: a(id, _), w: extend(x, 10 s), while w: not b(id, _);",
    "not": "r(id) <- not(c(id, _)).[a(id, _), b(id, _)] within 10 s;",
    "not compound": "r(id) <- not(b(id, _) seq c(id, _)).[a(id, _), a(id, _)] within 10 s;",
    "while not": "r(id) <- x: a(id, _), w: extend_backward(x, 10 s), while w: not b(id, _);",
    "collect": "r(id, count(p)) <- x: a(id, _), w: extend(x, 10 s), while w: collect b(id, p);",
    "notfollows": "r(id) <- notfollows(a(id, _), b(id, _), 10 s);",
    "or": "r(id) <- (a(id, _) or b(id, _)) seq c(id, _) within 10 s;",
    "rules over rules": "q(id) <- (a(id, _) seq b(id, _)) within 5 s; "
    "r(id) <- (q(id) seq c(id, _)) within 10 s;",
    "recursion": "r(id) <- a(id, _); r(id) <- (r(id) seq b(id, _)) within 10 s;",
    "no key": "r() <- (a(_, p) seq b(_, q)) within 10 s where q > p + 0.9;",
}


def second(number: int, source: np.random.Generator, count: int = 60) -> dict[str, Any]:
    """A second's worth of events: a steady rate of each type."""
    events = {}
    for name in "abc":
        times = np.sort(source.integers(number * SECOND, (number + 1) * SECOND, count))
        events[name] = pa.table(
            {
                "id": source.integers(0, 40, count),
                "price": source.random(count),
                "time": times,
            }
        )
    return events


def sizes(
    name: str, windows: int, rate: int, lineage: bool = False
) -> tuple[list[int], list[int], thence.Session]:
    """Rows and bytes of a session's state after each second, over some windows of ten seconds."""
    source = np.random.default_rng(7)
    session = thence.compile(TYPES + WINDOWED[name]).session(lineage=lineage)
    rows, bytes_ = [], []
    for number in range(10 * windows):
        session.push(second(number, source, rate))
        rows.append(session.state_rows)
        bytes_.append(session.state_bytes)
    return rows, bytes_, session


@pytest.mark.parametrize("name", WINDOWED)
def test_after_ten_windows_the_state_is_flat(name: str) -> None:
    """From the third window on, rows and bytes stay what they are, however long it goes on."""
    rows, bytes_, session = sizes(name, windows=12, rate=60)
    assert max(rows[-20:]) <= 1.2 * max(rows[20:40])
    assert max(bytes_[-20:]) <= 1.2 * max(bytes_[20:40])
    assert len(session.save()) <= 2 * max(bytes_[-20:]) + 20_000


@pytest.mark.parametrize("name", WINDOWED)
def test_state_with_lineage_is_flat_too(name: str) -> None:
    """Derivations that nothing needs go when there are as many of them as of the others, and a few
    more: so there may be twice as many at one time as at another."""
    rows, _, _ = sizes(name, windows=12, rate=5, lineage=True)
    assert max(rows[60:]) <= 2 * max(rows[20:60]) + 64


@pytest.mark.parametrize("name", ["Q1", "Q2", "Q3", "collect"])
def test_the_state_is_no_more_than_what_the_window_holds(name: str) -> None:
    source = np.random.default_rng(7)
    session = thence.compile(TYPES + WINDOWED[name]).session()
    for number in range(30):
        session.push(second(number, source))
    in_a_window = 10 * 3 * 60
    assert 0 < session.state_rows <= 1.2 * in_a_window


def test_a_delay_adds_its_own_length_to_the_state_and_no_more() -> None:
    source = np.random.default_rng(7)
    session = thence.compile(TYPES + WINDOWED["Q3"]).session(max_delay="5 s")
    for number in range(40):
        session.push(second(number, source))
    assert session.state_rows <= 1.1 * (10 + 5) * 2 * 60


def test_events_that_nothing_waits_for_are_not_kept() -> None:
    session = thence.compile(TYPES + "r(id) <- a(id, _) or b(id, _);").session()
    for number in range(5):
        session.push(second(number, np.random.default_rng(number)))
    session.finish()
    assert session.state_rows == 0


def test_time_alone_empties_the_state() -> None:
    session = thence.compile(TYPES + WINDOWED["Q3"]).session()
    session.push(second(0, np.random.default_rng(1)))
    assert session.state_rows
    session.advance(100 * SECOND)
    assert session.state_rows == 0


# --- saved and restored ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("lineage", [False, True])
def test_restoring_in_the_middle_leaves_no_trace(name: str, lineage: bool) -> None:
    """One session goes through; the other is saved after each push, and restored into a program
    that was compiled anew."""
    text = TYPES + WINDOWED[name]
    through = thence.compile(text).session("1 s", lineage=lineage)
    saved = thence.compile(text).session("1 s", lineage=lineage).save()
    source = np.random.default_rng(3)
    total = 0
    for number in range(25):
        events = second(number, source, 6)
        again = thence.compile(text).session("1 s", state=saved, lineage=lineage)
        expected = through.push(events)
        found = again.push(events)
        assert {n: sorted(map(str, t.to_pylist())) for n, t in found.items()} == {
            n: sorted(map(str, t.to_pylist())) for n, t in expected.items()
        }
        assert again.state_rows == through.state_rows
        assert again.horizon == through.horizon
        total += found.total
        saved = again.save()
    assert total


def test_late_counts_outlive_a_restart() -> None:
    program = thence.compile(TYPES + WINDOWED["Q2"])
    session = program.session()
    session.push({"a": [{"id": 1, "price": 1.0, "time": 10 * SECOND}]})
    session.push({"a": [{"id": 1, "price": 1.0, "time": SECOND}]})
    again = program.session(state=session.save())
    assert again.late_counts == {"a": 1}
    again.push({"a": [{"id": 1, "price": 1.0, "time": SECOND}]})
    assert again.late_count == 2


def test_a_session_that_has_seen_nothing_can_be_saved() -> None:
    program = thence.compile(TYPES + WINDOWED["Q2"])
    again = program.session(state=program.session().save())
    assert again.horizon is None
    assert again.state_rows == 0


def test_saving_changes_nothing_and_gives_the_same_bytes_again() -> None:
    session = thence.compile(TYPES + WINDOWED["Q1"]).session()
    session.push(second(0, np.random.default_rng(1)))
    assert session.save() == session.save()


def test_values_of_every_type_survive() -> None:
    text = (
        "event a(i int, f float, b bool, s string, t timestamp, d duration, m decimal(5, 2), "
        "l list<string>); event z();"
        "r(x.i, x.f, x.b, x.s, x.t, x.d, x.m, x.l) <- (x: a() seq z()) within 5 s;"
    )
    row = {
        "i": -(2**63), "f": float("inf"), "b": False, "s": "é\x00", "t": "2026-01-01T00:00:00Z",
        "d": timedelta(1), "m": Decimal("1.50"), "l": ["x", None], "time": 0,
    }  # fmt: skip
    nothing = dict.fromkeys(row) | {"time": 1}
    program = thence.compile(text)
    events = {"a": [row, nothing]}
    session = program.session()
    session.push(events)
    again = program.session(state=session.save())
    ends = {"z": [{"time": SECOND}]}
    assert again.push(ends)["r"].to_pylist() == program.run(events | ends)["r"].to_pylist()


def refused(data: Any, program: thence.Program | None = None, **options: Any) -> str:
    program = program or thence.compile(TYPES + WINDOWED["Q2"])
    with pytest.raises(thence.StateError) as caught:
        program.session(state=data, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def saved() -> bytes:
    session = thence.compile(TYPES + WINDOWED["Q2"]).session()
    session.push(second(0, np.random.default_rng(1)))
    return session.save()


def test_state_of_another_program_is_refused(saved: bytes) -> None:
    other = thence.compile(TYPES + WINDOWED["Q1"])
    assert "belongs to another program" in refused(saved, other)


def test_state_with_lineage_does_not_fit_a_session_without(saved: bytes) -> None:
    assert "another program" in refused(saved, lineage=True)


@pytest.mark.parametrize("data", [b"", b"x", b"THENCE", b"THENCE-STATE\n", b"PAR1" + b"\0" * 99])
def test_what_is_not_state_is_refused(data: bytes) -> None:
    assert "not saved state" in refused(data)


@pytest.mark.parametrize("data", ["text", 5, ["x"], {"state": b""}])
def test_state_must_be_bytes(data: Any) -> None:
    assert "must be bytes" in refused(data)


def test_bytes_may_come_in_any_form(saved: bytes) -> None:
    program = thence.compile(TYPES + WINDOWED["Q2"])
    for data in (saved, bytearray(saved), memoryview(saved)):
        assert program.session(state=data).state_rows  # type: ignore[arg-type]


def test_state_cut_short_anywhere_is_refused(saved: bytes) -> None:
    for length in [*range(200), *range(200, len(saved), 97), len(saved) - 1]:
        refused(saved[:length])
    refused(saved + b"\0")


def test_one_wrong_bit_anywhere_is_noticed(saved: bytes) -> None:
    source = random.Random(1)
    places = [*range(120), *(source.randrange(len(saved)) for _ in range(150))]
    for place in places:
        damaged = bytearray(saved)
        damaged[place] ^= 1 << source.randrange(8)
        refused(bytes(damaged))


@given(st.binary(max_size=300))
@settings(max_examples=60)
def test_any_bytes_are_refused_clearly(data: bytes) -> None:
    refused(data)
    refused(b"THENCE-STATE\n" + data)


def sealed(header: Any, payload: bytes = b"") -> bytes:
    """Bytes with a right checksum, around any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = struct.pack(">I", len(text)) + text + payload
    return b"THENCE-STATE\n" + body + sha256(body).digest()


def parts_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack(">I", data[13:17])
    return json.loads(data[17 : 17 + length]), data[17 + length : -32]


def test_a_newer_format_is_refused_by_its_version(saved: bytes) -> None:
    header, payload = parts_of(saved)
    message = refused(sealed(header | {"version": header["version"] + 1}, payload))
    assert f"version {header['version'] + 1}" in message


def test_the_seal_of_these_tests_is_the_right_one(saved: bytes) -> None:
    assert thence.compile(TYPES + WINDOWED["Q2"]).session(state=sealed(*parts_of(saved))).state_rows


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"null", b"{}", b'{"version": "1"}', b'{"version": 1}', b"\xff"]
)
def test_a_header_that_says_nothing_is_refused(header: bytes) -> None:
    refused(sealed(header))


def test_tables_that_are_no_tables_are_refused(saved: bytes) -> None:
    header, payload = parts_of(saved)
    refused(sealed(header, b"\0" * len(payload)))
    refused(sealed(header, payload[: len(payload) // 2]))
    refused(sealed(header | {"tables": [{"part": "none", "event": "a", "bytes": 0}]}, payload))
    refused(sealed(header | {"horizons": "late"}, payload))


# --- changed by somebody, with a right checksum ---------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_state_that_was_tampered_with_is_refused_or_gives_an_answer(seed: int) -> None:
    """Thousands of changes, in a process of its own: no crash, and no error but Thence's."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("state_tampering.py"), str(seed), "200"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["refused"] > 500
    assert found["answered"] > 20


def tables_of(data: bytes) -> dict[tuple[str, str], pa.Table]:
    """The tables of saved state, by part and event."""
    header, payload = parts_of(data)
    found, offset = {}, 0
    for table in header["tables"]:
        content = payload[offset : offset + table["bytes"]]
        found[table["part"], table["event"]] = pa.ipc.open_stream(content).read_all()
        offset += table["bytes"]
    return found


def with_tables(data: bytes, tables: dict[tuple[str, str], pa.Table], **options: Any) -> bytes:
    """The same state with other tables, under a right checksum."""
    header, _ = parts_of(data)
    listed, payloads = [], []
    for (part, event), table in tables.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, **options) as writer:
            writer.write_table(table)
        payloads.append(sink.getvalue().to_pybytes())
        listed.append({"part": part, "event": event, "bytes": len(payloads[-1])})
    return sealed(header | {"tables": listed}, b"".join(payloads))


def replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, [pa.array(values)])


CHANGES: dict[str, tuple[Any, str]] = {
    "text for a number": (
        lambda t: replaced(t, "c.id", [str(n) for n in t["c.id"].to_pylist()]),
        "column 'id' is string, not int64",
    ),
    "another width": (
        lambda t: replaced(t, "c.id", t["c.id"].combine_chunks().cast(pa.int32())),
        "column of type int32",
    ),
    "a dictionary": (
        lambda t: replaced(t, "c.id", t["c.id"].combine_chunks().dictionary_encode()),
        "column of type dictionary",
    ),
    "a column less": (lambda t: t.drop_columns("c.price"), "column 'price' is missing"),
    "a column more": (
        lambda t: t.append_column("c.more", t["c.id"]),
        "there is a column 'more'",
    ),
    "a column twice": (lambda t: t.append_column("c.id", t["c.id"]), "with the columns"),
    "no start": (lambda t: t.drop_columns("start"), "with the columns"),
    "a start that is null": (
        lambda t: replaced(t, "start", [None, *t["start"].to_pylist()[1:]]),
        "'start' is not a time",
    ),
    "a start that is text": (
        lambda t: replaced(t, "start", [str(n) for n in t["start"].to_pylist()]),
        "'start' is not a time",
    ),
    "an end before its start": (
        lambda t: replaced(t, "end", [n - 1 for n in t["end"].to_pylist()]),
        "ends before it starts",
    ),
    "a time beyond all time": (
        lambda t: replaced(t, "end", [2**62] * len(t)),
        "outside all time",
    ),
    "lineage that nobody asked for": (
        lambda t: t.append_column("c.#lineage", pa.nulls(len(t), pa.string())),
        "there is a column '#lineage'; it may be lineage as an earlier version wrote it",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_contents_are_checked_against_the_program(saved: bytes, name: str) -> None:
    change, said = CHANGES[name]
    tables = tables_of(saved)
    tables["events", "a"] = change(tables["events", "a"])
    message = refused(with_tables(saved, tables))
    assert message.startswith("the saved state is damaged: ")
    assert said in message


@pytest.mark.parametrize(
    ("part", "event", "said"),
    [
        ("events", "c", "events that nothing needs"),
        ("events", "nobody", "events that the program does not know"),
        ("emitted", "nobody", "events that the program does not know"),
        ("waiting", "#r 1", "events that the program does not know"),
        ("used", "a", "uses none up"),
        ("used", "r/0|a", "uses none up"),
        ("spent", "a", "does not say what its tables are"),
    ],
)
def test_tables_that_do_not_belong_there_are_refused(
    saved: bytes, part: str, event: str, said: str
) -> None:
    tables = tables_of(saved)
    tables[part, event] = tables["events", "a"]
    assert said in refused(with_tables(saved, tables))


def test_the_tables_of_these_tests_are_the_right_ones(saved: bytes) -> None:
    program = thence.compile(TYPES + WINDOWED["Q2"])
    assert program.session(state=with_tables(saved, tables_of(saved))).state_rows


def test_compressed_tables_are_refused_before_they_are_unpacked(saved: bytes) -> None:
    """A kilobyte of them could stand for a terabyte."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    assert "compressed" in refused(with_tables(saved, tables_of(saved), options=options))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"horizons": {"a": 2**63}}, "its horizon is"),
        ({"horizons": {"a": 1.5}}, "up to which time it goes"),
        ({"horizons": {"nobody": 1}}, "which is no input"),
        ({"horizons": {}}, "says twice how far"),
        ({"gaps": {"a": [[1]]}}, "what has not been seen"),
        ({"gaps": {"a": 7}}, "what has not been seen"),
        ({"gaps": {"nobody": [[1, 2]]}}, "which is no input"),
        ({"gaps": {"a": [[2, 1]]}}, "what ended from 2 to 1"),
        ({"latest": True}, "up to which time it goes"),
        ({"latest": -(2**63)}, "its latest time is"),
        ({"extra": []}, "how the session was run"),
        ({"extra": {"late": {}, "max_delay": "1 s"}}, "how late events may come"),
        ({"extra": {"late": {}, "max_delay": {"a": -1}}}, "how late events may come"),
        ({"extra": {"late": {}, "max_delay": {}}}, "how far its inputs have been seen"),
        (
            {"extra": {"late": {}, "max_delay": {}, "sources": []}},
            "which sources its inputs have",
        ),
        (
            {"extra": {"late": {}, "max_delay": {}, "sources": [], "named": []}},
            "how far its inputs have been seen",
        ),
        ({"extra": {"late": {"a": "x"}, "max_delay": 0}}, "how many events came late"),
        ({"extra": {"late": {"nobody": 1}, "max_delay": 0}}, "how many events came late"),
        ({"tables": {}}, "what its tables are"),
        ({"tables": []}, "longer than its tables"),
        ({"tables": [{"part": "events", "event": "a", "bytes": 2**60}]}, "shorter than its tables"),
        ({"tables": [{"part": "events", "event": "a", "bytes": -1}]}, "what its tables are"),
        ({"tables": [{"part": ["x"], "event": "a", "bytes": 1}]}, "what its tables are"),
    ],
)
def test_every_field_of_the_header_is_checked(saved: bytes, change: Any, said: str) -> None:
    header, payload = parts_of(saved)
    assert said in refused(sealed(header | change, payload))


@pytest.mark.parametrize("deep", [b"[" * 10_000, b'{"a":' * 10_000, b"[" * 10**6 + b"]" * 10**6])
def test_a_header_nested_beyond_measure_is_refused(deep: bytes) -> None:
    assert "its header cannot be read" in refused(sealed(deep))


def test_an_event_that_must_be_an_instant_is_one_in_state_too() -> None:
    """A session relies on that for the bound of its state, and refuses others when they come."""
    program = thence.compile(TYPES + WINDOWED["Q3"])
    session = program.session()
    session.push({"a": [{"id": 1, "price": 1.0, "time": 5 * SECOND}]})
    tables = tables_of(session.save())
    tables["events", "a"] = replaced(tables["events", "a"], "start", [SECOND])
    assert "must be an instant" in refused(with_tables(session.save(), tables), program)


def test_rules_of_any_name_keep_apart_what_they_have_used_up() -> None:
    """The names of rules and events stand side by side in state, with signs between them."""
    rules = "".join(
        f"`{name}`(k) <- (x: `a|b`(k) seq y: `b/0`(k)) within 60 s using chronicle;\n"
        for name in ("r", "r/0|x", "r|a", "r/0", "r%7Ca")
    )
    program = thence.compile(f"event `a|b`(k int); event `b/0`(k int);\n{rules}")
    events = [
        {"a|b": [{"k": 1, "time": n * SECOND}], "b/0": [{"k": 1, "time": (n + 1) * SECOND}]}
        for n in range(0, 40, 2)
    ]
    whole = {name: [row for e in events for row in e[name]] for name in ("a|b", "b/0")}
    expected = rows_of(program.run(whole))
    found: dict[str, set[Any]] = {}
    state = program.session("5 s").save()
    for batch in events:
        session = program.session("5 s", state=state)
        for name, rows in rows_of(session.push(batch)).items():
            found[name] = found.get(name, set()) | rows
        state = session.save()
    for name, rows in rows_of(session.finish()).items():
        found[name] |= rows
    assert found == expected
    assert all(found.values())


DERIVATIONS = {
    "a derivation by no rule": ("derivations", "q", "c.use", [2**40] * 2, "by a rule that there"),
    "a derivation by no atom": ("derivations", "q", "c.use", [99] * 2, "by a rule that there"),
    "a negative use": ("derivations", "q", "c.use", [-1] * 2, "by a rule that there"),
    "what was bound is not there": ("derivations", "q", "c.bound", [7] * 2, "what it was"),
    "what was derived is not there": ("derivations", "q", "c.event", [7] * 2, "was made of"),
    "an id of another event": ("archive", "a", "c.#id", [7], "the id of another one"),
    "an event of another id": ("archive", "a", "c.price", [2.5], "the id of another one"),
    "a derived event of no derivation": ("events", "q", "c.id", [7], "was made of"),
}  # fmt: skip


def with_derivations() -> tuple[thence.Program, bytes]:
    program = thence.compile(TYPES + WINDOWED["rules over rules"])
    session = program.session(lineage=True)
    session.push(
        {"a": [{"id": 1, "price": 1.0, "time": 1}], "b": [{"id": 1, "price": 1.0, "time": 2}]}
    )
    return program, session.save()


@pytest.mark.parametrize("name", DERIVATIONS)
def test_derivations_in_state_are_checked(name: str) -> None:
    part, event, column, values, said = DERIVATIONS[name]
    program, data = with_derivations()
    tables = tables_of(data)
    held = tables[part, event]
    changed = pa.array(values, held.schema.field(column).type)
    tables[part, event] = replaced(held, column, changed)
    assert said in refused(with_tables(data, tables), program, lineage=True)


@pytest.mark.parametrize(("part", "event"), [("derivations", "q"), ("archive", "a")])
def test_derivations_that_are_missing_are_missed(part: str, event: str) -> None:
    program, data = with_derivations()
    tables = tables_of(data)
    del tables[part, event]
    assert "what it was" in refused(with_tables(data, tables), program, lineage=True)


def test_derivations_with_a_column_too_many_are_refused() -> None:
    program, data = with_derivations()
    tables = tables_of(data)
    held = tables["derivations", "q"]
    tables["derivations", "q"] = held.append_column("c.more", pa.array([1] * len(held)))
    assert "other columns" in refused(with_tables(data, tables), program, lineage=True)


# --- many pushes ----------------------------------------------------------------------------------


def test_results_of_a_saved_session_come_exactly_once() -> None:
    """A result that was given before the save is not given again after it."""
    text = TYPES + WINDOWED["Q2"]
    program = thence.compile(text)
    session = program.session("10 s")
    row = {"id": 1, "price": 1.0, "time": SECOND}
    higher = {"id": 1, "price": 2.0, "time": 2 * SECOND}
    assert len(rows_of(session.push({"a": [row], "b": [higher]}))["r"]) == 1
    again = program.session("10 s", state=session.save())
    assert rows_of(again.push({"a": [row], "b": [higher]}))["r"] == set()
