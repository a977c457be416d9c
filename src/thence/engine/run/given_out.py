"""A run whose results are given out as they are found, so that they need not all be held at once.

Everything that rules read is derived in one step, as ever. What only comes out of the run is
derived after that, chunk by chunk, where the plan says that it can be (``plan/flow.py``): memory
then follows the chunk, and not the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import perf_counter

from thence.engine.arrays.rows import texts_fit
from thence.engine.arrays.step_memo import Memo, remembering
from thence.engine.limits.growth import Budget, owner, spending
from thence.engine.limits.measure import derived, metered
from thence.engine.run.derive import Inputs, derive_in_chunks
from thence.engine.run.knows import look_up
from thence.engine.run.step import Options, moment_of, step
from thence.engine.state.state import State, empty_relation
from thence.engine.window.coverage import derived_gaps
from thence.model.events import Events
from thence.plan.tree import Part

Piece = tuple[str, Events]
"""Some of the events of a type."""

_INDEXED, _INDEXES = 1 << 24, 8
"""How many rows an index has at most that is kept from one chunk to the next, and how many of such
things are."""


def given_out(
    part: Part,
    state: State,
    events: Mapping[str, Events],
    horizons: Mapping[str, int],
    options: Options,
    rows: int,
) -> Iterator[Piece]:
    """All that a step over some events would give from a state that has no events, each result
    once: what is derived as a whole as it is, everything else in chunks of about ``rows``. There is
    no lineage: a result is complete only once all its derivations are there.

    What holds while a step runs (its budget, what it remembers, what it measures) holds here while
    the next piece is made, and not while somebody looks at it.
    """
    budget = Budget(options.limits, lambda event: owner(event, part))
    memo = Memo(_INDEXED, _INDEXES)
    pieces = _pieces(part, state, events, horizons, options, rows)
    while True:
        with remembering(memo), spending(budget), metered(options.meter), texts_fit():
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _pieces(
    part: Part,
    state: State,
    events: Mapping[str, Events],
    horizons: Mapping[str, int],
    options: Options,
    rows: int,
) -> Iterator[Piece]:
    flows, whole = part.flows, part.held
    count = len(part.stages)
    progress = options.progress
    if progress is not None:
        options = replace(options, progress=lambda done, _: progress(done, count))
    _, found = step(whole, state, events, horizons, options)
    for name in whole.outputs:
        if name in part.outputs:
            yield name, found[name]
    read = {use.event for prepared in flows.values() for use in prepared.uses}
    seen = {name: rows for name, rows in {**events, **found}.items() if name in read}
    del events, found
    inputs, moment = _inputs(part, state, seen, options), moment_of(part, state, horizons)
    for number, (name, prepared) in enumerate(flows.items(), len(whole.stages) + 1):
        began, figures = perf_counter(), derived(name)
        for piece in derive_in_chunks(prepared, inputs, moment.of(prepared), rows):
            figures.add(len(piece), len(piece), began)
            yield name, piece
            began = perf_counter()
        if progress is not None:
            progress(min(number, count), count)


def _inputs(part: Part, state: State, events: Mapping[str, Events], options: Options) -> Inputs:
    """What the joins that come last read: nothing is old, but for tables."""
    old = {name: empty_relation(schema) for name, schema in part.schemas.items()}
    old |= {name: options.tables[name] for name in part.tables if name in options.tables}
    new = {name: held.none for name, held in old.items()} | dict(events)
    gaps = derived_gaps(state.gaps, part.horizons.reach)
    inputs = Inputs(old, new, options.known, given=frozenset(part.inputs), last=True, gaps=gaps)
    look_up(options.knows, part, part.flows.values(), inputs)
    return inputs
