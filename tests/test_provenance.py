"""Provenance: ids that follow from events alone, derivations as columns, what is kept of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hosts import tables
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from strategies import Example, examples

import thence
from thence.engine.arrays.codes import identity_codes
from thence.engine.arrays.hashing import identity_hashes
from thence.engine.output.event_ids import event_ids
from thence.engine.provenance.json_texts import json_objects
from thence.model.events import Events
from thence.model.schema import Attribute, EventSchema
from thence.model.time import format_timestamp
from thence.model.types import FLOAT, INT, STRING

NAN = float("nan")
INSTANTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
FLOATS = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, NAN, 1.0, 1e16, 1e22, 1.5e300, 5e-324, -2.0, float("inf")]),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float64(), FLOATS),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), TEXTS | st.sampled_from(["", "a", '"', "\\", "\n\x00", "é"])),
    "timestamp": (pa.timestamp("us", "UTC"), INSTANTS),
    "duration": (pa.duration("us"), st.timedeltas(timedelta(-999), timedelta(999))),
    "decimal": (pa.decimal128(9, 2), st.integers(-99, 99).map(lambda n: Decimal(n) / 4)),
    "list of ints": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(-1, 1), max_size=3)),
    "list of floats": (pa.list_(pa.float64()), st.lists(st.none() | FLOATS, max_size=3)),
    "list of texts": (pa.list_(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
    "list of lists": (
        pa.list_(pa.list_(pa.int64())),
        st.lists(st.none() | st.lists(st.integers(0, 1), max_size=2), max_size=2),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
@given(st.data())
def test_hashes_tell_apart_what_identity_does(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    drawn = data.draw(st.lists(st.none() | values, max_size=12))
    if name == "decimal":
        drawn = [None if d is None else d.quantize(Decimal("0.01")) for d in drawn]
    column = pa.array(drawn, kind)
    hashes, (codes, _) = identity_hashes(column).tolist(), identity_codes(column)
    for one in range(len(drawn)):
        for other in range(one):
            assert (hashes[one] == hashes[other]) == (codes[one] == codes[other])
    cut = data.draw(st.integers(0, len(drawn)))
    assert identity_hashes(column.slice(cut)).tolist() == hashes[cut:]


ORDER = EventSchema("order", (Attribute("k", INT), Attribute("s", STRING), Attribute("p", FLOAT)))


def orders(**columns: Any) -> Events:
    times = np.array([5, 6])
    return Events(times, times, columns)


def test_an_id_is_the_same_everywhere() -> None:
    """The ids in saved state are read by other processes, and by later versions."""
    k, s, p = pa.array([7, None]), pa.array(["x", "é"]), pa.array([0.5, NAN])
    ids = event_ids(ORDER, orders(k=k, s=s, p=p))
    assert ids.tolist() == [-2337552757033873869, 6699076169568121841]
    assert event_ids(ORDER, orders(p=p, s=s, k=k)).tolist() == ids.tolist()


def test_an_id_is_of_the_type_the_interval_and_every_attribute() -> None:
    k, s, p = pa.array([7, 7]), pa.array(["x", "x"]), pa.array([0.5, 0.5])
    one = orders(k=k, s=s, p=p)
    other = EventSchema("other", ORDER.attributes)
    found = {
        *event_ids(ORDER, one).tolist(),
        *event_ids(other, one).tolist(),
        *event_ids(ORDER, Events(one.start, one.end + 1, one.columns)).tolist(),
        *event_ids(ORDER, Events(one.start - 9, one.end, one.columns)).tolist(),
        *event_ids(ORDER, orders(k=k, s=s, p=pa.array([0.25, 0.25]))).tolist(),
        *event_ids(ORDER, orders(k=k, s=pa.array(["y", "y"]), p=p)).tolist(),
    }
    assert len(found) == 12


def test_a_row_of_a_table_has_no_time() -> None:
    schema = EventSchema("t", (Attribute("k", INT),), table=True)
    one, other = event_ids(schema, orders(k=pa.array([7, 7])))
    assert one == other


# -- JSON texts


def as_json(value: Any) -> Any:
    """A value as JSON has it: times and decimals as texts, durations in microseconds."""
    match value:
        case list():
            return list(map(as_json, value))
        case datetime():
            epoch = datetime(1970, 1, 1, tzinfo=UTC)
            return format_timestamp((value - epoch) // timedelta(microseconds=1))
        case timedelta():
            return value // timedelta(microseconds=1)
        case Decimal():
            return str(value)
        case float() if value != value:
            return "NaN"
        case float() if value in (float("inf"), -float("inf")):
            return "Infinity" if value > 0 else "-Infinity"
    return value


@pytest.mark.parametrize("name", COLUMNS)
@given(st.data())
def test_attributes_as_json(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=6)), kind)
    texts = json_objects({'a "name"': column, "k": pa.nulls(len(column))}, len(column))
    assert texts.type == pa.string()
    for text, value in zip(texts.to_pylist(), column.to_pylist(), strict=True):
        found = json.loads(text, parse_constant=pytest.fail)
        assert list(found) == ['a "name"', "k"]
        right = as_json(value)
        assert repr(found['a "name"']) == repr(right)


# -- what a session keeps


SECOND = 1_000_000
PROGRAM = """
    event a(k int); event b(k int); event c(k int);
    q(k) <- (x: a(k) seq b(k)) within 5 s;
    r(k) <- (q(k) seq c(k)) within 5 s;
"""


def at(second: float, k: int = 1) -> list[dict[str, int]]:
    return [{"k": k, "time": int(second * SECOND)}]


def purposes(session: thence.Session) -> dict[tuple[str, str], int]:
    rows = session.remembered.to_pylist()
    return {(row["event"], row["purpose"]): row["rows"] for row in rows}


def test_derivations_are_kept_as_rows_of_ids_and_nothing_is_expanded() -> None:
    session = thence.compile(PROGRAM).session(lineage=True)
    session.push({"a": at(1), "b": at(2)})
    session.push({"c": at(3)})
    found = purposes(session)
    assert found["q", "to tell derivations"] == 2
    assert found["r", "to tell derivations"] == 2
    assert [found[name, "named by derivations"] for name in "abc"] == [1, 1, 1]


def test_nothing_is_kept_where_nothing_is_asked() -> None:
    session = thence.compile(PROGRAM).session()
    session.push({"a": at(1), "b": at(2), "c": at(3)})
    assert not [p for _, p in purposes(session) if "derivations" in p or "lineage" in p]


def test_another_derivation_of_a_known_event_reaches_what_rests_on_it() -> None:
    """It comes after the event was used already, and is one more derivation of the same event."""
    program = thence.compile("""
        event a(k int); event b(k int); event c(k int);
        q(k) <- x: a(k); q(k) <- y: b(k);
        r(k) <- q(k) seq c(k);
    """)
    session = program.session("10 s", lineage=True, allow_unbounded=True)
    session.push({"a": at(1)})
    session.push({"c": at(2)})
    session.push({"b": at(1)})
    (row,) = session.finish()["r"].to_pylist()
    assert [(e["label"], e["event"]) for e in row["lineage"]] == [
        ("x", "a"),
        ("y", "b"),
        (None, "c"),
    ]


def test_derivations_go_when_nothing_refers_to_them() -> None:
    session = thence.compile(PROGRAM).session(lineage=True)
    most = 0
    for second in range(0, 4000, 4):
        session.push({"a": at(second), "b": at(second + 1), "c": at(second + 2)})
        most = max(most, session.state_rows)
    assert most < 200


def test_a_long_recursion_is_read_to_its_end() -> None:
    program = thence.compile("""
        event begin(); event end_of_it();
        r() <- periodic(begin, 1 s, end_of_it);
    """)
    table = program.run({"begin": at(1)}, until=3000 * SECOND, lineage=True)["r"]
    assert table.num_rows > 2900
    assert {tuple(e["event"] for e in row) for row in table["lineage"].to_pylist()} == {("begin",)}


# -- how many derivations


def test_each_result_has_its_number_of_derivations() -> None:
    program = thence.compile("""
        event a(k int); event b(k int);
        r(k) <- (x: a(k) seq b(k)) within 9 s;
        r(k) <- a(k) seq y: b(k);
        s() <- r(_);
    """)
    events = {"a": at(2) + at(1) + at(1) + at(1, k=2), "b": at(3) + at(4, k=2)}
    results = program.run(events, lineage=True)
    shown = [(row["k"], row["start"].second) for row in results["r"].to_pylist()]
    assert sorted(zip(shown, results.derivations("r").to_pylist(), strict=True)) == [
        ((1, 1), 2),
        ((1, 2), 2),
        ((2, 1), 2),
    ]
    # An `s` is over no label, so only events tell its derivations apart.
    assert results.derivations("s").to_pylist() == [1, 1, 1]


def test_a_session_tells_the_number_too() -> None:
    program = thence.compile("event a(k int); event b(); r() <- at '1970-01-01T00:00:01Z' and b; "
                             "r() <- (a(_) seq b) within 9 s;")  # fmt: skip
    session = program.session(lineage=True, allow_unbounded=True)
    session.push({"a": at(1) + at(1, k=2)})
    session.push({"b": [{"time": 3 * SECOND}]})
    results = session.advance(9 * SECOND)
    assert results.derivations("r").to_pylist() == [3]
    assert session.advance(10 * SECOND).derivations("r").to_pylist() == []


def test_the_number_is_known_only_where_derivations_are() -> None:
    program = thence.compile(PROGRAM)
    with pytest.raises(thence.InputError, match="pass lineage=True"):
        program.run({"a": at(1)}).derivations("r")
    with pytest.raises(thence.InputError, match="there are no results of 'x'"):
        program.run({"a": at(1)}, lineage=True).derivations("x")


@given(examples())
@settings(max_examples=settings().max_examples // 5)
def test_a_tree_of_causes_has_as_many_derivations(example: Example) -> None:
    try:
        program = thence.compile(example.program)
    except thence.CheckError:
        reject()
    found = program.run(tables(example.program, example.events), until=example.until, lineage=True)
    for name in found:
        for row, number in enumerate(found.derivations(name).to_pylist()):
            cause = found.trace(name, row, limit=None, depth=1)
            told = {
                (
                    d.line,
                    frozenset((c.event, c.label, c.collected, c._key) for c in d.causes),
                )
                for d in cause.derivations
            }
            assert number == len(told), str(cause)
