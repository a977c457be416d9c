"""Generated EVENT clauses, compared with what their operators say of every choice of events.

The other hosts are compared with the oracle on the rules that queries become; here the queries
themselves are given a meaning, by trying all events for all aliases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from hosts import rows_of
from hypothesis import assume, event, given
from hypothesis import strategies as st

import thence

STREAMS = ("a", "b")
END = 1_000
OPERATORS = (
    "follows", "precedes", "both", "and", "seq", "during", "or", "anyone",
    "notseq", "notfollows", "notprecedes", "between", "until", "then", "prior", "relative",
    "simultaneous", "immediately", "other_than", "aperiodic", "without", "periodic*", "any",
)  # fmt: skip


@dataclass(frozen=True)
class Clause:
    """An operator of event SQL; an alias has its name as the operator and no parts."""

    operator: str
    parts: tuple[Clause, ...] = ()
    absent: Clause | None = None
    limit: int = 0
    earlier: Clause | None = None
    """What closes the time of WITHOUT, with every alternative of it."""

    def text(self) -> str:
        shown = [part.text() for part in self.parts]
        if not shown:
            return self.operator
        if self.operator == "notseq":
            assert self.absent is not None
            return f"SEQ({shown[0]}, NOT {self.absent.text()}, {shown[1]})"
        if self.absent is not None and self.operator not in ("between", "until"):
            place = {"other_than": 0, "without": 1}.get(self.operator, len(shown))
            shown.insert(place, self.absent.text())
        if self.operator == "any":
            shown.insert(0, str(self.limit))
        elif self.operator == "periodic*":
            shown.insert(1, f"'{self.limit} us'")
        elif self.limit:
            shown.append(f"'{self.limit} us'")
        return f"{self.operator.upper()}({', '.join(shown)})"

    def aliases(self) -> list[str]:
        """The aliases that occur."""
        own = [] if self.parts else [self.operator]
        return list(dict.fromkeys(own + [name for part in self.parts for name in part.aliases()]))

    def certain(self) -> list[str]:
        """The aliases that occur in every alternative."""
        every = [set(each.aliases()) for each in self.alternatives()]
        return [name for name in self.aliases() if all(name in each for each in every)]

    def alternatives(self) -> list[Clause]:
        """The clause with one part chosen of each ANYONE and OR."""
        inside = [part.alternatives() for part in self.parts]
        if self.operator in ("anyone", "or"):
            return [replace(self, parts=(one,)) for part in inside for one in part]
        if self.operator == "any":
            chosen = [row for few in combinations(inside, self.limit) for row in product(*few)]
            return [replace(self, parts=row) for row in chosen]
        # Whichever alternative occurs next closes a window.
        absent = self.parts[1] if self.operator in ("between", "until") else self.absent
        earlier = self.parts[1] if self.operator == "without" else None
        return [
            replace(self, parts=chosen, absent=absent, earlier=earlier)
            for chosen in product(*inside)
        ]

    def all_aliases(self) -> set[str]:
        """The aliases that occur, or that must be absent somewhere."""
        inside = [*self.parts, *([self.absent] if self.absent else [])]
        return set(self.aliases()).union(*(part.all_aliases() for part in inside))


Event = tuple[str, int, int, int]
"""A stream, a number, and an interval."""


def stream(alias: str) -> str:
    """Aliases are called after their streams: a1, a2, b3."""
    return alias[0]


def choices(
    aliases: Sequence[str], others: Mapping[str, Event], events: Sequence[Event]
) -> Iterator[dict[str, Event]]:
    """Different events for some aliases, none of which another alias has already."""
    for chosen in product(*([e for e in events if e[0] == stream(name)] for name in aliases)):
        if len({*chosen, *others.values()}) == len(chosen) + len(others):
            yield dict(zip(aliases, chosen, strict=True))


def interval(
    clause: Clause, env: Mapping[str, Event], events: Sequence[Event]
) -> tuple[int, int] | None:
    """Where a clause occurs with these events, if it does."""
    if not clause.parts:
        return env[clause.operator][2:]
    parts = [interval(part, env, events) for part in clause.parts]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    starts, ends = [s for s, _ in found], [e for _, e in found]
    limit = clause.limit
    match clause.operator:
        case "follows":
            holds = all(t1 < t2 <= t1 + limit for t1, t2 in pairwise(ends))
            return (ends[-1], ends[-1]) if holds else None
        case "precedes":
            holds = all(t1 - limit <= t2 < t1 for t1, t2 in pairwise(ends))
            return (ends[0], ends[0]) if holds else None
        case "both":
            return (max(ends), max(ends)) if max(ends) - min(ends) <= limit else None
        case "anyone":
            return ends[0], ends[0]
        case "and" | "or":
            return min(starts), max(ends)
        case "during":
            inside = starts[1] < starts[0] and ends[0] < ends[1]
            return (min(starts), max(ends)) if inside else None
        case "seq" | "notseq" | "between" | "until":
            if not all(e < s for e, s in zip(ends, starts[1:], strict=False)):
                return None
            since = starts[0] if clause.operator == "until" else ends[0]
            if clause.operator != "seq" and _absent(clause, env, events, since, starts[1]):
                return None
            return starts[0], ends[-1]
        case "notfollows":
            missed = _occurs(
                clause.absent, env, events, lambda s, e: ends[0] < e <= ends[0] + limit
            )
            return None if missed else (ends[0] + limit, ends[0] + limit)
        case "notprecedes":
            missed = _occurs(
                clause.absent, env, events, lambda s, e: ends[0] - limit <= e < ends[0]
            )
            return None if missed else (ends[0], ends[0])
    time = max(ends)
    return (time, time) if _moment(clause, env, events, found) else None


def _moment(
    clause: Clause,
    env: Mapping[str, Event],
    events: Sequence[Event],
    found: Sequence[tuple[int, int]],
) -> bool:
    """Whether the ends of its parts lie as an operator over moments says."""
    ends = [end for _, end in found]
    first, last = ends[0], ends[-1]

    def absent(wanted: Clause | None, after: int, before: int, others: Mapping[str, Event]) -> bool:
        return not _occurs(wanted, others, events, lambda s, e: after <= e <= before)

    match clause.operator:
        case "then":
            return all(a <= b for a, b in pairwise(ends))
        case "prior":
            return all(a < b for a, b in pairwise(ends))
        case "relative":
            return all(a[1] < b[0] for a, b in pairwise(found))
        case "simultaneous":
            return first == last == min(ends) == max(ends)
        case "any":
            return True
        case "periodic*":
            return first + clause.limit <= last
        case "immediately":
            if clause.absent is None:
                return first < last and not any(first < e < last for _, _, _, e in events)
            return first < last and absent(clause.absent, first + 1, last - 1, env)
        case "other_than":
            return absent(clause.absent, last, last, env)
        case "aperiodic":
            return first <= last and absent(clause.absent, first, last - 1, env)
        case "without":
            opening = {name: env[name] for name in clause.parts[0].aliases()}
            return (
                first <= last
                and absent(clause.absent, first, last, env)
                and absent(clause.earlier, first, last - 1, opening)
            )
    raise AssertionError(clause)


def _absent(
    clause: Clause, env: Mapping[str, Event], events: Sequence[Event], after: int, before: int
) -> bool:
    """Whether something lies between two parts that must not."""

    def between(start: int, end: int) -> bool:
        return after < start and end < before

    # Any events at all may close a window earlier, whatever other aliases stand for.
    others = {} if clause.operator in ("between", "until") else env
    return _occurs(clause.absent, others, events, between)


def _occurs(
    clause: Clause | None, env: Mapping[str, Event], events: Sequence[Event], where: object
) -> bool:
    assert clause is not None and callable(where)
    for one in clause.alternatives():
        for chosen in choices(one.aliases(), env, events):
            found = interval(one, {**env, **chosen}, events)
            if found is not None and where(*found):
                return True
    return False


@st.composite
def clauses(draw: st.DrawFn, used: list[str], place: list[str], depth: int = 2) -> Clause:
    """A clause with new aliases and, here and there, one that stands in the same place already."""

    def alias(place: list[str]) -> Clause:
        if place and draw(st.integers(0, 5)) == 0:
            return Clause(draw(st.sampled_from(place)))
        name = f"{draw(st.sampled_from(STREAMS))}{len(used)}"
        used.append(name)
        place.append(name)
        return Clause(name)

    def inner(place: list[str]) -> Clause:
        if depth == 0 or draw(st.integers(0, 2)):
            return alias(place)
        return draw(clauses(used, place, depth - 1))

    operator = draw(st.sampled_from(OPERATORS))
    limit = draw(st.integers(1, 6))
    if operator in ("notfollows", "notprecedes"):
        return Clause(operator, (inner(place),), inner([]), limit)
    if operator == "other_than":
        return Clause(operator, (inner(place),), inner([]))
    if operator in ("notseq", "aperiodic", "without", "immediately"):
        every = operator == "immediately" and draw(st.booleans())
        return Clause(operator, (inner(place), inner(place)), None if every else inner([]))
    if operator == "any":
        parts = tuple(inner(place) for _ in range(draw(st.integers(1, 3))))
        return Clause(operator, parts, None, draw(st.integers(1, len(parts))))
    if operator == "until":
        return Clause(operator, (inner(place), alias([])))
    two = operator in ("during", "between", "periodic*")
    parts = tuple(inner(place) for _ in range(2 if two else draw(st.integers(2, 3))))
    timed = operator in ("follows", "precedes", "both", "periodic*")
    return Clause(operator, parts, None, limit if timed else 0)


@st.composite
def worlds(draw: st.DrawFn) -> list[Event]:
    lengths = st.sampled_from([0, 0, 0, 1, 3])
    one = st.tuples(st.sampled_from(STREAMS), st.integers(0, 2), st.integers(1, 12), lengths)
    found = draw(st.lists(one, min_size=2, max_size=7, unique=True))
    return [(name, n, start, start + length) for name, n, start, length in found]


@given(st.data(), worlds())
def test_a_clause_finds_what_its_operators_say(data: st.DataObject, events: list[Event]) -> None:
    clause = data.draw(clauses([], []))
    certain = clause.certain()
    assume(len(clause.aliases()) <= 5 and len(clause.all_aliases()) <= 6)
    sources = ", ".join(f"{stream(alias)} {alias}" for alias in sorted(clause.all_aliases()))
    items = ", ".join(["7 AS seven", *(f"{alias}.n AS c_{alias}" for alias in certain)])
    text = "event a(n int); event b(n int);\n" + (
        f"CREATE EVENT r AS SELECT {items} FROM {sources} EVENT {clause.text()};"
    )
    try:
        program = thence.compile(text)
    except thence.CheckError as refused:
        # Some clauses can never hold; some cannot say that two events differ.
        message = refused.diagnostics[0].message
        assert "can never hold" in message or "cannot be told apart" in message, message
        event(message if "never" in message else "cannot be told apart")
        return
    expected = set()
    for one in clause.alternatives():
        for env in choices(one.aliases(), {}, events):
            at = interval(one, env, events)
            if at is not None:
                expected.add(((7, *(env[alias][1] for alias in certain)), *at))
    given_events = {
        name: [{"n": n, "start": s, "end": e} for kind, n, s, e in events if kind == name]
        for name in STREAMS
    }
    found = rows_of(program.run(given_events, until=END))["r"]
    event(f"{clause.operator}: {'some' if found else 'none'}")
    assert found == expected, text
