"""Events that may or may not have happened: derivations say in which worlds a result holds.

A world is a set of events that have happened: all that are certain, and some of those that are only
possible. The program is run once over everything, and its derivations are evaluated for each world;
then it is run over the events of each world. Both must find the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hosts import tables
from notation import Written

import thence
from thence.engine.arrays.rows import concat, take
from thence.engine.output.event_ids import event_ids
from thence.engine.output.recorder import BOUND, DERIVATION, EVENT
from thence.engine.run.step import Options, step
from thence.engine.state.derivation_store import Store, numbers, uses_in
from thence.engine.state.relation import Relation
from thence.engine.state.state import State, decode, encode
from thence.model.events import Events
from thence.plan.horizons import NEVER, everywhere
from thence.plan.tree import Plan

A_B_C = "event a(k int); event b(k int); event c(k int);\n"
PROGRAMS = {
    "seq": "r(k) <- a(k) seq b(k);",
    "or": "r(k) <- a(k) or b(k);",
    "one result, many derivations": "r() <- (a(_) seq b(_) seq c(_)) within 6 us;",
    "absence": "r(k) <- not(c(k)).[a(k), b(k)];",
    "absence for every key": "r(k) <- not(c(_)).[a(k), b(k)];",
    "absence of a pattern": "r(k) <- not(b(k) seq c(k)).[a(k), a(k)];",
    "absence in a window": "r(k) <- x: a(k), w: extend(x, 5 us), while w: not b(k);",
    "absence before": "r(k) <- x: a(k), w: extend_backward(x, 5 us), while w: not b(k);",
    "two absences": "r(k) <- x: a(k), w: extend(x, 5 us), while w: not b(k), while w: not c(_);",
    "absence of what is derived": (
        "q(k) <- a(k) seq b(k); r(k) <- x: c(k), w: extend(x, 6 us), while w: not q(k);"
    ),
    "absence of absence": (
        "q(k) <- x: a(k), w: extend(x, 3 us), while w: not b(k); "
        "r(k) <- x: c(k), w: extend(x, 9 us), while w: not q(k);"
    ),
    "a condition on what is absent": (
        "r(k) <- x: a(k), w: extend(x, 5 us), while w: not (b(m) where m > k);"
    ),
    "several rules": "r(k) <- a(k); r(k) <- not(c(k)).[a(k), b(k)]; r(k) <- b(k) and c(k);",
    "recursion": "r(k) <- a(k); r(k) <- r(k) seq b(k);",
    "recursion over absence": (
        "q(k) <- not(c(k)).[a(k), b(k)]; r(k) <- q(k); r(k) <- r(k) seq b(k);"
    ),
    "absence of recursion": (
        "q(k) <- a(k); q(k) <- q(k) seq b(k); "
        "r(k) <- x: c(k), w: extend_backward(x, 9 us), while w: not q(k);"
    ),
    "end points": "r(k) <- notfollows(a(k), b(k), 4 us); s(k) <- notprecedes(a(k), c(k), 4 us);",
}  # fmt: skip

UNTIL = 30
Row = tuple[Any, ...]


def scattered(source: random.Random, count: int = 8) -> list[Written]:
    times = [source.randint(0, 12) for _ in range(count)]
    return [
        Written(source.choice("abc"), (source.choice([1, 2]),), t, t + source.choice([0, 0, 1]))
        for t in times
    ]


class Evaluated:
    """A program that was run over certain and possible events: what holds in which world."""

    def __init__(self, plan: Plan, results: Mapping[str, Events], store: Store) -> None:
        self.plan = plan
        self.results = results
        self.derivations = list(self._derivations(store))

    def _derivations(self, store: Store) -> Iterator[tuple[str, int, list[int], list[int]]]:
        """The type and the id of what each derivation is of, the ids of what is bound, and of what
        has to be absent."""
        alternatives = self.plan.rulebook.alternatives
        for stage in self.plan.stages:
            for event in stage.events:
                if event not in store.derivations:
                    continue
                rows = store.derivations[event].whole()
                uses, places = uses_in(alternatives[event], rows)
                columns = (numbers(rows, name).tolist() for name in (EVENT, DERIVATION, BOUND))
                found: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
                for place, owner, derivation, bound in zip(places, *columns, strict=True):
                    own = found.setdefault((owner, derivation), ([], []))
                    use = uses[place]
                    if use is not None:
                        own[use.absent].append(bound)
                yield from ((event, owner, *own) for (owner, _), own in found.items())

    def holding(self, happened: Iterable[int]) -> set[int]:
        """The ids of all that holds where some base events have happened: stage by stage, and each
        to its fixpoint."""
        true = set(happened)
        for stage in self.plan.stages:
            own = [d for d in self.derivations if d[0] in stage.events]
            while True:
                fresh = {
                    owner
                    for _, owner, bound, absent in own
                    if owner not in true and true.issuperset(bound) and true.isdisjoint(absent)
                }
                if not fresh:
                    break
                true |= fresh
        return true

    def rows(self, happened: Iterable[int]) -> dict[str, set[Row]]:
        """The results of a world."""
        true = self.holding(happened)
        found: dict[str, set[Row]] = {}
        for name in self.plan.public:
            events = self.results[name]
            ids = event_ids(self.plan.schemas[name], events).tolist()
            found[name] = {row for row, own in zip(shown(events), ids, strict=True) if own in true}
        return found


def shown(events: Events) -> list[Row]:
    columns = [column.to_pylist() for column in events.columns.values()]
    return list(zip(*columns, events.start.tolist(), events.end.tolist(), strict=True))


def in_steps(
    program: thence.Program, given: Sequence[Mapping[str, Events]], save: bool
) -> Evaluated:
    """A program run over events in one step, or in several, each with a horizon behind it."""
    plan = program.plan_for(None, provenance=True)
    retention = plan.certain_needs.retention if len(given) > 1 else None
    part, state = plan.everything, State()
    results: dict[str, list[Events]] = {name: [] for name in part.outputs}
    store = Store()
    for number, events in enumerate([*given, {}]):
        horizon = UNTIL if retention is None or number == len(given) else NEVER
        if retention is None and number:
            break
        state, found = step(
            part, state, events, everywhere(horizon, plan.inputs), Options(True, retention)
        )
        store = store.joined(state.store)
        for name, rows in found.items():
            results[name].append(rows)
        if save:
            state = decode(encode(state, {}))
    return Evaluated(plan, {name: concat(parts) for name, parts in results.items()}, store)


def dealt(events: Mapping[str, Events], times: int) -> list[dict[str, Events]]:
    """Events in so many portions, in the order of their ends."""
    portions: list[dict[str, Events]] = [{} for _ in range(times)]
    for name, rows in events.items():
        places = rows.end * times // 14
        for number, portion in enumerate(portions):
            portion[name] = take(rows, np.flatnonzero(np.clip(places, 0, times - 1) == number))
    return portions


@pytest.mark.parametrize("way", ["one step", "two steps", "two steps, saved in between"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivations_hold_in_just_the_worlds_in_which_results_are_derived(
    name: str, way: str
) -> None:
    program = thence.compile(A_B_C + PROGRAMS[name])
    plan = program.plan_for(None, provenance=True)
    some, open_ = 0, 0
    for seed in range(4):
        source = random.Random(seed)
        written = list(dict.fromkeys(scattered(source)))
        events = program._reader(plan, whole=True).read_all(tables(A_B_C, written))
        ids = {event: event_ids(plan.schemas[event], rows) for event, rows in events.items()}
        possible = {
            event: np.array([source.random() < 0.6 for _ in own], dtype=np.bool_)
            for event, own in ids.items()
        }
        told = {event: replace(rows, possible=possible[event]) for event, rows in events.items()}
        given = [told] if way == "one step" else dealt(told, 2)
        evaluated = in_steps(program, given, save="saved" in way)
        flags = [(event, place) for event in ids for place in np.flatnonzero(possible[event])]
        answers = set()
        for choice in product([False, True], repeat=len(flags)):
            there = {event: ~mask for event, mask in possible.items()}
            for (event, place), happened in zip(flags, choice, strict=True):
                there[event][place] = happened
            world = {event: take(rows, there[event]) for event, rows in events.items()}
            right = _run(program, world)
            assert evaluated.rows(i for e in ids for i in ids[e][there[e]].tolist()) == right
            some += sum(map(len, right.values()))
            answers.add(repr(sorted((n, sorted(rows)) for n, rows in right.items())))
        open_ += len(answers) > 1
    assert some and open_


def _run(program: thence.Program, world: Mapping[str, Events]) -> dict[str, set[Row]]:
    horizons = everywhere(UNTIL, program.plan.inputs)
    _, found = step(program.plan.whole, State(), world, horizons, Options())
    return {name: set(shown(rows)) for name, rows in found.items()}


def test_what_is_certain_rules_a_match_out_and_what_is_possible_is_recorded() -> None:
    program = thence.compile(A_B_C + PROGRAMS["absence"])
    plan = program.plan_for(None, provenance=True)
    written = [Written("a", (k,), 1, 1) for k in (1, 2)] + [
        Written("b", (k,), 9, 9) for k in (1, 2)
    ]
    blocking = [Written("c", (k,), 5, 5) for k in (1, 2)]
    events = program._reader(plan, whole=True).read_all(tables(A_B_C, written + blocking))
    events["c"] = replace(events["c"], possible=np.array([True, False]))
    evaluated = in_steps(program, [events], save=False)
    assert shown(evaluated.results["r"]) == [(1, 1, 9)]
    assert evaluated.results["r"].possible.tolist() == [True]
    ((_, _, bound, absent),) = evaluated.derivations
    assert len(bound) == 2
    assert absent == event_ids(plan.schemas["c"], events["c"])[:1].tolist()


@pytest.mark.parametrize(
    "rule",
    [
        "r(count(k)) <- x: a(_), w: extend(x, 5 us), while w: collect b(k);",
        "r(k) <- a(k) seq b(k) using recent;",
        "r(k) <- (a(k) seq b(k)+ seq c(k)) within 9 us;",
        "r() <- periodic(a(_), 2 us, b(_));",
    ],
)
def test_what_no_derivation_can_say_is_refused(rule: str) -> None:
    program = thence.compile(A_B_C + rule)
    plan = program.plan_for(None, provenance=True)
    written = [Written(name, (1,), place, place) for place, name in enumerate("abbc", 1)]
    events = program._reader(plan, whole=True).read_all(tables(A_B_C, written))
    events["b"] = replace(events["b"], possible=np.array([True, False]))
    with pytest.raises(thence.EvaluationError, match="only possible"):
        in_steps(program, [events], save=False)


def test_events_stay_possible_in_what_is_made_of_them() -> None:
    times = np.arange(6)
    rows = Events(times, times, {}, times % 2 == 0)
    assert Relation(rows).only_possible
    assert take(rows, np.array([1, 2])).possible.tolist() == [False, True]
    both = concat([rows, Events(times, times, {})])
    assert both.possible.tolist() == [True, False] * 3 + [False] * 6
    assert not Relation(take(rows, np.array([1, 3]))).only_possible
