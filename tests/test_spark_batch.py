"""``detect`` over batch DataFrames: what goes in, what comes out, and how the work is spread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence import spark as ts

ORDERS = """
    event order(id string, product string);
    event shipped(id string);
    overdue(id)            <- o: order(id, _), w: extend(o, 6h), while w: not shipped(id);
    completed(id, product) <- (order(id, product) seq shipped(id)) within 2 days;
"""
EVENTS = {
    "order": pa.table(
        {
            "id": ["o1", "o2"],
            "product": ["muffins", "bagels"],
            "time": pa.array([8 * 3600, 9 * 3600]).cast(pa.timestamp("s", "UTC")),
        }
    ),
    "shipped": pa.table(
        {
            "id": ["o1", "o2"],
            "time": pa.array([10 * 3600, 17 * 3600]).cast(pa.timestamp("s", "UTC")),
        }
    ),
}
MICROS = pa.timestamp("us", "UTC")


def hour(hours: int) -> datetime:
    return datetime.fromtimestamp(hours * 3600, UTC)


def rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a result in an order of their own."""
    return sorted(table.to_pylist(), key=repr)


def frames(spark: Any, tables: dict[str, Any] = EVENTS) -> dict[str, Any]:
    return {name: spark.createDataFrame(table) for name, table in tables.items()}


def found(spark: Any, text: str, tables: dict[str, Any], **options: Any) -> Any:
    return ts.detect(thence.compile(text), frames(spark, tables), **options).toArrow()


def points(times: Sequence[int], **columns: Any) -> Any:
    """Events at some microseconds."""
    return pa.table({**columns, "time": pa.array(times, pa.int64())})


# -- what comes out


def test_one_event_has_its_own_columns(spark: Any) -> None:
    out = ts.detect(thence.compile(ORDERS), frames(spark), emit="completed")
    assert out.columns == ["id", "product", "start", "end"]
    assert rows(out.toArrow()) == [
        {"id": "o1", "product": "muffins", "start": hour(8), "end": hour(10)},
        {"id": "o2", "product": "bagels", "start": hour(9), "end": hour(17)},
    ]


def test_several_events_are_told_apart_by_their_type(spark: Any) -> None:
    out = ts.detect(thence.compile(ORDERS), frames(spark))
    assert out.columns == ["type", "id", "product", "start", "end"]
    assert rows(out.toArrow()) == [
        {"type": "completed", "id": "o1", "product": "muffins", "start": hour(8), "end": hour(10)},
        {"type": "completed", "id": "o2", "product": "bagels", "start": hour(9), "end": hour(17)},
        {"type": "overdue", "id": "o2", "product": None, "start": hour(9), "end": hour(15)},
    ]


def test_a_result_is_a_data_frame_like_any_other(spark: Any) -> None:
    out = ts.detect(thence.compile(ORDERS), frames(spark), emit="completed")
    orders = frames(spark)["order"].withColumnRenamed("time", "ordered")
    assert out.join(orders, ["id", "product"]).filter("end < '1970-01-01 12:00:00'").count() == 1


def test_every_type_survives_the_way_through_spark(spark: Any) -> None:
    text = """
        event e(i int, f float, b bool, s string, t timestamp, d duration,
                m decimal(20, 4), xs list<int>);
        r(i, f, b, s, t, d, m, xs) <- e(i, f, b, s, t, d, m, xs);
    """
    table = pa.table(
        {
            "i": pa.array([2**62, None]),
            "f": pa.array([0.1, None]),
            "b": pa.array([True, None]),
            "s": pa.array(["żółw", None]),
            "t": pa.array([-1, None], MICROS),
            "d": pa.array([-5, None], pa.duration("us")),
            "m": pa.array(["1234567890123456.7890", None]).cast(pa.decimal128(20, 4)),
            "xs": pa.array([[1, 2], None], pa.list_(pa.int64())),
            "time": pa.array([1, 2], MICROS),
        }
    )
    program = thence.compile(text)
    expected = program.run({"e": table})["r"]
    out = ts.detect(program, {"e": spark.createDataFrame(table)}, emit="r")
    assert rows(out.toArrow().cast(expected.schema)) == rows(expected)


def test_lineage_names_the_events_behind_a_result(spark: Any) -> None:
    program = thence.compile(ORDERS)
    out = ts.detect(program, frames(spark), emit="overdue", lineage=True).toArrow()
    assert out.to_pylist() == program.run(EVENTS, lineage=True)["overdue"].to_pylist()


def test_until_says_up_to_when_everything_has_been_seen(spark: Any) -> None:
    out = found(spark, ORDERS, EVENTS, emit="overdue", until="1970-01-01T14:00:00Z")
    assert out.num_rows == 0


# -- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"emit": "overdu"}, "derives no event 'overdu'"),
        ({"emit": ["overdue", "x"]}, "derives no event 'x'"),
        ({"until": "yesterday"}, "until"),
        ({"shards": 0}, "shards must be a whole number from 1"),
        ({"late": True}, "a batch has all its events"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    spark: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(thence.ThenceError, match=message):
        ts.detect(thence.compile(ORDERS), frames(spark), **options)


def test_a_text_is_not_a_program(spark: Any) -> None:
    with pytest.raises(thence.InputError, match="must come from"):
        ts.detect(ORDERS, frames(spark))  # type: ignore[arg-type]


def test_one_attribute_with_two_types_cannot_be_in_one_frame(spark: Any) -> None:
    text = "event e(i int, s string); r(i as v) <- e(i, _); q(s as v) <- e(_, s);"
    empty = {"e": points([], i=pa.array([], pa.int64()), s=pa.array([], pa.string()))}
    with pytest.raises(thence.InputError, match="'v' is int in 'r' and string in 'q'"):
        found(spark, text, empty)
    assert found(spark, text, empty, emit="q").num_rows == 0


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        ("r(10 % i as v) <- e(i);", 0, "cannot compute 10 % 0: division by zero (in 10 % i)"),
        ("r(i as v) <- e(i) where i + 1 > 0;", 2**63 - 1, "does not fit into 64 bits (in i + 1)"),
        ("r(x.i * y.i as v) <- x: e(_) and y: e(_);", 2**62, "does not fit into 64 bits"),
        (
            "r(sum(i) as v) <- o: e(_), over 1 s of o: collect e(i);",
            2**63 - 1,
            "sum overflows the range of int (64 bits)",
        ),
    ],
    ids=["division", "filter", "join", "sum"],
)
def test_a_value_that_cannot_be_computed_fails_the_query_in_our_words(
    spark: Any, rule: str, value: int, said: str
) -> None:
    given = {"e": points([1, 2], i=[value, value - 1])}
    with pytest.raises(thence.EvaluationError) as failure, ts.explained():
        found(spark, f"event e(i int); {rule}", given, emit="r")
    assert said in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_failure_is_explained_from_the_exception_too(spark: Any) -> None:
    text = "event e(i int); r(10 % i as v) <- e(i);"
    with pytest.raises(Exception, match="division by zero") as failure:
        found(spark, text, {"e": points([1], i=[0])}, emit="r")
    explained = ts.explain_failure(failure.value)
    assert isinstance(explained, thence.EvaluationError)


# -- how the work is spread


def random_events(count: int, seed: int = 1, ids: int = 20) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        name: points(
            np.sort(random.integers(0, count * 1000, count)),
            k=random.integers(0, ids, count),
            v=random.integers(0, 100, count),
        )
        for name in ("a", "b", "c")
    }


DECLARED = "event a(k int, v int); event b(k int, v int); event c(k int, v int);\n"
SPREAD = {
    "by key": "r(k, l.v as x, m.v as y) <- (l: a(k, _) seq m: b(k, _)) within 20 ms;",
    "by key, forgotten in the head": "r(l.v as x) <- (l: a(k, _) seq m: b(k, _)) within 20 ms;",
    "by time": "r(l.start as x, m.v as y) <- (l: a(_, _) seq m: b(_, _)) within 3 ms;",
    "by time, with absence": "r(k) <- o: a(k, _), w: extend(o, 5 ms), while w: not b(_, 7);",
    "by time, with aggregates": (
        "r(count() as n, sum(v) as t) <- o: c(_, 5), w: extend_backward(o, 9 ms), "
        "while w: collect a(_, v);"
    ),
    "in one place": "r(k) <- a(k, 1) seq b(_, 1) seq c(_, 1);",
    "by one key, then another": (
        "p(k, m.v as v) <- (l: a(k, _) seq m: b(k, _)) within 20 ms;\n"
        "r(k, v) <- (p(k, v) seq c(_, v)) within 40 ms;"
    ),
    "by key, then by time": (
        "p(k) <- (a(k, x) seq b(k, x)) within 50 ms;\n"
        "r(k, count() as n) <- o: p(k), w: extend_backward(o, 80 ms), while w: collect p(_);"
    ),
}


@pytest.mark.parametrize("shards", [1, 5])
@pytest.mark.parametrize("rules", SPREAD.values(), ids=SPREAD.keys())
def test_however_work_is_spread_the_answer_is_that_of_a_run(
    spark: Any, rules: str, shards: int
) -> None:
    events = random_events(600)
    expected = thence.compile(DECLARED + rules).run(events)["r"]
    out = found(spark, DECLARED + rules, events, emit="r", shards=shards)
    assert expected.num_rows > 0
    assert rows_of(out, expected) == rows_of(expected, expected)


def rows_of(table: Any, like: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in like.column_names), strict=True))


def test_rules_without_events_are_looked_at_where_there_are_none(spark: Any) -> None:
    text = "event a(k int); r() <- at '1970-01-01T00:00:05Z';"
    nothing = {"a": points([], k=pa.array([], pa.int64()))}
    assert found(spark, text, nothing, emit="r", until="1970-01-01T00:00:09Z").num_rows == 1
    assert found(spark, text, nothing, emit="r").num_rows == 0


def test_no_events_give_no_results(spark: Any) -> None:
    nothing = {name: table.slice(0, 0) for name, table in EVENTS.items()}
    assert found(spark, ORDERS, nothing).num_rows == 0


def test_a_key_with_half_of_all_events_is_no_harm(spark: Any) -> None:
    rule = "r(k, m.v as x) <- (l: a(k, _) seq m: b(k, _)) within 2 ms;"

    def skewed(count: int) -> dict[str, Any]:
        events = random_events(count)
        hot = np.random.default_rng(2).random(count) < 0.5
        return {
            name: table.set_column(0, "k", pa.array(np.where(hot, 7, table["k"].to_numpy())))
            for name, table in events.items()
        }

    events = skewed(100_000)
    expected = thence.compile(DECLARED + rule).run(events)["r"]
    out = found(spark, DECLARED + rule, events, emit="r")
    assert out.num_rows == expected.num_rows > 50_000
    assert rows_of(out, expected) == rows_of(expected, expected)


def test_columns_rows_and_types_are_pruned_before_python(spark: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "events")
    spark.createDataFrame(
        pa.table(
            {
                "type": ["a", "b", "x"],
                "time": pa.array([1, 2, 3], MICROS),
                "k": [1, 1, 1],
                "unused": ["u", "u", "u"],
            }
        )
    ).write.parquet(path)
    text = "event a(k int); event b(k int); r(k) <- (a(k) seq b(k)) within 5 s where k > 0;"
    out = ts.detect(thence.compile(text), spark.read.parquet(path), emit="r")
    plan = plan_of(out)
    assert "unused" not in plan
    assert "In(type, [a,b])" in plan
    assert "GreaterThan(k,0)" in plan
    assert out.count() == 1


def plan_of(frame: Any) -> str:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        frame.explain("formatted")
    return printed.getvalue()


def test_a_task_that_would_pass_a_limit_names_the_rule(spark: Any) -> None:
    text = "event a(k int); event b(k int); r(k) <- a(k) seq b(k);"
    many = {name: points(range(i, 400, 2), k=[1] * 200) for i, name in enumerate("ab")}
    with pytest.raises(Exception, match="LimitError") as failure:
        found(spark, text, many, emit="r", max_matches=1000)
    explained = ts.explain_failure(failure.value)
    assert isinstance(explained, thence.LimitError)
    assert "the rule 'r' has more matches than it may: joining 'a' with 'b'" in str(explained)
    assert "hint: say how far apart" in str(explained)
    assert found(spark, text, many, emit="r", max_matches=100_000).num_rows == 20_100
