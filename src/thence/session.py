"""Running a program batch by batch, in this process, as events come."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thence.engine.arrays.rows import concat, take
from thence.engine.provenance.lineage import Provenance
from thence.engine.state.remembered import remembered
from thence.engine.state.state import State, damaged
from thence.engine.window.coverage import EVER
from thence.explain import Measured
from thence.generation import Generation, How, begun
from thence.input_times import delays_of, input_names, least
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.instants import instant, length
from thence.model.time import format_timestamp
from thence.plan.horizons import CLOCK, NEVER, completed
from thence.progress import LIMIT, progress
from thence.results import Results, as_table
from thence.rule_changes import changes
from thence.saved_session import read_session, write_session
from thence.source_times import SourceTimes, read_times, source_times, written_times

if TYPE_CHECKING:
    from thence.plan import Plan
    from thence.program import Program
    from thence.reacting import Reacting


@dataclass(frozen=True, slots=True)
class Timing:
    """What a session is told of the times of its inputs."""

    max_delay: Any
    sources: Any
    idle_after: Any
    clock: Callable[[], float]
    gaps: Mapping[str, Sequence[tuple[int, int]]]

    def begun(self, inputs: Collection[str]) -> SourceTimes:
        """The sources of a session that begins."""
        idle = None if self.idle_after is None else length(self.idle_after, "idle_after")
        delays = delays_of(self.max_delay, inputs)
        return source_times(inputs, delays, self.sources, idle, self.clock())

    def restored(
        self, begun: SourceTimes, extra: Mapping[str, Any], horizons: Mapping[str, int]
    ) -> SourceTimes:
        """The sources of a session that goes on, from what was saved of it."""
        if self.gaps:
            raise InputError("coverage: a session that goes on has the coverage that it began with")
        return read_times(extra, begun, self.max_delay is None, self.sources is None, horizons)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What changed when another program took the place of a session's own: the derived events that
    go on, those that begin after ``begin`` (microseconds), and those that are gone."""

    kept: tuple[str, ...]
    begun: tuple[str, ...]
    gone: tuple[str, ...]
    begin: int | None


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
        timing: Timing,
        state: bytes | None,
        how: How,
        tables: Mapping[str, Events],
        reacting: Callable[[Program], Reacting | None],
    ) -> None:
        """``reacting`` gives what reacts to the results of a program, if anything does."""
        self._program = program
        self._begin_reacting, self._reacting = reacting, reacting(program)
        self._plan = plan
        self._how = how
        self._clock = timing.clock
        self._times = timing.begun(plan.inputs)
        self._reader = program._reader(plan, whole=True)
        self._late: dict[str, Events] = {}
        self._late_counts: dict[str, int] = {}
        first = begun(program, plan, how, tables, State(gaps=timing.gaps))
        self._generations: tuple[Generation, ...] = (first,)
        if state is not None:
            self._generations, extra = read_session(state, first, tables)
            self._late_counts = self._counts_in(extra)
            first = self._generations[0]
            horizons = completed(first.state.horizons, first.plan.inputs)
            if first.begin is not None:
                horizons = {}
            self._times = timing.restored(self._times, extra, horizons)

    def _counts_in(self, extra: Mapping[str, Any]) -> dict[str, int]:
        counts = extra.get("late")
        known = {schema.name for schema in self._program.events}
        if not isinstance(counts, dict) or not counts.keys() <= known:
            raise damaged("it does not say how many events came late")
        if not all(type(count) is int and count >= 0 for count in counts.values()):
            raise damaged("it does not say how many events came late")
        return counts

    def push(self, events: Any, *, source: str | None = None) -> Results:
        """Take new events; give the results that became certain.

        A table that is given under the name of an input moves the horizon of that input alone; one
        table with a column ``type`` those of all. Where an input has several sources, ``source``
        says from which of them the events are. Events that end at or before the horizon of their
        input come too late: they change nothing, and go to :attr:`late`.
        """
        with self._program._limited():
            furthest = max(self._times.horizons.values(), default=NEVER)
            found = self._reader.read(events, furthest)
            return self._take(found, self._reader.names_in(events), source)

    def push_one(
        self,
        event: str,
        record: Mapping[str, Any] | None = None,
        /,
        *,
        source: str | None = None,
        **attributes: Any,
    ) -> Results:
        """Take one new event, as ``push`` does: its attributes, and ``time`` or ``start`` and
        ``end``.

        They are given by keyword, ``push_one("order", id=7, time="2026-01-01T08:00:00Z")``, or as
        one record, which may have any names: ``push_one("order", {"from": "x", "time": 3})``.
        """
        with self._program._limited():
            found = self._reader.read_one(event, _one(event, record, attributes))
            return self._take(found, (event,), source)

    def _take(
        self,
        found: Mapping[str, Events],
        names: Collection[str] | None,
        source: str | None,
    ) -> Results:
        """A step with the events that were read, without those that come too late. ``names`` are
        the inputs that have a table of their own; None where there is one for all."""
        for generation in self._generations:
            generation.check(found)
        times = self._brought(found, names, source)
        accepted, late, horizons = {}, {}, self._times.horizons
        for name, batch in found.items():
            missed = batch.end <= horizons[name]
            if missed.any():
                late[name], batch = take(batch, missed), take(batch, ~missed)
            accepted[name] = batch
        results = self._step(accepted, times)
        self._keep_late(late)
        return results

    def _brought(
        self, found: Mapping[str, Events], names: Collection[str] | None, source: str | None
    ) -> SourceTimes:
        """The sources after they have brought some events: a table of its own for each input, or
        one for all that the source has."""
        latest = {name: int(batch.end.max()) for name, batch in found.items() if len(batch)}
        given = latest if names is None else [name for name in names if name in found]
        keys = self._times.keys(given, source, "push")
        now = self._clock()
        if names is not None:
            last = {key: latest[key[0]] for key in keys if key[0] in latest}
        else:
            along = self._times.together(source, "push")
            last = dict.fromkeys(along, max(latest.values())) if latest else {}
        return self._times.brought(last, now).idling(now)

    def advance(self, time: Any, inputs: Any = None, *, source: str | None = None) -> Results:
        """Say that every event up to and including a time has been seen, with or without events:
        of all inputs, or of those that are named; of one of their sources, or of all."""
        names = self._plan.inputs if inputs is None else inputs
        names = input_names(names, self._plan.inputs, "advance")
        if source is None:
            keys = [key for key in self._times.sources if key[0] in names]
        elif inputs is None:
            keys = self._times.together(source, "advance")
        else:
            keys = self._times.keys(names, source, "advance")
        now, reached = self._clock(), instant(time, "advance")
        with self._program._limited():
            times = self._times.advanced(keys, reached, now).idling(now)
            return self._step({}, times, reached if inputs is None and source is None else NEVER)

    def finish(self) -> Results:
        """Say that no more events come: finalise everything up to the latest event."""
        with self._program._limited():
            last = self._latest
            times = self._times.advanced(self._times.sources.keys(), last, self._clock())
            return self._step({}, times, last)

    def _step(
        self, events: Mapping[str, Events], times: SourceTimes, clock: int = NEVER
    ) -> Results:
        horizons = {**times.horizons, CLOCK: clock}
        steps = [
            (generation, seen := generation.own(events), generation.step(seen, horizons))
            for generation in self._generations
        ]
        results = {name: found for _, _, (_, each) in steps for name, found in each.items()}
        own = {name: results[name] for name in self._plan.outputs}
        if self._reacting is not None:  # if it cannot keep what it sends, nothing has changed
            self._reacting.react(own)
        told: dict[str, Provenance] = {}
        for generation, seen, (state, found) in steps:
            generation.taken(state, seen)
            told |= generation.told(found)
        self._times = times
        return Results(own, provenance=told)

    def replace(
        self,
        program: Program,
        *,
        begin: Any = None,
        tables: Any = None,
        emit: Any = None,
        max_delay: Any = None,
    ) -> Replaced:
        """Go on with another program, from here.

        A derived event whose rules are the same in both, with all that they rest on, goes on as if
        nothing had happened. New and changed ones begin: they give what a session would that begins
        now, and knows nothing of what ended at ``begin`` or before, which is the latest event so
        far unless a later time is given. What the new program does not derive is gone, and
        forgotten.

        ``tables`` are the rows of static tables for what begins; what goes on keeps those it has.
        ``emit`` limits what is given back, as for :meth:`Program.session`. ``max_delay`` is how
        late the events of inputs may come that this session does not know yet: as late as those of
        the others, if nothing is said and these are alike.
        """
        if type(program) is not type(self._program):
            raise InputError(
                "replace: the program must come from thence.compile, thence.load or thence.build, "
                f"not be a {type(program).__name__}"
            )
        plan = self._how.plan(program, program._emitted(emit))
        earlier, later = self._program._checked.program, program._checked.program
        found = changes(earlier, later).among(self._plan.outputs, plan.outputs)
        since = self._begin(begin)
        kept = [_only(generation, found.kept) for generation in self._generations]
        fresh = [generation for generation in kept if generation is not None]
        times = self._times.of(plan.inputs, max_delay, self._clock())
        if found.begun or not fresh:
            own = self._how.plan(program, found.begun)
            seen = {name: max(times.horizons[name], since) for name in own.inputs}
            horizons = completed(seen, own.inputs)
            gaps = {name: [(-EVER, since)] for name in own.inputs} if since > NEVER else {}
            state = State(horizons, self._latest, gaps=gaps)
            facts = program._facts(own, tables)
            after = since if since > NEVER else None
            fresh.append(begun(program, own, self._how, facts, state, after))
        if self._reacting is None:
            self._reacting = self._begin_reacting(program)
        else:
            self._reacting.replace(program)
        self._program, self._plan, self._times = program, plan, times
        self._reader = program._reader(plan, whole=True)
        self._generations = tuple(fresh)
        known = {schema.name for schema in program.events}
        self._late_counts = {n: c for n, c in self._late_counts.items() if n in known}
        return Replaced(found.kept, found.begun, found.gone, _shown(since))

    def _begin(self, begin: Any) -> int:
        """The time that new rules begin at: nothing has come yet that ended later."""
        latest = self._latest
        if begin is None:
            return latest
        since = instant(begin, "begin")
        if since < latest:
            raise InputError(
                f"begin: new rules cannot begin at {format_timestamp(since)}: events up to "
                f"{format_timestamp(latest)} have been taken already, and are no longer all there. "
                "Give no time, or one that is no earlier than that."
            )
        return since

    @property
    def _latest(self) -> int:
        """When the latest event ended that was taken."""
        return max(generation.state.latest for generation in self._generations)

    @property
    def _measured(self) -> tuple[Measured, ...]:
        """What the session did so far, operator by operator."""
        return tuple(generation.measured for generation in self._generations)

    def _keep_late(self, late: Mapping[str, Events]) -> None:
        for name, events in late.items():
            self._late_counts[name] = self._late_counts.get(name, 0) + len(events)
            known = [self._late[name]] if name in self._late else []
            self._late[name] = concat([*known, events])

    @property
    def horizon(self) -> Any:
        """The time up to and including which everything has been seen of all inputs, in
        microseconds; None at the beginning."""
        return _shown(least(self._reached))

    @property
    def horizons(self) -> Mapping[str, Any]:
        """For each input the time up to and including which everything has been seen of it, in
        microseconds; None at the beginning."""
        return {name: _shown(self._reached[name]) for name in self._plan.inputs}

    @property
    def _reached(self) -> dict[str, int]:
        return completed(self._times.horizons, self._plan.inputs)

    @property
    def idle(self) -> Mapping[str, Mapping[str, Any]]:
        """The inputs (or sources of them, ``input/source``) that ``idle_after`` took to be idle:
        whether they still are, how often they were, and since when the last time."""
        return self._times.idle

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
        return sum(generation.state.rows for generation in self._generations)

    @property
    def state_bytes(self) -> int:
        """About how many bytes the session's state takes."""
        return sum(generation.state.nbytes for generation in self._generations)

    @property
    def remembered(self) -> Any:
        """What the session remembers, as an Arrow table: per event and purpose, how many rows, how
        many bytes, in how many sorted runs, and when the oldest of them ended."""
        return remembered((each.state, each.plan.whole) for each in self._generations)

    def progress(
        self,
        rule: str | None = None,
        bindings: Mapping[str, Any] | None = None,
        /,
        *,
        limit: int = LIMIT,
        **more: Any,
    ) -> Any:
        """How far along it is: an Arrow table with a row for each partial match in progress, of one
        rule or of all. The session must have begun with ``progress=True``.

        A row has the ``rule``, the attributes of its head as far as they are known, the share that
        is ``done`` (``met`` parts ``of`` so many), the ``parts`` that are there and the events that
        they are, what it is ``awaiting`` and until when, ``since`` when it goes on, and ``until``
        when it can be completed at the latest; null where it can for ever. Attributes of the head
        can be asked for, ``progress("completed", id="o7")``, or in one mapping. A
        :class:`LimitError` says that there are more than ``limit``.
        """
        with self._program._limited():
            return progress(self._generations, rule, {**(bindings or {}), **more}, limit)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every reaction so far is delivered or a dead letter; False if that takes
        longer than so many seconds."""
        return self._reacting is None or self._reacting.flush(timeout)

    def close(self) -> None:
        """End deliveries, once those that are outstanding are done: as long as ``patience`` says.
        What is left stays in the outbox, or becomes dead letters where there is none."""
        if self._reacting is not None:
            self._reacting.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def deliveries(self) -> Mapping[str, int]:
        """How many reactions were ``delivered``, are ``outstanding``, became ``dead`` letters."""
        if self._reacting is None:
            return {"delivered": 0, "outstanding": 0, "dead": 0}
        return self._reacting.deliveries

    @property
    def _extra(self) -> dict[str, Any]:
        return {"late": self._late_counts, **written_times(self._times)}

    def save(self) -> bytes:
        """The session's state as bytes, for :meth:`Program.session` to go on from.

        Late events that were not taken are not part of it; their counts are.
        """
        return write_session(self._generations, self._program, self._extra)


def _shown(horizon: int) -> int | None:
    return None if horizon == NEVER else horizon


def _one(event: Any, record: Any, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event that ``push_one`` was given."""
    if record is None:
        return attributes
    if attributes:
        raise InputError(
            f"push_one of {event!r}: its attributes are given both as a record and by keyword "
            f"({', '.join(attributes)}). Give all of them in one of the two ways."
        )
    if not isinstance(record, Mapping):
        raise InputError(
            f"push_one of {event!r}: this {type(record).__name__} is not a record, a dict from "
            "attribute to value. Several events at once are given to push."
        )
    return record


def _only(generation: Generation, names: Collection[str]) -> Generation | None:
    """A generation with those of its outputs that are among some names; None where none is."""
    outputs = tuple(name for name in generation.plan.outputs if name in names)
    return generation.only(outputs) if outputs else None
