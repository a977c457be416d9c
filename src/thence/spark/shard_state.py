"""What a shard of a stream remembers, in Spark's state store: a header, and sorted runs by name.

A trigger writes the header, which is small, and the runs that are new; those that were merged into
others, or have expired, are deleted. The header says what the state holds, which is compared with
what the program needs (``compatibility.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thence.engine.state.apart import Place, RunNote, header_bytes, read_apart, runs_of
from thence.engine.state.saved import Shape, check_state, shape_of
from thence.engine.state.sorted_run import Run
from thence.engine.state.state import State, damaged, decode, read_header
from thence.model.errors import StateError
from thence.plan.horizons import NEVER, everywhere
from thence.spark.chain import Chain, Hop
from thence.spark.compatibility import checked_misfits, converted, refusal
from thence.spark.run_store import RunStore

VERSION = 3
WHOLE = (1, 2)
"""The versions before runs were stored apart: all state in one value; the first had one horizon."""
READS = (*WHOLE, VERSION)
SEVERAL = 4
"""The version of an entry that has the state of several generations (``shard_generations.py``)."""

MOST = 2**31 - 1024
"""Bytes of a value in Spark's state store: a little less than Java has room for in an array."""


@dataclass(frozen=True, slots=True)
class Stored:
    """State, and the runs that the state store has by name, with their sizes in bytes. ``heard`` is
    noted of inputs that may be idle (``idle.py``)."""

    state: State = field(default_factory=State)
    sizes: Mapping[str, int] = field(default_factory=dict)
    heard: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """The header to be stored, how many bytes the shard takes with it, how many of them were
    written, and how many rows are remembered."""

    header: bytes
    size: int
    new: int
    rows: int


def state_shape(chain: Chain, hop: Hop) -> Shape:
    """What the state of a shard of a hop looks like."""
    return shape_of(hop.part, hop.retention, chain.lineage)


def write_state(
    chain: Chain,
    hop: Hop,
    state: State,
    before: Stored,
    store: RunStore,
    shape: Shape,
    heard: Sequence[Any] = (),
) -> Written:
    """Store the state of a shard, as far as it is not what was stored before, and what is noted of
    its inputs."""
    sizes, new = {}, 0
    for _, run in runs_of(state):
        size = before.sizes.get(run.name)
        if size is None:
            size = store.add(run)
            new += size
        sizes[run.name] = size
    store.remove({name: size for name, size in before.sizes.items() if name not in sizes})
    said = {"version": VERSION, "holds": chain.holds_of(hop)}
    header = header_bytes(state, said | ({"heard": heard} if heard else {}), sizes)
    check_size(len(header), state.rows)
    store.keep(runs_of(state), shape)
    size = sum(sizes.values())
    return Written(header, len(header) + size, len(header) + new, state.rows)


def check_size(size: int, rows: int) -> None:
    """Refuse an entry that Spark's state store cannot hold."""
    if size > MOST:
        raise StateError(
            f"a shard remembers {rows:,} rows; those of them that are still out of order are more "
            "than the 2 GiB that Spark's state store holds in one entry: use more shards, or a "
            "shorter max_delay"
        )


def read_state(chain: Chain, hop: Hop, stored: Any, store: RunStore, shape: Shape) -> Stored:
    """The state of a shard, empty at the beginning. Runs are read when a step looks into them."""
    if stored is None:
        return Stored()
    body = bytes(stored[0])
    header = read_header(body)
    version = header.get("version")
    if version not in READS:
        raise StateError(
            f"the checkpoint has state of format version {version}; this version of Thence reads "
            f"version {SEVERAL} and before: go on with the version that wrote it, or begin with a "
            "new checkpoint"
        )
    holds, needs = header.get("holds"), chain.holds_of(hop)
    changed = holds != needs
    sizes: dict[str, int] = {}

    def run_for(place: Place, note: RunNote) -> Run:
        sizes[note.name] = note.bytes
        return store.run(place, note, None if changed else shape)

    if version == 1:
        header["horizons"] = everywhere(header.get("horizon", NEVER), hop.part.origins)
    state = decode(body, header) if version in WHOLE else read_apart(body, header, run_for)
    if changed:
        problems = checked_misfits(holds, needs)
        if problems:
            raise StateError(refusal(problems))
        state = converted(state, hop, needs)
    try:
        check_state(state, shape, runs=changed or version in WHOLE)
    except StateError as problem:
        raise damaged(problem) from None
    return Stored(state, sizes, header.get("heard", ()))
