"""Joins: neither the order of atoms, nor dropping what cannot matter, nor the size of chunks may
change an answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import pytest
from hosts import oracle, rows_of, tables
from hypothesis import given, note, reject, settings
from hypothesis import strategies as st
from notation import Written
from strategies import Example, examples

import thence
from thence.engine.arrays import ranges
from thence.engine.join import join, search
from thence.engine.join.join import _Join
from thence.engine.run import derive
from thence.plan.order import _Choice

KINDS = "abcd"
DECLARED = "".join(f"event {kind}(k int, v int);\n" for kind in KINDS)
RELATIONS = (
    "before", "after", "meets", "met_by", "overlaps", "overlapped_by", "starts", "started_by",
    "during", "contains", "finishes", "finished_by", "equals",
)  # fmt: skip
COMPARISONS = ("<=", "<", "=", ">=", ">")


@contextmanager
def varied(
    order: random.Random | None = None,
    keep_all: bool = False,
    chunk: int | None = None,
    cached: int | None = None,
    few: int | None = None,
    split: bool = False,
) -> Iterator[None]:
    """Make joins bind their atoms in a random order, keep what they would drop, look at few
    candidates at a time, take even small tables for large ones and few probes for many, or be split
    by their ends wherever that is possible."""
    with pytest.MonkeyPatch.context() as patch:
        if order is not None:
            patch.setattr(_Choice, "ways", lambda self, _, left: in_order(self, left, order))
        if keep_all:
            patch.setattr(derive, "joins", keeping_all)
        if split:
            patch.setattr(_Join, "look_out", split_always)
        if chunk is not None:
            patch.setattr(ranges, "CHUNK", chunk)
        if cached is not None:
            patch.setattr(ranges, "CACHED", cached)
            patch.setattr(join, "CACHED", cached)
        if few is not None:
            patch.setattr(search, "FEW", few)
        yield


def in_order(self: _Choice, left: Any, order: random.Random) -> list[int]:
    atoms = list(self.prepared.conjunct.positive)
    order.shuffle(atoms)
    return [next(atom for atom in atoms if atom in left)]


def keeping_all(*given: Any) -> Any:
    prepared, rels, limits, _, *rest = given
    return join.joins(prepared, rels, limits, True, *rest)


def split_always(self: _Join, *_: Any) -> None:
    if self.most is join.SPLIT and self.prepared.by_ends:
        raise join.TooManyCandidates


@st.composite
def conjunctions(draw: Any) -> str:
    """A program with one rule: atoms that share variables, conditions on their times and values,
    and perhaps a window in which something must be absent, itself tied to the atoms' times."""
    choose = lambda options: draw(st.sampled_from(options))  # noqa: E731
    labels = [f"l{i}" for i in range(draw(st.integers(2, 4)))]
    values = [(choose(["x", "_", "y"]), choose(["_", f"u{i}"])) for i in range(len(labels))]
    items = [f"{n}: {choose(KINDS)}({k}, {v})" for n, (k, v) in zip(labels, values, strict=True)]
    ends = [f"{label}.{side}" for label in labels for side in ("start", "end")]
    duration = st.integers(0, 4).map(lambda n: f"{n} us")
    for _ in range(draw(st.integers(1, 4))):
        p, q = draw(st.permutations(ends))[:2]
        one, other = draw(st.permutations(labels))[:2]
        read = [v for _, v in values if v != "_"]
        options = [
            f"{p} {choose(COMPARISONS)} {q} + {draw(duration)}",
            f"{one} {choose(RELATIONS)} {other}",
            f"{{{one}, {other}}} within {draw(duration)}",
            f"{p} != {q}",
        ]
        if len(read) > 1:
            options.append(f"{read[0]} {choose(COMPARISONS)} {read[1]}")
        items.append(choose(options))
    if draw(st.booleans()):
        timer = choose([f"extend({labels[0]}, 6 us)", f"extend_backward({labels[1]}, 5 us)"])
        items.append(f"w: {choose([timer, f'({labels[0]} and {labels[1]})'])}")
        tied = [
            f"z.{choose(['start', 'end'])} {choose(COMPARISONS)} {choose(ends)} + {draw(duration)}"
            for _ in range(draw(st.integers(0, 3)))
        ]
        absent = f"z: {choose(KINDS)}({choose(['x', '_', 'y'])}, _)"
        absent = f"({absent} where {' and '.join(tied)})" if tied else absent
        items.append(f"while w: not {absent}")
    names = sorted({name for pair in values for name in pair} - {"_"})
    head = [choose(labels) + ".start"] if draw(st.booleans()) else []
    head += [choose(names)] if names and draw(st.booleans()) else []
    return f"{DECLARED}r({', '.join(head)}) <- {', '.join(items)};"


@st.composite
def happenings(draw: Any) -> list[Written]:
    lengths = draw(st.sampled_from([[0], [0, 0, 1, 2, 4]]))

    def happening() -> Written:
        start = draw(st.integers(0, 9))
        values = (draw(st.sampled_from([1, 2])), draw(st.sampled_from([0, 1, 2, None])))
        kind = draw(st.sampled_from(KINDS))
        return Written(kind, values, start, start + draw(st.sampled_from(lengths)))

    return [happening() for _ in range(draw(st.integers(4, 14)))]


def compiled(text: str) -> thence.Program:
    """The program; on to the next example if it is refused (test_generated.py says when it may)."""
    note(text)
    try:
        return thence.compile(text)
    except thence.CheckError:
        reject()


VARIATIONS: list[dict[str, Any]] = [
    {"keep_all": True},
    {"chunk": 2},
    {"cached": 0},
    {"cached": 2},
    {"few": 0},
    {"few": 10**9},
    {"split": True},
    {"few": 0, "cached": 1, "chunk": 3, "keep_all": True},
]


@given(conjunctions(), happenings(), st.integers(0, 2**16))
def test_any_order_of_atoms_gives_what_the_oracle_gives(
    text: str, events: list[Written], seed: int
) -> None:
    program = compiled(text)
    expected = oracle(text, events, 20)
    given_ = tables(text, events)
    assert rows_of(program.run(given_, until=20)) == expected
    for number in range(3):
        with varied(order=random.Random(seed + number)):
            assert rows_of(program.run(given_, until=20)) == expected


@given(conjunctions(), happenings(), st.sampled_from(VARIATIONS))
def test_no_way_of_joining_changes_an_answer(
    text: str, events: list[Written], variation: dict[str, Any]
) -> None:
    program = compiled(text)
    given_ = tables(text, events)
    with varied(**variation):
        found = rows_of(program.run(given_, until=20))
    assert found == rows_of(program.run(given_, until=20))


@given(examples(), st.integers(0, 2**16))
@settings(max_examples=settings().max_examples // 6)
def test_programs_of_many_rules_do_not_depend_on_how_they_are_joined(
    example: Example, seed: int
) -> None:
    program = compiled(example.program)
    events = tables(example.program, example.events)
    expected = rows_of(program.run(events, until=example.until))
    for variation in ({"order": random.Random(seed)}, *VARIATIONS):
        with varied(**variation):
            assert rows_of(program.run(events, until=example.until)) == expected, variation


# --- one order after another, for the usual shapes ------------------------------------------------

SHAPES = {
    "a sequence": "a(x, _) seq b(x, _) seq c(x, _)",
    "a sequence in a window": "(l: a(_, v) seq b(_, w) seq c(_, _)) within 4 us where w >= v",
    "overlapping intervals": "a(x, _) overlaps (b(x, _) and c(_, _))",
    "an absence": "not(b(x, _)).[a(x, _), c(x, _) and d(_, _)]",
    "a condition on a span": "(l: (a(_, _) and b(_, _))) seq m: c(_, _) where duration(l) != 2 us",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_order_of_three_atoms(shape: str) -> None:
    names = ", ".join(name for name in "x" if f"({name}," in SHAPES[shape])
    text = f"{DECLARED}r({names}) <- {SHAPES[shape]};"
    source = random.Random(shape)
    events = [
        Written(source.choice(KINDS), (source.randint(1, 2), source.randint(0, 2)), start, end)
        for start, end in ((s // 2, s // 2 + source.choice([0, 0, 1, 3])) for s in range(40))
    ]
    expected = oracle(text, events, 40)
    assert expected["r"]
    program, given_ = thence.compile(text), tables(text, events)
    for order in permutations(range(4)):
        with varied(order=Sorted(order)):
            assert rows_of(program.run(given_, until=40)) == expected


class Sorted(random.Random):
    """Shuffles into a given order."""

    def __new__(cls, order: tuple[int, ...]) -> Sorted:
        return super().__new__(cls)

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self.order = order

    def shuffle(self, x: Any) -> None:
        x.sort(key=self.order.index)


def test_a_bound_that_only_the_absent_event_implies_is_checked_as_well() -> None:
    """n at l, and at most 5 s after k, implies that l is at most 5 s after k; which it is not."""
    text = (
        "event k(); event l(); event m(); event n(); r() <- w: (k: k() seq m: m()), l: l(), "
        "l during w, while w: not (n: n() where n.start = l.start and n.start <= k.start + 5 s);"
    )
    times = {"k": 0, "l": 10, "n": 10, "m": 20}
    events = {name: [{"time": time * 1_000_000}] for name, time in times.items()}
    assert thence.compile(text).run(events).count("r") == 1


# --- how much is looked at ------------------------------------------------------------------------


def candidates(text: str, events: dict[str, Any]) -> int:
    """How many pairs of a partial match and a next event a run looks at."""
    looked_at = 0
    expand = ranges.expand

    def counting(first: Any, last: Any) -> Iterator[Any]:
        nonlocal looked_at
        for probes, positions in expand(first, last):
            looked_at += len(probes)
            yield probes, positions

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "expand", counting)
        thence.compile(text).run(events)
    return looked_at


def rare_last(window: int, count: int = 4000) -> tuple[str, dict[str, Any]]:
    """``a seq b seq c seq z`` without a key, where z is rare and the head shows no more than it."""
    text = "".join(f"event {kind}();\n" for kind in "abcz")
    text += f"r(last.end) <- (a() seq b() seq c() seq last: z()) within {window} us;"
    events: dict[str, Any] = {kind: [] for kind in "abcz"}
    for time in range(count):
        events["abc"[time % 3]].append({"time": time})
    events["z"] = [{"time": time} for time in range(count // 4, count, count // 4)]
    return text, events


def test_combinations_that_cannot_show_are_not_made() -> None:
    """A window of 800 holds about 266**3 combinations of a, b and c for each z."""
    assert candidates(*rare_last(window=800)) < 3 * 4000


def test_a_window_ten_times_as_long_needs_about_ten_times_the_looking_at_most() -> None:
    short, long = candidates(*rare_last(window=80)), candidates(*rare_last(window=800))
    assert long <= 12 * short


def test_a_key_keeps_different_keys_apart() -> None:
    """With a hundred keys and no window, only events of one key are looked at together."""
    text = "event a(k int); event b(k int); r(k) <- a(k) seq b(k);"
    events = {
        "a": [{"k": i % 100, "time": i} for i in range(1000)],
        "b": [{"k": i % 100, "time": 1000 + i} for i in range(1000)],
    }
    assert candidates(text, events) <= 100 * 10 * 10
