"""The tree of causes of a result is what brute force finds, level by level, and its base events are
those that lineage names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from case_files import Case, load_cases
from cause_oracle import Part, Way, Ways, direct_causes
from hosts import MICROSECOND, facts, tables
from hypothesis import given, note, reject, settings
from lineage_oracle import Entry, lineages
from notation import Written
from oracle_history import ALWAYS, Event, Interval
from oracle_values import EPOCH, canonical, equal
from strategies import Example, examples
from test_lineage import A_B_C, PROGRAMS, scattered

import thence
from thence.causes import Cause, Derivation

# Brute force over all derivations takes its time.
fewer_examples = settings(max_examples=settings().max_examples // 5)

CASES = [case for case in load_cases() if case.coverage is None]


def micros(time: Any) -> int:
    return int((time - EPOCH) // MICROSECOND)


def event_of(cause: Cause) -> Event:
    values = canonical(tuple(cause.values.values()))
    at = ALWAYS if cause.is_fact else Interval(micros(cause.start), micros(cause.end))
    return Event(cause.event, values, at)


def is_inner(cause: Cause) -> bool:
    """Whether it is the occurrence of a pattern inside a rule, which has no name of its own."""
    return cause.event.startswith("(")


def parts_of(derivation: Derivation, collected: bool = False) -> Iterator[Part]:
    """What a derivation is made of; instead of an inner pattern, what that is made of."""
    for cause in derivation.causes:
        if is_inner(cause):
            assert cause.collected or collected
            for inner in cause.derivations:
                yield from parts_of(inner, collected=True)
        else:
            yield Part(cause.label, event_of(cause), collected or cause.collected)


def ways_of(cause: Cause) -> set[Way]:
    assert cause.more == 0
    return {Way(d.line or 0, frozenset(parts_of(d))) for d in cause.derivations}


def trees_of(text: str, events: Sequence[Written], until: int | None) -> list[Cause]:
    """The whole trees of all results."""
    program = thence.compile(text)
    rows = facts(text, events)
    results = program.run(tables(text, events), until=until, tables=rows, trace=True)
    return [
        results.trace(name, row, limit=None)
        for name in results
        for row in range(results.count(name))
    ]


def told_by(trees: Sequence[Cause]) -> Ways:
    """The derivations of every event anywhere in some trees; all trees must agree on them."""
    found: Ways = {}
    for cause in (cause for tree in trees for cause in tree.walk()):
        if cause.derivations and not is_inner(cause):
            ways = ways_of(cause)
            assert found.setdefault(event_of(cause), ways) == ways
    return found


def check_absences(text: str, trees: Sequence[Cause], events: Sequence[Written]) -> None:
    """Where a tree says that nothing came, nothing is."""
    known = {Event(e.type, canonical(e.values), Interval(e.start, e.end)) for e in events}
    known |= told_by(trees).keys()
    program = thence.compile(text)
    schemas = (*program.events, *program.tables, *program.derived)
    names = {schema.name: schema.names for schema in schemas}
    for absence in (a for tree in trees for cause in tree.walk() for a in cause.absences):
        if absence.conditions or absence.event not in names:
            continue
        always = absence.start is None
        first = None if always else micros(absence.start) + absence.open_start
        last = None if always else micros(absence.end) - absence.open_end
        for event in known:
            inside = always or (first <= event.at.start and event.at.end <= last)
            if event.type == absence.event and inside:
                values = dict(zip(names[event.type], event.values, strict=True))
                assert any(equal(values[n], v) is not True for n, v in absence.values.items())


def has_own_rules(text: str) -> bool:
    """Whether a query stands inside another, or a pattern has a rule of its own."""
    rules = thence.compile(text).plan.checked.program.rules
    return any(rule.hidden for rule in rules)


def check(text: str, events: Sequence[Written], until: int | None = None) -> int:
    """Compare all trees with brute force; how many there are."""
    trees = trees_of(text, events, until)
    if not has_own_rules(text):  # events without a name are drawn as the pattern they are
        assert told_by(trees) == direct_causes(text, events, until)
        check_absences(text, trees, events)
    behind = lineages(text, events, until)
    for tree in trees:
        event = event_of(tree)
        base = [(cause.label, event_of(cause)) for cause in tree.base()]
        assert len(set(base)) == len(base)
        entries = {Entry(label, e.type, e.values, *e.at) for label, e in base}
        assert entries == behind[event.type][event.values, *event.at]
    return len(trees)


@pytest.mark.parametrize("name", PROGRAMS)
def test_direct_causes_and_base_events(name: str) -> None:
    assert sum(check(A_B_C + PROGRAMS[name], scattered(seed)) for seed in range(3))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    assert check(case.program, case.events, case.until) == len(case.expect)


@given(examples())
@fewer_examples
def test_generated_programs(example: Example) -> None:
    note(example.program)
    try:
        thence.compile(example.program)
    except thence.CheckError:
        reject()
    check(example.program, example.events, example.until)


# --- recursion ------------------------------------------------------------------------------------


def depth_of(cause: Cause) -> int:
    """How deep a tree is along first derivations, none of which may come back to itself."""
    assert cause.cut is None
    if cause.is_base:
        return 0
    return 1 + max(map(depth_of, cause.derivations[0].causes), default=0)


def test_the_first_derivation_is_the_one_of_least_depth_and_never_rests_on_itself() -> None:
    text = A_B_C + "r(k) <- a(k); r(k) <- r(k) and b(k);"
    events = [Written("a", (1,), 1, 1), Written("b", (1,), 1, 1), Written("b", (1,), 3, 3)]
    trees = {tree.end: tree for tree in trees_of(text, events, None)}
    depths = sorted((micros(end), depth_of(tree)) for end, tree in trees.items())
    assert depths == [(1, 1), (3, 2)]


def test_a_derivation_that_needs_the_event_itself_comes_last_and_goes_no_further() -> None:
    text = A_B_C + "r(k) <- a(k); r(k) <- r(k) and b(k);"
    (tree,) = trees_of(text, [Written("a", (1,), 1, 1), Written("b", (1,), 1, 1)], None)
    plain, itself = tree.derivations
    assert [cause.event for cause in plain.causes] == ["a"]
    assert [(cause.event, cause.cut) for cause in itself.causes] == [("b", None), ("r", "cycle")]


def test_a_recursion_may_be_deeper_than_pythons() -> None:
    program = thence.compile("event a(); tick() <- a; tick() <- t: tick, w: shift(t, 1 s);")
    results = program.run({"a": [{"time": 0}]}, until=1_500_000_000, trace=True)
    tree = results.trace("tick", results.count("tick") - 1)
    assert sum(1 for _ in tree.walk()) > 1_000
    assert len(str(tree).splitlines()) > 1_000
    assert tree._repr_html_().count("<li") > 1_000
    assert [cause.event for cause in tree.base()] == ["a"]
    assert tree.to_dict()["derivations"]
