"""Programs that take one another's place on a stream, and the generations of rules that follow.

A query is changed by stopping it and starting it again from its checkpoint. What is said here is
what a session's ``replace`` says (``thence/session.py``): rules that are the same in both programs
go on with all that they remember, new ones begin at a stated time, and the others are gone. Rules
that began together are a generation; each has a plan, a chain and state of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from thence.model.errors import InputError, StateError
from thence.model.instants import instant
from thence.model.time import format_timestamp
from thence.plan.make import serving
from thence.plan.partition.parts import Piece, cut, pieces_serving
from thence.plan.retention import Needs, bounded
from thence.plan.tree import Part, Plan
from thence.program import Program
from thence.rule_changes import changes, planned_marks
from thence.spark.chain import GENERATION, Chain, make_chain
from thence.spark.compatibility import described
from thence.spark.frames import Requested
from thence.spark.pushdown import requested


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """A program that took the place of another on a stream. Made by :func:`replaced`.

    ``outputs`` are the derived events that the earlier one was asked for. ``begin`` is the time, in
    microseconds, at which new rules begin.
    """

    earlier: Program | Replaced
    outputs: tuple[str, ...]
    program: Program
    begin: int | None


@dataclass(frozen=True, slots=True)
class Generation:
    """Rules of a program that began together. ``plan`` was made when they did; ``outputs`` are what
    is still asked for of what it derives."""

    plan: Plan
    outputs: tuple[str, ...]
    begin: int | None = None

    @property
    def part(self) -> Part:
        """What is still derived, as one part."""
        plan = self.plan if self.outputs == self.plan.outputs else serving(self.plan, self.outputs)
        return plan.part(plan.stages, self.outputs)


@dataclass(frozen=True, slots=True)
class Lineup:
    """The generations that a query runs side by side. ``first`` is the one that it began with, as
    it was then: the query has as many hops as that needs."""

    first: Generation
    generations: tuple[Generation, ...]


def replaced(
    earlier: Program | Replaced, program: Program, *, begin: Any = None, emit: Any = None
) -> Replaced:
    """A program that takes the place of another one, for a stream that is started again from its
    checkpoint: :func:`detect` and :func:`check_restart` take it in the place of a program, and so
    does this function as what came ``earlier``.

    A derived event whose rules are the same in both, with all that they rest on, goes on as if
    nothing had happened. New and changed ones begin: they see nothing that ended at ``begin`` or
    before, and assert no absence there. What the new program does not derive is gone, and
    forgotten. ``begin`` may be left out where nothing begins; it is no earlier than any event that
    the query has taken, and later than the times at which rules began before. ``emit`` are the
    events that the earlier program was asked for, as they were given to :func:`detect`.
    """
    if not isinstance(earlier, Program | Replaced):
        raise _no_program(earlier)
    if not isinstance(program, Program):
        raise _no_program(program)
    since = None if begin is None else instant(begin, "begin")
    before = _latest_begin(earlier)
    if since is not None and before is not None and since <= before:
        raise InputError(
            f"begin: new rules cannot begin at {format_timestamp(since)}: those before them began "
            f"at {format_timestamp(before)}. Give a later time."
        )
    return Replaced(earlier, program_of(earlier)._emitted(emit), program, since)


def _no_program(given: Any) -> InputError:
    return InputError(
        "replaced: the programs must come from thence.compile, thence.load or thence.build, and "
        f"not be a {type(given).__name__}"
    )


def _latest_begin(given: Program | Replaced) -> int | None:
    while isinstance(given, Replaced):
        if given.begin is not None:
            return given.begin
        given = given.earlier
    return None


def program_of(given: Program | Replaced) -> Program:
    """The program that a stream has now."""
    return given.program if isinstance(given, Replaced) else given


def lineup(given: Program | Replaced, outputs: tuple[str, ...], lineage: bool) -> Lineup:
    """The generations of a program, or of those that took one another's place, where some derived
    events are asked for."""
    if isinstance(given, Program):
        first = Generation(given.plan_for(outputs, lineage), outputs)
        return Lineup(first, (first,))
    before = lineup(given.earlier, given.outputs, lineage)
    earlier, later = program_of(given.earlier), given.program
    found = changes(earlier._checked.program, later._checked.program)
    found = found.among(given.outputs, outputs)
    kept = [
        replace(generation, outputs=left)
        for generation in before.generations
        if (left := tuple(name for name in generation.outputs if name in found.kept))
    ]
    if found.begun:
        if given.begin is None:
            names = ", ".join(f"'{name}'" for name in found.begun)
            raise InputError(
                f"replaced: new rules need a time at which they begin, the same for all shards: "
                f"those for {names} are new or changed. Give begin=… (--begin), no earlier than "
                "the latest event that the query has taken."
            )
        plan = later.plan_for(found.begun, lineage)
        kept.append(Generation(plan, found.begun, given.begin))
    return Lineup(before.first, tuple(kept))


def stream_needs(plan: Plan, allow_unbounded: bool) -> Needs:
    """What state a program needs; a refusal where it has no bound."""
    return plan.certain_needs if allow_unbounded else bounded(plan.needs)


def stream_chain(
    plan: Plan,
    needs: Needs,
    emit: tuple[str, ...],
    shards: int,
    lineage: bool,
    late: bool,
    first: int = 0,
) -> Chain:
    """The chain of a stream, with a description of what its state holds. ``emit`` may be some of
    the plan's outputs: then it is the chain of all, less what none of these rests on."""
    chain = make_chain(
        _pieces(plan, needs, emit),
        plan.schemas,
        emit,
        shards,
        lineage,
        late=late,
        lengths=needs.lengths,
        first=first,
    )
    rules = planned_marks(plan)
    return replace(chain, holds=tuple(described(chain, hop, rules) for hop in chain.hops))


def _pieces(plan: Plan, needs: Needs, emit: tuple[str, ...]) -> tuple[Piece, ...]:
    pieces = cut(plan, needs.lengths, slices=False)
    return pieces if set(plan.outputs) <= set(emit) else pieces_serving(plan, pieces, emit)


def stream_requests(
    generation: Generation, whole: bool, allow_unbounded: bool
) -> tuple[Requested, ...]:
    """What a generation wants of input events. Where rules are gone, others may still be spread by
    columns that only those read."""
    plan, needs = generation.plan, stream_needs(generation.plan, allow_unbounded)
    keys: dict[str, set[str]] = {}
    for piece in _pieces(plan, needs, generation.outputs):
        for event, names in () if piece.key is None else piece.key.columns.items():
            keys.setdefault(event, set()).update(names)
    return tuple(
        replace(
            each,
            columns=tuple(
                name
                for name in each.schema.names
                if name in each.columns or name in keys.get(each.schema.name, ())
            ),
        )
        for each in requested(plan, generation.part, whole, needs.instants)
    )


def stream_chains(
    lined: Lineup, shards: int, lineage: bool, late: bool, allow_unbounded: bool
) -> tuple[Chain, ...]:
    """The chains of some generations, side by side in the hops that the query began with."""
    first = stream_needs(lined.first.plan, allow_unbounded)
    length = len(cut(lined.first.plan, first.lengths, slices=False))
    counted: frozenset[str] = frozenset()
    chains = []
    for number, generation in enumerate(lined.generations):
        plan = generation.plan
        needs = stream_needs(plan, allow_unbounded)
        chain = stream_chain(
            plan, needs, generation.outputs, shards, lineage, late, number * GENERATION
        )
        if len(chain.hops) > length:
            raise _too_many_stages(generation.outputs, len(chain.hops), length)
        # What comes too late is counted, and given out, by one of them.
        hops = tuple(replace(hop, counts=hop.counts - counted) for hop in chain.hops)
        counted = counted.union(*(hop.counts for hop in hops))
        chains.append(replace(chain, hops=hops, length=length, begin=generation.begin))
    return tuple(chains)


def _too_many_stages(names: Sequence[str], needed: int, length: int) -> StateError:
    rules = ", ".join(f"'{name}'" for name in names)
    stages = "one stage" if length == 1 else f"{length} stages"
    return StateError(
        f"the new rules for {rules} need {needed} stages, and the query began with {stages}: Spark "
        "cannot add any to a checkpoint. Run the new rules in a second query, with a checkpoint of "
        "its own, or begin with a new checkpoint. thence.spark.explain(program, streaming=True) "
        "shows the stages."
    )
