"""Tables whose rows are in PostgreSQL, read from a server that the tests start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from postgres_server import USER, Server, programs, server

import thence

pytest.importorskip("adbc_driver_postgresql")
pytestmark = pytest.mark.skipif(
    programs() is None, reason="no PostgreSQL server is installed here (apt install postgresql)"
)

TYPES = """
    event go(x int);
    table kinds(t string, i int, f float, b bool, w timestamp, m decimal(9, 2), l list<int>,
        u string, j string) from postgres 'kinds';
    r(t, i, f, b, w, m, l, u, j) <- go(_), kinds(t, i, f, b, w, m, l, u, j);
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as found:
        found.execute(
            "CREATE TABLE stores (id text, loc text, secret text, rank int)",
            "INSERT INTO stores VALUES ('s1', 'Ulm', 'x', 3), ('s2', 'Bonn', 'y', 4)",
            'CREATE SCHEMA "Odd one"',
            'CREATE TABLE "Odd one"."a ""b""" ("x y" int)',
            'INSERT INTO "Odd one"."a ""b""" VALUES (7)',
            "CREATE TABLE kinds (t text, i smallint, f real, b bool, w timestamptz, "
            "m numeric, l int[], u uuid, j jsonb)",
            "INSERT INTO kinds VALUES ('a', 1, 1.5, true, '2026-01-01 01:00:00+01', 12.340, "
            "'{1,2}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"k\": 1}'), "
            "(null, null, null, null, null, null, null, null, null)",
            "CREATE TABLE numbers (n numeric)",
            "INSERT INTO numbers VALUES (1), ('NaN')",
        )
        yield found


@pytest.fixture(autouse=True)
def connected(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THENCE_POSTGRES", running.uri)


def found(declared: str, rule: str = "r(x) <- go(_), t(x);") -> list[Any]:
    program = thence.compile(f"event go(x int); table t({declared}; {rule}")
    (name,) = [schema.name for schema in program.derived]
    return program.run({"go": [{"x": 1, "time": 1}]})[name].to_pylist()


def values(declared: str) -> list[Any]:
    return [row["x"] for row in found(declared)]


def error_of(declared: str, rule: str = "r(x) <- go(_), t(x);") -> str:
    with pytest.raises(thence.InputError) as raised:
        found(declared, rule)
    return str(raised.value)


def test_rows_are_read_with_the_columns_that_are_declared() -> None:
    rule = "r(x, n) <- go(_), t(x, n);"
    rows = found("loc string, rank int) from postgres 'public.stores'", rule)
    assert sorted((row["x"], row["n"]) for row in rows) == [("Bonn", 4), ("Ulm", 3)]


def test_the_variables_of_libpq_lead_there_as_well(
    running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THENCE_POSTGRES")
    for name, value in {
        "PGHOST": "127.0.0.1", "PGPORT": str(running.port), "PGUSER": USER,
        "PGPASSWORD": running.password, "PGDATABASE": "postgres",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert sorted(values("loc string) from postgres 'stores'")) == ["Bonn", "Ulm"]


def test_names_are_quoted() -> None:
    assert values('`x y` int) from postgres \'"Odd one"."a ""b"""\'') == [7]
    assert sorted(values("loc string) from postgres 'PUBLIC.Stores'")) == ["Bonn", "Ulm"]


def test_what_is_no_name_reaches_no_server() -> None:
    with pytest.raises(thence.ProgramError, match="no name of a table"):
        found("loc string) from postgres 'stores\"; DROP TABLE stores; --'")


def test_a_column_cannot_carry_sql() -> None:
    said = error_of("`loc\" FROM stores; DROP TABLE stores; --` string) from postgres 'stores'")
    assert "has no column" in said
    assert sorted(values("loc string) from postgres 'stores'")) == ["Bonn", "Ulm"]


def test_types_come_as_declared() -> None:
    rows = thence.compile(TYPES).run({"go": [{"x": 1, "time": 1}]})["r"].to_pylist()
    (row,) = [each for each in rows if each["t"] is not None]
    assert len(rows) == 2
    assert (row["i"], row["f"], row["b"]) == (1, 1.5, True)
    assert (str(row["m"]), row["l"]) == ("12.34", [1, 2])
    assert row["w"].isoformat() == "2026-01-01T00:00:00+00:00"
    assert (row["u"], row["j"]) == ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"k": 1}')


def test_a_table_that_is_missing_is_named() -> None:
    assert error_of("x int) from postgres 'public.nothing'") == (
        'PostgreSQL\'s public.nothing cannot be read: relation "public.nothing" does not exist.'
    )


def test_a_column_that_is_missing_is_named() -> None:
    rule = "r(x) <- go(_), t(_, x);"
    assert error_of("loc string, x int) from postgres 'stores'", rule).startswith(
        "PostgreSQL's stores: table 't' has no column 'x'. Its columns are: 'id', 'loc', 'secret', "
        "'rank'."
    )


def test_a_value_of_the_wrong_type_is_named_with_its_row() -> None:
    assert error_of("loc int) from postgres 'stores'").startswith(
        "PostgreSQL's stores: table 't', column 'loc', row 1: 'Ulm' cannot be used;"
    )
    assert error_of("n decimal(9, 2)) from postgres 'numbers'") == (
        "PostgreSQL's numbers, column 'n', row 2: NaN is no decimal number."
    )


@pytest.mark.parametrize(
    "connection",
    [
        "postgresql://thence:hunter2@127.0.0.1:{port}/postgres",  # not the password
        "postgresql://thence:hunter2@127.0.0.1:1/postgres",  # nobody there
        "thence:hunter2@127.0.0.1",  # no connection string
        "host=127.0.0.1 password=very hunter2",
        "postgresql://thence:hun%ter2@127.0.0.1/postgres",
    ],
)
def test_no_error_shows_a_password(
    connection: str, running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THENCE_POSTGRES", connection.format(port=running.port))
    said = error_of("loc string) from postgres 'stores'")
    assert said.startswith("PostgreSQL's stores cannot be read: ")
    assert "hun" not in said


def test_without_a_server_it_says_where_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THENCE_POSTGRES")
    monkeypatch.setenv("PGHOST", "no-such-host.invalid")
    said = error_of("loc string) from postgres 'stores'")
    assert "THENCE_POSTGRES=postgresql://USER@HOST/DATABASE" in said
