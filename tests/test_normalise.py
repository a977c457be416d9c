"""From patterns to joins: which bounds a rule has, what they imply, and what is refused for it."""

from __future__ import annotations

import pytest

import thence
from thence.logic.alternatives import TooManyAlternatives, alternatives
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import EPOCH, Conjunct, name_of_node, partition_key, retentions
from thence.logic.ops import And, Atom, Not, Or, Pattern, Seq
from thence.plan.prepared import Prepared

TYPES = "event a(k int, v int); event b(k int, v int); event c(k int, v int);\n"
SECOND = 1_000_000


def prepared(rule: str) -> list[Prepared]:
    """The joins of a program with one rule, inner ones first."""
    return list(thence.compile(f"{TYPES}{rule}").plan.prepared)


def conjunct(body: str, head: str = "r()") -> Conjunct:
    return prepared(f"{head} <- {body};")[-1].conjunct


def refusal(rule: str) -> thence.CheckError:
    with pytest.raises(thence.CheckError) as caught:
        thence.compile(TYPES + rule)
    return caught.value


def kept(body: str, instants: bool = True) -> dict[str, int | None]:
    """For how many microseconds each atom's events are kept; None where without end."""
    found = conjunct(body)
    lengths = dict.fromkeys("abc", 0) if instants else {}
    return {
        use.label or use.event: (r.micros if r.bounded else None)
        for use, r in zip(found.atoms, retentions(found, lengths), strict=True)
    }


def between(body: str, later: str, earlier: str) -> int | None:
    """The bound that a body implies for two times, named as in ``name_of_node``."""
    found = conjunct(body)
    names = {name_of_node(found, n): n for n in range(1, len(found.nodes))}
    bound = found.bounds[names[later], names[earlier]]
    return None if bound >= UNBOUNDED else bound


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "later", "earlier", "bound"),
    [
        ("a() seq b()", "a.end", "b.start", -1),
        ("a() seq b()", "b.end", "a.start", None),
        ("(a() seq b()) within 5 s", "b.end", "a.start", 5 * SECOND),
        ("(a() seq b() seq c()) within 5 s", "b.end", "a.end", 5 * SECOND - 1),
        ("a() seq (b() seq c())", "a.end", "c.start", -2),
        ("x: a(), y: b(), x before y", "x.end", "y.start", -1),
        ("x: a(), y: b(), {x, y} within 2 s", "x.end", "y.start", 2 * SECOND),
        ("x: a(), y: b(), {x, y} within 2 s", "y.end", "x.start", 2 * SECOND),
        ("x: a(), y: b(), y.start <= x.end + 3 s", "y.start", "x.end", 3 * SECOND),
        ("x: a(), y: b(), y.start - x.end < 3 s", "y.start", "x.end", 3 * SECOND - 1),
        ("x: a(), y: b(), 3 s > y.start - x.end", "y.start", "x.end", 3 * SECOND - 1),
        ("x: a(), y: b(), x.end + 3 s >= y.start", "y.start", "x.end", 3 * SECOND),
        ("x: a(), y: b(), y.start = x.end + 3 s", "x.end", "y.start", -3 * SECOND),
        ("x: a(), duration(x) <= 3 s", "x.end", "x.start", 3 * SECOND),
        ("x: a(), y: b(), y.start <= x.end + 3 s - 1 s", "y.start", "x.end", 2 * SECOND),
        ("follows(a(), b(), 5 s)", "b.end", "a.end", 5 * SECOND),
        ("follows(a(), b(), 5 s)", "a.end", "b.end", -1),
        ("precedes(a(), b(), 5 s)", "a.end", "b.end", 5 * SECOND),
        ("both(a(), b(), 5 s)", "a.end", "b.end", 5 * SECOND),
        ("(a() meets b()) within 5 s", "a.end", "b.start", 0),
        ("a() during b()", "a.end", "b.end", -1),
        ("(a() and b()) seq c()", "a.end", "c.start", -1),
        ("x: a(), w: extend(x, 5 s), y: b(), y during w", "y.end", "x.end", 5 * SECOND - 1),
    ],
)
def test_what_a_body_says_about_two_times(
    body: str, later: str, earlier: str, bound: int | None
) -> None:
    assert between(body, later, earlier) == bound


def test_an_instant_is_a_bound_like_any_other() -> None:
    found = conjunct("x: a(), x.start >= timestamp '1970-01-01T00:00:09Z'")
    assert found.bounds[EPOCH, found.atoms[0].end] == -9 * SECOND


def test_comparisons_of_times_are_bounds_and_not_looked_at_row_by_row() -> None:
    found = conjunct("x: a(), y: b(), y.start <= x.end + 3 s, x.start < y.start")
    assert found.predicates == ()


@pytest.mark.parametrize(
    "condition",
    ["y.start != x.end", "y.start <= x.end + 3 s or x.v = 1", "duration(x) + duration(y) < 5 s"],
)
def test_what_is_no_difference_of_two_times_is_looked_at_row_by_row(condition: str) -> None:
    found = conjunct(f"x: a(), y: b() where {condition}" if " or " in condition else
                     f"x: a(), y: b(), {condition}")  # fmt: skip
    assert len(found.predicates) == 1


# --- where a result occurs, and when it is judged -------------------------------------------------


def place(body: str) -> tuple[str, str]:
    found = conjunct(body)
    return name_of_node(found, found.head.start), name_of_node(found, found.head.end)


@pytest.mark.parametrize(
    ("body", "start", "end"),
    [
        ("a()", "a.start", "a.end"),
        ("a() seq b()", "a.start", "b.end"),
        ("a() seq b() seq c()", "a.start", "c.end"),
        ("a() and b()", "earliest(a.start, b.start)", "latest(a.end, b.end)"),
        ("a() during b()", "b.start", "b.end"),
        ("a() starts b()", "a.start", "b.end"),
        ("a() overlaps b()", "a.start", "b.end"),
        ("x: a(), y: b(), x before y", "x.start", "y.end"),
        ("x: a(), w: extend(x, 5 s)", "x.start", "x.end + 5 s"),
        ("x: a(), w: extend_backward(x, 5 s)", "x.start - 5 s", "x.end"),
        ("not(c()).[a(), b()]", "a.start", "b.end"),
        ("notfollows(a(), b(), 5 s)", "a.end + 5 s", "a.end + 5 s"),
        ("notprecedes(a(), b(), 5 s)", "a.end", "a.end"),
        ("follows(a(), b(), 5 s)", "b.end", "b.end"),
        ("precedes(a(), b(), 5 s)", "a.end", "a.end"),
        ("anyone(a())", "a.end", "a.end"),
        ("(a() and b()) seq c()", "earliest(a.start, b.start)", "c.end"),
    ],
)
def test_where_a_body_occurs(body: str, start: str, end: str) -> None:
    assert place(body) == (start, end)


@pytest.mark.parametrize(
    ("body", "gates"),
    [
        ("a() seq b()", []),
        ("x: a(), w: extend(x, 5 s)", ["x.end + 5 s"]),
        ("x: a(), w: extend_backward(x, 5 s)", ["x.end"]),
        ("not(c()).[a(), b()]", ["b.start"]),
        ("notfollows(a(), b(), 5 s)", ["a.end + 5 s"]),
        ("notprecedes(a(), b(), 5 s)", ["a.end"]),
        ("a() seq at '1970-01-01T00:00:09Z'", ["1970-01-01T00:00:09Z"]),
        # Of two gates, the one that is always passed first need not be waited for.
        ("not(c()).[not(c()).[a(), b()], c()]", ["c.start"]),
    ],
)
def test_what_a_body_waits_for(body: str, gates: list[str]) -> None:
    found = conjunct(body)
    assert [name_of_node(found, gate) for gate in found.completions] == gates


def test_a_group_waits_for_its_own_end() -> None:
    rule = "r(count()) <- x: a(), y: b(), w: extend_backward(x, 5 s), while w: collect c();"
    found = prepared(rule)[-1].conjunct
    assert found.head.end in found.completions


# --- how long events are kept ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a() seq b()", {"a": None, "b": -1}),
        ("(a() seq b()) within 5 s", {"a": 5 * SECOND, "b": -1}),
        ("(a() seq b() seq c()) within 5 s", {"a": 5 * SECOND, "b": 5 * SECOND - 1, "c": -1}),
        ("(a() and b()) within 5 s", {"a": 5 * SECOND, "b": 5 * SECOND}),
        ("both(a(), b(), 5 s)", {"a": 5 * SECOND, "b": 5 * SECOND}),
        ("follows(a(), b(), 5 s)", {"a": 5 * SECOND, "b": -1}),
        ("notfollows(a(), b(), 5 s)", {"a": 5 * SECOND, "b": 5 * SECOND - 1}),
        ("notprecedes(a(), b(), 5 s)", {"a": 0, "b": 5 * SECOND}),
        ("x: a(), w: extend(x, 5 s), while w: not b()", {"x": 5 * SECOND, "b": 5 * SECOND - 1}),
        ("a() equals b()", {"a": 0, "b": 0}),
        ("x: a(), y: b(), y.start <= x.start + 5 s", {"x": 5 * SECOND, "y": None}),
    ],
)
def test_for_how_long_events_are_kept(body: str, expected: dict[str, int | None]) -> None:
    assert kept(body) == expected


def test_intervals_of_unknown_length_have_no_bound_where_only_starts_are_tied() -> None:
    body = "x: a(), y: b(), y.start <= x.start + 5 s, x before y"
    assert kept(body)["x"] == 5 * SECOND
    assert kept(body, instants=False)["x"] is None


def test_declared_lengths_bound_what_is_kept() -> None:
    program = thence.compile(
        "event a(); event b() within 10 s; r() <- x: a(), y: b(), y.start <= x.end + 5 s, "
        "x before y;"
    )
    needs = program.plan.certain_needs
    assert not needs.unbounded
    assert needs.retention["a"].micros == 15 * SECOND


def test_derived_events_are_as_long_as_their_rules_allow() -> None:
    program = thence.compile(
        f"{TYPES} q() <- (a() seq b()) within 5 s; q() <- (a() seq c()) within 7 s;"
        "r() <- (q() seq b()) within 20 s; s() <- q() and r();"
    )
    lengths = program.plan.needs.lengths
    assert lengths["q"] == 7 * SECOND
    assert lengths["r"] == 20 * SECOND
    assert "s" not in lengths


def test_an_event_is_kept_for_the_rule_that_needs_it_longest() -> None:
    program = thence.compile(
        f"{TYPES} q() <- (a() seq b()) within 5 s; r() <- (a() seq c()) within 1 h; s() <- a();"
    )
    assert program.plan.needs.retention["a"].micros == 3600 * SECOND


# --- partition keys -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("a(k, _) seq b(k, _)", ("k",)),
        ("a(k, v) seq b(k, v)", ("k", "v")),
        ("a(k, _) seq b(_, k)", ("k",)),
        ("a(k, _) seq b(k, _) seq c()", ()),
        ("a(k, v) seq b(k, _) seq c(v, _)", ()),
        ("a(k, _) seq b(k, v) seq c(k, v)", ("k",)),
        ("not(c(k, _)).[a(k, _), b(k, _)]", ("k",)),
        ("not(c()).[a(k, _), b(k, _)]", ()),
        ("x: a(k, _), w: extend(x, 5 s), while w: not b(k, _)", ("k",)),
        ("x: a(k, _), w: extend(x, 5 s), while w: not b()", ()),
        ("a() seq b()", ()),
        ("x: a() seq y: b() where x.k is not distinct from y.v", ("k",)),
        ("x: a() seq y: b() where x.k is distinct from y.v", ()),
        (
            "x: a(k, _), w: extend(x, 5 s), while w: not (y: b() where y.v is not distinct from k)",
            ("k",),
        ),
    ],
)
def test_the_columns_that_split_the_work(body: str, key: tuple[str, ...]) -> None:
    assert partition_key(conjunct(body)) == key


# --- what can never hold --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("x: a(), y: b(), x before y, y before x", "y before x"),
        ("x: a(), y: b(), x before y, {x, y} within 0 s", "{x, y} within 0 s"),
        ("x: a(), y: b(), y.start > x.end + 5 s, y.start <= x.end + 5 s", "y.start <="),
        ("(a() seq b() seq c()) within 1 us", "(a() seq"),
        ("x: a(), x.start > x.end", "x.start > x.end"),
        ("x: a(), x before x", "x before x"),
        ("x: a(), x.start > timestamp '2026-01-02', x.end < timestamp '2026-01-01'", "x.end <"),
        ("x: a(), w: shorten(x, 1 s), duration(x) < 1 s", "duration(x) <"),
        ("at '2026-01-02T00:00:00Z' seq at '2026-01-01T00:00:00Z'", "at '2026-01-02"),
    ],
)
def test_times_that_contradict_each_other_are_refused_where_they_do(body: str, at: str) -> None:
    rule = f"r() <- {body};"
    error = refusal(rule)
    assert "can never hold" in str(error)
    assert error.line == 2
    assert rule[error.column - 1 :].startswith(at)


IMPOSSIBLE_BRANCH = "(y: b() where y.start < x.start and y.end > x.end and duration(y) <= 0 s)"


def test_one_alternative_that_can_never_hold_is_remarked_on() -> None:
    program = thence.compile(f"{TYPES}r() <- x: a() and (b() or {IMPOSSIBLE_BRANCH});")
    (remark,) = [each for each in program.check() if "can never hold" in each.message]
    assert remark.severity == "warning"
    assert remark.message.endswith("so one of its alternatives never occurs")
    rows = [{"k": 1, "v": 1, "time": 5}]
    assert program.run({"a": rows, "b": rows}).count("r") == 1


def test_only_alternatives_that_can_never_hold_are_refused() -> None:
    error = refusal(f"r() <- x: a() and ({IMPOSSIBLE_BRANCH} or {IMPOSSIBLE_BRANCH});")
    assert "can never hold" in str(error)


def test_every_contradiction_of_a_program_is_named() -> None:
    error = refusal("r() <- x: a(), x before x;\ns() <- a();\nt() <- (a() seq b()) within 0 s;")
    assert [diagnostic.line for diagnostic in error.diagnostics] == [2, 4]


@pytest.mark.parametrize(
    "body",
    [
        "x: a(), w: extend(x, 1 us), while w: not b()",
        "x: a(), w: shift(x, 5 s), duration(x) <= 1 us, while w: not (b() seq c())",
    ],
)
def test_a_window_without_an_inside_is_empty(body: str) -> None:
    program = thence.compile(f"{TYPES}r() <- {body};")
    rows = [{"k": 1, "v": 1, "time": t} for t in range(5)]
    assert program.run({"a": rows[:1], "b": rows, "c": rows}, until=10**9).count("r") == 1


def test_collecting_from_a_window_without_an_inside_is_refused() -> None:
    error = refusal("r(count()) <- x: a(), w: from_end(x, 1 us), while w: collect b();")
    assert "nothing can ever be collected" in str(error)


# --- alternatives ---------------------------------------------------------------------------------

A, B, C = Atom("a"), Atom("b"), Atom("c")


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        (A, 1),
        (Or((A, B)), 2),
        (Or((A, Or((B, C)))), 3),
        (Seq((Or((A, B)), Or((A, B)))), 4),
        (And((A, Or((B, C)), Or((A, B, C)))), 6),
        (Not(Or((A, B)), Or((A, B)), C), 2),
    ],
)
def test_how_many_alternatives_a_pattern_has(pattern: Pattern, count: int) -> None:
    found = alternatives(pattern)
    assert len(found) == count
    assert len(set(map(str, found))) == count


def test_what_must_be_absent_is_absent_whichever_it_is() -> None:
    """``not(b or c)`` is one rule with two searches, not two rules."""
    (found,) = prepared("r() <- not(b() or c()).[a(), a()];")
    assert [found.uses[window.atom].event for window in found.conjunct.windows] == ["b", "c"]


def test_the_number_of_alternatives_has_a_limit() -> None:
    pattern: Pattern = Or((A, B))
    assert len(alternatives(Seq((pattern,) * 9))) == 512
    with pytest.raises(TooManyAlternatives):
        alternatives(Seq((pattern,) * 10))


# --- inner rules ----------------------------------------------------------------------------------


def test_a_single_event_that_must_be_absent_is_searched_for_directly() -> None:
    assert len(prepared("r(k) <- not(c(k, _)).[a(k, _), b(k, _)];")) == 1


def test_a_pattern_that_must_be_absent_becomes_a_rule_of_its_own() -> None:
    inner, outer = prepared("r(k) <- not(a(k, _) seq b(k, _)).[a(k, _), c(k, _)] within 5 s;")
    assert outer.uses[outer.conjunct.windows[0].atom].event == inner.conjunct.event
    # It lies strictly inside the window, so that bounds how long it lasts.
    assert inner.conjunct.bounds[inner.conjunct.head.end, inner.conjunct.head.start] <= 5 * SECOND


def test_inner_rules_show_nowhere() -> None:
    program = thence.compile(f"{TYPES}r(k) <- not(a(k, _) seq b(k, _)).[a(k, _), c(k, _)];")
    assert list(program.run({})) == ["r"]
    assert [schema.name for schema in program.derived] == ["r"]
