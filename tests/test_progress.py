"""How far along it is: what a session tells of its partial matches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import progress_oracle as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from progress_oracle import Absence, Inequality, Spec

import thence

EVENTS = "event a(x int); event b(x int); event c(x int); event d(x int);"


def before(one: str, other: str) -> Inequality:
    return (one, "end"), (other, "start"), -1


def within(labels: str, width: int) -> tuple[Inequality, ...]:
    return tuple(((one, "end"), (other, "start"), width) for one in labels for other in labels)


def sequence(types: str, width: int) -> Spec:
    labels = "klmn"[: len(types)]
    atoms = [f"{label}: {event}(x)" for label, event in zip(labels, types, strict=True)]
    times = [before(one, other) for one, other in pairwise(labels)]
    return Spec(
        f"r(x) <- ({' seq '.join(atoms)}) within {width} us;",
        dict(zip(labels, types, strict=True)),
        (*times, ((labels[-1], "end"), ("k", "start"), width)),
    )


def together(types: str, width: int) -> Spec:
    labels = "klmn"[: len(types)]
    atoms = [f"{label}: {event}(x)" for label, event in zip(labels, types, strict=True)]
    return Spec(
        f"r(x) <- ({' and '.join(atoms)}) within {width} us;",
        dict(zip(labels, types, strict=True)),
        within(labels, width),
    )


def related(relation: str, times: tuple[Inequality, ...], width: int) -> Spec:
    return Spec(
        f"r(x) <- k: a(x), l: b(x), k {relation} l, {{k, l}} within {width} us;",
        {"k": "a", "l": "b"},
        (*times, *within("kl", width)),
    )


def without_between(width: int) -> Spec:
    gap = before("k", "absent"), before("absent", "l")
    return Spec(
        f"r(x) <- not(c(x)).[k: a(x), l: b(x)] within {width} us;",
        {"k": "a", "l": "b"},
        (before("k", "l"), (("l", "end"), ("k", "start"), width)),
        (Absence("c", gap, ("l", "start")),),
    )


def without_after(width: int) -> Spec:
    inside = (("k", "start"), ("absent", "start"), -1), (("absent", "end"), ("k", "end"), width - 1)
    return Spec(
        f"r(x) <- k: a(x), w: extend(k, {width} us), while w: not c(x);",
        {"k": "a"},
        (),
        (Absence("c", inside, ("k", "end"), width),),
        instants=True,
    )


def then_without_between(width: int) -> Spec:
    gap = before("l", "absent"), before("absent", "m")
    return Spec(
        f"r(x) <- (k: a(x) seq not(c(x)).[l: b(x), m: d(x)]) within {width} us;",
        {"k": "a", "l": "b", "m": "d"},
        (before("k", "l"), before("l", "m"), (("m", "end"), ("k", "start"), width)),
        (Absence("c", gap, ("m", "start")),),
    )


WIDTHS = st.integers(2, 6)
MET = ((("k", "end"), ("l", "start"), 0), (("l", "start"), ("k", "end"), 0))
DURING = (("l", "start"), ("k", "start"), -1), (("k", "end"), ("l", "end"), -1)
SPECS = st.one_of(
    st.builds(sequence, st.sampled_from(["ab", "aa", "abc", "aba"]), WIDTHS),
    st.builds(together, st.sampled_from(["ab", "aa", "abc"]), WIDTHS),
    st.builds(related, st.just("meets"), st.just(MET), WIDTHS),
    st.builds(related, st.just("during"), st.just(DURING), WIDTHS),
    st.builds(without_between, WIDTHS),
    st.builds(without_after, WIDTHS),
    st.builds(then_without_between, st.integers(3, 6)),
)

SEEN = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.integers(1, 2), st.integers(0, 8), st.sampled_from([0, 0, 0, 2])
    ).map(lambda e: (e[0], e[1], e[2], e[2] + e[3])),
    max_size=8,
)


def micros(time: Any) -> int:
    return int((time - EPOCH).total_seconds() * 1_000_000 + 0.5)


EPOCH = __import__("datetime").datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def told(session: thence.Session) -> set[oracle.Row]:
    """What a session tells, as the oracle does."""
    found = session.progress("r").to_pylist()
    rows = set()
    for row in found:
        parts = frozenset(
            (
                part["label"],
                (part["event"], row["x"], micros(part["start"]), micros(part["end"])),
            )
            for part in row["parts"]
        )
        awaited = tuple(
            (
                each["label"] if each["what"] == "event" else f"no {each['event']}",
                micros(each["until"]),
            )
            for each in row["awaiting"]
        )
        assert row["met"] == len(parts) and row["of"] == len(parts) + len(awaited)
        assert row["done"] == row["met"] / row["of"]
        assert micros(row["since"]) == min(event[2] for _, event in parts)
        rows.add((row["x"], parts, awaited, micros(row["until"])))
    assert len(rows) == len(found), "each is told once"
    return rows


@settings(max_examples=150, deadline=None)
@given(SPECS, SEEN, st.integers(0, 3), st.data())
def test_a_session_cut_anywhere_tells_what_the_definition_says(
    spec: Spec, events: list[oracle.Seen], delay: int, data: st.DataObject
) -> None:
    program = thence.compile(f"{EVENTS} {spec.text}")
    session = program.session(delay and f"{delay} us" or None, progress=True)
    if spec.instants:
        events = [(event, key, end, end) for event, key, _, end in events]
    seen: list[oracle.Seen] = []
    horizon = -9
    # So that all of them are not too late: sorted, but for as much as the delay allows.
    waiting = sorted(events, key=lambda event: event[3] + data.draw(st.integers(0, delay)))
    while waiting:
        cut = data.draw(st.integers(1, len(waiting)))
        batch, waiting = waiting[:cut], waiting[cut:]
        session.push([{"type": t, "x": x, "start": s, "end": e} for t, x, s, e in batch])
        seen += [event for event in batch if event[3] > horizon]
        # More may come of the last instant.
        horizon = max(horizon, max(event[3] for event in batch) - delay - 1)
        if data.draw(st.booleans()):
            session = program.session(state=session.save(), progress=True)
        assert told(session) == oracle.in_progress(spec, seen, horizon, reach=14)
    horizon += data.draw(st.integers(0, 4))
    session.advance(horizon)
    assert told(session) == oracle.in_progress(spec, seen, horizon, reach=14)
