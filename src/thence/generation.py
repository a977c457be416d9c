"""Rules of a session that began together: their plan, what they remember, and what they have done.

A session has one generation, until another program takes the place of its own: rules that are the
same in both stay in the generation they are in, with all that it remembers, and new ones make
another one. What a generation gives does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from thence.engine.arrays.rows import empty, select, take
from thence.engine.limits.growth import Limits
from thence.engine.limits.measure import Meter
from thence.engine.provenance.lineage import Provenance
from thence.engine.run.step import Options, step
from thence.engine.state.relation import Relation, relation
from thence.engine.state.saved import check_state, shape_of
from thence.engine.state.state import State, damaged, fingerprint
from thence.explain import Measured
from thence.knowledge.reasoner import reasoner_of
from thence.model.errors import InputError, StateError
from thence.model.events import Events
from thence.model.time import format_duration
from thence.plan.make import replanned, serving
from thence.plan.retention import Needs, bounded
from thence.plan.statistics import Running, Statistics

if TYPE_CHECKING:
    from thence.plan import Plan
    from thence.program import Program


@dataclass(frozen=True, slots=True)
class How:
    """How a session runs its rules: with lineage or not, within which limits, whether their state
    needs no bound, and whether somebody may ask how far they have come."""

    lineage: bool
    allow_unbounded: bool
    limits: Limits
    progress: bool = False

    def plan(self, program: Program, outputs: Iterable[str]) -> Plan:
        """How a program runs that way, where some derived events are asked for."""
        return program.plan_for(outputs, self.lineage, self.progress)


class Generation:
    """Some rules of a program, at work."""

    def __init__(
        self,
        program: Program,
        plan: Plan,
        how: How,
        tables: Mapping[str, Relation],
        state: State,
        begin: int | None = None,
        planned: tuple[str, ...] | None = None,
    ) -> None:
        """``begin`` is the time that the rules begin at: they see nothing that ended by then.
        None is the beginning of the session. ``planned`` are the outputs that the plan was made
        for, if those that are left are not all of them."""
        self.program = program
        self.plan = plan
        self.how = how
        self.begin = begin
        self.planned = plan.outputs if planned is None else planned
        self.needs: Needs = plan.certain_needs if how.allow_unbounded else bounded(plan.needs)
        self.state = state
        self.meter, self.steps, self.replanned = Meter(), 0, 0
        self._running = Running(plan.key_columns)
        self._options = Options(
            how.lineage,
            self.needs.retention,
            tables=tables,
            limits=how.limits,
            known=plan.statistics,
            meter=self.meter,
            knows=reasoner_of(plan.whole, tables, how.limits),
        )

    @property
    def tables(self) -> Mapping[str, Relation]:
        """The rows of the static tables."""
        return self._options.tables

    @property
    def fingerprint(self) -> str:
        """What saved state rests on: the program, what is kept of it, and for how long."""
        instants = ",".join(sorted(self.needs.instants))
        what = [self.program._rules_text, str(self.how.lineage), instants]
        if self.plan.outputs != self.plan.public:
            what.append(f"emit {','.join(self.plan.outputs)}")
        if self.plan.off:
            what.append(f"without {','.join(sorted(self.plan.off))}")
        return fingerprint("\n".join(what))

    def restored(self, state: State) -> None:
        """Go on from state; a refusal of what this generation could not have saved."""
        shape = shape_of(
            self.plan.whole, self.needs.retention, self.how.lineage, self.needs.instants
        )
        try:
            check_state(state, shape)
        except StateError as problem:
            raise damaged(problem) from None
        self.state = state

    def check(self, events: Mapping[str, Events]) -> None:
        """Refuse events that last where the bound of the state rests on their being instants."""
        for name in self.needs.instants & events.keys():
            _refuse_intervals(name, events[name])

    def step(
        self, events: Mapping[str, Events], horizons: Mapping[str, int]
    ) -> tuple[State, dict[str, Events]]:
        """The state after some new events of its own, and the results that became certain."""
        return step(self.plan.whole, self.state, events, horizons, self._options)

    def told(self, results: Mapping[str, Events]) -> dict[str, Provenance]:
        """How results of the last step were derived, where that is kept. It is known now, and may
        be forgotten after the next step."""
        if not self.how.lineage:
            return {}
        known = Provenance(self.state.store, self.plan.rulebook).of(results)
        return dict.fromkeys(results, known)

    def taken(self, state: State, events: Mapping[str, Events]) -> None:
        """A step has been made: remember what it left, and what it tells of the events."""
        self.state = state
        self.steps += 1
        if self._running.add(events):
            if self._running.current.drifted(self.plan.statistics):
                self._replan(self._running.current)

    def own(self, events: Mapping[str, Events]) -> dict[str, Events]:
        """Of some events those that the rules see, with the columns that they read."""
        found = {name: events[name] for name in self.plan.inputs if name in events}
        if self.begin is not None:
            found = {name: take(rows, rows.end > self.begin) for name, rows in found.items()}
        if self.how.lineage:
            return found
        read = self.plan.columns
        return {
            name: select(rows, [c for c in rows.columns if c in read.get(name, ())])
            for name, rows in found.items()
        }

    def _replan(self, statistics: Statistics) -> None:
        """Decide anew what depends on statistics. What is derived and kept stays as it is, and with
        it the state."""
        self.plan = replanned(self.plan, statistics)
        self._options = replace(self._options, known=statistics)
        self.replanned += 1

    def only(self, outputs: tuple[str, ...]) -> Generation:
        """The same less what none of some outputs rests on: neither derived nor remembered."""
        if outputs == self.plan.outputs:
            return self
        plan = serving(self.plan, outputs)
        left = Generation(
            self.program,
            plan,
            self.how,
            self._options.tables,
            self.state,
            self.begin,
            self.planned,
        )
        left.meter, left.steps, left.replanned = self.meter, self.steps, self.replanned
        left._options = replace(left._options, meter=self.meter)
        left._running = self._running
        left.state = _needed(self.state, left)
        return left

    @property
    def measured(self) -> Measured:
        """What the rules did so far, operator by operator."""
        plan = replanned(self.plan, self._running.whole)
        program = self.program._checked.program
        return Measured(plan, self.meter, program, None, self.steps, self.replanned)


def begun(
    program: Program,
    plan: Plan,
    how: How,
    tables: Mapping[str, Events],
    state: State,
    begin: int | None = None,
    planned: tuple[str, ...] | None = None,
) -> Generation:
    """A generation that begins, with the rows of its static tables; none of one that it does not
    look into."""
    made = plan.checked.knowledge.rules_of
    rows = {
        name: relation(tables[name] if name in tables else empty(plan.schemas[name]))
        for name in plan.tables
        if name not in made
    }
    return Generation(program, plan, how, rows, state, begin, planned)


def _needed(state: State, generation: Generation) -> State:
    """What a generation needs of the state of a larger one."""
    part, kept = generation.plan.whole, generation.needs.retention
    recording = part.rulebook.recording(generation.how.lineage)
    return replace(
        state,
        events={name: held for name, held in state.events.items() if name in kept},
        emitted={name: held for name, held in state.emitted.items() if name in part.repeatable},
        waiting={name: held for name, held in state.waiting.items() if name in part.outputs},
        used={
            name: held
            for name, held in state.used.items()
            if name.partition("|")[0] in part.consuming
        },
        derivations={
            name: held for name, held in state.derivations.items() if name in recording.alternatives
        },
        archive={name: held for name, held in state.archive.items() if name in recording.archive},
    )


def _refuse_intervals(name: str, events: Events) -> None:
    """A session relies on some events being instants to keep its state bounded."""
    if events.start is events.end or (events.start == events.end).all():
        return
    row = int(np.argmax(events.start != events.end))
    lasts = format_duration(int(events.end[row] - events.start[row]))
    raise InputError(
        f"row {row + 1} of '{name}' lasts {lasts}, but this program's state has a bound only if "
        f"'{name}' events are instants; say how long one may last: "
        f"event {name}(…) within <duration>;"
    )
