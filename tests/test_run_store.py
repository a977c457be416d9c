"""A shard's state as entries of a state store: what a trigger writes, reads and deletes."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
from state_tampering import changed_header, changed_payload
from stored_shards import Entries, Shard, shard, worker

from thence.engine.state import relation as sizes_of_runs
from thence.engine.state.apart import Place, run_bytes, runs_of
from thence.engine.state.relation import Relation, relation
from thence.engine.state.sorted_run import Run, key_hashes, probes
from thence.engine.state.state import State, encode
from thence.model.errors import StateError
from thence.model.events import Events
from thence.plan.horizons import everywhere
from thence.spark import run_store
from thence.spark.run_cache import Cached, RunCache
from thence.spark.run_files import RunFiles, executor_files
from thence.spark.shard_state import Stored

PAIRS = (
    "event a(k int, s string); event b(k int, s string);\n"
    "pair(k, s) <- (a(k, s) seq b(k, s)) within 20 s;"
)
ROWS = 300
"""Enough for a run."""


def rows(first: int, count: int = ROWS) -> Events:
    times = np.arange(first, first + count)
    texts = pa.array([f"text {n}" for n in times])
    return Events(times, times, {"k": pa.array(times % 7), "s": texts})


def remembering(*parts: Events, horizon: int = 0) -> State:
    """State in which each part has become a run, or several one."""
    held = Relation(parts[0]).settled()
    for part in parts[1:]:
        held = held.added(part)
    return State(everywhere(horizon, ("a", "b")), int(parts[-1].end[-1]), {"a": held})


def stored(*parts: Events, **options: Any) -> Shard:
    """A shard that remembers some parts."""
    found = shard(PAIRS, ("pair",), **options)
    found.write(remembering(*parts), Stored())
    return found


def listed(state: State) -> list[tuple[Any, ...]]:
    whole = state.events["a"].whole()
    columns = [c.to_pylist() for c in whole.columns.values()]
    return sorted(zip(whole.start.tolist(), whole.end.tolist(), *columns, strict=True))


def apart(found: Shard) -> tuple[dict[str, Any], bytes]:
    """What the header of a shard says, and the recent rows behind it."""
    assert found.header is not None
    [body] = found.header
    (length,) = struct.unpack(">I", body[:4])
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def joined(header: Any, recent: bytes) -> tuple[bytes]:
    text = json.dumps(header).encode()
    return (struct.pack(">I", len(text)) + text + recent,)


def with_more(shard: Shard, part: Events, after: int | None = None) -> Any:
    """One trigger more: what is written of it."""
    before = shard.read()
    held = before.state.events["a"].added(part)
    held = held if after is None else held.expired(after)
    return shard.write(replace(before.state, events={"a": held}), before)


# -- what is written and deleted


def test_state_that_was_written_is_read() -> None:
    found = stored(rows(0), rows(300), rows(600, 5))
    state = found.read().state
    assert listed(state) == listed(remembering(rows(0), rows(300), rows(600, 5)))
    assert (state.horizons["a"], state.latest) == (0, 604)
    assert [len(run) for _, run in runs_of(state)] == [300, 300]
    assert len(state.events["a"].recent) == 5


def test_a_trigger_writes_only_the_runs_that_are_new() -> None:
    found = stored(rows(0))
    before = dict(found.entries.held)
    written = with_more(found, rows(300))
    assert found.entries.asked["written"] == 2
    assert before.items() < found.entries.held.items()
    assert written.new < written.size < 2 * written.new


def test_rows_too_few_for_a_run_are_written_with_the_header() -> None:
    found = stored(rows(0))
    written = with_more(found, rows(300, 5))
    assert found.entries.asked["written"] == 1
    assert written.new == len(written.header)
    assert len(found.read().state.events["a"]) == 305


def test_runs_that_were_merged_are_deleted() -> None:
    found = stored(rows(0))
    for number in range(1, sizes_of_runs.FAN):
        with_more(found, rows(number * ROWS))
    assert len(found.entries.names) == 1
    assert found.entries.asked["removed"] == sizes_of_runs.FAN - 1
    assert len(found.read().state.events["a"]) == sizes_of_runs.FAN * ROWS


def test_runs_that_have_expired_are_deleted_unread() -> None:
    found = stored(rows(0), rows(300))
    with_more(found, rows(600), after=299)
    assert len(found.entries.names) == 2
    assert found.entries.asked == {"written": 3, "removed": 1}
    assert [row[0] for row in listed(found.read().state)] == list(range(300, 900))


def test_bytes_written_grow_with_what_is_new_not_with_what_is_kept() -> None:
    """Each row is written once for each size of runs that it goes through."""
    means = []
    for kept in (20, 320):
        found = stored(rows(0))
        news = [
            with_more(found, rows(n * ROWS), after=(n - kept) * ROWS).new for n in range(1, 700)
        ]
        means.append(sum(news[-256:]) / 256)
    assert means[1] < 2.5 * means[0]


def test_the_size_of_a_shard_is_that_of_its_entries() -> None:
    found = stored(rows(0), rows(300))
    written = with_more(found, rows(600))
    entries = sum(len(value) for (value,) in found.entries.held.values())
    assert written.size == entries + len(written.header)


# -- what is read


def test_a_worker_reads_each_run_once_and_keeps_its_indexes() -> None:
    found, by = stored(rows(0), rows(300)), worker()
    first = found.looked_into(by).events["a"].runs
    assert found.entries.asked["read"] == 2
    asked = rows(0, 3)
    for run in first:
        run.near(("k",), probes(key_hashes(asked, ("k",)), None, None), 0)
    again = found.looked_into(by).events["a"].runs
    assert found.entries.asked["read"] == 2
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert all(run.index_bytes for run in again)


def test_a_run_is_read_when_somebody_looks_into_it() -> None:
    found = stored(rows(0), rows(300))
    held = found.read().state.events["a"]
    assert (len(held), held.expired(200).oldest) == (600, 201)
    assert found.entries.asked["read"] == 1
    assert len(held.ending(400, None)) == 200
    assert found.entries.asked["read"] == 2


def test_what_a_worker_made_it_need_not_read() -> None:
    found, by = shard(PAIRS, ("pair",)), worker()
    found.write(remembering(rows(0)), Stored(), by)
    found.looked_into(by)
    assert found.entries.asked["read"] == 0


def test_a_lost_worker_costs_a_reading_and_no_answer() -> None:
    found = stored(rows(0), rows(300))
    answers = [listed(found.looked_into(worker())) for _ in range(3)]
    assert found.entries.asked["read"] == 6
    assert answers[0] == answers[1] == answers[2]


def test_a_worker_keeps_no_more_than_it_may() -> None:
    found = stored(rows(0), rows(300), rows(600))
    size = found.looked_into().events["a"].runs[0].nbytes
    by = worker(2 * size + size // 2)
    found.looked_into(by)
    assert len(by) == 2
    assert by.nbytes <= by.most
    found.entries.asked.clear()
    kept = found.read(by).state.events["a"].runs
    assert [run.is_read for run in kept] == [False, True, True]  # the first was used longest ago


def test_a_worker_lets_go_what_was_used_longest_ago() -> None:
    cache, place = RunCache(0), Place("events", "a")
    runs = [relation(rows(n)).runs[0] for n in (0, 300, 600)]
    cache.most = sum(run.nbytes for run in runs[:2])
    for run in (*runs[:2], runs[0], runs[2]):
        cache.keep([Cached(run, place, 0, own=True)])
    assert [cache.get(run.name, place, 0) is not None for run in runs] == [True, False, True]


def test_a_run_is_checked_again_where_something_else_is_expected_of_it() -> None:
    found, by = stored(rows(0)), worker()
    found.looked_into(by)
    other = shard(PAIRS.replace("k int", "k float"), ("pair",), entries=found.entries)
    header, recent = apart(found)
    assert header["version"] == 3
    other.header = joined({**header, "holds": other.chain.holds[0]}, recent)
    with pytest.raises(StateError, match="the column 'k' is int64, not double"):
        other.looked_into(by)


# -- files that workers of one executor share


def test_workers_of_an_executor_read_a_run_from_its_file(tmp_path: Path) -> None:
    found = stored(rows(0), rows(300), files=RunFiles(tmp_path, 1 << 30))
    assert listed(found.looked_into()) == listed(found.looked_into())
    assert found.entries.asked["read"] == 0
    for path in tmp_path.iterdir():
        path.unlink()
    whole = listed(found.looked_into())
    assert found.entries.asked["read"] == 2
    assert listed(found.looked_into()) == whole
    assert found.entries.asked["read"] == 2


def test_rows_in_a_file_take_no_memory_of_a_worker(tmp_path: Path) -> None:
    found, by = stored(rows(0), files=RunFiles(tmp_path, 1 << 30)), worker()
    found.looked_into(by)
    assert (len(by), by.nbytes) == (1, 0)


def test_files_of_dead_runs_go(tmp_path: Path) -> None:
    found = stored(rows(0), files=RunFiles(tmp_path, 1 << 30))
    for number in range(1, sizes_of_runs.FAN):
        with_more(found, rows(number * ROWS))
    assert {path.name for path in tmp_path.iterdir()} == found.entries.names


def test_a_file_that_was_cut_short_or_changed_is_no_run(tmp_path: Path) -> None:
    found = stored(rows(0), files=RunFiles(tmp_path, 1 << 30))
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    assert len(found.looked_into().events["a"]) == ROWS
    assert found.entries.asked["read"] == 1
    path.write_bytes(bytes(len(whole)))
    with pytest.raises(StateError, match="the saved state is damaged"):
        found.looked_into()


def test_files_take_no_more_than_they_may(tmp_path: Path) -> None:
    one = RunFiles(tmp_path, 1 << 30)
    found = stored(rows(0), files=one)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    one.most = size + size // 2
    with_more(found, rows(300))
    assert len(list(tmp_path.iterdir())) == 1
    one.most = size // 2
    with_more(found, rows(600))
    assert len(found.looked_into().events["a"]) == 3 * ROWS


def test_a_folder_that_cannot_be_written_costs_a_reading(tmp_path: Path) -> None:
    found = stored(rows(0), files=RunFiles(tmp_path / "missing", 1 << 30))
    assert len(found.looked_into().events["a"]) == ROWS
    assert found.entries.asked["read"] == 1


def test_the_files_of_an_executor_are_in_the_folder_that_spark_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor_files.cache_clear()
    try:
        monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
        assert executor_files() is None
        executor_files.cache_clear()
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
        files = executor_files()
        assert files is not None
        assert files.write("x", memoryview(b"run"))
        assert [path.read_bytes() for path in tmp_path.rglob("x")] == [b"run"]
        assert (tmp_path / "thence-runs").stat().st_mode & 0o077 == 0
        executor_files.cache_clear()
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "missing"))
        assert executor_files() is None
    finally:
        executor_files.cache_clear()


# -- large runs


def test_a_large_run_is_several_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_store, "PIECE", 1000)
    found = stored(rows(0), rows(300))
    assert max(len(value) for (value,) in found.entries.held.values()) == 1000
    assert len(found.entries.names) == 2
    assert len(found.entries.held) > 10
    assert listed(found.looked_into()) == listed(remembering(rows(0), rows(300)))
    for number in range(2, sizes_of_runs.FAN):
        with_more(found, rows(number * ROWS))
    assert len(found.entries.names) == 1


# -- state of the format before


def as_one_value(found: Shard, state: State, version: int = 2) -> None:
    """Store state as versions before did; version 1 had one horizon for all inputs."""
    found.header = (encode(state, {"version": version, "holds": found.chain.holds[0]}),)
    if version == 1:
        header, rest = apart(found)
        found.header = joined({**header, "horizon": header.pop("horizons")["a"]}, rest)


@pytest.mark.parametrize("version", [1, 2])
def test_state_in_one_value_is_read_and_written_in_runs(version: int) -> None:
    found = shard(PAIRS, ("pair",))
    as_one_value(found, remembering(rows(0), rows(300), horizon=7), version)
    before = found.read()
    assert before.state.horizons == everywhere(7, ("a", "b"))
    assert (len(before.state.events["a"]), before.sizes) == (2 * ROWS, {})
    written = found.write(before.state, before)
    assert written.new == written.size
    assert found.entries.names == {run.name for _, run in runs_of(before.state)}
    assert listed(found.looked_into()) == listed(before.state)


def test_state_of_a_later_format_is_refused() -> None:
    found = shard(PAIRS, ("pair",))
    as_one_value(found, remembering(rows(0)), version=5)
    with pytest.raises(StateError, match=r"format version 5; .* reads version 4 and before: go on"):
        found.read()


# -- entries that somebody has changed


def test_a_run_that_is_missing_is_an_error() -> None:
    found = stored(rows(0))
    found.entries.held.clear()
    with pytest.raises(StateError, match=r"the run '[0-9a-f]{24}' is missing"):
        found.looked_into()


def test_a_run_in_the_place_of_another_is_an_error() -> None:
    found = stored(rows(100), rows(400))
    one, other = found.entries.held
    held = found.entries.held
    held[one], held[other] = held[other], held[one]
    with pytest.raises(StateError, match="is not the one that is meant"):
        found.looked_into()


def test_a_run_that_is_not_in_order_is_an_error() -> None:
    found = stored(rows(0))
    [(key, (value,))] = found.entries.held.items()
    swapped = value.replace(np.array([5, 6]).tobytes(), np.array([6, 5]).tobytes())
    found.entries.held[key] = (swapped,)
    with pytest.raises(StateError, match="is not in order"):
        found.looked_into()


def test_a_run_with_other_columns_is_an_error() -> None:
    found = stored(rows(0))
    part = rows(0)
    numbers = {"k": part.columns["k"], "s": pa.array(part.end)}
    [(key, _)] = found.entries.held.items()
    data = bytes(run_bytes(Run(Events(part.start, part.end, numbers), key[0])))
    found.entries.held[key] = (data,)
    assert found.header is not None
    [run] = found.read().state.events["a"].runs
    found.header = (found.header[0].replace(str(run.nbytes).encode(), str(len(data)).encode()),)
    with pytest.raises(StateError, match="the column 's' is int64, not string, among the events"):
        found.looked_into()


def test_whatever_is_changed_is_an_answer_or_a_clear_error() -> None:
    source = random.Random(11)
    found = stored(rows(0), rows(300), rows(600, 20))
    whole = dict(found.entries.held)
    header, recent = apart(found)
    refused = 0
    for number in range(600):
        found.entries = Entries(dict(whole))
        said, rest = header, recent
        if number % 3 == 0:
            key = source.choice(list(whole))
            found.entries.held[key] = (changed_payload(source, whole[key][0]),)
        elif number % 3 == 1:
            said = changed_header(source, header)
        else:
            rest = changed_payload(source, recent)
        found.header = joined(said, rest)
        try:
            listed(found.looked_into())
        except StateError:
            refused += 1
    assert 100 < refused < 600
