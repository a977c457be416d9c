"""Generated programs that look things up: every host finds what the oracle finds."""

from __future__ import annotations

import random

import pytest
from hosts import arrivals, batch, collect, cuts, in_a_session, oracle, rows_of
from hypothesis import given, note, settings
from hypothesis import strategies as st
from notation import INFINITY, Written

import thence

DECLARED = """
    event a(x int, y int);
    event b(x int, y int);
    event c(x int, y int);
    event d(x int, y int);
    table t(x int, y int){valid};
    table u(x int){valid};
    {changes}
"""
CHANGES = """
    on c(x, y): insert t(x, y);
    on d(x, _): delete t(x, _);
    on d(x, y) where x <> y: insert u(x);
    on k: c(1, y): delete u(y);
"""
TABLES = {
    "static": DECLARED.format(valid="", changes=""),
    "versioned": DECLARED.format(valid=" valid from since to till", changes=""),
    "changing": DECLARED.format(valid="", changes=CHANGES),
}
ARITY = {"a": 2, "b": 2, "t": 2, "u": 1}
SECOND = 1_000_000
fewer_examples = settings(max_examples=settings().max_examples // 3)

# What the places of a pattern hold: A and B are events, T and U rows; a small letter is one of
# which nothing may be read outside.
EVENTS = [
    "A",
    "A seq B within 5 s",
    "A and B",
    "(A and T) seq B within 6 s",
    "A seq (B and T and not u)",
    "(A or B) and T",
    "A, (T or T)",
    "notfollows(A, b, 3 s)",
    "notprecedes(A and U, b, 3 s)",
    "both(A, B and T, 4 s)",
    "not(b).[A, A]",
    "not(b and t).[A, A]",
    "o: A, w: extend(o, 4 s), while w: not b",
    "o: A, w: extend(o, 4 s), while w: not (b and t)",
    "o: A, w: extend(o, 4 s), while w: not (b and not u)",
    "o: A, l: T, l.x <= o.x and o.x < l.y",
    "o: A, l: T, l.y >= o.x - 1 and l.y <= o.x + 1",
    "o: A seq B within 5 s, l: T, o.y < l.x",
    "o: A, not (k: t where k.x <= o.x and o.x < k.y)",
    "at '1970-01-01T00:00:05Z', T",
    "w: (at '1970-01-01T00:00:02Z' seq at '1970-01-01T00:00:07Z'), T, while w: not a",
]
LOOKUPS = ["T", "U", "not t", "not u", "T, not t", "not (k: t where k.x < k.y)", "l: T, l.x <= l.y"]
POLICIES = ["", "", "", " using recent", " using chronicle", " using continuous", " using first"]


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A rule with lookups; its head has what every alternative of its body binds."""
    body = draw(st.sampled_from(EVENTS))
    extra = draw(st.lists(st.sampled_from(LOOKUPS), max_size=2, unique=True))
    extra = [item for item in extra if not (item.startswith("l:") and "l:" in body)]
    bound: list[set[str]] = []
    either: list[set[str]] = []

    def atom(letter: str) -> str:
        names = [
            draw(st.sampled_from(["x", "y", "z", "_", "1"])) for _ in range(ARITY[letter.lower()])
        ]
        if letter.isupper():
            bound.append(set(names) & {"x", "y", "z"})
        return f"{letter.lower()}({', '.join(names)})"

    written = []
    for item in (body, *extra):
        before = len(bound)
        parts = "".join(atom(c) if _is_place(item, i) else c for i, c in enumerate(item))
        if " or " in item:  # only what both branches bind
            one, two, *others = bound[before:]
            either.append(one & two)
            bound[before:] = others
        written.append(parts)
    names = sorted(set().union(*bound, *either))
    unshared = any(" or " in item for item in (body, *extra))
    policy = "" if "at '" in body or unshared else draw(st.sampled_from(POLICIES))
    return f"r({', '.join(names)}) <- {', '.join(written)}{policy};"


def _is_place(text: str, at: int) -> bool:
    """Whether a letter stands alone, and is no label nor read."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in "ABTUabtu" and not any(c.isalnum() or c in ".':_" for c in around)


def _event(name: str, x: int | None, y: int | None, start: int, length: int) -> Written:
    return Written(name, (x, y), start * SECOND, (start + length) * SECOND)


def _row(name: str, values: tuple[int | None, ...], bounds: tuple[float, float]) -> Written:
    valid = tuple(time * SECOND if abs(time) < INFINITY else time for time in bounds)
    return Written(name, values, INFINITY, -INFINITY, valid)


VALUES = st.sampled_from([0, 1, 1, 2, None])
TIMED = st.builds(
    _event,
    st.sampled_from("ababcd"),
    VALUES,
    VALUES,
    st.integers(0, 9),
    st.sampled_from([0, 0, 0, 2]),
)
BOUNDS = st.tuples(st.sampled_from([-INFINITY, 0, 2, 3, 5]), st.sampled_from([5, 6, 9, INFINITY]))
ROWS = st.one_of(
    st.builds(lambda x, y, v: _row("t", (x, y), v), VALUES, VALUES, BOUNDS),
    st.builds(lambda x, v: _row("u", (x,), v), VALUES, BOUNDS),
)
GIVEN = st.tuples(st.lists(TIMED, max_size=7), st.lists(ROWS, max_size=5))
SEEDS = st.integers(0, 2**31)


def readable(rule: str, tables: str) -> str | None:
    """The program with a rule, if it is one: a variable of one branch may be used elsewhere."""
    text = TABLES[tables] + rule
    try:
        thence.compile(text)
    except thence.ProgramError:
        return None
    return text


PROGRAMS = st.builds(readable, rules(), st.sampled_from(list(TABLES))).filter(
    lambda text: text is not None
)


def given_to(text: str, data: tuple[list[Written], list[Written]]) -> list[Written]:
    """Events and rows; where tables have no versions, rows are valid at all times."""
    rows = data[1] if " valid " in text else [row._replace(valid=None) for row in data[1]]
    return [*data[0], *rows]


@given(PROGRAMS, GIVEN, SEEDS)
def test_in_process(text: str, data: tuple[list[Written], list[Written]], seed: int) -> None:
    events = given_to(text, data)
    note(text)
    expected = oracle(text, events, None)
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:  # tables are looked through as if they were large
            patch.setattr("thence.engine.join.lookup.FEW", 0)
        assert batch(text, events, None) == expected
        for save in (False, True):
            assert in_a_session(text, events, None, random.Random(seed), save) == expected


@fewer_examples
@given(PROGRAMS, GIVEN, SEEDS)
def test_as_the_tasks_of_spark(
    text: str, data: tuple[list[Written], list[Written]], seed: int
) -> None:
    from spark_hosts import Stream, batch_results

    events = given_to(text, data)
    note(text)
    program, chance = thence.compile(text), random.Random(seed)
    assert rows_of(batch_results(program, events, 9 * SECOND, chance)) == oracle(
        text, events, 9 * SECOND
    )
    delay = chance.choice([0, 2 * SECOND])
    stream = Stream(program, chance, delay, rows_of_tables=events[len(data[0]) :])
    found: dict[str, set[object]] = {"r": set()}
    for part in cuts(arrivals(events, delay, chance), chance):
        collect(found, rows_of(stream.push(part)))  # type: ignore[arg-type]
    collect(found, rows_of(stream.idle(max(stream.latest, 0))))  # type: ignore[arg-type]
    assert found == oracle(text, events, stream.horizon)


@pytest.mark.parametrize("body", [*EVENTS, *(f"A, {item}" for item in LOOKUPS)])
@pytest.mark.parametrize("tables", TABLES)
def test_what_rules_are_made_of_is_a_program(body: str, tables: str) -> None:
    atoms = {name: f"{name}({', '.join('xy'[:arity])})" for name, arity in ARITY.items()}
    written = [atoms[c.lower()] if _is_place(body, i) else c for i, c in enumerate(body)]
    thence.compile(f"{TABLES[tables]} r(x) <- {''.join(written)};")
