"""Running a program batch by batch, in this process, as events come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thence.engine.arrays.rows import concat, select, take
from thence.engine.limits.growth import Limits
from thence.engine.limits.measure import Meter
from thence.engine.run.step import Options, step
from thence.engine.state.saved import check_state, shape_of
from thence.engine.state.state import NEVER, State, damaged, fingerprint, restore, save
from thence.explain import Measured
from thence.model.errors import InputError, StateError
from thence.model.events import Events
from thence.model.instants import instant, length
from thence.model.time import LONGEST, format_duration
from thence.plan.make import replanned
from thence.plan.retention import bounded
from thence.plan.statistics import Running, Statistics
from thence.results import Results, as_table

if TYPE_CHECKING:
    from thence.plan import Plan
    from thence.program import Program


class Session:
    """A program at work on a stream. Made by :meth:`Program.session`.

    ``push`` and ``advance`` give the results that became certain; each result is given once, and
    all together are what :meth:`Program.run` gives for the same events. Results without absence,
    timers or aggregates come at once; the others when the horizon has passed their windows.
    """

    def __init__(
        self,
        program: Program,
        plan: Plan,
        max_delay: Any,
        state: bytes | None,
        allow_unbounded: bool,
        lineage: bool,
        tables: Mapping[str, Events],
        limits: Limits,
    ) -> None:
        self._program = program
        self._plan = plan
        self._delay = 0 if max_delay is None else length(max_delay, "max_delay")
        self._needs = plan.certain_needs if allow_unbounded else bounded(plan.needs)
        self._running = Running(plan.key_columns)
        self._meter, self._steps, self._replanned = Meter(), 0, 0
        self._options = Options(
            lineage,
            self._needs.retention,
            tables=tables,
            limits=limits,
            known=plan.statistics,
            meter=self._meter,
        )
        self._state = State()
        self._late: dict[str, Events] = {}
        self._late_counts: dict[str, int] = {}
        if state is not None:
            self._state, extra = restore(state, self._fingerprint)
            self._check(self._state)
            self._late_counts = self._counts_in(extra)
            if max_delay is None:
                self._delay = _delay_in(extra)

    @property
    def _fingerprint(self) -> str:
        """What saved state rests on: the program, what is kept of it, and for how long."""
        instants = ",".join(sorted(self._needs.instants))
        what = [self._program.source.text, str(self._options.lineage), instants]
        if self._plan.outputs != self._plan.public:
            what.append(f"emit {','.join(self._plan.outputs)}")
        if self._plan.off:
            what.append(f"without {','.join(sorted(self._plan.off))}")
        return fingerprint("\n".join(what))

    def _check(self, state: State) -> None:
        """Refuse state that this session could not have saved."""
        needs = self._needs
        shape = shape_of(self._plan.whole, needs.retention, self._options.lineage, needs.instants)
        try:
            check_state(state, shape)
        except StateError as problem:
            raise damaged(problem) from None

    def _counts_in(self, extra: Mapping[str, Any]) -> dict[str, int]:
        counts = extra.get("late")
        known = {schema.name for schema in self._program.events}
        if not isinstance(counts, dict) or not counts.keys() <= known:
            raise damaged("it does not say how many events came late")
        if not all(type(count) is int and count >= 0 for count in counts.values()):
            raise damaged("it does not say how many events came late")
        return counts

    def push(self, events: Any) -> Results:
        """Take new events; give the results that became certain.

        Events that end at or before the horizon come too late: they change nothing, and go to
        :attr:`late`.
        """
        with self._program._limited():
            return self._push(events)

    def _push(self, events: Any) -> Results:
        found = self._program._read(self._plan, events, whole=True, after=self._state.horizon)
        for name in self._needs.instants:
            _refuse_intervals(name, found[name])
        accepted, late = {}, {}
        for name, batch in found.items():
            missed = batch.end <= self._state.horizon
            if missed.any():
                late[name], batch = take(batch, missed), take(batch, ~missed)
            accepted[name] = batch if self._options.lineage else self._narrow(name, batch)
        latest = max((int(e.end.max()) for e in accepted.values() if len(e)), default=NEVER)
        latest = max(latest, self._state.latest)
        horizon = latest - self._delay - 1 if latest > NEVER else NEVER
        results = self._step(accepted, horizon)
        self._keep_late(late)
        return results

    def _narrow(self, name: str, events: Events) -> Events:
        """Events with only the columns that rules read."""
        return select(events, [c for c in events.columns if c in self._plan.columns.get(name, ())])

    def advance(self, time: Any) -> Results:
        """Say that every event up to and including a time has been seen, with or without events."""
        with self._program._limited():
            return self._step({}, instant(time, "advance"))

    def finish(self) -> Results:
        """Say that no more events come: finalise everything up to the latest event."""
        with self._program._limited():
            return self._step({}, self._state.latest)

    def _step(self, events: Mapping[str, Events], horizon: int) -> Results:
        self._state, results = step(self._plan.whole, self._state, events, horizon, self._options)
        self._steps += 1
        if self._running.add(events) and self._running.current.drifted(self._plan.statistics):
            self._replan(self._running.current)
        return Results(results)

    def _replan(self, statistics: Statistics) -> None:
        """Decide anew what depends on statistics. What is derived and kept stays as it is, and with
        it the state."""
        self._plan = replanned(self._plan, statistics)
        self._options = replace(self._options, known=statistics)
        self._replanned += 1

    @property
    def _measured(self) -> Measured:
        """What the session did so far, operator by operator."""
        plan = replanned(self._plan, self._running.whole)
        program = self._program._checked.program
        return Measured(plan, self._meter, program, None, self._steps, self._replanned)

    def _keep_late(self, late: Mapping[str, Events]) -> None:
        for name, events in late.items():
            self._late_counts[name] = self._late_counts.get(name, 0) + len(events)
            known = [self._late[name]] if name in self._late else []
            self._late[name] = concat([*known, events])

    @property
    def horizon(self) -> Any:
        """The time up to and including which everything has been seen, in microseconds; None at
        the beginning."""
        return None if self._state.horizon == NEVER else self._state.horizon

    @property
    def late(self) -> Mapping[str, Any]:
        """The events that came too late since the session began or :meth:`take_late` was called."""
        return {name: as_table(events) for name, events in self._late.items()}

    def take_late(self) -> Mapping[str, Any]:
        """The late events, which are then forgotten; the counts stay."""
        found = self.late
        self._late = {}
        return found

    @property
    def late_count(self) -> int:
        """How many events came too late, in all."""
        return sum(self._late_counts.values())

    @property
    def late_counts(self) -> Mapping[str, int]:
        """How many events of each type came too late."""
        return dict(self._late_counts)

    @property
    def state_rows(self) -> int:
        """How many rows the session remembers."""
        return self._state.rows

    @property
    def state_bytes(self) -> int:
        """About how many bytes the session's state takes."""
        return self._state.nbytes

    @property
    def _extra(self) -> dict[str, Any]:
        return {"late": self._late_counts, "max_delay": self._delay}

    def save(self) -> bytes:
        """The session's state as bytes, for :meth:`Program.session` to go on from.

        Late events that were not taken are not part of it; their counts are.
        """
        return save(self._state, self._fingerprint, self._extra)


def _delay_in(extra: Mapping[str, Any]) -> int:
    delay = extra.get("max_delay")
    if type(delay) is not int or not 0 <= delay <= LONGEST:
        raise damaged("it does not say how late events may come")
    return delay


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
