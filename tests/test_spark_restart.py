"""A query that is started again on its checkpoint with a changed program.

It goes on where what it remembers is at least what the new program needs, and is refused where it
is not, with the reasons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence.engine.state.relation import relation
from thence.engine.state.state import State
from thence.model.errors import InputError, StateError
from thence.model.events import Events

pytest.importorskip("pyspark")
from pyspark.errors import StreamingQueryException
from spark_feed import Folder, Row, event, readable
from stored_shards import Shard, shard

from thence import spark as ts
from thence.spark.compatibility import misfits, refusal
from thence.spark.generations import Replaced, stream_chain, stream_needs
from thence.spark.restart import check_restart
from thence.spark.shard_state import Stored

PARTITIONS = "spark.sql.shuffle.partitions"
EVENTS = "event a(k int, n int); event b(k int, n int); event c(k int); event clock();\n"
PAIR = EVENTS + "pair(k) <- (a(k, _) seq b(k, _)) within 20 s;"
ALONE = EVENTS + "alone(k) <- o: a(k, _), w: extend(o, 10 s), while w: not b(k, _);"
LARGE = EVENTS + "pair(k) <- (a(k, n) seq b(k, _)) within 20 s where n > 5;"
MORE = EVENTS + "pair(k) <- (a(k, n) seq b(k, m)) within 20 s where m > n + 5;"
DERIVED = ALONE + "\nbad(k) <- (alone(k) seq c(k)) within 30 s;"

BUILT = EVENTS + (
    "m(k, n) <- (a(k, n) seq c(k)) within 5 s;"
    "big(k) <- (m(k, n) seq b(k, _)) within 20 s where n > 5;"
)

# A `c` is kept only if an `a` came before it.
THREE = EVENTS + "three(k) <- (a(k, n) seq c(k) seq b(k, _)) within 20 s where n > 5;"

# Its head does not tell on which shard it was found: a second stage sees to it that it comes once.
ALARM = PAIR + "alarm() <- (a(k, _) seq b(k, _)) within 5 s;"


def held(text: str, shards: int = 2, lineage: bool = False) -> tuple[Mapping[str, Any], ...]:
    """What each stage of a program remembers."""
    program = thence.compile(text)
    compiled = program.plan
    needs = stream_needs(compiled, allow_unbounded=False)
    names = tuple(compiled.schemas[rule.event].name for rule in compiled.checked.program.rules)
    return stream_chain(compiled, needs, names, shards, lineage, late=False).holds


def reasons(before: str, after: str, **options: Any) -> list[str]:
    """Why a program of one stage cannot go on from what another has left."""
    [holds], [needs] = held(before), held(after, **options)
    return misfits(holds, needs)


# -- what fits


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(PAIR, "-- a comment\n\n" + PAIR, id="only the text is laid out otherwise"),
        pytest.param(PAIR, PAIR.replace("20 s", "10 s"), id="a shorter window"),
        pytest.param(
            PAIR,
            PAIR + "quick(k) <- (a(k, _) seq b(k, _)) within 3 s;",
            id="a rule that looks back no further and reads no more",
        ),
        pytest.param(PAIR + ALONE.removeprefix(EVENTS), PAIR, id="a rule less"),
        pytest.param(MORE, MORE.replace("n + 5", "n + 1"), id="a condition on two events together"),
        pytest.param(
            MORE,
            MORE.replace("m > n + 5", "n > 3"),
            id="a narrower condition where there was none on that event alone",
        ),
        pytest.param(LARGE, LARGE.replace("n > 5", "n > 7"), id="a narrower limit"),
        pytest.param(LARGE, LARGE.replace("n > 5", "n > 5 and n < 9"), id="a condition more"),
        pytest.param(
            LARGE.replace("n > 5", "n > 5.5"),
            LARGE.replace("n > 5", "n > 5.75"),
            id="a narrower limit with a point",
        ),
        pytest.param(
            LARGE.replace("n > 5", "n > 5.5"), LARGE.replace("n > 5", "n > 6"), id="without a point"
        ),
        pytest.param(BUILT, BUILT.replace("n > 5", "n > 7"), id="a narrower limit on derived ones"),
        pytest.param(DERIVED, ALONE, id="a rule less, built on another"),
        pytest.param(THREE, THREE, id="what must have come before is the same"),
        pytest.param(THREE, THREE.replace("20 s", "10 s"), id="it must have come shortly before"),
        pytest.param(THREE, THREE.replace("n > 5", "n > 7"), id="less of it may have come before"),
    ],
)
def test_state_that_holds_what_is_needed_fits(before: str, after: str) -> None:
    assert reasons(before, after) == []


# -- what does not


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(
            PAIR,
            PAIR.replace("20 s", "30 s"),
            "it keeps 'a' events for 20 s; rules now need them for 30 s",
            id="a longer window",
        ),
        pytest.param(
            PAIR,
            PAIR + "back(k) <- (b(k, _) seq a(k, _)) within 5 s;",
            "it keeps 'b' events for 0 s; rules now need them for 5 s",
            id="an event that was not kept",
        ),
        pytest.param(
            PAIR,
            PAIR + "third(k) <- (a(k, _) seq c(k)) within 5 s;",
            "it holds no 'c' events, which rules now look back at",
            id="an event that was not read",
        ),
        pytest.param(
            PAIR,
            PAIR + "size(k, n) <- (a(k, n) seq b(k, _)) within 20 s;",
            "it does not hold 'n' of 'a' events, which rules now read",
            id="an attribute that was not read",
        ),
        pytest.param(
            PAIR,
            PAIR.replace("k int", "k string"),
            "it holds 'k' of 'a' events as int, not as string",
            id="an attribute of another type",
        ),
        pytest.param(
            LARGE,
            LARGE.replace("n > 5", "n > 3"),
            "it holds only those 'a' events that the conditions so far let through",
            id="a wider condition",
        ),
        pytest.param(
            LARGE.replace("n > 5", "n > 5.5"),
            LARGE.replace("n > 5", "n > 5.25"),
            "it holds only those 'a' events that the conditions so far let through",
            id="a wider condition with a point",
        ),
        pytest.param(
            BUILT,
            BUILT.replace("n > 5", "n > 3"),
            "it holds only those 'm' events that the conditions so far let through",
            id="a wider condition on derived events",
        ),
        pytest.param(
            LARGE,
            LARGE.replace("n > 5", "n > 7 or n < 0"),
            "it holds only those 'a' events that the conditions so far let through",
            id="a condition that cannot be compared",
        ),
        pytest.param(
            MORE.replace("pair(k)", "pair(k, n)"),
            EVENTS + "pair(k, n) <- (a(k, n) seq b(_, n)) within 20 s;",
            "'a' events are spread by ['k'], not by ['n']",
            id="another key",
        ),
        pytest.param(
            DERIVED,
            DERIVED.replace("10 s", "5 s"),
            "it holds 'alone' events that other rules derived",
            id="another rule for an event that is kept",
        ),
        pytest.param(
            PAIR,
            PAIR.replace("b(k, _)", "b(_, _)"),
            "it is spread by key, not by one place",
            id="no key any more",
        ),
        pytest.param(
            THREE,
            THREE + "two(k) <- (c(k) seq b(k, _)) within 5 s;",
            "it holds only those 'c' events that the joins so far can use",
            id="events are needed that met nothing",
        ),
        pytest.param(
            THREE,
            THREE.replace("c(k) seq", "c(_) seq"),
            "it holds only those 'c' events that the joins so far can use",
            id="events are needed that met something else",
        ),
        pytest.param(
            PAIR,
            PAIR + "of(k) <- (p: pair(k) and y: a(k, _)) within 30 s where caused_by(p, y);",
            "it does not tell how 'pair' events were derived, as rules now ask",
            id="causes are asked for",
        ),
    ],
)
def test_state_that_lacks_something_is_refused_with_the_reason(
    before: str, after: str, reason: str
) -> None:
    assert reason in reasons(before, after)


def test_other_shards_do_not_fit() -> None:
    assert reasons(PAIR, PAIR, shards=4) == ["it is spread over 2 shards, not 4: use shards=2"]


def test_state_without_lineage_cannot_give_it() -> None:
    assert "it was written with lineage=False" in reasons(PAIR, PAIR, lineage=True)


def test_with_lineage_rules_may_come_and_go_but_not_change() -> None:
    """State tells how events were derived, by the numbers that the rules of an event have."""
    more = PAIR + "other(k) <- a(k, _);"
    assert misfits(*map(first_with_lineage, (PAIR, more))) == []
    assert misfits(*map(first_with_lineage, (more, PAIR))) == []
    changed = PAIR.replace("20 s", "10 s")
    assert "it tells of 'pair' events how other rules derived them" in misfits(
        *map(first_with_lineage, (PAIR, changed))
    )


def first_with_lineage(text: str) -> Mapping[str, Any]:
    return held(text, lineage=True)[0]


def test_a_refusal_names_every_reason_and_the_two_ways_out() -> None:
    assert refusal(["one thing", "another"]) == (
        "the state in the checkpoint does not fit the changed program:\n"
        "  - one thing\n"
        "  - another\n"
        "Go on with the program as it was, or begin with a new checkpoint."
    )


# -- a look beforehand, where the checkpoint is a folder at hand


def look(checkpoint: Path, text: str, **options: Any) -> None:
    check_restart(checkpoint, thence.compile(text), spark=None, shards=2, **options)


def test_a_new_checkpoint_suits_every_program(tmp_path: Path) -> None:
    look(tmp_path / "new", PAIR)
    look(tmp_path / "new", PAIR)


def test_a_program_that_does_not_fit_is_refused_before_the_query_starts(tmp_path: Path) -> None:
    look(tmp_path, PAIR)
    with pytest.raises(StateError) as problem:
        look(tmp_path, PAIR.replace("20 s", "30 s"))
    kept = "it keeps 'a' events for 20 s; rules now need them for 30 s"
    assert str(problem.value) == refusal([kept])
    look(tmp_path, PAIR)


def test_another_number_of_stages_is_refused_in_words(tmp_path: Path) -> None:
    look(tmp_path, PAIR)
    with pytest.raises(StateError, match="it is of a query with one stage; this program needs 2"):
        look(tmp_path, ALARM)


def test_a_checkpoint_of_the_format_before_goes_on(tmp_path: Path) -> None:
    look(tmp_path, PAIR)
    note = tmp_path / "thence.json"
    said = json.loads(note.read_text())
    assert said["version"] == 3
    for version in (1, 2, 3):
        note.write_text(json.dumps({**said, "version": version}))
        look(tmp_path, PAIR)
    note.write_text(json.dumps({**said, "version": 5}))
    with pytest.raises(StateError, match="it has format version 5, and not 4 or before"):
        look(tmp_path, PAIR)


@pytest.mark.parametrize(
    "note",
    [
        b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 10_000, b'{"version": 1}',
        b'{"version": 1, "stages": 5}', b'{"version": 1, "stages": [5]}',
        b'{"version": 1, "stages": [{"shards": 2}]}',
    ],
)  # fmt: skip
def test_a_damaged_note_is_refused_with_its_file(tmp_path: Path, note: bytes) -> None:
    look(tmp_path, PAIR)
    (tmp_path / "thence.json").write_bytes(note)
    with pytest.raises(StateError) as problem:
        look(tmp_path, PAIR)
    said = str(problem.value)
    assert "thence.json' is damaged" in said or "it does not say what it holds" in said
    (tmp_path / "thence.json").unlink()
    look(tmp_path, PAIR)


def test_a_checkpoint_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "thence.json").mkdir()
    with pytest.raises(InputError, match=r"cannot be read: '.*thence\.json': Is a directory"):
        look(tmp_path, PAIR)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"cannot be read: '.*file.*': Not a directory"):
        look(tmp_path / "file", PAIR)
    with pytest.raises(InputError, match=r"cannot be read: .*: File name too long"):
        look(tmp_path / ("x" * 300), PAIR)


# -- the state of a shard, changed by somebody


def shard_state(text: str) -> tuple[Shard, bytes]:
    """A shard that remembers two events, and the entry in which they are."""
    found = shard(text, ("pair",))
    times = np.array([1, 2])
    events = Events(times, times, {"k": pa.array([1, 2]), "s": pa.array(["x", "yy"])})
    return found, found.write(State({"a": 0, "b": 0}, 2, {"a": relation(events)}), Stored()).header


TEXTS = (
    "event a(k int, s string); event b(k int, s string);\n"
    "pair(k, s) <- (a(k, s) seq b(k, s)) within 20 s;"
)


def test_the_state_of_a_shard_is_checked_when_it_is_read() -> None:
    found, stored = shard_state(TEXTS)
    assert found.read().state.rows == 2
    place = stored.rindex(np.array([0, 1, 3], np.int32).tobytes())
    for offset in (2**30, -5, 2):
        broken = bytearray(stored)
        broken[place + 4 : place + 8] = np.int32(offset).tobytes()
        found.header = (bytes(broken),)
        if offset == 2:  # another text, but one
            assert found.read().state.rows == 2
            continue
        with pytest.raises(StateError, match="the saved state is damaged"):
            found.read()
    for cut in (0, 3, 10, len(stored) - 1):
        found.header = (stored[:cut],)
        with pytest.raises(StateError):
            found.read()


@pytest.mark.parametrize(
    "change",
    [
        (b'"horizons"', b'"horizens"'),
        (b'"holds"', b'"helds"'),
        (b'"a"', b'"z"'),
        (b'"runs"', b'"rums"'),
        (b'"after"', b'"afters"'),
    ],
)
def test_a_shard_whose_header_says_something_else_is_refused(change: tuple[bytes, bytes]) -> None:
    found, stored = shard_state(TEXTS)
    found.header = (stored.replace(*change),)
    with pytest.raises(StateError):
        found.read()


# -- real queries


class Restarts:
    """A query that is stopped and started again on one checkpoint, each time with a program."""

    def __init__(self, spark: Any, path: Path) -> None:
        self._spark = spark
        self._folder = Folder(path / "events")
        self._checkpoint = str(path / "checkpoint")
        self.late = 0
        """How many events came too late in the last run."""

    def add(self, *events: dict[str, Any]) -> None:
        """Further events, for the next run."""
        self._folder.add(*events)

    def run(self, text: str | Replaced, **options: Any) -> list[Row]:
        """Run until every event has been read, and give what was found."""
        given = self._folder.stream(self._spark, "k int, n int")
        program = thence.compile(text) if isinstance(text, str) else text
        found = ts.detect(program, given, **options)
        rows: list[Any] = []
        query = (
            found.writeStream.option("checkpointLocation", self._checkpoint)
            .foreachBatch(lambda frame, _: rows.extend(frame.collect()))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        told = [p.observedMetrics["thence"] for p in query.recentProgress if p.observedMetrics]
        self.late = sum(row["late"] for row in told)
        return readable(rows)


def refused(restarts: Restarts, text: str, **options: Any) -> BaseException:
    with pytest.raises(StreamingQueryException) as raised:
        restarts.run(text, **options)
    return raised.value


def test_a_rule_that_is_added_finds_what_is_completed_from_now_on(
    spark: Any, tmp_path: Path
) -> None:
    restarts = Restarts(spark, tmp_path)
    restarts.add(event("a", 0, k=1), event("a", 4, k=2), event("b", 5, k=2))
    assert restarts.run(PAIR) == [("pair", 2, 4.0, 5.0)]
    restarts.add(event("b", 8, k=1))
    quick = PAIR + "quick(k) <- (a(k, _) seq b(k, _)) within 10 s;"
    assert restarts.run(quick) == [("pair", 1, 0.0, 8.0), ("quick", 1, 0.0, 8.0)]


def test_a_narrower_condition_holds_for_events_from_before(spark: Any, tmp_path: Path) -> None:
    restarts = Restarts(spark, tmp_path)
    restarts.add(event("a", 0, k=1, n=3), event("a", 0, k=2, n=9))
    assert restarts.run(MORE) == []
    restarts.add(event("b", 5, k=1, n=100), event("b", 5, k=2, n=0))
    assert restarts.run(MORE.replace("m > n + 5", "n > 5")) == [("pair", 2, 0.0, 5.0)]


def test_a_refused_program_leaves_the_checkpoint_to_the_one_before(
    spark: Any, tmp_path: Path
) -> None:
    restarts = Restarts(spark, tmp_path)
    restarts.add(event("a", 0, k=1), event("a", 0, k=2))
    assert restarts.run(ALONE) == []
    restarts.add(event("clock", 30), event("b", 5, k=2))

    problem = ts.explain_failure(refused(restarts, ALONE.replace("10 s", "20 s")))
    assert isinstance(problem, StateError)
    assert str(problem) == refusal(
        [
            "it keeps 'a' events for 10 s; rules now need them for 20 s",
            "it keeps 'b' events for 9.999999 s; rules now need them for 19.999999 s",
        ]
    )

    assert restarts.run(ALONE) == [("alone", 1, 0.0, 10.0)]


def test_spark_refuses_another_number_of_stages_and_leaves_the_checkpoint_alone(
    spark: Any, tmp_path: Path
) -> None:
    restarts = Restarts(spark, tmp_path)
    restarts.add(event("a", 0, k=1))
    assert restarts.run(PAIR) == []
    restarts.add(event("b", 3, k=1))
    assert "STREAMING_STATEFUL_OPERATOR_NOT_MATCH" in str(refused(restarts, ALARM))
    assert restarts.run(PAIR) == [("pair", 1, 0.0, 3.0)]


def test_another_number_of_partitions_in_the_session_loses_nothing(
    spark: Any, tmp_path: Path
) -> None:
    """Spark goes on with the number in the checkpoint, whatever the session says by now."""
    restarts = Restarts(spark, tmp_path)
    restarts.add(*(event("a", 0, k=k) for k in range(5)))
    assert restarts.run(PAIR) == []
    restarts.add(*(event("b", 5, k=k) for k in range(5)))
    found = []
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "5")
    try:
        found = restarts.run(PAIR, shards=int(before))
    except StreamingQueryException as problem:
        assert isinstance(ts.explain_failure(problem), StateError)
    finally:
        spark.conf.set(PARTITIONS, before)
    found += restarts.run(PAIR)
    assert found == [("pair", k, 0.0, 5.0) for k in range(5)]


def test_a_query_goes_on_from_a_checkpoint_of_the_format_before(spark: Any, tmp_path: Path) -> None:
    """All state of a shard was one value then. It remembers an `a` of 1 at 0 s, of 2 at 4 s, and of
    3 to 599 at 6 s."""
    checkpoint = tmp_path / "checkpoint"
    with ZipFile(Path(__file__).parent / "checkpoints" / "version1.zip") as archive:
        archive.extractall(checkpoint)
    # Spark notes where a file of the checkpoint is; here it stands for that.
    note = checkpoint / "state" / "0" / "_metadata" / "v2" / "0"
    note.write_text(note.read_text().replace("CHECKPOINT", f"file:{checkpoint}"))
    restarts = Restarts(spark, tmp_path)
    restarts.add(event("b", 8, k=1), event("b", 9, k=500))
    assert restarts.run(PAIR) == [("pair", 1, 0.0, 8.0), ("pair", 500, 6.0, 9.0)]
    restarts.add(event("b", 10, k=501), event("b", 21, k=1), event("b", 21, k=502))
    assert restarts.run(PAIR) == [("pair", 501, 6.0, 10.0), ("pair", 502, 6.0, 21.0)]
