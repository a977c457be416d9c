"""What a user can do wrong, or a machine: each is an error of Thence's that says what and why."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import EMBEDDED, Command

import thence as package
from thence.engine.arrays.rows import texts_fit

PROGRAM = "event e(s string, n int); event z();\nr(s, n) <- e(s, n);"


@pytest.fixture
def program() -> package.Program:
    return package.compile(PROGRAM)


def refused(program: package.Program, events: Any, **options: Any) -> str:
    with pytest.raises(package.InputError) as caught:
        program.run(events, **options)
    return str(caught.value)


# --- columns --------------------------------------------------------------------------------------

KINDS = {"categories": pl.Categorical(), "an enumeration": pl.Enum(["a", "b", "c"])}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunks", [1, 2])
def test_categories_of_polars_are_texts(
    program: package.Program, kind: str, chunks: int, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"s": ["b", "a", None, "b"], "n": [1, 2, 3, 4], "time": [1, 2, 3, 4]})
    frame = frame.with_columns(pl.col("s").cast(KINDS[kind]))
    typed = frame.with_columns(pl.Series("type", ["e", "z", "e", "e"]).cast(pl.Categorical))
    if chunks == 2:
        frame = pl.concat([frame, frame.reverse()], rechunk=False).slice(0, 4)
        typed = pl.concat([typed, typed.reverse()], rechunk=False).slice(0, 4)
    expected = ["b", "a", None, "b"]
    assert program.run({"e": frame})["r"]["s"].to_pylist() == expected
    columns = {name: frame[name] for name in frame.columns}
    assert program.run({"e": columns})["r"]["s"].to_pylist() == expected
    assert program.run(typed)["r"]["s"].to_pylist() == ["b", None, "b"]
    assert program.session().push({"e": frame})["r"]["s"].to_pylist() == expected
    frame.write_parquet(tmp_path / "e.parquet")
    assert program.run({"e": tmp_path / "e.parquet"})["r"]["s"].to_pylist() == expected


def test_categories_of_pandas_are_texts(program: package.Program) -> None:
    frame = pd.DataFrame({"s": pd.Categorical(["b", "a"]), "n": [1, 2], "time": [1, 2]})
    assert program.run({"e": frame})["r"]["s"].to_pylist() == ["b", "a"]


# --- more text than an array of Arrow's holds, with a limit that a test can reach -----------------


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thence.io.text_sizes.MOST_TEXT", 1000)


ROWS = [{"s": "x" * 40, "n": n, "time": n} for n in range(50)]


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize(
    "events",
    [ROWS, pa.Table.from_pylist(ROWS), pl.DataFrame(ROWS), pd.DataFrame(ROWS)],
    ids=["records", "arrow", "polars", "pandas"],
)
def test_more_text_than_fits_into_a_column_is_refused(
    program: package.Program, events: Any
) -> None:
    said = refused(program, {"e": events})
    assert "event 'e', column 's' holds more than 2 GiB of text" in said


@pytest.mark.usefixtures("little_room")
def test_several_tables_that_fit_alone_may_not_fit_together(program: package.Program) -> None:
    part = ROWS[:15]
    program.run({"e": [part]})
    assert "column 's' holds more than 2 GiB of text" in refused(program, {"e": [part, part]})


def arrows_own(problem: Callable[[], Any]) -> pa.ArrowInvalid:
    """What Arrow raises."""
    with pytest.raises(pa.ArrowInvalid) as caught:
        problem()
    return caught.value


def test_more_text_than_fits_into_state_or_results_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With what Arrow says of 2 GiB, which takes no such memory: the same text again and again."""
    concat = pa.concat_arrays
    overflow = arrows_own(lambda: concat([pa.array(["x" * 2**20])] * 2100))

    def limited(parts: list[Any]) -> Any:
        if sum(part.nbytes for part in parts) > 1000:
            raise overflow
        return concat(parts)

    program = package.compile(
        "event e(s string); event f(n int); r(s, n) <- (e(s) and f(n)) within 1 day;"
    )
    session = program.session()
    rows = [{"s": "x" * 40, "time": n} for n in range(15)]
    session.push({"e": rows})
    monkeypatch.setattr(pa, "concat_arrays", limited)
    with pytest.raises(package.EvaluationError, match="'s' would hold more than 2 GiB of text"):
        session.push({"e": [{**row, "time": row["time"] + 100} for row in rows]})
    assert session.state_rows == 15
    monkeypatch.undo()
    assert session.push({"f": [{"n": 1, "time": 200}]})["r"].num_rows == 15


def test_other_complaints_of_arrows_stay_what_they_are() -> None:
    with pytest.raises(pa.ArrowInvalid, match="x"), texts_fit():
        pa.array(["x"]).cast(pa.int64())
    for said in (
        "Take operation overflowed binary array capacity",
        "array cannot contain more than 2147483646 bytes, have 2306867200",
    ):
        with pytest.raises(package.EvaluationError, match="a column would hold"), texts_fit():
            raise pa.ArrowInvalid(said)


def test_blocks_and_state_that_spark_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    from test_spark_restart import TEXTS, shard_state

    from thence.spark import blocks
    from thence.spark import shard_state as stored_state

    shard, _ = shard_state(TEXTS)
    before = shard.read()
    state = before.state
    monkeypatch.setattr(stored_state, "MOST", 100)
    with pytest.raises(package.StateError, match="a shard remembers 2 rows; those of them that"):
        shard.write(state, before)
    monkeypatch.setattr(blocks, "MOST", 100)
    block = blocks.Block(0, 0, "a", 2, blocks.encode(state.events["a"].whole()))
    with pytest.raises(package.EvaluationError, match="more than 2 GiB of events at once"):
        blocks.to_batch([block])


# --- paths and files ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda p: p, lambda p: {"e": p}, lambda p: [p]])
def test_a_path_that_is_none_is_refused(
    program: package.Program, form: Callable[[str], Any]
) -> None:
    assert "'' is no path" in refused(program, form(""))
    assert "File name too long" in refused(program, form("x" * 300 + ".csv"))
    assert "File name too long" in refused(program, form("x" * 5000))
    assert "There is no file" in refused(program, form("a\0b.csv"))
    assert "There is no file" in refused(program, form("a\ud800.csv"))
    assert len(refused(program, form("x" * 5000))) < 500


def test_a_program_whose_path_is_none_is_refused() -> None:
    for path in ("", "x" * 5000, "a\0b", "a\ud800"):
        with pytest.raises(package.InputError) as caught:
            package.load(path)
        assert str(caught.value).isprintable()


def test_pipes_and_devices_are_refused_at_once(
    program: package.Program, thence: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They can be read but once, or have no end, and an open pipe would wait for ever."""
    os.mkfifo(tmp_path / "e.csv")
    with socket.socket(socket.AF_UNIX) as endpoint:
        monkeypatch.chdir(tmp_path)
        endpoint.bind("e.jsonl")
        assert "'e.jsonl' is no file but a device or a socket" in refused(program, {"e": "e.jsonl"})
    assert "e.csv' is a pipe" in refused(program, {"e": tmp_path / "e.csv"})
    assert "e.csv' is a pipe" in refused(program, {"e": str(tmp_path / "*.csv")})
    assert "is no file but a device" in refused(program, "/dev/zero")
    (tmp_path / "p.thence").write_text(PROGRAM)
    done = thence("run", tmp_path / "p.thence", "--events", f"e={tmp_path}/e.csv", *EMBEDDED)
    assert done.code == 2
    assert "is a pipe" in done.err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_text_in_another_encoding_is_refused(
    program: package.Program, tmp_path: Path, encoding: str, name: str
) -> None:
    text = "s,n,time\na,1,1\n" if name == "e.csv" else '{"s": "a", "n": 1, "time": 1}\n'
    (tmp_path / name).write_bytes(text.encode(encoding))
    said = refused(program, {"e": tmp_path / name})
    assert f"{name}' is not text in UTF-8, but in UTF-16 or UTF-32" in said


def test_a_header_that_is_not_text_is_refused(program: package.Program, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes("größe,s,n,time\n1,a,1,1\n".encode("latin-1"))
    assert "the header is not text in UTF-8" in refused(program, {"e": tmp_path / "e.csv"})


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_field_of_csv_may_be_longer_than_a_block(
    program: package.Program, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"e.csv{ending}"
    rows = f's,n,time\n{"x" * 3_000_000},1,1\n"{"y" * 20_000_000}",2,2\nz,3,3\n'.encode()
    path.write_bytes(gzip.compress(rows, 1) if ending else rows)
    found = program.run({"e": path})["r"]
    assert [len(text) for text in found["s"].to_pylist()] == [3_000_000, 20_000_000, 1]
    path.write_bytes(gzip.compress(b"x" * 3_000_000 + b",s,n,time\n1,a,1,1\n") if ending else rows)
    assert program.run({"e": path})["r"].num_rows


@pytest.mark.parametrize("twice", ["s", "time"])
def test_a_column_that_is_there_twice_is_refused(
    program: package.Program, tmp_path: Path, twice: str
) -> None:
    arrays = [pa.array(["a"]), pa.array([1]), pa.array([1]), pa.array([1])]
    table = pa.Table.from_arrays(arrays, ["s", "n", "time", twice])
    pq.write_table(table, tmp_path / "e.parquet")
    said = refused(program, {"e": tmp_path / "e.parquet"})
    assert f"e.parquet' has 2 columns named '{twice}'" in said


def test_a_damaged_parquet_file_is_refused_or_read(
    program: package.Program, tmp_path: Path
) -> None:
    """Whatever is damaged: footers, pages, or texts that are none any more."""
    path = tmp_path / "e.parquet"
    texts = [f"text {n} é" for n in range(2000)]
    pq.write_table(
        pa.table({"s": texts, "n": range(2000), "time": range(2000)}),
        path,
        compression="none",
        use_dictionary=False,
    )
    whole, source, messages = path.read_bytes(), random.Random(1), []
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(source.choice([1, 30])):
            damaged[source.randrange(4, len(damaged))] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        try:
            program.run({"e": path})["r"].to_pylist()
        except package.InputError as problem:
            messages.append(str(problem))
    assert len(messages) > 20
    assert all(str(path) in message for message in messages)
    assert any("UTF" in message.upper() for message in messages)


# --- names and messages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "event `a\ud800`(k int); r(k) <- `a\ud800`(k);",
        "event a(`k\ud800` int); r(x) <- a(x);",
        "event a(s string); r(s) <- a(s) where s = '\udfff';",
        "-- \ud800\nevent a(k int); r(k) <- a(k);",
    ],
)
def test_half_a_character_is_no_text(text: str) -> None:
    with pytest.raises(package.ParseError, match="half of a surrogate pair") as caught:
        package.compile(text)
    str(caught.value).encode()
    assert all(str(each).encode() for each in package.check(text))


def test_a_name_cannot_hold_nul() -> None:
    for text in ("event `a\0`(k int); r(k) <- `a\0`(k);", "event a(`k\0` int); r(x) <- a(x);"):
        with pytest.raises(package.ParseError, match="a name cannot hold the character NUL"):
            package.compile(text)
    text = package.compile("event a(s string); r(s) <- a(s) where s = 'x\0';")
    assert text.run({"a": [{"s": "x\0", "time": 1}]})["r"].num_rows == 1


@pytest.mark.parametrize("name", ["a\0", "a\ud800"])
def test_names_in_python_are_held_to_the_same(name: str) -> None:
    plain = package.event("plain", k=int)
    ways: list[Callable[[], Any]] = [
        lambda: package.event(name, k=int),
        lambda: package.event("e", {name: int}),
        lambda: package.table(name, k=int),
        lambda: package.table("t", {name: int}),
        lambda: package.build(plain("x").select(name)),
        lambda: package.build(plain("x").select("r", **{name: plain("x").k})),
        lambda: package.build(plain(name).select("r")),
        lambda: package.build((plain("x") & package.derived(name)()).select("r")),
        lambda: package.var(name),
    ]
    for way in ways:
        with pytest.raises(package.ThenceError) as caught:
            way()
        str(caught.value).encode()


def test_what_a_message_quotes_does_nothing_to_a_terminal(program: package.Program) -> None:
    said = refused(program, {"\x1b[2Je\x07\r": []})
    assert "\x1b" not in said
    assert said.isprintable()
    assert "\x1b" not in refused(program, "\x1b]0;owned\x07.csv")


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (made right here)


@pytest.mark.parametrize("again", [pickled, copy.copy])
def test_an_error_can_be_pickled_and_copied(again: Callable[[Any], Any]) -> None:
    """Process pools and test runners do so."""
    with pytest.raises(package.CheckError) as caught:
        package.compile("event a(k int);\nr(k) <- b(k);\nq(k) <- c(k);")
    problem = again(caught.value)
    assert type(problem) is package.CheckError
    assert str(problem) == str(caught.value)
    assert problem.diagnostics == caught.value.diagnostics
    assert (problem.line, problem.column) == (2, 9)
    for kind in (package.InputError, package.StateError, package.EvaluationError):
        assert str(again(kind("what and why"))) == "what and why"


@pytest.mark.parametrize("shards", ["x", 1.5, True, 0, -1, 10**6, [2]])
def test_shards_are_a_number(program: package.Program, shards: Any) -> None:
    pytest.importorskip("pyspark")
    from thence import spark as ts

    with pytest.raises(package.InputError, match="shards must be a whole number from 1 to 10,000"):
        ts.detect(program, {}, shards=shards)
    with pytest.raises(package.InputError, match="shards must be a whole number from 1 to 10,000"):
        ts.check_restart("nowhere", program, spark=None, shards=shards)


def test_emit_is_a_name_or_several(program: package.Program) -> None:
    for emit in (5, object()):
        assert "emit must be the name of an event" in refused(program, {"e": []}, emit=emit)
