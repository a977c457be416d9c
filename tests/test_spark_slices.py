"""Time slices and blocks: how work without a key is dealt out, and how large what travels is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thence.model.events import Events
from thence.plan.partition.slices import Reach, Slices, slices_for, span
from thence.spark.blocks import decode
from thence.spark.chain import Hop
from thence.spark.route import LARGEST, routed

DAY = 24 * 3600 * 1_000_000


@given(
    ends=st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=20),
    furthest=st.integers(0, 10_000),
    nearest=st.integers(-10_000, 0),
    shards=st.integers(2, 9),
    more=st.integers(0, 5000),
)
def test_every_shard_that_may_report_a_result_is_given_its_events(
    ends: list[int], furthest: int, nearest: int, shards: int, more: int
) -> None:
    reach = Reach(nearest, furthest)
    slices = Slices(max(1, span({"a": reach}) + more), shards)
    times = np.array(ends, np.int64)
    first, last = slices.needed_by(times, reach)
    for distance in {nearest, nearest // 2, 0, furthest // 2, furthest}:
        owner = slices.owner(times + distance)
        assert ((owner == first) | (owner == last)).all()


@pytest.mark.parametrize("step", [1, 2, 7, 60, 86_400])
def test_slices_spread_evenly_however_regular_the_events_are(step: int) -> None:
    slices = slices_for({"a": Reach(0, 1000)}, 4)
    ends = np.arange(400, dtype=np.int64) * step * slices.width
    shares = np.bincount(slices.owner(ends), minlength=4)
    assert shares.min() > 80


def test_more_shards_have_narrower_slices_but_never_too_narrow() -> None:
    reach = {"a": Reach(0, DAY)}
    widths = [slices_for(reach, shards).width // DAY for shards in (2, 8, 500)]
    assert widths == [16, 4, 2]


def test_a_block_is_cut_where_it_would_become_too_large() -> None:
    times = np.arange(50_000, dtype=np.int64)
    events = Events(times, times, {"text": pa.array(["x" * 40] * 50_000)})
    blocks = list(routed(_one_place(), "a", events))
    assert sum(block.rows for block in blocks) == 50_000
    assert max(block.data.size for block in blocks) < 1.1 * LARGEST
    assert np.concatenate([decode(block.data).end for block in blocks]).tolist() == times.tolist()


def test_an_event_larger_than_a_block_travels_alone() -> None:
    times = np.arange(3, dtype=np.int64)
    events = Events(times, times, {"text": pa.array(["x" * 2 * LARGEST] * 3)})
    assert [block.rows for block in routed(_one_place(), "a", events)] == [1, 1, 1]


def _one_place() -> Hop:
    return Hop(0, None, "one place", None, {}, (0,), {"a": ("text",)}, False)  # type: ignore[arg-type]
