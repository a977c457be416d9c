"""Results as Arrow batches: the same as those of a run, without ever holding all of them."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from command_line import EMBEDDED, Command
from run_sizes import chunk_sizes

import thence
from thence import batches
from thence.engine.limits import growth

A_B = "event a(k int, v int); event b(k int, v int);\n"
PAIRS = f"{A_B}r(k, x.v, y.v as w) <- (x: a(k, _) seq y: b(k, _)) within 20 us;"


def events(count: int, first: int = 0, keys: int = 3) -> Any:
    """Simple events, two microseconds apart."""
    numbers = np.arange(count)
    return pa.table({"k": numbers % keys, "v": numbers, "time": numbers * 2 + first})


def both(count: int) -> dict[str, Any]:
    return {"a": events(count), "b": events(count, 1)}


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture
def small_chunks() -> Iterator[None]:
    with chunk_sizes(batches, 7):
        yield


# --- what is given --------------------------------------------------------------------------------


def test_one_event_is_a_reader_that_anything_in_the_world_of_arrow_takes() -> None:
    program = thence.compile(PAIRS)
    found = program.run_batches(both(100), emit="r", batch_rows=64)
    assert isinstance(found, pa.RecordBatchReader)
    whole = program.run(both(100))["r"]
    assert found.schema == whole.schema
    assert rows(pa.table(found)) == rows(whole)  # by way of __arrow_c_stream__


def test_several_events_are_pairs_of_a_name_and_a_batch() -> None:
    program = thence.compile(f"{PAIRS}\nnone(k) <- a(k, -1);\nmany(k, v) <- a(k, v);")
    found = program.run_batches(both(50), batch_rows=20)
    assert list(found.schemas) == ["r", "none", "many"]
    parts: dict[str, list[Any]] = {name: [] for name in found.schemas}
    for name, batch in found:
        assert isinstance(batch, pa.RecordBatch) and 0 < batch.num_rows <= 20
        parts[name].append(batch)
    whole = program.run(both(50))
    for name, some in parts.items():
        table = pa.Table.from_batches(some, found.schemas[name])
        assert table.schema == whole[name].schema
        assert rows(table) == rows(whole[name])
    assert not parts["none"]


def test_rows_of_a_batch_are_sorted_by_start(small_chunks: None) -> None:
    program = thence.compile(f"{A_B}r(x.v, y.v as w) <- x: a and y: b;")
    for batch in program.run_batches(both(30), emit="r", batch_rows=10):
        start = batch.column("start").cast(pa.int64()).to_pylist()
        assert start == sorted(start)


def test_lineage_is_the_same(small_chunks: None) -> None:
    program = thence.compile(f"{A_B}r(k) <- (x: a(k, _) seq b(k, _)) within 9 us;")
    found = program.run_batches(both(40), emit="r", lineage=True, batch_rows=5)
    whole = program.run(both(40), lineage=True)["r"]
    assert found.schema == whole.schema
    assert sorted(map(str, found.read_all().to_pylist())) == sorted(map(str, whole.to_pylist()))


def test_tables_and_an_end_of_time(small_chunks: None) -> None:
    text = f"{A_B}table t(k int, n string);\n"
    text += "r(v, n) <- x: a(k, v), w: extend(x, 3 us), while w: not b(k, _), t(k, n);"
    program = thence.compile(text)
    some = {"a": events(40), "b": events(20, 1)}
    given = {"until": 60, "tables": {"t": [{"k": 0, "n": "x"}, {"k": 2, "n": "y"}]}}
    found = program.run_batches(some, emit="r", **given)
    assert rows(found.read_all()) == rows(program.run(some, **given)["r"]) != []


@pytest.mark.parametrize("value", [0, -1, 1.5, "9", True, None])
def test_a_number_of_rows_that_is_none(value: Any) -> None:
    with pytest.raises(thence.InputError, match="batch_rows must be a whole number from 1 on"):
        thence.compile(PAIRS).run_batches(both(1), batch_rows=value)


def test_what_is_wrong_with_arguments_or_events_is_said_at_once() -> None:
    program = thence.compile(PAIRS)
    with pytest.raises(thence.InputError, match="derives no event 's'"):
        program.run_batches(both(1), emit="s")
    with pytest.raises(thence.InputError, match="'v'"):
        program.run_batches({"a": [{"k": 1, "time": 0}]})
    with pytest.raises(thence.InputError, match="memory_limit"):
        program.run_batches(both(1), memory_limit="lots")


def test_progress_and_figures_are_as_for_a_run() -> None:
    program = thence.compile(f"{PAIRS}\ns(k) <- a(k, _) using first;")
    seen: list[tuple[int, int]] = []
    found = program.run_batches(both(20), progress=lambda *done: seen.append(done))
    assert seen == []
    count = sum(batch.num_rows for name, batch in found if name == "r")
    assert seen[-1] == (2, 2)
    assert f"r: {count} found, {count} of them new" in program.explain(analyze=True)


# --- chunks ---------------------------------------------------------------------------------------

FLOWS = {
    "a pair": "r(x.v, y.v as w) <- x: a seq y: b;",
    "of which rows are not told apart": "r(k) <- a(k, _) seq b(k, _);",
    "by a column, of rows in the middle": "r(x.k) <- (x: a seq y: b) seq z: a where x.k = y.k;",
    "nothing of which is shown but its end": "r() <- x: a seq y: b where x.v + 3 > y.v;",
    "an absence": "r(x.v) <- x: a(k, _), w: extend(x, 5 us), while w: not b(k, _);",
    "at every tick": "r(v) <- ticks(a(_, v), 3 us, 20 us);",
    "a repetition": "r(k, count(x.v) as n) <- ((x: a(k, _)){1,2} seq b(k, _)) within 9 us;",
}
HELD = {
    "read by another rule": "s(k) <- a(k, _) seq b(k, _); r(k) <- s(k) seq a(k, _);",
    "of two rules": "r(k) <- a(k, _) seq b(k, _); r(k) <- b(k, _) seq a(k, _);",
    "of two alternatives": "r(k) <- a(k, _) or b(k, _);",
    "chosen from": "r(k) <- (a(k, _) seq b(k, _)) using recent;",
    "counted": "r(k, count(v)) <- x: a(k, _), w: extend(x, 9 us), while w: collect b(k, v);",
    "recursive": "r(k) <- a(k, _); r(k) <- r(k) seq b(k, _);",
}


def part_of(text: str, **options: Any) -> Any:
    return thence.compile(A_B + text).plan_for(("r",), **options).whole


@pytest.mark.parametrize("what", FLOWS)
def test_results_that_flow_out(what: str) -> None:
    assert list(part_of(FLOWS[what]).flows) == ["r"]


@pytest.mark.parametrize("what", HELD)
def test_results_that_are_held(what: str) -> None:
    found = part_of(HELD[what]).flows
    assert list(found) == (["r"] if what == "read by another rule" else [])


@pytest.mark.parametrize("what", [*FLOWS, *HELD])
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_wherever_they_are_cut_each_result_comes_once(what: str, size: int) -> None:
    program = thence.compile(A_B + (FLOWS | HELD)[what])
    source = np.random.default_rng(size)
    given = {
        name: pa.table({c: source.integers(0, 12, 40) for c in ("k", "v", "time")}) for name in "ab"
    }
    with chunk_sizes(batches, size):
        found = program.run_batches(given, 60, emit="r", batch_rows=size).read_all()
    whole = program.run(given, 60)["r"]
    assert len(whole) > 0
    assert rows(found) == rows(whole)


def test_a_chunk_is_made_when_it_is_asked_for(small_chunks: None) -> None:
    """The value that cannot be computed is that of the last pair: all before it are there."""
    program = thence.compile(f"{A_B}r(1 % (19 - x.v) as n, y.v) <- x: a seq y: b;")
    found = program.run_batches(both(20), emit="r", batch_rows=7)
    count = 0
    with pytest.raises(thence.EvaluationError, match="by zero"):
        while True:
            count += found.read_next_batch().num_rows
    assert 200 < count < 210


# --- what is held, and by whom --------------------------------------------------------------------


@pytest.mark.parametrize("one", [True, False])
def test_whoever_stops_early_frees_everything(one: bool, small_chunks: None) -> None:
    numbers = np.arange(10_000)
    given = {name: pa.table({"k": numbers % 3, "v": numbers, "time": numbers}) for name in "ab"}
    held = weakref.ref(numbers)
    program = thence.compile(PAIRS)
    found = program.run_batches(given, emit="r" if one else None, batch_rows=10)
    next(iter(found))
    del given, numbers
    gc.collect()
    assert held() is not None
    found.close()
    if one:
        del found  # a reader lets go of what it reads when it goes itself
    else:
        assert list(found) == []
    gc.collect()
    assert held() is None


def test_a_with_block_closes() -> None:
    with thence.compile(PAIRS).run_batches(both(10)) as found:
        next(found)
    assert list(found) == []


def test_nothing_of_a_run_holds_between_its_batches(small_chunks: None) -> None:
    """Whoever consumes batches may run programs of their own, with limits of their own."""
    other = thence.compile("event a(k int, v int); s(x.v, y.v as w) <- x: a and y: a;")
    found = thence.compile(PAIRS).run_batches(both(30), batch_rows=7, max_matches=1000)
    for _ in found:
        assert growth._budget.get() is None
        assert other.run({"a": events(40)})["s"].num_rows == 1600


# --- limits ---------------------------------------------------------------------------------------


def test_matches_are_counted_over_all_chunks(small_chunks: None) -> None:
    program = thence.compile(f"{A_B}r(x.v, y.v as w) <- x: a seq y: b;")
    assert len(program.run_batches(both(20), emit="r", max_matches=210).read_all()) == 210
    with pytest.raises(thence.LimitError, match=r"'x' and 'y' gives 2.. matches") as caught:
        program.run_batches(both(20), emit="r", max_matches=200, batch_rows=7).read_all()
    assert "2 | r(x.v" in str(caught.value)


def test_a_run_that_does_not_fit_says_that_batches_would() -> None:
    program = thence.compile(f"{A_B}r(x.v, y.v as w) <- x: a seq y: b;\ns(k) <- r(k, _);")
    with pytest.raises(thence.LimitError) as caught:
        program.run(both(20_000), emit="r", memory_limit="100 MB")
    assert "run_batches" in str(caught.value)
    with pytest.raises(thence.LimitError) as caught:
        program.run(both(20_000), memory_limit="100 MB")  # the rule 's' reads them all
    assert "run_batches" not in str(caught.value)


CHILD = """
import resource, sys
import numpy as np, pyarrow as pa
import thence

many = {pairs}
numbers = np.arange(many)
given = {{
    "a": pa.table({{"k": numbers * 0, "time": numbers * 2}}),
    "b": pa.table({{"k": numbers * 0, "time": numbers * 2 + 1}}),
}}
text = "event a(k int); event b(k int); r(k) <- (a(k) seq b(k)) within {window} us;"
program = thence.compile(text)
program.run({{name: table.slice(0, 9) for name, table in given.items()}})
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + {room}
resource.setrlimit(resource.RLIMIT_AS, (room, room))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{work}
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024)
"""
MEGABYTE = 1 << 20


def in_a_child(work: str, pairs: int, window: int, room: int, *arguments: object) -> list[str]:
    """What some work prints in a process whose memory is limited; and by how much its peak rose."""
    script = CHILD.format(work=work, pairs=pairs, window=window, room=room)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


needs_linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux")


@needs_linux
def test_a_result_that_is_larger_than_memory_is_counted() -> None:
    """Twenty million pairs, of which the times alone take 320 MB."""
    work = """
print(sum(b.num_rows for b in program.run_batches(given, emit="r", memory_limit="150 MB")))
"""
    count, grown = in_a_child(work, 200_000, 200, 300 * MEGABYTE)
    assert int(count) == 100 * 200_000 - 99 * 100 // 2
    assert int(grown) < 150 * MEGABYTE


@needs_linux
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_result_that_is_larger_than_memory_is_written(kind: str, tmp_path: Path) -> None:
    out = tmp_path / f"found.{kind}"
    work = """
from thence.io.write import writing
with program.run_batches(given, memory_limit="150 MB") as found:
    with writing(found.schemas, sys.argv[1]) as writer:
        for event, batch in found:
            writer.add(event, batch)
print(writer.counts["r"])
"""
    pairs, window = (200_000, 100) if kind == "parquet" else (20_000, 100)
    count, grown = in_a_child(work, pairs, window, 400 * MEGABYTE, out)
    assert int(grown) < 250 * MEGABYTE
    if kind == "parquet":
        assert pq.read_metadata(out).num_rows == int(count) > 9_000_000
    else:
        read = pa.csv.read_csv if kind == "csv" else pa.json.read_json
        assert read(out).num_rows == int(count) > 900_000


@needs_linux
def test_memory_that_is_gone_is_an_error_that_names_the_join() -> None:
    work = """
try:
    program.run(given, memory_limit="unlimited")
except thence.LimitError as error:
    print(error.rule, error.doing, error.candidates, sep=";")
"""
    named, _ = in_a_child(work, 200_000, 200, 300 * MEGABYTE)
    rule, doing, candidates = named.split(";")
    assert (rule, doing) == ("r", "joining 'a' with 'b'")
    assert 1_000_000 < int(candidates) <= 19_995_050


# --- on Spark -------------------------------------------------------------------------------------


def test_rows_for_spark_come_in_batches_of_a_moderate_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from thence.engine.arrays.rows import bytes_of
    from thence.model.events import Events
    from thence.spark import output as rows_out

    schema = thence.compile("event e(t string); r(t) <- e(t);").derived[0]
    output = rows_out.make_output({"r": schema}, ["r"], True, (), False)
    times = np.arange(1000)
    texts = Events(times, times, {"t": pa.array(["x" * 1000] * 1000)})
    whole = list(output.batches("r", texts))
    assert [batch.num_rows for batch in whole] == [1000]
    monkeypatch.setattr(rows_out, "BYTES", bytes_of(texts) // 4)
    parts = list(output.batches("r", texts))
    assert [batch.num_rows for batch in parts] == [250] * 4
    assert pa.Table.from_batches(parts) == pa.Table.from_batches(whole)


def test_lineage_for_spark_is_that_of_the_rows_in_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from thence.spark import output as rows_out

    program = thence.compile(f"{A_B}r(x.v) <- x: a;")
    found = program.run({"a": events(10)}, lineage=True)
    output = rows_out.make_output({"r": program.derived[0]}, ["r"], True, (), True)
    monkeypatch.setattr(rows_out, "ROWS", 3)
    told = found._provenance["r"].with_lineage("r", found._events["r"])
    parts = list(output.batches("r", told))
    assert [batch.num_rows for batch in parts] == [3, 3, 3, 1]
    assert pa.Table.from_batches(parts)["lineage"].to_pylist() == found["r"]["lineage"].to_pylist()


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.thence"
    pairs = "r(1 % (19 - x.v) as n, x.v, y.v as w) <- x: a seq y: b;"
    path.write_text(f"{A_B}{pairs}\ns(k) <- b(k, 3);\n")
    return path


def given_files(folder: Path, count: int) -> list[str]:
    for name, table in both(count).items():
        pq.write_table(table, folder / f"{name}.parquet")
    return [f"{name}={folder / name}.parquet" for name in "ab"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_files_hold_all_results(
    thence: Command, rules: Path, tmp_path: Path, kind: str, small_chunks: None
) -> None:
    out = tmp_path / f"found.{kind}"
    given = given_files(tmp_path, 15)
    done = thence("run", rules, *EMBEDDED, "--events", *given, "--out", out, "--emit", "r")
    assert done.code == 0
    assert f"wrote {out}\nr: 120\n" in done.err
    readers = {"parquet": pq.read_table, "csv": pa.csv.read_csv, "jsonl": pa.json.read_json}
    assert readers[kind](out).num_rows == 120
    assert not list(tmp_path.glob(".thence*"))


def test_an_error_in_the_middle_leaves_no_file_and_the_old_one_as_it_was(
    thence: Command, rules: Path, tmp_path: Path, small_chunks: None
) -> None:
    out = tmp_path / "found"
    given = given_files(tmp_path, 15)
    assert thence("run", rules, *EMBEDDED, "--events", *given, "--out", out).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(before) == ["r.parquet", "s.parquet"]
    given = given_files(tmp_path, 20)
    done = thence("run", rules, *EMBEDDED, "--events", *given, "--out", out)
    assert done.code != 0 and "by zero" in done.err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    other = tmp_path / "other.jsonl"
    assert thence("run", rules, *EMBEDDED, "--events", *given, "--out", other).code != 0
    assert not other.exists()


def test_a_limited_number_of_results_are_the_first(
    thence: Command, rules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "found.csv"
    given = given_files(tmp_path, 15)
    options = ("--out", out, "--emit", "r", "--limit", 14)
    assert thence("run", rules, *EMBEDDED, "--events", *given, *options).code == 0
    assert pa.csv.read_csv(out)["v"].to_pylist() == [0] * 14
