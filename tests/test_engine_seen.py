"""What a recursion has seen: the same answers as comparing with everything, round by round."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_sizes import drawn_run_sizes

import thence
from thence.engine.arrays.rows import concat, distinct
from thence.engine.state import seen
from thence.engine.state.relation import Relation
from thence.model.events import Events

NAN = float("nan")

row = st.tuples(
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([-1, 0, 1, None, 2**61 - 1]),
    st.sampled_from(["x", "", None]),
    st.sampled_from([0.0, -0.0, NAN, None, 1.5]),
    st.sampled_from([[1], [], None]),
)


def events(rows: list[tuple[Any, ...]]) -> Events:
    start, length, n, s, f, many = zip(*rows, strict=True) if rows else [()] * 6
    begins = np.array(start, dtype=np.int64)
    columns = {
        "n": pa.array(n, pa.int64()),
        "s": pa.array(s, pa.string()),
        "f": pa.array(f, pa.float64()),
        "l": pa.array(many, pa.list_(pa.int64())),
    }
    return Events(begins, begins + np.array(length, dtype=np.int64), columns)


def shown(found: Events) -> list[str]:
    columns = [column.to_pylist() for column in found.columns.values()]
    rows = zip(found.start.tolist(), found.end.tolist(), *columns, strict=True)
    return [str(row).replace("-0.0", "0.0") for row in rows]


@pytest.mark.parametrize("collide", [False, True])
@given(
    before=st.lists(st.lists(row, max_size=6), max_size=4),
    rounds=st.lists(st.lists(row, max_size=6), max_size=8),
    source=st.randoms(use_true_random=False),
)
def test_what_is_fresh(
    collide: bool,
    before: list[list[tuple[Any, ...]]],
    rounds: list[list[tuple[Any, ...]]],
    source: random.Random,
) -> None:
    with pytest.MonkeyPatch.context() as patch, drawn_run_sizes(source):
        if collide:  # then every row is suspected to be any other
            patch.setattr(seen, "row_hashes", lambda e: np.zeros(len(e), dtype=np.uint64))
        known, held = events([]), Relation(events([]))
        for rows in before:
            fresh = distinct(events(rows), known)
            known, held = concat([known, fresh]), held.added(fresh)
        ours = seen.Seen(held)
        for rows in rounds:
            found = events(rows)
            fresh = ours.fresh(found, once=False)
            assert shown(fresh) == shown(distinct(found, known))
            known = concat([known, fresh])
            ours.add(fresh)


def test_a_chain_of_hops() -> None:
    """Each of as many rounds as there are hops finds nearly as many events as there are hops."""
    program = thence.compile(
        "event a(x int, y int); tc(x, y) <- a(x, y); tc(x, y) <- tc(x, z) seq a(z, y);"
    )
    hops = 500
    ends = np.arange(hops)
    found = program.run({"a": pa.table({"x": ends, "y": ends + 1, "time": ends})})["tc"]
    assert found.num_rows == hops * (hops + 1) // 2
