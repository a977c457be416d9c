"""Another program in the place of a stream's own: what is the same goes on, what is new begins."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hosts import Results, Written, arrivals, batch, collect, cuts, rows_of, tables
from hypothesis import given, reject
from hypothesis import strategies as st
from strategies import LATEST, Example
from test_generated import accepted, seeds
from test_session_replace import less

import thence

pytest.importorskip("pyspark")
from notation import parse_events
from pyspark.errors import StreamingQueryException
from spark_feed import Row, at, event, readable
from spark_hosts import Stream
from test_spark_generated import clock, lineage, programs
from test_spark_restart import Restarts

from thence import spark as ts
from thence.model.errors import InputError, StateError
from thence.spark.generations import Replaced

SECOND = 1_000_000

DECLARED = "event a(k int, n int); event b(k int, n int); event c(k int); event clock();\n"
PAIR = "pair(k) <- (a(k, _) seq b(k, _)) within 20 s;\n"
ALONE = "alone(k) <- o: a(k, _), w: extend(o, 10 s), while w: not b(k, _);\n"
LATE = "late(k) <- o: b(k, _), w: extend_backward(o, 5 s), while w: not a(k, _);\n"
OTHER = "same(n as k) <- (a(_, n) seq b(_, n)) within 20 s;\n"
ALARM = "alarm() <- (a(k, _) seq b(k, _)) within 5 s;\n"


def program(*rules: str) -> thence.Program:
    return thence.compile(DECLARED + "".join(rules))


def stream_of(*rules: str, **options: Any) -> Stream:
    return Stream(program(*rules), random.Random(7), shards=2, allow_unbounded=False, **options)


def ends(found: Any, name: str) -> list[float]:
    """When the results of an event end, in seconds."""
    return sorted(end / SECOND for _, _, end in rows_of(found)[name])


def pushed(stream: Stream, text: str) -> Any:
    return stream.push(parse_events(text))


# --- what goes on, begins, and is gone ------------------------------------------------------------


def test_an_event_with_the_same_rules_goes_on_and_a_new_one_begins() -> None:
    stream = stream_of(PAIR)
    pushed(stream, "a(1, 1) @ 1")
    stream.restart(ts.replaced(stream.given, program(ALONE, PAIR), begin=5 * SECOND))
    found = pushed(stream, "b(1, 1) @ 6\na(2, 1) @ 7\na(3, 1) @ 5")
    assert ends(found, "pair") == [6]
    pushed(stream, "c(1) @ 30")
    assert ends(stream.idle(), "alone") == [17]


def test_new_rules_assert_no_absence_before_they_began() -> None:
    """Nobody knows whether an `a` came in the 5 s before the first `b`."""
    stream = stream_of(PAIR)
    pushed(stream, "a(1, 1) @ 1")
    stream.restart(ts.replaced(stream.given, program(LATE), begin=10 * SECOND))
    pushed(stream, "b(1, 1) @ 12\nb(1, 1) @ 20\nc(1) @ 40")
    assert ends(stream.idle(), "late") == [20]


def test_rules_that_are_gone_are_forgotten_with_their_runs() -> None:
    stream = stream_of(PAIR, OTHER)
    pushed(stream, "\n".join(f"a({n}, {n}) @ {n / 100}" for n in range(600)))
    held = [len(handle.entries) for handle in stream.handles]
    rows = stream.state_rows
    assert all(held)
    stream.restart(ts.replaced(stream.given, program(PAIR)))
    stream.idle(7 * SECOND)
    assert stream.state_rows < rows and not stream.handles[1].entries
    stream.restart(ts.replaced(stream.given, program(ALARM), begin=9 * SECOND))
    pushed(stream, "c(1) @ 10")
    assert not any(handle.entries for handle in stream.handles)
    assert stream.state_rows == 0


def test_places_where_nothing_is_left_to_do_have_no_state() -> None:
    """Rules without a key need one place; those with one had several."""
    stream = stream_of(PAIR, ALARM)
    pushed(stream, "a(1, 1) @ 1\na(2, 1) @ 1\na(3, 1) @ 1")
    assert len(stream.handles[0].values) == len(stream.handles[1].values) == 2
    unkeyed = "near(k) <- (a(k, _) seq b(_, _)) within 5 s;"
    stream.restart(ts.replaced(stream.given, program(unkeyed), begin=3 * SECOND))
    found = pushed(stream, "a(4, 1) @ 4\nb(5, 1) @ 5")
    assert ends(found, "near") == [5]
    stream.idle(9 * SECOND)
    assert [len(handle.values) for handle in stream.handles] == [1, 0]


def test_a_stage_in_which_nothing_is_left_keeps_its_place() -> None:
    stream = stream_of(PAIR, OTHER)
    pushed(stream, "a(1, 5) @ 1")
    for each in ("one", "two"):
        quick = f"{each}(n) <- (a(_, n) seq b(_, n)) within 3 s;\n"
        begin = (2 if each == "one" else 4) * SECOND
        stream.restart(ts.replaced(stream.given, program(OTHER, quick), begin=begin))
        stream.idle()
    found = pushed(stream, "a(3, 7) @ 5\nb(2, 5) @ 6\nb(9, 7) @ 6")
    assert (ends(found, "same"), ends(found, "two")) == ([6, 6], [6])


def test_derived_events_that_are_kept_have_all_their_columns() -> None:
    """Nobody reads the `n` of a `grown`; it is a column of what is given back."""
    grown = "grown(k, n) <- a(k, n);\ngrown(k, n) <- (grown(k, _) seq b(k, n)) within 20 s;\n"
    stream = stream_of(grown, PAIR)
    pushed(stream, "a(1, 5) @ 1")
    stream.restart(ts.replaced(stream.given, program(grown)))
    found = rows_of(pushed(stream, "b(1, 9) @ 3"))
    assert found == {"grown": {((1, 9), SECOND, 3 * SECOND)}}


def test_what_a_rule_gave_is_forgotten_with_it() -> None:
    """Neither rule looks back at anything; both remember what they gave."""
    one, two = "one(k) <- a(k, _);\n", "two(k) <- b(k, _);\n"
    stream = stream_of(one, two)
    pushed(stream, "a(1, 5) @ 1\nb(1, 5) @ 1")
    stream.restart(program(one))
    assert ends(pushed(stream, "a(1, 6) @ 1\nb(1, 6) @ 1\na(1, 5) @ 2"), "one") == [2]
    assert stream.state_rows == 2


def test_rules_are_spread_as_before_by_what_only_others_read() -> None:
    own = "own(k) <- b(k, _);\n"
    key = "key(n as k) <- (a(_, n) seq b(_, n)) within 5 s;\n"
    stream = stream_of(own, key)
    pushed(stream, "b(1, 5) @ 1")
    stream.restart(ts.replaced(stream.given, program(own)))
    assert ends(pushed(stream, "b(1, 6) @ 1\nb(2, 6) @ 2"), "own") == [2]


def test_fewer_stages_leave_hops_that_only_pass_blocks_on() -> None:
    stream = stream_of(PAIR, ALARM)
    pushed(stream, "a(1, 1) @ 1")
    stream.restart(ts.replaced(stream.given, program(PAIR, LATE), begin=2 * SECOND))
    assert [len(chain.hops) for chain in stream.chains] == [1, 1]
    assert ends(pushed(stream, "b(1, 1) @ 3"), "pair") == [3]


def test_the_program_before_may_have_been_asked_for_some_events_only() -> None:
    stream = Stream(program(PAIR, OTHER, ALARM), random.Random(7), emit=("same",), shards=2)
    pushed(stream, "a(1, 5) @ 1")
    later = ts.replaced(stream.given, program(OTHER, ALONE), begin=2 * SECOND, emit="same")
    stream.restart(later)
    assert ends(pushed(stream, "b(2, 5) @ 3"), "same") == [3]


def test_latecomers_are_counted_once() -> None:
    stream = stream_of(PAIR, late=True)
    pushed(stream, "a(1, 1) @ 10")
    stream.restart(ts.replaced(stream.given, program(PAIR, ALONE), begin=11 * SECOND))
    pushed(stream, "a(1, 1) @ 20")
    pushed(stream, "a(1, 1) @ 30")
    pushed(stream, "a(2, 1) @ 15\nb(2, 1) @ 16\na(2, 2) @ 5")
    assert stream.late_count == 3 == sum(len(events) for _, events in stream.latecomers)


def test_inputs_with_frames_of_their_own_have_their_own_horizons_in_each_generation() -> None:
    delays = {"a": 0, "b": 0, "c": 0, "clock": 0}
    stream = stream_of(PAIR, ALARM, delays=delays)
    pushed(stream, "a(1, 1) @ 1")
    third = "third(k) <- o: a(k, _), w: extend(o, 10 s), while w: not c(k);\n"
    stream.restart(ts.replaced(stream.given, program(PAIR, ALONE, third), begin=2 * SECOND))
    pushed(stream, "a(2, 1) @ 3\nb(1, 1) @ 4")
    found = pushed(stream, "b(9, 1) @ 14")
    assert (ends(found, "alone"), ends(found, "third")) == ([13], [])
    assert ends(pushed(stream, "c(9) @ 14"), "third") == [13]
    pushed(stream, "b(9, 1) @ 12")
    assert stream.late_count == 1


def test_rules_that_begin_know_which_inputs_are_idle() -> None:
    stream = stream_of(PAIR, delays={"a": 0, "b": 0}, idle_after=10 * SECOND, wall=1_000_000)
    pushed(stream, "a(1, 1) @ 1\nb(9, 1) @ 1")
    stream.wall += 30_000
    pushed(stream, "a(1, 1) @ 2")
    stream.restart(ts.replaced(stream.given, program(PAIR, ALONE), begin=3 * SECOND))
    pushed(stream, "a(2, 1) @ 4")
    assert ends(pushed(stream, "a(3, 1) @ 60"), "alone") == [14]
    assert stream.figures["idle"] == 1


def test_lineage_is_that_of_a_stream_that_was_not_changed() -> None:
    events = "a(1, 1) @ 1", "a(1, 2) @ 3\nb(1, 3) @ 4\na(2, 2) @ 5\nb(2, 3) @ 6\nc(1) @ 60"
    stream = stream_of(PAIR, lineage=True)
    pushed(stream, events[0])
    later = program(PAIR, ALONE, LATE)
    stream.restart(ts.replaced(stream.given, later, begin=2 * SECOND))
    pushed(stream, events[1])
    found = lineage(stream.idle())
    given_ = tables(DECLARED + PAIR, parse_events("\n".join(events)))
    expected = lineage(later.run(given_, until=stream.horizon, lineage=True))
    assert found["pair"] == expected["pair"] and len(found["pair"]) == 3
    assert found["alone"] == [] == found["late"]


# --- refusals -------------------------------------------------------------------------------------


def test_new_rules_need_a_time_to_begin_at() -> None:
    later = ts.replaced(program(PAIR), program(PAIR, ALONE, LATE))
    with pytest.raises(InputError, match="the same for all shards: those for 'alone', 'late' are"):
        Stream(later, random.Random(7))
    assert Stream(later, random.Random(7), emit=("pair",)).chain.begin is None


def test_new_rules_cannot_begin_before_what_was_taken() -> None:
    stream = stream_of(PAIR)
    pushed(stream, "a(1, 1) @ 9")
    stream.restart(ts.replaced(program(PAIR), program(PAIR, ALONE), begin=8 * SECOND))
    message = "cannot begin at 1970-01-01T00:00:08Z: events up to 1970-01-01T00:00:09"
    with pytest.raises(StateError, match=message):
        pushed(stream, "b(1, 1) @ 10")
    stream.restart(program(PAIR))
    assert ends(pushed(stream, "b(1, 1) @ 10"), "pair") == [10]


def test_what_other_rules_have_taken_counts_as_well() -> None:
    """No shard of the rules that are there reads a `c`."""
    stream = stream_of(PAIR, delay=2 * SECOND)
    pushed(stream, "a(1, 1) @ 1")
    pushed(stream, "c(1) @ 9")
    count = "third(k) <- (c(k) seq c(k)) within 5 s;\n"
    stream.restart(ts.replaced(program(PAIR), program(PAIR, count), begin=8 * SECOND))
    with pytest.raises(StateError, match="cannot begin at 1970-01-01T00:00:08Z"):
        pushed(stream, "c(1) @ 10")


def test_rules_begin_one_after_another() -> None:
    first = ts.replaced(program(PAIR), program(ALONE), begin=5)
    with pytest.raises(InputError, match=r"before them began at 1970-01-01T00:00:00\.000005Z"):
        ts.replaced(ts.replaced(first, program(ALONE)), program(LATE), begin=5)


def test_new_rules_that_need_more_stages_are_refused() -> None:
    later = ts.replaced(program(PAIR), program(PAIR, OTHER, ALARM), begin=5)
    with pytest.raises(StateError, match="'same', 'alarm' need 3 stages, and the query began with"):
        Stream(later, random.Random(7))


def test_what_is_no_program_is_refused() -> None:
    for one, other in ((PAIR, program(PAIR)), (program(PAIR), PAIR)):
        with pytest.raises(InputError, match=r"replaced: .* and not be a str"):
            ts.replaced(one, other)  # type: ignore[arg-type]


def test_a_batch_has_one_program(spark: Any) -> None:
    rows = spark.createDataFrame([("a", 1, 1, at(0))], "type string, k int, n int, time timestamp")
    with pytest.raises(InputError, match="a batch has one program"):
        ts.detect(ts.replaced(program(PAIR), program(PAIR)), rows)


def test_other_shards_are_refused() -> None:
    stream = stream_of(PAIR)
    pushed(stream, "a(1, 1) @ 9")
    stream.restart(ts.replaced(program(PAIR), program(PAIR, ALONE), begin=10 * SECOND))
    pushed(stream, "a(1, 1) @ 19")
    stream.count = 3
    stream.restart(stream.given)
    with pytest.raises(StateError, match=r"spread over 3 shards|use shards=2"):
        pushed(stream, "a(1, 1) @ 29")


@pytest.mark.parametrize(
    "change",
    [
        (b'"begin": 10000000', b'"begin": "0000000'),
        (b'"begin": null', b'"begin": 0.25'),
        (b'"generations"', b'"generashuns"'),
        (b'"bytes": ', b'"bytes": -'),
        (b'"bytes": ', b'"bytes": 9'),
    ],
)
def test_an_entry_of_several_generations_is_checked(change: tuple[bytes, bytes]) -> None:
    stream = stream_of(PAIR)
    stream.restart(ts.replaced(program(PAIR), program(PAIR, ALONE), begin=10 * SECOND))
    pushed(stream, "a(1, 1) @ 19")
    values = stream.handles[0].values
    for place, (entry,) in values.items():
        values[place] = (entry.replace(*change, 1),)
    with pytest.raises(StateError):
        pushed(stream, "a(1, 1) @ 29")


# --- a look beforehand ----------------------------------------------------------------------------


def look(checkpoint: Path, given_: thence.Program | Replaced, **options: Any) -> None:
    ts.check_restart(checkpoint, given_, spark=None, shards=2, **options)


def test_the_note_of_a_checkpoint_knows_of_generations(tmp_path: Path) -> None:
    look(tmp_path, program(PAIR, ALARM))
    later = ts.replaced(program(PAIR, ALARM), program(PAIR, ALONE), begin=5)
    look(tmp_path, later)
    look(tmp_path, ts.replaced(later, program(PAIR.replace("20", "30"), ALONE), begin=6))
    said = json.loads((tmp_path / "thence.json").read_text())
    assert [each["begin"] for each in said["generations"]] == [5, 6]
    with pytest.raises(StateError, match="of rules that were there from the beginning"):
        look(tmp_path, program(PAIR, ALARM))
    with pytest.raises(StateError, match="it is of a query with 2 stages; this program needs one"):
        look(tmp_path, program(PAIR))


def test_a_generation_whose_rules_are_not_those_of_the_note_is_refused(tmp_path: Path) -> None:
    look(tmp_path, ts.replaced(program(PAIR), program(PAIR, ALONE), begin=5))
    changed = program(PAIR, ALONE.replace("10 s", "20 s"))
    with pytest.raises(StateError, match="'a' events for 10 s; rules now need them for 20"):
        look(tmp_path, ts.replaced(program(PAIR), changed, begin=5))


def test_rules_that_would_begin_too_early_are_refused_beforehand(tmp_path: Path) -> None:
    look(tmp_path, program(PAIR))
    (tmp_path / "commits").mkdir()
    for number, watermark in ((9, 3000), (10, 5000)):
        told = json.dumps({"nextBatchWatermarkMs": watermark})
        (tmp_path / "commits" / str(number)).write_text(f"v1\n{told}")
    later = ts.replaced(program(PAIR), program(PAIR, ALONE), begin=6 * SECOND)
    with pytest.raises(StateError, match=r"00:00:06Z: events up to 1970-01-01T00:00:07\.000999Z"):
        look(tmp_path, later, max_delay="2 s")
    look(tmp_path, later)
    look(tmp_path, later, max_delay="2 s")  # it has begun


@pytest.mark.parametrize(
    "note", ['{"version": 4}', '{"version": 4, "length": 1, "generations": [5]}',
             '{"version": 4, "length": "1", "generations": [{"begin": null, "stages": []}]}']
)  # fmt: skip
def test_a_damaged_note_of_generations_is_refused(tmp_path: Path, note: str) -> None:
    (tmp_path / "thence.json").write_text(note)
    with pytest.raises(StateError, match="it does not say what it holds"):
        look(tmp_path, program(PAIR))


# --- generated ------------------------------------------------------------------------------------


@given(programs, st.data(), seeds)
def test_kept_events_are_as_if_nothing_happened_and_new_ones_as_if_begun_then(
    example: Example, data: st.DataObject, seed: int
) -> None:
    every = list(accepted(example).plan.public)
    names = st.lists(st.sampled_from(every), min_size=1, unique=True)
    try:
        versions = [thence.compile(less(example.program, data.draw(names))) for _ in range(3)]
    except thence.ProgramError:
        reject()
    chance, unit = random.Random(seed), example.unit
    delay = chance.choice([0, 1, 2, 4]) * unit
    stream = Stream(versions[0], chance, delay, tick=clock(example))
    parts = cuts(arrivals(example.events, delay, chance), chance)
    changes_at = sorted(chance.choices(range(len(parts) + 1), k=2))
    began: dict[str, int | None] = dict.fromkeys(stream.names)
    found: Results = {}
    for place, part in enumerate([*parts, []]):
        for version in [v for at_, v in zip(changes_at, versions[1:], strict=True) if at_ == place]:
            began = changed(stream, version, began, found, chance.choice([0, 0, 1, 3]) * unit)
            if chance.random() < 0.5:
                collect(found, rows_of(stream.idle()))
        collect(found, rows_of(stream.push(part)))
    collect(found, rows_of(stream.idle(max(stream.latest, 0) + 3 * LATEST * unit)))
    assert stream.late_count == 0
    for name, since in began.items():
        assert after(found.get(name, set()), since) == expected(example, stream, name, since), name


def changed(
    stream: Stream,
    version: thence.Program,
    began: dict[str, int | None],
    found: Results,
    later: int,
) -> dict[str, int | None]:
    """Give a stream another program; when each derived event began by now."""
    known = stream.given.begin if isinstance(stream.given, Replaced) else None
    before = -1 if known is None else known
    last = max(stream.latest // stream.tick * stream.tick + stream.tick - 1, before + 1)
    begin = max(last, 0) + later
    given_ = ts.replaced(stream.given, version, begin=begin)
    try:
        stream.restart(given_)
    except StateError as problem:
        assert "cannot add any to a checkpoint" in str(problem)
        reject()
    since: dict[str, int | None] = {}
    for chain in stream.chains:
        since |= dict.fromkeys(chain.emit, chain.begin)
    for name, time in since.items():
        if name not in began or began[name] != time:
            found.pop(name, None)
    return since


def after(rows: Collection[Any], since: int | None) -> set[Any]:
    return {row for row in rows if since is None or row[2] > since}


def expected(example: Example, stream: Stream, name: str, since: int | None) -> set[Any]:
    events: list[Written] = [e for e in example.events if since is None or e.end > since]
    horizon = stream.horizon
    if since is None:
        return batch(example.program, events, horizon)[name]
    inputs = [schema.name for schema in accepted(example).events]
    coverage = {each: [(since + 1, None)] for each in inputs}
    found = accepted(example).run(
        tables(example.program, events), until=max(horizon, since), coverage=coverage
    )
    return after(rows_of(found)[name], since)


# --- real queries ---------------------------------------------------------------------------------


def test_a_query_that_is_changed_twice(spark: Any, tmp_path: Path) -> None:
    """Kept events are those of a batch over everything; new ones those of a batch that knows
    nothing of what ended before they began."""
    query = Restarts(spark, tmp_path)
    events: list[dict[str, Any]] = []

    def ran_on(given_: str | Replaced, *more: dict[str, Any]) -> list[Row]:
        events.extend(more)
        for start in range(0, len(more), 2):
            query.add(*more[start : start + 2])
        return query.run(given_)

    first, second = program(PAIR, ALARM), program(PAIR, LATE, ALONE)
    third = program(PAIR.replace("20 s", "4 s"), ALONE, OTHER)
    later = ts.replaced(first, second, begin=at(10))
    found = ran_on(
        DECLARED + PAIR + ALARM,
        *(event("a", 0, k=1, n=7), event("b", 2, k=1, n=7), event("a", 8, k=2, n=7)),
    )
    assert found == [("alarm", None, 0.0, 2.0), ("pair", 1, 0.0, 2.0)]
    found += ran_on(
        later,
        *(event("b", 11, k=2, n=7), event("a", 12, k=1, n=7)),
        *(event("b", 20, k=1, n=3), event("b", 21, k=3, n=8)),
        *(event("a", 22, k=3, n=8), event("a", 30, k=5, n=9), event("clock", 33)),
    )
    assert query.late == 0
    found += ran_on(
        ts.replaced(later, third, begin=at(40)),
        *(event("a", 41, k=4, n=1), event("b", 43, k=4, n=1), event("b", 44, k=6, n=9)),
        *(event("a", 50, k=7, n=2), event("b", 55, k=8, n=2), event("clock", 80)),
        *(event("clock", 81), event("a", 45, k=9, n=9), event("clock", 82)),
    )
    assert query.late == 1

    def ran(version: thence.Program, since: float | None, until: float) -> list[Row]:
        names = [schema.name for schema in version.events]
        seen = [e for e in events if since is None or e["time"] > at(since)]
        late = event("a", 45, k=9, n=9)
        in_time = [e for e in seen if e != late and e["time"] <= at(until)]
        given_ = [{"k": None, "n": None, **e} for e in in_time]
        coverage = {} if since is None else {"coverage": {n: [(at(since), None)] for n in names}}
        results = version.run(given_, until=at(until), **coverage)
        return readable(
            (name, row.get("k"), row["start"], row["end"])
            for name, table in results.items()
            for row in table.to_pylist()
        )

    assert found_of(found, "pair", None, 33) == found_of(ran(first, None, 33), "pair", None, 33)
    assert found_of(found, "pair", 40, 82) == found_of(ran(third, 40, 82), "pair", 40, 82)
    assert found_of(found, "late", None, 82) == found_of(ran(second, 10, 33), "late", None, 82)
    assert found_of(found, "alone", None, 82) == found_of(ran(second, 10, 82), "alone", None, 82)
    assert found_of(found, "same", None, 82) == found_of(ran(third, 40, 82), "same", None, 82)
    assert {row[0] for row in found} == {"alarm", "pair", "late", "alone", "same"}
    assert len(found) == len(set(found))


def found_of(rows: list[Row], name: str, since: float | None, until: float) -> list[Row]:
    """The rows of an event that end in some time."""
    return [r for r in rows if r[0] == name and (since is None or r[-1] > since) and r[-1] <= until]


def test_a_query_is_told_when_its_new_rules_begin_too_early(spark: Any, tmp_path: Path) -> None:
    query = Restarts(spark, tmp_path)
    ts.check_restart(tmp_path / "checkpoint", program(PAIR), spark=spark)
    query.add(event("a", 1, k=1, n=1), event("clock", 6))
    assert query.run(DECLARED + PAIR) == []
    early = ts.replaced(program(PAIR), program(PAIR, LATE), begin=at(5))
    with pytest.raises(StateError, match="new rules cannot begin at 2026-01-01T00:00:05Z"):
        ts.check_restart(tmp_path / "checkpoint", early, spark=spark)
    query.add(event("b", 7, k=1, n=1))
    with pytest.raises(StreamingQueryException) as raised:
        query.run(early)
    problem = ts.explain_failure(raised.value)
    assert "new rules cannot begin at 2026-01-01T00:00:05Z: events up to 2026-" in str(problem)
    later = ts.replaced(program(PAIR), program(PAIR, LATE), begin=at(7))
    assert query.run(later) == [("pair", 1, 1.0, 7.0)]
