"""Time in a Spark stream: latecomers, the instants at the edge of the watermark, timers, state."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.streaming.listener import StreamingQueryListener
from spark_feed import event, fed

SEEN = "event a(k int, note string); event clock(); seen(k) <- a(k, _);"
PAIR = "event a(k int); event b(k int); event clock(); pair(k) <- (a(k) seq b(k)) within 10 s;"
ALONE = """
    event a(k int);
    event b(k int);
    event clock();
    alone(k) <- o: a(k), w: extend(o, 10 s), while w: not b(k);
"""


class Listener(StreamingQueryListener):
    """Keeps the late counts that it hears of."""

    def __init__(self) -> None:
        self.counts: queue.Queue[int] = queue.Queue()

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        figures = event.progress.observedMetrics.get("orders")
        if figures is not None and figures.late:
            self.counts.put(figures.late)

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...


# -- latecomers


def test_a_listener_hears_how_many_events_were_late(spark: Any, tmp_path: Path) -> None:
    listener = Listener()
    spark.streams.addListener(listener)
    try:
        with fed(spark, tmp_path, PAIR, "k int", "pair", max_delay="5 s", name="orders") as feed:
            feed.push(event("a", 100, k=1))
            feed.push(event("b", 101, k=1), event("b", 1, k=1), event("a", 2, k=3))
            assert listener.counts.get() == 2
    finally:
        spark.streams.removeListener(listener)


def test_events_of_a_trigger_that_are_all_late_are_counted(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, PAIR, "k int", "pair", max_delay="5 s") as feed:
        feed.push(event("a", 100, k=1))
        assert sum(batch.late for batch in feed.batches()) == 0
        feed.push(*(event("a", 1, k=k) for k in range(7)))
        feed.push(event("b", 2, k=1))
        assert [batch.late for batch in feed.batches() if batch.events] == [7, 1]


def test_the_late_output_has_latecomers_with_all_their_attributes(
    spark: Any, tmp_path: Path
) -> None:
    columns = "k int, note string"
    with fed(spark, tmp_path, SEEN, columns, "seen", max_delay="5 s", late=True) as feed:
        feed.push(event("a", 100, k=1, note="in time"))
        found = feed.push(event("a", 97, k=2, note="in time"), event("a", 3, k=3, note="too late"))
        assert found == [
            ("a", True, 3, "too late", 3.0, 3.0),
            ("seen", False, 2, None, 97.0, 97.0),
        ]


def test_an_event_that_two_stages_read_is_late_once(spark: Any, tmp_path: Path) -> None:
    text = """
        event a(k int, shop string);
        event b(k int);
        event clock();
        pair(k, shop)     <- (a(k, shop) seq b(k)) within 10 s;
        busy(shop, count() as pairs)
                          <- o: a(_, shop), w: extend(o, 10 s), while w: collect pair(_, shop);
    """
    with fed(spark, tmp_path, text, "k int, shop string", None, late=True) as feed:
        feed.push(event("clock", 100))
        assert feed.push(event("a", 1, k=1, shop="x")) == [
            ("a", True, 1, "x", None, 1.0, 1.0),
        ]
        assert sum(batch.late for batch in feed.batches()) == 1


# -- the edge of the watermark


def test_an_event_exactly_at_the_watermark_is_in_time(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, SEEN, "k int, note string", "seen", max_delay="5 s") as feed:
        feed.push(event("clock", 100))
        found = feed.push(event("a", 95, k=1), event("a", 94.999999, k=2))
        assert found == [(1, 95.0, 95.0)]
        assert sum(batch.late for batch in feed.batches()) == 1


def test_a_delay_of_less_than_a_millisecond_is_allowed_in_full(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, SEEN, "k int, note string", "seen", max_delay="300 us") as feed:
        feed.push(event("clock", 100.0005))
        assert feed.push(event("a", 100.0002, k=1)) == [(1, 100.0002, 100.0002)]


# -- timers


def test_an_absence_is_reported_though_nothing_of_its_key_comes_any_more(
    spark: Any, tmp_path: Path
) -> None:
    with fed(spark, tmp_path, ALONE, "k int", "alone") as feed:
        assert feed.push(event("a", 0, k=1)) == []
        assert feed.push(event("a", 60, k=2)) == [(1, 0.0, 10.0)]


def test_an_event_that_no_rule_reads_moves_the_clock(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, ALONE, "k int", "alone") as feed:
        assert feed.push(event("a", 0, k=1), event("b", 4, k=2)) == []
        assert feed.push(event("clock", 60)) == [(1, 0.0, 10.0)]


def test_an_absence_is_judged_with_the_first_millisecond_that_is_beyond_its_window(
    spark: Any, tmp_path: Path
) -> None:
    """The horizon is a microsecond before the watermark, and the window's end has to be seen."""
    with fed(spark, tmp_path, ALONE, "k int", "alone") as feed:
        feed.push(event("a", 0, k=1), event("clock", 9.999))
        assert feed.push(event("clock", 10)) == []
        assert feed.push(event("clock", 10.001)) == [(1, 0.0, 10.0)]


def test_a_window_that_ends_at_the_horizon_is_judged(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, ALONE, "k int", "alone") as feed:
        feed.push(event("a", 1.999999, k=1), event("clock", 11.999))
        assert feed.push(event("clock", 12)) == [(1, 1.999999, 11.999999)]


def test_a_timer_reaches_every_stage(spark: Any, tmp_path: Path) -> None:
    """What is derived by one key when time has passed is judged by another in the same moment."""
    text = """
        event a(k int, shop string);
        event b(k int);
        event clock();
        alone(k, shop)    <- o: a(k, shop), w: extend(o, 10 s), while w: not b(k);
        bad(shop, count() as alone)
                          <- o: a(_, shop), w: extend(o, 30 s), while w: collect alone(_, shop);
    """
    with fed(spark, tmp_path, text, "k int, shop string", "bad") as feed:
        feed.push(*(event("a", second, k=second, shop="x") for second in (0, 1, 2)))
        feed.push(event("clock", 20))
        assert feed.push(event("clock", 30.001)) == [("x", 2, 0.0, 30.0)]


# -- state


def test_state_grows_with_the_window_and_not_with_time(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, PAIR, "k int", "pair", max_delay="2 s") as feed:
        sizes = []
        for begin in range(0, 80, 10):
            feed.push(
                *(event("a", begin + n / 10, k=n % 20) for n in range(100)),
                *(event("b", begin + n / 10 + 0.05, k=n % 20) for n in range(0, 100, 10)),
            )
            last = feed.batches()[-1]
            sizes.append((last.state_rows, last.state_bytes))
        assert len(set(sizes[3:])) == 1
        assert 0 < sizes[-1][0] < 200

        feed.push(event("clock", 1000))
        silent = feed.batches()[-1]
        assert silent.state_rows == 0
        assert silent.state_bytes < sizes[-1][1] / 2
