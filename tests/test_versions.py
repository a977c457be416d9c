"""Tables with versions: what is read, what is refused, how it is said in Python and printed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import thence

RANKS = """
    event ride(driver string);
    table rank(driver string, stars int) valid from since to till;
    ranked(d, s) <- ride(d), rank(d, s);
"""
RIDES = {"ride": [{"driver": "ann", "time": at} for at in (1, 2, 3, 4)]}


def stars(rows: object) -> list[tuple[int, int]]:
    """When which rank counted."""
    found = thence.compile(RANKS).run(RIDES, tables={"rank": rows})["ranked"]
    return list(zip(found["end"].cast(pa.int64()).to_pylist(), found["s"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("since", "till"),
    [
        (2, 4),
        (datetime.fromtimestamp(2e-6, UTC), datetime.fromtimestamp(4e-6, UTC)),
        ("1970-01-01T00:00:00.000002Z", "1970-01-01T00:00:00.000004Z"),
    ],
    ids=["microseconds", "datetimes", "text"],
)
def test_times_are_written_as_those_of_events(since: object, till: object) -> None:
    rows = [{"driver": "ann", "stars": 5, "since": since, "till": till}]
    assert stars(rows) == [(2, 5), (3, 5)]


def test_null_is_a_side_without_a_bound() -> None:
    rows = [
        {"driver": "ann", "stars": 1, "since": None, "till": 2},
        {"driver": "ann", "stars": 2, "since": 3, "till": None},
    ]
    assert stars(rows) == [(1, 1), (3, 2), (4, 2)]


def test_rows_of_a_file(tmp_path: Path) -> None:
    Path(tmp_path, "ranks.csv").write_text(
        "driver,stars,since,till\nann,3,1970-01-01T00:00:00.000002Z,\n"
    )
    rules = Path(tmp_path, "rules.thence")
    rules.write_text(RANKS.replace(" valid", " from 'ranks.csv' valid"))
    assert thence.load(rules).run(RIDES)["ranked"].num_rows == 3


def test_a_row_that_ends_before_it_begins_is_named() -> None:
    rows = [{"driver": "ann", "stars": 1, "since": at, "till": 2} for at in (2, 3)]
    with pytest.raises(thence.InputError) as error:
        stars(rows)
    assert str(error.value) == (
        "tables['rank']: table 'rank', row 2: it is valid from 1970-01-01T00:00:00.000003Z, which "
        "is after 1970-01-01T00:00:00.000002Z, up to which it is valid."
    )


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(thence.InputError, match=r"has no column 'till'.*valid from since to till"):
        stars([{"driver": "ann", "stars": 1, "since": 2}])


def test_what_is_no_time_is_named() -> None:
    with pytest.raises(thence.InputError, match="column 'since', row 1: 'soon' cannot be used"):
        stars([{"driver": "ann", "stars": 1, "since": "soon", "till": 2}])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            "table t(x int) valid from since to since;",
            "the rows of 't' are valid from and to 'since', so at no time (line 1, column 16)",
        ),
        (
            "table t(x int, since string) valid from since;",
            "'since' says when rows of 't' are valid, and is declared as string "
            "(line 1, column 30)",
        ),
        (
            "table t(x int) valid to till;\nr(x) :- t(x);",
            "rows of 't' are valid at certain times only, and the relation 'r' holds at all times "
            "(line 2, column 9)",
        ),
        (
            "event a(x int); table t(x int) valid to till;\nr(x) <- a(x) seq t(x);",
            "a row of the table 't' has no time, so `seq` cannot be about it (line 2, column 18)",
        ),
    ],
)
def test_what_is_refused(declared: str, message: str) -> None:
    with pytest.raises(thence.ProgramError) as error:
        thence.compile(declared)
    assert str(error.value).splitlines()[0] == f"error: {message}"


@pytest.mark.parametrize("clause", ["valid since", "valid from", "valid from since to", "valid"])
def test_what_cannot_be_read(clause: str) -> None:
    with pytest.raises(thence.ProgramError):
        thence.compile(f"table t(x int) {clause};")


def test_the_words_are_not_reserved() -> None:
    text = """
        event valid(to int);
        table from(valid int, to int) valid from valid_ to to;
        r(to) <- valid(to), from(to, _);
    """
    with pytest.raises(thence.ProgramError, match="declared as int"):
        thence.compile(text)
    thence.compile(text.replace("to to", "to to_"))


@pytest.mark.parametrize(
    "valid", ["valid from since to till", "valid from since", "valid to `the end`"]
)
def test_printed_back(valid: str) -> None:
    text = f"table t(x int) from 'rows.csv' {valid};"
    assert thence.compile(text).text() == text


def test_in_python() -> None:
    ride = thence.event("ride", driver=str)
    rank = thence.table("rank", driver=str, stars=int, valid=("since", "till"))
    r, k = ride("r"), rank("k")
    ranked = (r & k).where(k.driver == r.driver).select("ranked", k.stars)
    program = thence.build(ranked)
    assert "table rank(driver string, stars int) valid from since to till;" in program.text()
    rows = [{"driver": "ann", "stars": 3, "since": 2, "till": 3}]
    assert program.run(RIDES, tables={"rank": rows})["ranked"].num_rows == 1


@pytest.mark.parametrize("valid", ["since", ("since",), (None, None), ("a", "a"), (1, 2)])
def test_python_refuses_what_names_no_columns(valid: object) -> None:
    with pytest.raises(thence.ThenceError, match="valid of 't' must be two columns"):
        thence.table("t", x=int, valid=valid)


def test_python_refuses_columns_that_are_no_times() -> None:
    with pytest.raises(thence.ThenceError, match="so it cannot be int"):
        thence.table("t", since=int, valid=("since", None))


def test_python_refuses_events_with_versions() -> None:
    with pytest.raises(thence.ThenceError, match="only rows of tables are `valid`"):

        class Ride(thence.Event, name="ride", valid=("since", "till")):
            driver: str


def test_the_plan_says_so() -> None:
    program = thence.compile(RANKS)
    (table,) = program.plan.to_json()["tables"]
    assert table["valid"] == {"from": "since", "to": "till"}
    assert table["columns"] == ["driver", "stars"]
    assert "valid from since to till   -- true while valid" in program.explain()


def test_rows_of_all_versions() -> None:
    rows = [{"driver": "ann", "stars": n, "since": n, "till": None} for n in (1, 2)]
    assert thence.compile(RANKS).rows("rank", tables={"rank": rows})["stars"].to_pylist() == [1, 2]


def test_lineage_shows_the_row() -> None:
    rows = [{"driver": "ann", "stars": 3, "since": 2, "till": 3}]
    found = thence.compile(RANKS).run(RIDES, tables={"rank": rows}, lineage=True)
    assert "rank" in str(found["ranked"]["lineage"].to_pylist())
    assert "valid" not in str(found["ranked"]["lineage"].to_pylist())
