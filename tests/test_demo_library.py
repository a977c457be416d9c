"""The simulated library: what is planted is what is found, whatever its sensors miss."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hosts import batch, micro_batches, oracle
from notation import Written

import thence
from thence.demo.library.catalogue import BOOKS, PATRONS, PLACES, REFERENCE, shelf_of
from thence.demo.library.feed import Folder, Pace, batches
from thence.demo.library.findings import KINDS, OPENS, Finding, compare, found
from thence.demo.library.sensors import MAX_DELAY
from thence.demo.library.simulate import LIMIT, Day, simulate
from thence.demo.library.watch import load_program, watch
from thence.model.time import parse_duration

PROGRAM = load_program()
FAST = Pace()


def watched(day: Day, pace: Pace = FAST) -> list[Finding]:
    """What a session in this process finds in a day."""
    told: list[Finding] = []
    watch(PROGRAM, day, told.extend, pace, None)
    return told


def results(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """What the program derives from some signals, judged a minute after them."""
    last = max(event["time"] for event in events)
    table = PROGRAM.run(events, until=last + timedelta(minutes=1), emit=name)[name]
    return [{**row, "at": (row["end"] - OPENS) / timedelta(seconds=1)} for row in table.to_pylist()]


def reading(second: float, tag: str, place: str = "door-n") -> dict[str, Any]:
    time = OPENS + timedelta(seconds=second)
    return {"type": "Reading", "time": time, "tag_id": tag, "loc_id": place}


def motion(second: float, sensor: str, place: str = "door-n") -> dict[str, Any]:
    time = OPENS + timedelta(seconds=second)
    return {"type": "Motion", "time": time, "sensor": sensor, "loc_id": place}


def leaving(second: float, *tags: str) -> list[dict[str, Any]]:
    """Somebody passes the door, and then the tags are read, a tenth of a second apart."""
    sensors = [motion(second, "inner"), motion(second + 0.4, "outer")]
    return sensors + [reading(second + 0.5 + 0.1 * n, tag) for n, tag in enumerate(tags)]


def keys(findings: list[Finding] | tuple[Finding, ...]) -> Counter[Any]:
    return Counter((f.kind, f.place, f.book, f.persons) for f in findings)


# -- what is planted is found


@pytest.mark.parametrize("seed", range(20))
def test_exactly_what_was_planted_is_found(seed: int) -> None:
    day = simulate(seed)
    comparison = compare(day.planted, watched(day))
    assert comparison.missed == ()
    assert comparison.unexpected == ()


@pytest.mark.parametrize("seed", range(3))
def test_so_it_is_in_a_crowd(seed: int) -> None:
    day = simulate(seed, visits=180, minutes=30)
    assert compare(day.planted, watched(day)).equal


@pytest.mark.parametrize("visits", [1, 2, 7])
def test_so_it_is_with_few_visitors(visits: int) -> None:
    day = simulate(5, visits, minutes=5)
    assert compare(day.planted, watched(day)).equal


def test_it_does_not_matter_how_the_day_is_cut_into_batches() -> None:
    day = simulate(3)
    at_once = Pace(speed=1e6)
    assert len(list(batches(day, at_once.span))) == 1 < len(list(batches(day, FAST.span)))
    assert sorted(watched(day, at_once)) == sorted(watched(day, FAST))


def test_with_enough_visitors_there_is_one_of_each_kind_of_incident() -> None:
    for seed in range(10):
        kinds = {finding.kind for finding in simulate(seed).planted}
        assert {"booklifting", "confusion", "over the limit", "checkout"} <= kinds


@pytest.mark.parametrize("seed", range(2))
def test_all_that_the_program_derives_is_what_the_oracle_says(seed: int) -> None:
    """Not only what is told in the end. Without the shelves, which say much and often the same."""
    events = [
        Written(signal.event, (signal.subject, signal.place), signal.at * 1_000, signal.at * 1_000)
        for _, signal in simulate(seed, visits=16, minutes=10).signals
        if not signal.place.startswith("shelf")
    ]
    meant = oracle(PROGRAM.source.text, events, None)
    assert all(meant[kind.event] for kind in KINDS.values())
    assert batch(PROGRAM.source.text, events, None) == meant
    assert micro_batches(PROGRAM.source.text, events, None) == meant


# -- the simulated day


def test_a_seed_says_everything() -> None:
    assert simulate(4) == simulate(4)
    assert simulate(4).signals != simulate(5).signals


def test_no_two_signals_are_at_the_same_time() -> None:
    times = [signal.at for _, signal in simulate(1).signals]
    assert len(set(times)) == len(times)


def test_signals_come_out_of_order_by_less_than_the_program_allows() -> None:
    times = [signal.at for _, signal in simulate(1).signals]
    behind = [max(times[: n + 1]) - at for n, at in enumerate(times)]
    assert 0 < max(behind) * 1_000 <= parse_duration(MAX_DELAY)


def door_readings(day: Day) -> dict[tuple[str, str], list[int]]:
    grouped: dict[tuple[str, str], list[int]] = {}
    for signal in sorted(signal for _, signal in day.signals):
        if signal.event == "Reading" and signal.place.startswith("door"):
            grouped.setdefault((signal.subject, signal.place), []).append(signal.at)
    return grouped


def test_a_passage_is_read_several_times_with_gaps_and_never_lost() -> None:
    gaps = [b - a for times in door_readings(simulate(1)).values() for a, b in pairwise(times)]
    within_a_passage = [gap for gap in gaps if gap < 5_000]
    assert min(within_a_passage) < 230  # read again at once
    assert max(within_a_passage) > 350  # a reading was missed
    assert max(within_a_passage) < 1_000  # but never for a second, which would look like a return


def test_every_book_that_goes_through_a_door_is_read_there() -> None:
    day = simulate(1)
    read = door_readings(day)
    at_doors = [f for f in day.planted if f.place.startswith("door")]
    assert at_doors
    for finding in at_doors:
        assert any(0 < at - finding.at < 2_000 for at in read[finding.book, finding.place])


def test_books_for_reference_never_leave() -> None:
    day = simulate(1, visits=180, minutes=30)
    assert not {finding.book for finding in day.planted} & set(REFERENCE)
    assert not {tag for tag, _ in door_readings(day)} & set(REFERENCE)


def test_everything_in_the_day_is_in_the_catalogue() -> None:
    for _, signal in simulate(1).signals:
        assert signal.place in PLACES
        if signal.event == "Reading":
            assert signal.subject in {**BOOKS, **REFERENCE, **PATRONS}
    assert {shelf_of(book) for book in REFERENCE} == {p for p in PLACES if p.startswith("shelf")}


@pytest.mark.parametrize(
    ("visits", "minutes", "said"),
    [(24, 4, "5 to 600 minutes, not 4"), (0, 15, "1 to 90 visits, not 0"), (91, 15, "not 91")],
)
def test_a_day_that_cannot_be_is_refused(visits: int, minutes: int, said: str) -> None:
    with pytest.raises(thence.InputError, match=said):
        simulate(1, visits, minutes)


def test_batches_hold_each_signal_once_in_the_order_of_arrival() -> None:
    day = simulate(1, visits=3, minutes=5)
    cut = list(batches(day, 5_000))
    times = [record["time"] for batch in cut for record in batch.records]
    expected = [OPENS + timedelta(milliseconds=signal.at) for _, signal in day.signals]
    assert times == [f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond // 1000:03}Z" for t in expected]
    assert all(batch.records for batch in cut)


# -- the program, query by query


def test_a_tag_counts_once_while_it_is_read_again_and_again() -> None:
    readings = [reading(s, "B001") for s in (1, 1.4, 2.2, 9)]
    assert [row["at"] for row in results(readings, "Book")] == [1, 9]


def test_a_tag_that_moves_on_within_a_second_is_seen_at_both_places() -> None:
    readings = [reading(1, "B001", "shelf-1"), reading(1.5, "B001", "door-n")]
    assert [row["loc_id"] for row in results(readings, "Book")] == ["shelf-1", "door-n"]


@pytest.mark.parametrize(("first", "direction"), [("inner", "out"), ("outer", "in")])
def test_the_order_of_two_sensors_is_the_direction(first: str, direction: str) -> None:
    second = {"inner": "outer", "outer": "inner"}[first]
    fired = [motion(1, first), motion(1.2, first), motion(1.5, second), motion(3, second)]
    assert [row["direction"] for row in results(fired, "Passage")] == [direction]


def test_sensors_of_two_doors_make_no_passage() -> None:
    fired = [motion(1, "inner", "door-n"), motion(1.5, "outer", "door-s")]
    assert results(fired, "Passage") == []


def test_a_book_at_the_counter_belongs_to_the_last_card() -> None:
    scans = [reading(s, tag, "counter") for s, tag in ((1, "P001"), (3, "P002"), (5, "B001"))]
    taken = results(scans, "CounterCheckout")
    assert [(row["person_id"], row["book_id"], row["at"]) for row in taken] == [("P002", "B001", 5)]


def test_alone_with_a_book_is_a_checkout_and_no_booklifting() -> None:
    events = leaving(1, "P001", "B001")
    assert [row["person_id"] for row in results(events, "Checkout")] == ["P001"]
    assert results(events, "BookliftingAlert") == []


def test_a_book_that_was_checked_out_at_the_counter_is_not_checked_out_again() -> None:
    scans = [reading(1, "P001", "counter"), reading(3, "B001", "counter")]
    events = scans + leaving(30, "P001", "B001")
    assert [row["loc_id"] for row in results(events, "Checkout")] == ["counter"]


def test_a_book_without_a_person_is_lifted() -> None:
    assert [row["at"] for row in results(leaving(1, "B001"), "BookliftingAlert")] == [3.5]


def test_two_persons_with_a_book_are_one_confusion() -> None:
    events = leaving(1, "P002", "B001", "P001")
    pairs = [(r["person1_id"], r["person2_id"]) for r in results(events, "ConfusionAlert")]
    assert pairs == [("P001", "P002")]
    assert results(events, "Checkout") == []


def test_two_persons_with_a_book_that_come_in_are_no_confusion() -> None:
    events = [motion(1, "outer"), motion(1.4, "inner")]
    events += [reading(1.5, "P001"), reading(1.6, "B001"), reading(1.7, "P002")]
    assert results(events, "ConfusionAlert") == []


def counter(second: float, *books: str) -> list[dict[str, Any]]:
    scans = [reading(second, "P001", "counter")]
    return scans + [reading(second + 2 + 2 * n, book, "counter") for n, book in enumerate(books)]


def coming_back(second: float, *tags: str) -> list[dict[str, Any]]:
    sensors = [motion(second, "outer"), motion(second + 0.4, "inner")]
    return sensors + [reading(second + 0.5 + 0.1 * n, tag) for n, tag in enumerate(tags)]


def test_the_fourth_book_is_over_the_limit() -> None:
    taken = results(counter(1, "B001", "B002", "B003", "B004"), "OverlimitAlert")
    assert LIMIT == 3
    assert [row["book_id"] for row in taken] == ["B004"]


def test_a_book_that_was_brought_back_does_not_count() -> None:
    events = counter(1, "B001", "B002", "B003") + coming_back(100, "P001", "B002")
    assert results(events + counter(200, "B004"), "OverlimitAlert") == []
    again = results(events + counter(200, "B002", "B004"), "OverlimitAlert")
    assert [row["book_id"] for row in again] == ["B004"]


def test_of_two_books_that_are_checked_out_at_one_instant_one_came_first() -> None:
    """The card is read after both books, so both checkouts are at the time of the card."""
    events = counter(1, "B001", "B002") + leaving(100, "B003", "B004", "P001")
    taken = results(events, "OverlimitAlert")
    assert [row["book_id"] for row in taken] == ["B004"]


# -- comparing


def test_what_differs_is_told_from_both_sides() -> None:
    lifted = Finding(1_000, "booklifting", "door-n", "B009")
    late = Finding(9_000, "booklifting", "door-n", "B009")
    comparison = compare([lifted], [late])
    assert (comparison.missed, comparison.unexpected) == ((lifted,), (late,))
    assert not comparison.equal


def test_a_finding_is_used_once() -> None:
    lifted = Finding(1_000, "booklifting", "door-n", "B009")
    assert compare([lifted], [lifted, lifted]).unexpected == (lifted,)
    assert compare([lifted, lifted], [lifted]).missed == (lifted,)


def test_every_kind_names_an_event_of_the_program_with_its_columns() -> None:
    derived = {schema.name: schema.names for schema in PROGRAM.derived}
    for kind in KINDS.values():
        assert {"loc_id", "book_id", *kind.persons} <= set(derived[kind.event])


def test_rows_become_findings_with_a_clock_and_a_sentence() -> None:
    row = {"type": "BookliftingAlert", "loc_id": "door-n", "book_id": "B009"}
    (finding,) = found([{**row, "end": OPENS + timedelta(minutes=31, seconds=7)}])
    assert (finding.clock, finding.sentence) == ("10:31:07", "'Dune' left through the north door")


# -- on Spark


@pytest.mark.long  # test_cli_demo.py has the same day on Spark, through the command
def test_a_stream_on_spark_finds_the_same(spark: Any, tmp_path: Path) -> None:
    from thence.demo.library.on_spark import watch_on_spark

    day = simulate(1, visits=8, minutes=5)
    told: list[Finding] = []
    folder = Folder(tmp_path / "readings")
    finished = watch_on_spark(
        spark, PROGRAM, day, told.extend, FAST, folder, tmp_path / "checkpoint", Event()
    )
    assert finished
    assert keys(told) == keys(day.planted)
    assert sorted(told) == sorted(watched(day))
    assert spark.streams.active == []


def test_a_stream_on_spark_can_be_stopped(spark: Any, tmp_path: Path) -> None:
    from thence.demo.library.on_spark import watch_on_spark

    day, folder, stop = simulate(1, visits=8, minutes=5), Folder(tmp_path / "readings"), Event()
    stop.set()
    checkpoint, slowly = tmp_path / "checkpoint", Pace(speed=1)
    told: list[Finding] = []
    assert not watch_on_spark(spark, PROGRAM, day, told.extend, slowly, folder, checkpoint, stop)
    assert spark.streams.active == []
