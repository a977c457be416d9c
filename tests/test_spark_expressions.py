"""Conditions as Spark filters: they drop rows, and never one that the engine needs."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import PROFILE
from hypothesis import given, settings
from hypothesis import strategies as st

import thence
from thence.engine.values.evaluate import evaluate
from thence.logic.conjunct import Column
from thence.logic.expr import Call, Expr, TimeOf, conjuncts
from thence.model.errors import EvaluationError
from thence.model.time import EARLIEST, LATEST
from thence.model.types import BOOL, DURATION, FLOAT, INT, STRING, TIMESTAMP, Type
from thence.plan.pushdown import needed_rows

pytest.importorskip("pyspark")
from pyspark.sql import functions as F

from thence.spark.expressions import condition

MONEY, CENTS = Type("decimal", precision=18, scale=6), Type("decimal", precision=38, scale=2)
ATTRIBUTES: dict[str, Type] = {
    "i": INT, "j": INT, "f": FLOAT, "g": FLOAT, "s": STRING, "p": STRING, "b": BOOL, "c": BOOL,
    "t": TIMESTAMP, "u": TIMESTAMP, "d": DURATION, "q": DURATION, "m": MONEY, "n": CENTS,
}  # fmt: skip
BIG, SMALL = 2**63 - 1, -(2**63)
SAMPLES: dict[Type, list[Any]] = {
    INT: [0, 1, -1, 2, 7, 2**53 + 1, BIG, SMALL],
    FLOAT: [0.0, -0.0, 1.0, -1.5, 7.0, 1e308, float("inf"), float("-inf"), float("nan"), 2.0**53],
    STRING: ["", "a", "A", "ab", " a ", "é", "𝄞x", "a\n", "a%b", "z_"],
    BOOL: [True, False],
    TIMESTAMP: [0, -1, 1_000_000, 1_767_225_600_000_000, EARLIEST, LATEST],
    DURATION: [0, -1, 5_000_000, 2**62, -(2**62)],
    MONEY: [Decimal(text) for text in ("0", "1", "-1.5", "7.000001", "999999999999.999999")],
    CENTS: [Decimal(text) for text in ("0", "1", "-1.5", "7.01", "9" * 36)],
}
ROWS = 300


def table() -> pa.Table:
    """Random events of all kinds of values, with many nulls and extremes."""
    random = Random(7)
    columns: dict[str, Any] = {}
    for name, kind in ATTRIBUTES.items():
        values = [random.choice([None, *SAMPLES[kind]]) for _ in range(ROWS)]
        columns[name] = pa.array(values, kind.arrow)
    starts = [random.choice(SAMPLES[TIMESTAMP]) for _ in range(ROWS)]
    columns["start"] = pa.array(starts)
    columns["end"] = pa.array([min(LATEST, start + random.randrange(3)) for start in starts])
    return pa.table(columns)


TABLE = table()


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    return spark.createDataFrame(TABLE).coalesce(1).cache()


def expressions(texts: list[str]) -> list[Expr | None]:
    """Conditions as the rules of a program have them, in terms of one event; None for none."""
    declared = ", ".join(f"{name} {kind}" for name, kind in ATTRIBUTES.items())
    arguments = ", ".join(ATTRIBUTES)
    lines = [f"event ev({declared});"]
    lines += [f"r{n}(i) <- x: ev({arguments}) where {text};" for n, text in enumerate(texts)]
    stages = thence.compile("\n".join(lines)).plan.stages
    found: dict[str, Expr | None] = {}
    for stage in stages:
        (ways,) = needed_rows([alt for rule in stage.rules for alt in rule]).values()
        assert len(ways) == 1
        every = ways[0]
        found[stage.events[0]] = (
            Call("and", every) if len(every) > 1 else every[0] if every else None
        )
    return [found[f"r{n}"] for n in range(len(texts))]


def translated(expr: Expr | None) -> Any:
    if expr is None:
        return None
    columns = {name: F.col(name) for name in ATTRIBUTES}
    return condition(expr, columns, ATTRIBUTES, F.col("start"), F.col("end"))


def kept(events: Any, exprs: list[Expr | None]) -> list[set[int]]:
    """The rows that pass each filter; all of them are looked at in one job."""
    columns = [translated(expr) for expr in exprs]
    shown = [
        (F.lit(True) if column is None else column).alias(f"k{n}")
        for n, column in enumerate(columns)
    ]
    found = events.select(*shown).toArrow()
    return [
        {row for row, value in enumerate(found[f"k{n}"].to_pylist()) if value}
        for n in range(len(columns))
    ]


def required(expr: Expr | None) -> set[int]:
    """The rows that no filter may drop: the condition is true there, or the engine fails."""
    if expr is None:
        return set(range(ROWS))
    return {row for row in range(ROWS) if _needed(expr, TABLE.slice(row, 1))}


def _needed(expr: Expr, row: Any) -> bool:
    def leaf(node: Expr) -> Any:
        if isinstance(node, TimeOf):
            return row[node.which].combine_chunks().cast(TIMESTAMP.arrow)
        assert isinstance(node, Column)
        return row[node.name].combine_chunks()

    try:
        return all(evaluate(part, leaf, 1)[0].as_py() is True for part in conjuncts(expr))
    except EvaluationError:
        return True


# -- what is pushed, case by case

EXACT = [
    "i > 1", "1 <= i", "i != j", "i = 7 and j < 0", "i in (1, 2, 7)", "not i in (1, 2)",
    "f > 0.5", "f < g", "f <= 0.0", "f >= 0", "f = 0.0", "f > i", "f + g > 1.0", "f * 2.0 < 3",
    "f - 1 < g", "f / 2 > 1.0", "-f > 1.0", "abs(f) <= 1.5", "f in (1.0, 7.0)",
    "s = 'a'", "s < 'é'", "s in ('a', 'A')", "s != p", "length(s) > 1", "trim(s) = 'a'",
    "substring(s, 2) = 'b'", "substring(s, 1, 1) = 'a'", "s || p = 'aa'", "starts_with(s, 'a')",
    "ends_with(s, 'b')", "s like 'a%'", "s like '%b'", "s like '%%b%'", "s like 'a'",
    "b", "not b", "b = c", "b != true", "b and not c", "b or c", "not (b and i > 1)",
    "i is distinct from 7", "i is not distinct from j", "s is distinct from p",
    "m is distinct from i", "t is not distinct from u", "d is distinct from q",
    "i is distinct from null", "not null is distinct from s",
    "i is null", "not s is null", "i is null or i > 5", "coalesce(i, 5) = 5",
    "t > timestamp '2025-01-01'", "t != u", "t in (timestamp '1970-01-01')",
    "t - u > 1 h", "t + 1 h > u", "x.start > timestamp '1970-01-01' or b",
    "x.end - x.start > 0 s or b",
    "d > 1 s", "d != q", "m > 1.5", "m = i", "m > -1", "n in (1, 7.01)",
    "m + m > 1", "m - 0.5 > 1", "i > 1.5", "i >= 1.1 * j", "m * 1.1 >= 7.7", "-m < 0.5",
    "abs(m) > 1.25", "1.5 * i - j > 0.5", "f > 1.1 * i", "i in (1.0, 2.5, 7.0)", "f + 0.5 > 1e0",
    "i + 1 > 7", "i * j = 7", "i - j < 0", "-i < 0", "i % 2 = 1",
]  # fmt: skip


@pytest.fixture(scope="module")
def found(events: Any) -> Mapping[str, tuple[set[int], set[int]]]:
    """For each of the conditions above: the rows that are kept, and those that must be."""
    exprs = expressions(EXACT)
    return dict(
        zip(EXACT, zip(kept(events, exprs), map(required, exprs), strict=True), strict=True)
    )


@pytest.mark.parametrize("text", EXACT)
def test_a_filter_drops_exactly_the_rows_that_are_not_needed(text: str, found: Any) -> None:
    rows, needed = found[text]
    nan = {row for row in range(ROWS) if _has_nan(row)} if "f" in text else set()
    assert rows >= needed
    assert rows - nan == needed - nan
    assert 0 < len(rows) < ROWS


def _has_nan(row: int) -> bool:
    values = [TABLE[name][row].as_py() for name in ("f", "g")]
    return any(value is not None and (value != value or abs(value) > 1e300) for value in values)


NOT_PUSHED = [
    "lower(s) = 'a'",
    "matches(s, 'a+')",
    "s like 'a_'",
    "m < n",
    "int(f) > 1",
    "f % 2 = 1",
    "m / 2 > 1",
    "i / 2.0 > 1",
    "i % 1.5 > 1",
    "n * 1.5 > 1",
    "-n < 0",
    "abs(n) > 1",
    "n + 0.123 > 1",
]


@pytest.mark.parametrize("text", NOT_PUSHED)
def test_where_spark_might_see_it_differently_all_rows_are_kept(text: str, spark: Any) -> None:
    (expr,) = expressions([text])
    assert translated(expr) is None


def test_of_a_conjunction_the_parts_that_can_be_pushed_are(events: Any) -> None:
    with_lower, without = expressions(["lower(s) = 'a' and i > 1", "i > 1"])
    assert kept(events, [with_lower]) == kept(events, [without])


def test_of_a_disjunction_all_parts_must_be_pushed(spark: Any) -> None:
    (expr,) = expressions(["lower(s) = 'a' or i > 1"])
    assert translated(expr) is None


def test_a_filter_does_not_hide_an_error_of_an_earlier_condition(events: Any) -> None:
    """``i * 2`` may not fit into 64 bits: those rows are kept, for the engine to complain."""
    guarded, unguarded, unknown = expressions(
        ["j = 1 and i * 2 > 3", "i * 2 > 3 and j = 1", "int(f) > 3 and j = 1"]
    )
    after, before = kept(events, [guarded, unguarded])
    ones = {row for row in range(ROWS) if TABLE["j"][row].as_py() == 1}
    extremes = {row for row in range(ROWS) if TABLE["i"][row].as_py() in (BIG, SMALL)}
    assert after <= ones
    assert before - ones == extremes - ones
    assert translated(unknown) is None


def test_an_expression_that_nests_very_deep_is_left_to_the_engine(spark: Any) -> None:
    (expr,) = expressions(["i" + " + 1" * 100 + " > 5"])
    assert translated(expr) is None


# -- what files know of their values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f != 5.0", [5.0, float("nan")]),
        ("not f < 7.0", [1.0, float("nan")]),
        ("not f = 5.0", [5.0, float("nan")]),
        ("f = 0.0", [-0.0, -0.0]),
        ("f >= 0.0", [-0.0, -1.0]),
        ("0.0 <= f", [-0.0, -0.0]),
        ("not f > 0.0", [0.0, 0.0]),
        ("f in (0.0, 3.0)", [-0.0, -0.0]),
    ],
)
def test_a_filter_on_a_file_keeps_nan_and_both_zeros(
    spark: Any, tmp_path: Path, text: str, values: list[float]
) -> None:
    """Statistics in files leave NaN out, and may tell -0.0 from 0.0."""
    rows = pa.table({name: pa.nulls(2, kind.arrow) for name, kind in ATTRIBUTES.items()})
    rows = rows.set_column(rows.column_names.index("f"), "f", pa.array(values))
    for name in ("start", "end"):
        rows = rows.append_column(name, pa.array([0, 0]))
    pq.write_table(rows, tmp_path / "events.parquet")
    (expr,) = expressions([text])
    assert expr is not None
    true = evaluate(expr, lambda leaf: pa.array(values), 2).to_pylist().count(True)
    assert spark.read.parquet(str(tmp_path)).where(translated(expr)).count() >= true > 0


# -- generated conditions


def _literals(kind: Type) -> st.SearchStrategy[str]:
    written = {
        INT: ["0", "1", "-1", "7", "9007199254740993", str(BIG), f"-{BIG}"],
        FLOAT: ["0.0", "-0.0", "1.5", "-1.5", "7.0e0", "1e308", "9007199254740992e0"],
        STRING: ["''", "'a'", "'A'", "'é'", "'ab'", "'%'", "'a%'", "' a '", "'𝄞'"],
        BOOL: ["true", "false"],
        TIMESTAMP: ["timestamp '1970-01-01'", "timestamp '2026-01-01'", "timestamp '0001-01-01'"],
        DURATION: ["0 s", "5 s", "-1 us", "100000 d"],
        MONEY: ["decimal(1.5)", "decimal('7.000001')", "decimal(0)", "1.1", "-7.0"],
    }
    return st.sampled_from(written[kind])


@cache  # each is part of many others
def _values(kind: Type, depth: int) -> st.SearchStrategy[str]:
    """Texts of expressions of a type."""
    names = [name for name, declared in ATTRIBUTES.items() if declared.kind == kind.kind]
    leaves = st.sampled_from(names) | st.sampled_from(names) | _literals(kind)
    if kind == TIMESTAMP:
        leaves |= st.sampled_from(["x.start", "x.end"])
    if depth == 0:
        return leaves

    def deeper(of: Type) -> st.SearchStrategy[str]:
        return _values(of, depth - 1)

    def call(form: str, *kinds: Type) -> st.SearchStrategy[str]:
        return st.tuples(*map(deeper, kinds)).map(lambda args: form.format(*args))

    more = {
        INT: [call("({} + {})", INT, INT), call("({} - {})", INT, INT), call("({} * {})", INT, INT),
              call("({} % {})", INT, INT), call("(- {})", INT), call("length({})", STRING),
              call("coalesce({}, {})", INT, INT), call("abs({})", INT),
              call("nullif({}, {})", INT, INT)],
        FLOAT: [call("({} + {})", FLOAT, FLOAT), call("({} - {})", FLOAT, INT),
                call("({} * {})", FLOAT, FLOAT), call("({} / {})", FLOAT, FLOAT),
                call("({} / 4)", INT), call("(- {})", FLOAT), call("abs({})", FLOAT),
                call("({} / 2 s)", DURATION), call("coalesce({}, {})", FLOAT, FLOAT)],
        STRING: [call("({} || {})", STRING, STRING), call("trim({})", STRING),
                 call("ltrim({})", STRING), call("substring({}, 2, 1)", STRING),
                 call("rtrim({})", STRING), call("lower({})", STRING),
                 call("substring({}, 0)", STRING), call("coalesce({}, {})", STRING, STRING)],
        BOOL: [],
        TIMESTAMP: [call("({} + {})", TIMESTAMP, DURATION), call("({} - {})", TIMESTAMP, DURATION),
                    call("coalesce({}, {})", TIMESTAMP, TIMESTAMP)],
        DURATION: [call("({} - {})", TIMESTAMP, TIMESTAMP), call("({} + {})", DURATION, DURATION),
                   call("({} * 2)", DURATION)],
        MONEY: [call("({} + {})", MONEY, MONEY), call("({} * {})", MONEY, INT),
                call("({} * 1.1)", INT), call("({} - {})", MONEY, INT), call("(- {})", MONEY),
                call("abs({})", MONEY)],
    }[kind]  # fmt: skip
    return st.one_of(leaves, leaves, *more)


def _conditions(depth: int) -> st.SearchStrategy[str]:
    kinds = [INT, FLOAT, STRING, TIMESTAMP, DURATION, MONEY]
    signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])

    def compared(one: Type, two: Type) -> st.SearchStrategy[str]:
        sides = (_values(one, 2), signs, _values(two, 2))
        return st.tuples(*sides).map(" ".join)

    def among(kind: Type) -> st.SearchStrategy[str]:
        items = st.lists(_values(kind, 0) | st.just("null"), min_size=1, max_size=6)
        return st.tuples(_values(kind, 1), items).map(lambda f: f"{f[0]} in ({', '.join(f[1])})")

    text = _values(STRING, 1)
    patterns = ["a%", "%a", "%a%", "a", "a%b", "%", "_", "%a%b%", ""]
    atoms = st.one_of(
        *(compared(kind, kind) for kind in kinds),
        compared(INT, FLOAT), compared(FLOAT, INT), compared(INT, MONEY), compared(MONEY, FLOAT),
        *(among(kind) for kind in (INT, FLOAT, STRING, TIMESTAMP)),
        *(_values(kind, 1).map("{} is null".format) for kind in kinds),
        st.sampled_from(["b", "c", "b = c", "b != c", "null", "i = null", "b is null", "true"]),
        st.tuples(text, st.sampled_from(patterns)).map(lambda f: f"{f[0]} like '{f[1]}'"),
        text.map("lower({}) <= 'b'".format),  # never pushed, and often true
        text.map("starts_with({}, 'a')".format),
        text.map("ends_with({}, 'é')".format),
        _values(FLOAT, 0).map("int({}) > 1".format),
    )  # fmt: skip
    if depth == 0:
        return atoms
    parts = _conditions(depth - 1)
    return st.one_of(
        atoms.map(str),  # one choice among four, where one_of would see each kind of atom
        parts.map("not ({})".format),
        st.lists(parts, min_size=2, max_size=3).map(lambda found: f"({' and '.join(found)})"),
        st.lists(parts, min_size=2, max_size=3).map(lambda found: f"({' or '.join(found)})"),
    )


@settings(max_examples=200 if PROFILE == "long" else 8)
@given(texts=st.lists(_conditions(2), min_size=30, max_size=30))
def test_no_row_is_dropped_that_the_engine_needs(events: Any, texts: list[str]) -> None:
    exprs = expressions(texts)
    for text, expr, rows in zip(texts, exprs, kept(events, exprs), strict=True):
        missing = required(expr) - rows
        assert not missing, (text, TABLE.slice(min(missing), 1).to_pylist())
