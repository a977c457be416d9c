"""Results in files: what is written can be read again, and appears whole or not at all."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.io.ingest import read_events
from thence.io.render import csv_text, json_text
from thence.io.write import write_results, write_table
from thence.model.errors import InputError
from thence.model.schema import Attribute, EventSchema
from thence.model.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

DECLARED = EventSchema(
    "e",
    (
        Attribute("i", INT),
        Attribute("f", FLOAT),
        Attribute("b", BOOL),
        Attribute("s", STRING),
        Attribute("t", TIMESTAMP),
        Attribute("d", DURATION),
        Attribute("m", Type("decimal", precision=18, scale=6)),
        Attribute("l", list_of(STRING)),
        Attribute("lt", list_of(TIMESTAMP)),
    ),
)
MOMENT = datetime(2026, 1, 1, 6, 0, 0, 250_000, tzinfo=UTC)
VALUES = {
    "i": [1, None, -(2**63)],
    "f": [0.1, float("-inf"), None],
    "b": [True, None, False],
    "s": ['say "hi", \\ then\nleave \t é', "", None],
    "t": [MOMENT, None, datetime(1, 1, 1, tzinfo=UTC)],
    "d": [5, None, -7],
    "m": [Decimal("1.5"), None, Decimal("-123456789012.000001")],
    "l": [["a", None, 'b"'], [], None],
    "lt": [[MOMENT], None, [None]],
    "start": [MOMENT] * 3,
    "end": [MOMENT] * 3,
}


def everything() -> pa.Table:
    kinds = {a.name: a.type.arrow for a in DECLARED.attributes}
    moment = pa.timestamp("us", "UTC")
    return pa.table({n: pa.array(v, kinds.get(n, moment)) for n, v in VALUES.items()})


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_what_is_written_reads_back_as_it_was(tmp_path: Path, suffix: str) -> None:
    table = everything()
    path = write_table(table, tmp_path / f"e{suffix}")
    found = read_events({"e": path}, {"e": DECLARED})["e"]
    assert {n: c.to_pylist() for n, c in found.columns.items()} == {
        n: table[n].to_pylist() for n in DECLARED.names
    }
    assert found.start.tolist() == table["start"].cast(pa.int64()).to_pylist()


MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
ANY = {
    "i": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(allow_nan=False),
    "b": st.booleans(),
    "s": st.text(st.characters(exclude_categories=["Cs"])),
    "t": MOMENTS,
    "d": st.integers(-(2**62), 2**62),
    "m": st.decimals(-(10**11), 10**11, places=6),
    "l": st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
    "lt": st.lists(st.none() | MOMENTS, max_size=2),
}


@given(rows=st.lists(st.fixed_dictionaries({n: st.none() | s for n, s in ANY.items()}), min_size=1))
def test_every_route_into_the_engine_gives_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("routes", numbered=True)
    records = [{**row, "time": number} for number, row in enumerate(rows)]
    kinds = {a.name: a.type.arrow for a in DECLARED.attributes}
    table = pa.table(
        {n: pa.array([r[n] for r in records], kinds.get(n, pa.int64())) for n in records[0]}
    )
    routes = {"records": records, "arrow": table, "polars": pl.from_arrow(table)}
    for suffix in (".parquet", ".csv", ".jsonl"):
        routes[suffix] = write_table(table, folder / f"e{suffix}")
    found = {n: read_events({"e": r}, {"e": DECLARED})["e"] for n, r in routes.items()}
    for events in found.values():
        assert {n: c.to_pylist() for n, c in events.columns.items()} == {
            n: table[n].to_pylist() for n in DECLARED.names
        }
        assert events.start.tolist() == list(range(len(rows)))


def test_nan_reads_back(tmp_path: Path) -> None:
    schema = EventSchema("e", (Attribute("x", FLOAT),))
    table = pa.table({"x": [float("nan"), 1.0], "time": [1, 2]})
    for suffix in (".csv", ".jsonl"):
        path = write_table(table, tmp_path / f"e{suffix}")
        found = read_events({"e": path}, {"e": schema})["e"].columns["x"].to_pylist()
        assert str(found) == "[nan, 1.0]"


def test_csv_looks_as_a_person_would_write_it(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b,c"], "n": [1, None], "start": everything()["start"][:2]})
    assert write_table(table, tmp_path / "x.csv").read_text() == (
        'id,n,start\na,1,2026-01-01T06:00:00.25Z\n"b,c",,2026-01-01T06:00:00.25Z\n'
    )


FORMULAS = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", '=HYPERLINK("x","y")']


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_in_csv_are_escaped_where_asked(tmp_path: Path, text: str) -> None:
    table = pa.table({text: [text, "fine", None], "n": [-1, 2, 3], "l": [["=1"], [], None]})
    path = write_table(table, tmp_path / "x.csv", formulas="escape")
    found = list(csv.reader(path.open(newline="", encoding="utf-8")))
    assert found == [
        [f"'{text}", "n", "l"], [f"'{text}", "-1", '["=1"]'], ["fine", "2", "[]"], ["", "3", ""],
    ]  # fmt: skip
    for kind in (".csv", ".jsonl", ".parquet"):  # unless one asks, a value is what it is
        assert text in read_back(write_table(table, tmp_path / f"y{kind}"))
    for kind in (".jsonl", ".parquet"):
        assert text in read_back(write_table(table, tmp_path / f"z{kind}", formulas="escape"))


def read_back(path: Path) -> list[Any]:
    """The texts in the first column of a file."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).column(0).to_pylist())
    if path.suffix == ".csv":
        return [row[0] for row in csv.reader(path.open(newline="", encoding="utf-8"))][1:]
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [next(iter(json.loads(line).values())) for line in lines]


def test_batches_of_very_long_texts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 2 GiB the lines of a batch would not fit into one array of Arrow's."""
    table = pa.table({"id": [str(n) * 50 for n in range(100)], "n": range(100)})
    whole = [b"".join(csv_text(table)), b"".join(json_text(table, "e"))]
    monkeypatch.setattr("thence.io.render._BATCH_BYTES", 500)
    assert [b"".join(csv_text(table)), b"".join(json_text(table, "e"))] == whole
    assert len(list(csv_text(table))) > 10


def test_every_line_of_json_is_strict_json(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    lines = write_table(everything(), tmp_path / "x.jsonl").read_text().splitlines()
    first, second, _ = (json.loads(line, parse_constant=refuse) for line in lines)
    assert first["s"] == VALUES["s"][0]
    assert first["d"] == 5
    assert second["f"] == "-Infinity"


def test_results_of_one_event_fill_one_file(tmp_path: Path) -> None:
    found = {"late": pa.table({"id": [1]})}
    assert write_results(found, tmp_path / "out.csv") == [tmp_path / "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "id\n1\n"


def test_results_of_several_events_share_json_lines_with_a_type(tmp_path: Path) -> None:
    found = {"late": pa.table({"id": [1]}), "lost": pa.table({"n": ["x"]})}
    write_results(found, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == (
        '{"type": "late", "id": 1}\n{"type": "lost", "n": "x"}\n'
    )


def test_results_of_several_events_fill_a_directory(tmp_path: Path) -> None:
    found = {"late": pa.table({"id": [1]}), "lost": pa.table({"n": ["x"]})}
    write_results(found, tmp_path / "out" / "day")
    assert pq.read_table(tmp_path / "out" / "day" / "late.parquet").to_pylist() == [{"id": 1}]
    write_results(found, tmp_path / "out" / "day", "csv")
    assert (tmp_path / "out" / "day" / "lost.csv").read_text() == "n\nx\n"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_results_of_several_events_do_not_fit_one_table(tmp_path: Path, name: str) -> None:
    found = {"late": pa.table({"id": [1]}), "lost": pa.table({"n": ["x"]})}
    with pytest.raises(InputError, match="one file, and there are results of 2 events"):
        write_results(found, tmp_path / name)


def test_a_name_and_a_format_that_disagree_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has the name of another format than json"):
        write_results({"late": pa.table({"id": [1]})}, tmp_path / "out.csv", "json")
    with pytest.raises(InputError, match="Unknown format 'xml'"):
        write_results({"late": pa.table({"id": [1]})}, tmp_path / "out", "xml")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    write_table(pa.table({"id": [1]}), target)
    unwritable = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(pa.ArrowNotImplementedError):
        write_table(pa.table({"id": unwritable}), target)
    assert pq.read_table(target).to_pylist() == [{"id": 1}]
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    table = pa.table({"id": [1]})
    with pytest.raises(InputError, match=r"gone/x\.csv' cannot be written: No such file"):
        write_table(table, tmp_path / "gone" / "x.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InputError, match=r"d\.csv' is a directory"):
        write_table(table, tmp_path / "d.csv")
