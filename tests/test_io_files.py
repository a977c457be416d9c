"""Events in Parquet, CSV and JSON lines: one file, many, or a directory of them."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thence.io.ingest import read_events
from thence.io.jsonl import JsonFrame, open_jsonl
from thence.io.reading_progress import watching
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

TICK = EventSchema("tick", (Attribute("id", STRING), Attribute("price", FLOAT)))
GATE = EventSchema("gate", ())
DECLARED = {"tick": TICK, "gate": GATE}
EVERYTHING = EventSchema(
    "all",
    (
        Attribute("i", INT),
        Attribute("f", FLOAT),
        Attribute("b", BOOL),
        Attribute("s", STRING),
        Attribute("t", TIMESTAMP),
        Attribute("d", DURATION),
        Attribute("m", Type("decimal", precision=18, scale=6)),
        Attribute("l", list_of(INT)),
    ),
)


def ticks(source: Any) -> list[tuple[Any, ...]]:
    found = read_events(source, DECLARED)["tick"]
    columns = [column.to_pylist() for column in found.columns.values()]
    return list(zip(found.start.tolist(), *columns, strict=True))


def fails(path: Path, content: str | bytes, source: Any = None) -> str:
    """The message with which a file of this content is refused."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_events(source or str(path), DECLARED)
    return str(caught.value)


CSV = 'type,id,price,time\ntick,"a, b",1.5,1970-01-01T00:00:01Z\ngate,,,2\ntick,,,3\n'
JSONL = (
    '{"type": "tick", "id": "a, b", "price": 1.5, "time": 1000000}\n'
    '{"type": "gate", "time": 2}\n'
    '{"type": "tick", "id": null, "price": null, "time": 3}\n'
)
FOUND = [(1_000_000, "a, b", 1.5), (3, None, None)]


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(CSV)
    assert ticks(tmp_path / "x.csv") == FOUND


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json"])
def test_json_lines(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"x{suffix}").write_text(JSONL)
    assert ticks(tmp_path / f"x{suffix}") == FOUND


def test_parquet(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in JSONL.splitlines()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet", row_group_size=1)
    assert ticks(str(tmp_path / "x.parquet")) == FOUND


def test_a_compressed_file_ends_with_both_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(JSONL.encode()))
    assert ticks(tmp_path / "x.csv.gz") == ticks(tmp_path / "x.jsonl.gz") == FOUND


def test_one_json_array_of_records(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[" + ",\n".join(JSONL.splitlines()) + "]")
    assert ticks(tmp_path / "x.json") == FOUND


def test_a_byte_order_mark_and_carriage_returns_are_no_data(tmp_path: Path) -> None:
    for name, text in (("x.csv", CSV), ("x.jsonl", JSONL)):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert ticks(tmp_path / name) == FOUND


def test_a_directory_is_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "1.csv").write_text("type,id,price,time\ntick,a,1,1\n")
    (tmp_path / "deep" / "2.jsonl").write_text(JSONL.splitlines()[2])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".1.csv.crc").write_text("")
    assert ticks(tmp_path) == [(1, "a", 1.0), (3, None, None)]


def test_a_pattern_is_the_files_that_match(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"day{number}.csv").write_text(f"type,id,price,time\ntick,a,1,{number}\n")
    assert [row[0] for row in ticks(str(tmp_path / "day[12].csv"))] == [1, 2]


def test_a_file_without_types_is_the_event_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "tick.csv").write_text("id,price,time\na,1,1\n")
    (tmp_path / "gate.jsonl").write_text('{"time": 5}\n')
    found = read_events(tmp_path, DECLARED)
    assert (len(found["tick"]), found["gate"].start.tolist()) == (1, [5])


def test_files_without_types_are_parsed_as_declared(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "time,i,f,b,s,t,d,m,l\n"
        '0,12,1e3,true,007,2026-01-01,5,0.10,"[1, 2]"\n'
        '1,+3.0,nan,0,"",1767225600000000,2 s,1,[]\n'
        "2,,,,,,,,\n"
    )
    found = read_events({"all": tmp_path / "x.csv"}, {"all": EVERYTHING})["all"]
    midnight = datetime(2026, 1, 1, tzinfo=UTC)
    values = {name: column.to_pylist() for name, column in found.columns.items()}
    assert str(values.pop("f")) == "[1000.0, nan, None]"
    assert values == {
        "i": [12, 3, None],
        "b": [True, False, None],
        "s": ["007", "", None],
        "t": [midnight, midnight, None],
        "d": [timedelta(microseconds=5), timedelta(seconds=2), None],
        "m": [Decimal("0.1"), Decimal(1), None],
        "l": [[1, 2], [], None],
    }


def test_json_keeps_the_digits_of_a_decimal(tmp_path: Path) -> None:
    schema = EventSchema("e", (Attribute("m", Type("decimal", precision=38, scale=20)),))
    (tmp_path / "e.jsonl").write_text('{"m": 0.12345678901234567891, "time": 0}')
    found = read_events(tmp_path, {"e": schema})["e"]
    assert found.columns["m"].to_pylist() == [Decimal("0.12345678901234567891")]


MIXED = {
    "a number as text": '{"id": "a", "price": "2.5", "time": 1}\n'
    '{"id": "b", "price": 3, "time": 2}',
    "times of two kinds": '{"id": "a", "price": 2.5, "time": 1}\n'
    '{"id": "b", "price": 3, "time": "1970-01-01T00:00:00.000002Z"}',
    "blank lines": '\n{"id": "a", "price": 2.5, "time": 1}\n\n{"id":"b","price":3,"time":2}\n\n',
    "start and end later": '{"id": "a", "price": 2.5, "time": 1}\n'
    '{"id": "b", "price": 3, "start": 2, "end": 2}',
}


@pytest.mark.parametrize("text", MIXED.values(), ids=MIXED)
def test_json_lines_need_not_look_alike(tmp_path: Path, text: str) -> None:
    (tmp_path / "tick.jsonl").write_text(text)
    assert ticks(tmp_path) == [(1, "a", 2.5), (2, "b", 3.0)]


def test_json_lines_that_look_alike_are_read_by_arrow() -> None:
    columns: dict[str, set[Type]] = {"type": set(), "time": set(), "price": {FLOAT}}
    assert isinstance(open_jsonl("x", JSONL.encode(), columns), JsonFrame)


def test_a_key_that_is_null_everywhere_is_still_a_column(tmp_path: Path) -> None:
    (tmp_path / "tick.jsonl").write_text('{"id": null, "price": 1, "time": 1}\n')
    assert ticks(tmp_path) == [(1, None, 1.0)]


def test_a_key_that_no_record_of_the_event_has_is_a_missing_column(tmp_path: Path) -> None:
    lines = '{"type": "gate", "time": 1, "id": "x"}\n{"type": "tick", "price": 1, "time": 1}\n'
    message = fails(tmp_path / "x.jsonl", lines)
    assert "event 'tick' has no column 'id'" in message
    assert "Its columns are: 'type', 'price', 'time'." in message


EMPTY = {
    "a csv without a byte": ("x.csv", b""),
    "a csv with only a header": ("x.csv", b"type,id,price,time\n"),
    "json lines without a byte": ("x.jsonl", b""),
    "json lines with only blanks": ("x.jsonl", b"\n \n"),
    "an empty json array": ("x.json", b"[]"),
}


@pytest.mark.parametrize(("name", "content"), EMPTY.values(), ids=EMPTY)
def test_an_empty_file_has_no_events(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert ticks(tmp_path / name) == []


def test_a_parquet_file_may_have_no_rows(tmp_path: Path) -> None:
    table = pa.table({"type": pa.array([], pa.string()), "time": pa.array([], pa.int64())})
    pq.write_table(table, tmp_path / "x.parquet")
    assert ticks(tmp_path / "x.parquet") == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file '.*nowhere\.csv'"):
        read_events(tmp_path / "nowhere.csv", DECLARED)
    with pytest.raises(InputError, match=r"No file matches '.*\*\.csv'"):
        read_events(str(tmp_path / "*.csv"), DECLARED)


def test_a_directory_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no files of events"):
        read_events(tmp_path, DECLARED)


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.xlsx", b"")
    assert "unknown format. The known ones are .parquet, .csv, .jsonl, .ndjson, .json." in message


def test_a_directory_with_a_file_of_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(CSV)
    assert "unknown format" in fails(tmp_path / "notes.txt", "", source=tmp_path)


def test_a_csv_row_with_too_few_fields_is_named(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.csv", "type,id,price,time\ntick,a,1,1\ntick,b,2\n")
    assert message.endswith("x.csv', line 3: 3 fields where the header has 4: tick,b,2")


def test_a_csv_column_that_occurs_twice_is_an_error(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.csv", "type,time,id,id,price\ntick,1,a,b,1\n")
    assert "has 2 columns named 'id'" in message


def test_a_bad_value_in_csv_is_named_with_its_row(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.csv", "type,id,price,time\ngate,,,1\ntick,a,cheap,2\n")
    assert "event 'tick', column 'price', row 2: 'cheap' cannot be used; it is not a number." in (
        message
    )


@pytest.mark.parametrize("price", ["0x10", "1_000", "1,5", "--1", "٣"])
def test_numbers_in_csv_are_plain_decimals(tmp_path: Path, price: str) -> None:
    text = f'type,id,price,time\ntick,a,"{price}",2\n'
    assert "it is not a number" in fails(tmp_path / "x.csv", text)


def test_a_bad_line_of_json_is_named(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.jsonl", JSONL + '{"type": "tick", "id"\n')
    assert "x.jsonl', line 4 is not JSON: Expecting ':' delimiter" in message


@pytest.mark.parametrize("line", ["null", "3", '["a"]', '"tick"'])
def test_a_line_of_json_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    assert "line 4 is not a record" in fails(tmp_path / "x.jsonl", JSONL + line)


def test_two_records_on_a_line_are_an_error(tmp_path: Path) -> None:
    message = fails(tmp_path / "x.jsonl", JSONL + JSONL.splitlines()[1] * 2)
    assert "line 4 is not JSON: Extra data" in message


def test_json_that_is_nested_without_end_is_an_error(tmp_path: Path) -> None:
    deep = '{"type": "tick", "time": 1, "id": ' + "[" * 200_000
    assert "line 1 is nested too deeply" in fails(tmp_path / "x.jsonl", deep)


def test_text_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    assert "line 2 is not text in UTF-8" in fails(tmp_path / "x.jsonl", b'{"time": 1}\n{"\xff": 1}')
    assert "is not a readable CSV file" in fails(
        tmp_path / "x.csv", b"type,id,price,time\ntick,\xff,1,1\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(CSV)
    (tmp_path / "x.csv").chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_events(tmp_path / "x.csv", DECLARED)


def test_a_watcher_hears_of_each_file(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(CSV)
    heard: list[str] = []
    with watching(lambda path: heard.append(path.name)):
        ticks(tmp_path)
    ticks(tmp_path)
    assert heard == ["1.csv", "2.csv"]
