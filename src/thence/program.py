"""A compiled program: what a user holds, checks, explains and runs.

What a program does not need to be compiled and run is imported where it is used, so that a small
one has its first result soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from time import time
from typing import TYPE_CHECKING, Any, Literal

from thence.collection_pauses import without_collection_pauses
from thence.logic.check import check_program
from thence.logic.ops import LogicProgram
from thence.model.errors import Diagnostic, InputError, LimitError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.source import Source
from thence.plan import Plan, make
from thence.plan.make import PROGRESS
from thence.plan.statistics import sampled
from thence.plan.statistics import statistics as given_statistics

if TYPE_CHECKING:
    from pathlib import Path

    from thence.actions.reactor import Called, Registered
    from thence.actions.settings import Delivery
    from thence.engine.limits.growth import Limits
    from thence.engine.run.step import Options
    from thence.explain import Measured
    from thence.hierarchy import Hierarchy
    from thence.io.ingest import Reader
    from thence.reacting import Actions, Reacting
    from thence.results import Results
    from thence.session import Session


class Program:
    """A program of event rules, checked and ready to run. Made by ``thence.compile``,
    ``thence.load`` and ``thence.build``.

    >>> import thence
    >>> program = thence.compile('''
    ...     event order(id string);
    ...     event shipped(id string);
    ...     done(id) <- (order(id) seq shipped(id)) within 2 days;
    ... ''')
    >>> found = program.run({
    ...     "order": [{"id": "o1", "time": "2026-01-01T08:00:00Z"}],
    ...     "shipped": [{"id": "o1", "time": "2026-01-01T09:30:00Z"}],
    ... })
    >>> found["done"].to_pylist()[0]["id"]
    'o1'
    """

    def __init__(
        self,
        logic: LogicProgram,
        name: str | None = None,
        without: Iterable[str] = (),
        statistics: Any = None,
    ) -> None:
        """``name`` is for a program that was not written as text."""
        self._name = name
        self.without = tuple(without)
        """The optimisations that are switched off."""
        self.folder: Path | None = None
        """Where paths in the program begin that are relative; None is the current folder."""
        self._last: Measured | None = None
        self._registered: list[Registered] = []
        self._plans: dict[tuple[tuple[str, ...], bool, bool], Plan] = {}
        with without_collection_pauses():
            self._checked = check_program(logic)
            declared = [schema.name for schema in self._checked.program.declared]
            self._known = given_statistics(statistics, declared)
            self.plan = make(self._checked, off=self.without, statistics=self._known)
            """How the program will run, all its derived events asked for."""

    @classmethod
    def from_logic(cls, program: LogicProgram, name: str = "<program>") -> Program:
        """The program that logic means. Errors point at ``program.source``."""
        return cls(program, name)

    @cached_property
    def source(self) -> Source:
        """What was written; for a program that was not written as text, the text it has."""
        made = self._name is not None
        return Source(self.text(), str(self._name)) if made else self._checked.program.source

    def plan_for(
        self,
        outputs: Iterable[str] | None = None,
        provenance: bool = False,
        progress: bool = False,
    ) -> Plan:
        """How the program will run where only some derived events are asked for, where what they
        were made of has to be kept, or where somebody may ask how far rules have come."""
        names = self.plan.public if outputs is None else tuple(outputs)
        if names == self.plan.outputs and not provenance and not progress:
            return self.plan
        found = self._plans.get((names, provenance, progress))
        if found is None:
            found = make(
                self._checked,
                outputs=names,
                provenance=provenance,
                off=PROGRESS.union(self.without) if progress else self.without,
                statistics=self._known,
            )
            self._plans[names, provenance, progress] = found
        return found

    def text(self) -> str:
        """The program in the rule language, laid out in one agreed way and without comments.

        Compiling the text gives an equal program. What was written is ``program.source.text``.

        >>> import thence
        >>> print(thence.compile("event a( x INT ); b( x )<-a( x )where(x>1);  -- a remark").text())
        event a(x int);
        <BLANKLINE>
        b(x) <- a(x) where x > 1;
        """
        from thence.lang.text import format_program

        return format_program(self._checked.program)

    @cached_property
    def _rules_text(self) -> str:
        """The same without reactions: what state rests on."""
        from thence.lang.text import format_program

        return format_program(replace(self._checked.program, reactions=()))

    @property
    def events(self) -> tuple[EventSchema, ...]:
        """The declared input events."""
        return self._checked.program.events

    @property
    def tables(self) -> tuple[EventSchema, ...]:
        """The declared static tables."""
        return self._checked.program.tables

    @property
    def derived(self) -> tuple[EventSchema, ...]:
        """The events that rules derive, with the types that were found for their columns."""
        return tuple(self._checked.schemas[name] for name in self.plan.public)

    @cached_property
    def _warnings(self) -> tuple[Diagnostic, ...]:
        found = [*self._checked.warnings, *self.plan.warnings]
        return tuple(sorted([*found, *self.plan.needs.unbounded], key=lambda d: (d.line, d.column)))

    def check(self) -> list[Diagnostic]:
        """Remarks on a program that compiles: names used once, state without a bound, and so on.

        A program with errors does not compile; ``thence.check`` lists those without raising.
        """
        return list(self._warnings)

    def explain(
        self,
        analyze: Results | Session | bool | None = None,
        *,
        format: Literal["text", "json"] = "text",  # noqa: A002
    ) -> str:
        """The program as the engine sees it: joins, bounds, state and partition keys.

        With ``analyze``, what every operator did stands beside what was expected of it: rows in,
        candidates, matches, what was kept, time, and the order that each join took. It is results
        of :meth:`run`, a session, or True for the last run. ``format`` is ``"text"``, or ``"json"``
        for the plan as :meth:`Plan.to_json` gives it.
        """
        from thence.explain import analyzed, analyzed_json, as_json, explain, measured_by

        if format not in ("text", "json"):
            raise InputError(f"format must be 'text' or 'json', not {format!r}")
        if analyze is None or analyze is False:
            return explain(self.plan) if format == "text" else as_json(self.plan)
        measured = measured_by(self, self._last, analyze)
        return analyzed(measured) if format == "text" else analyzed_json(measured)

    def hierarchy(self) -> Hierarchy:
        """The layers of the program: which events are built on which, from the input upwards."""
        from thence.hierarchy import hierarchy

        return hierarchy(self.plan_for(None, provenance=True))

    def run(
        self,
        events: Any,
        until: Any = None,
        *,
        tables: Any = None,
        lineage: bool = False,
        trace: bool = False,
        emit: Any = None,
        coverage: Any = None,
        progress: Callable[[int, int], None] | None = None,
        memory_limit: Any = None,
        max_matches: int | None = None,
        actions: Actions = True,
        delivery: Delivery | None = None,
    ) -> Results:
        """Find every derived event in the given events.

        ``events`` is a mapping of event names to tables, or one table with a ``type`` column; a
        table is anything Arrow can read, a pandas or polars frame, a list of dicts, or a path to
        ``.parquet``, ``.csv`` or ``.jsonl``. ``until`` is the time up to which everything has
        been seen, or a mapping from inputs to such times; without it, the latest event time.
        ``coverage`` maps inputs that are known over certain times only to those, as pairs
        ``(from, to)``, where None leaves a side open: nothing is taken to be absent at others.
        ``tables`` maps the names of the program's
        static tables to tables of the same kinds, without times. ``lineage`` adds a column that
        names the base events behind each result. ``trace`` keeps the events, so that
        ``results.trace`` can tell what a result was made of; with ``lineage`` it always can.
        ``emit`` limits what is given back to some names.
        ``progress`` is called with how many stages of the program are done, and how many there
        are.

        ``memory_limit`` is how much memory the run may take beyond what the process holds already:
        bytes, a text such as ``"4 GB"``, or ``"unlimited"``; without it, three quarters of what is
        free. ``max_matches`` is how many matches a rule may have, partial ones counted. A rule that
        would pass one of them ends the run with a :class:`thence.LimitError` that names it.

        What the program does ``on`` results has been done, or given up, when this returns.
        ``actions`` are the functions that it calls, by their names; False for no reactions, or a
        function that is told of each and nothing is done. ``delivery`` says how they are delivered.
        """
        requested = self._emitted(emit)
        kept = lineage or trace
        from thence.engine.limits.growth import limits

        bounds = limits(memory_limit, max_matches)
        try:
            with self._limited(), self._reacting(actions, delivery) or nullcontext() as at_work:
                found = self._run(
                    events, until, coverage, tables, lineage, kept, requested, progress, bounds
                )
                if at_work is not None:
                    at_work.react(found._events)
                return found
        except LimitError as error:
            if max_matches is None and not kept:
                self._say_batches(error, requested)
            raise

    def on(self, event: str, function: Called | None = None, *, name: str | None = None) -> Any:
        """Call a function with each result of an event, wherever this program runs from now on.

        It is given a dict: ``type`` (the name of the event), the attributes, ``start``, ``end`` and
        ``idempotency_key``, which is the same if ever the same result is delivered again. ``name``
        tells it from others in the outbox and among dead letters; without one, it is the name that
        the function has. Without a function, this is a decorator. The function is given back.
        """
        from thence.reacting import registered

        if function is None:
            return lambda given: self.on(event, given, name=name)
        self._registered.append(
            registered(event, function, name, self._registered, self.plan.public)
        )
        return function

    @property
    def reacted_to(self) -> tuple[str, ...]:
        """The events on which the program does something, beside giving them back."""
        found = {each.event for each in self._checked.program.reactions}
        found |= {each.event for each in self._registered}
        return tuple(name for name in self.plan.public if name in found)

    def _reacting(self, actions: Actions, delivery: Delivery | None) -> Reacting | None:
        """What reacts to results; None where nothing does."""
        kept = delivery is not None and getattr(delivery, "outbox", None) is not None
        if actions is False or not (self.reacted_to or kept):
            return None
        from thence.reacting import Reacting

        return Reacting(self, actions, delivery)

    def replay(
        self,
        dead_letters: str | Path | None = None,
        *,
        actions: Actions = True,
        delivery: Delivery | None = None,
    ) -> tuple[int, int]:
        """Deliver dead letters again, from the file that ``delivery`` says, or another one. Gives
        how many were delivered, and how many are dead letters again."""
        from thence.reacting import replay

        return replay(self, dead_letters, actions, delivery)

    def _say_batches(self, error: LimitError, requested: tuple[str, ...]) -> None:
        """Say so where results that do not fit could be given out as they are found."""
        if error.rule in self.plan_for(requested).whole.flows:
            error.hint = f"{error.hint}; or take results as they are found, with run_batches"

    def run_batches(
        self,
        events: Any,
        until: Any = None,
        *,
        coverage: Any = None,
        tables: Any = None,
        lineage: bool = False,
        emit: Any = None,
        batch_rows: int = 1 << 17,
        progress: Callable[[int, int], None] | None = None,
        memory_limit: Any = None,
        max_matches: int | None = None,
        actions: Actions = True,
        delivery: Delivery | None = None,
    ) -> Any:
        """Find what :meth:`run` finds, and give it out as Arrow record batches while it is found,
        so that there may be more of it than fits into memory.

        With ``emit`` the name of one event this is a ``pyarrow.RecordBatchReader``; otherwise a
        :class:`thence.Batches`, which gives pairs of a name and a ``pyarrow.RecordBatch``.
        Each result comes once. Rows of a batch are sorted by start; batches are in no particular
        order, and have at most ``batch_rows`` rows.

        Events are read at once, and results found when batches are asked for. Those that rules
        read, choose from, aggregate or derive in several ways are held until they are complete; all
        others are made chunk by chunk. ``memory_limit`` and ``max_matches`` are as for :meth:`run`:
        a result that is given out takes no memory, but counts as a match. ``actions`` and
        ``delivery`` are too: reactions to a batch are on their way when it is given out.
        """
        from thence.batches import Batches, checked_rows, schema_of
        from thence.engine.limits.growth import limits

        requested = self._emitted(emit)
        rows, bounds = checked_rows(batch_rows), limits(memory_limit, max_matches)
        schemas = {name: schema_of(self._checked.schemas[name], lineage) for name in requested}
        with self._limited():
            found = self._batches(
                events, until, coverage, tables, lineage, requested, rows, schemas, progress, bounds
            )
        at_work = self._reacting(actions, delivery)
        if at_work is not None:
            found = at_work.reacted(found)
        if not isinstance(emit, str):
            return Batches(schemas, found)
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(schemas[emit], (batch for _, batch in found))

    def _batches(
        self,
        events: Any,
        until: Any,
        coverage: Any,
        tables: Any,
        lineage: bool,
        requested: tuple[str, ...],
        rows: int,
        schemas: Mapping[str, Any],
        progress: Callable[[int, int], None] | None,
        bounds: Limits,
    ) -> Iterator[tuple[str, Any]]:
        from thence.batches import CHUNK_ROWS, record_batches
        from thence.engine.provenance.lineage import Provenance
        from thence.engine.run.given_out import given_out
        from thence.engine.run.step import step
        from thence.engine.state.state import State
        from thence.input_times import gaps_of, horizons_until, latest_of

        gaps = gaps_of(coverage, self.plan.inputs)
        plan = self.plan_for(requested, lineage)
        found, facts = self._given(plan, events, tables, lineage, bounds)
        options, measured = self._options(plan, found, facts, lineage, progress, bounds)
        self._last = measured
        horizons = horizons_until(until, latest_of(found), plan.inputs)
        size = max(rows, CHUNK_ROWS)
        if not lineage:
            pieces = given_out(plan.whole, State(gaps=gaps), found, horizons, options, size)
            return record_batches(pieces, schemas, rows, self._limited)
        # A result is complete once all its derivations are there.
        after, results = step(plan.whole, State(gaps=gaps), found, horizons, options)
        told = Provenance(after.store.indexed(), plan.rulebook).with_lineage
        return record_batches(results.items(), schemas, rows, self._limited, told)

    def _given(
        self, plan: Plan, events: Any, tables: Any, whole: bool, bounds: Limits
    ) -> tuple[dict[str, Events], dict[str, Events]]:
        """The events and the facts of a run, if they fit into what it may take."""
        from thence.engine.limits.growth import Budget
        from thence.io.reading_progress import checking

        with checking(Budget(bounds).read):
            found = self._reader(plan, whole, warn=True).read_all(events)
            return found, self._facts(plan, tables)

    def _options(
        self,
        plan: Plan,
        found: Mapping[str, Events],
        facts: Mapping[str, Events],
        lineage: bool,
        progress: Callable[[int, int], None] | None,
        bounds: Limits,
    ) -> tuple[Options, Measured]:
        """How a plan is run over some events, and what will be measured of that."""
        from thence.engine.limits.measure import Meter
        from thence.engine.run.step import Options
        from thence.engine.state.relation import Relation
        from thence.explain import Measured
        from thence.knowledge.reasoner import reasoner_of

        sample, meter = sampled({**found, **facts}), Meter()
        known = plan.statistics
        if plan.orders_by_values and not known.events:
            known = sample.statistics(plan.key_columns)
        looked_up = {name: Relation(rows) for name, rows in facts.items()}
        knows = reasoner_of(plan.whole, looked_up, bounds)
        options = Options(lineage, None, progress, looked_up, bounds, known, meter, knows=knows)
        return options, Measured(plan, meter, self._checked.program, sample)

    def _run(
        self,
        events: Any,
        until: Any,
        coverage: Any,
        tables: Any,
        lineage: bool,
        kept: bool,
        requested: tuple[str, ...],
        progress: Callable[[int, int], None] | None,
        bounds: Limits,
    ) -> Results:
        from thence.engine.provenance.lineage import Provenance
        from thence.engine.run.step import step
        from thence.engine.state.state import State
        from thence.input_times import gaps_of, horizons_until, latest_of
        from thence.results import Results

        gaps = gaps_of(coverage, self.plan.inputs)
        plan = self.plan_for(None if kept else requested, kept)
        found, facts = self._given(plan, events, tables, kept, bounds)
        horizons = horizons_until(until, latest_of(found), plan.inputs)
        part = plan.everything if kept else plan.whole
        options, measured = self._options(plan, found, facts, lineage, progress, bounds)
        after, results = step(part, State(gaps=gaps), found, horizons, options)
        self._last = measured
        asked = {name: results[name] for name in requested}
        if not kept:
            return Results(asked, None, measured, bounds)
        from thence.trace import Run

        seen, source = {**found, **facts, **results}, self._checked.program.source
        if options.knows is not None:
            seen |= {name: held.whole() for name, held in options.knows.there().items()}
        told = {}
        if lineage:
            told = dict.fromkeys(requested, Provenance(after.store, part.rulebook))
        run = Run(part, source, seen, horizons, gaps)
        return Results(asked, run, measured, bounds, told)

    def rows(
        self,
        relation: str,
        given: Mapping[str, Any] | None = None,
        *,
        tables: Any = None,
        memory_limit: Any = None,
    ) -> Any:
        """The rows of a relation that rules derive, or of a table, as a ``pyarrow.Table``.

        ``given`` maps columns to the values that are asked for, one or several: only what these
        need is derived. With several columns, their values belong together row by row. ``tables``
        are the rows of static tables, as for :meth:`run`.
        """
        from thence.relation_rows import rows

        with self._limited():
            return rows(self, relation, given or {}, tables, memory_limit)

    def session(
        self,
        max_delay: Any = None,
        *,
        tables: Any = None,
        state: bytes | None = None,
        allow_unbounded: bool = False,
        lineage: bool = False,
        progress: bool = False,
        emit: Any = None,
        coverage: Any = None,
        sources: Any = None,
        idle_after: Any = None,
        clock: Callable[[], float] = time,
        memory_limit: Any = None,
        max_matches: int | None = None,
        actions: Actions = True,
        delivery: Delivery | None = None,
    ) -> Session:
        """Run the program batch by batch, as events come.

        Events may come up to ``max_delay`` out of order (a duration such as ``"2s"``; none by
        default), or a mapping from inputs to durations. Each input has a horizon of its own, by
        what it brings. ``sources`` maps inputs to the names of their sources, where they have
        several: then the slowest of them counts. ``coverage`` is as for :meth:`run`. With
        ``idle_after`` (a duration), an input that has brought nothing for so long, by the wall
        clock ``clock``, no longer holds anything up while others go on. ``tables`` maps the names
        of the program's static tables to their rows, for the whole session. ``state`` continues a
        session that was saved, with its delay unless another one is given; tables are no part of
        it, and are given again. A program whose state has no bound is refused unless
        ``allow_unbounded`` is set. ``emit`` limits what is given back to some names: what only
        the others rest on is neither derived nor remembered. With ``progress``, the session
        remembers what :meth:`Session.progress` tells. ``memory_limit`` and ``max_matches``
        hold for each ``push`` and ``advance`` as they do for
        :meth:`run`; one that fails by them changes nothing in the session. ``actions`` and
        ``delivery`` are as for :meth:`run`; reactions are on their way when ``push`` returns, and
        delivered when ``flush`` or ``close`` does.
        """
        from thence.engine.limits.growth import limits
        from thence.generation import How
        from thence.input_times import gaps_of
        from thence.session import Session, Timing

        bounds = limits(memory_limit, max_matches)
        how = How(lineage, allow_unbounded, bounds, progress)
        plan = how.plan(self, self._emitted(emit))
        facts = self._facts(plan, tables)
        gaps = gaps_of(coverage, plan.inputs)
        timing = Timing(max_delay, sources, idle_after, clock, gaps)

        def reacting(program: Program) -> Reacting | None:
            return program._reacting(actions, delivery)

        return Session(self, plan, timing, state, how, facts, reacting)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Errors about limits with the text of the rule that they are about; and memory that is not
        there, wherever that is noticed, as one of them."""
        try:
            yield
        except LimitError as error:
            raise error.in_program(self._checked.program.source) from None
        except MemoryError:
            raise LimitError(
                "there is not enough memory for the events and their results",
                "give fewer events at a time, for example with a session",
            ) from None

    def _emitted(self, emit: Any) -> tuple[str, ...]:
        if emit is None:
            return self.plan.public
        if not isinstance(emit, Iterable):
            raise InputError(f"emit must be the name of an event, or several names, not {emit!r}")
        names = (emit,) if isinstance(emit, str) else tuple(emit)
        for name in names:
            if name not in self.plan.public:
                known = ", ".join(self.plan.public) or "none"
                raise InputError(f"the program derives no event '{name}'; it derives: {known}")
        return names

    def _reader(self, plan: Plan, whole: bool, warn: bool = False) -> Reader:
        """What reads events with the columns that rules read, or with all of them. Events that no
        rule reads still tell how far time has come; their latest may stand for all of them."""
        from thence.io.ingest import reader_of

        columns = plan.columns
        schemas = {schema.name: schema for schema in self.events}
        read = {
            name: schema.names if whole else columns.get(name, frozenset())
            for name, schema in schemas.items()
        }
        unread = [name for name in schemas if name not in columns]
        return reader_of(schemas, None, read, warn, unread, self._table_schemas)

    @cached_property
    def _table_schemas(self) -> dict[str, EventSchema]:
        return {schema.name: schema for schema in self.tables}

    def _facts(self, plan: Plan, tables: Any) -> dict[str, Events]:
        """The rows of the tables; none of a table that no rule looks into."""
        from thence.relation_rows import table_rows

        return table_rows(self, plan, tables)
