"""The oracle itself, against results worked out by hand, above all at the boundaries.

Times are in microseconds, which the programs count in ``us``: one more or one less is the
smallest step there is.
"""

from __future__ import annotations

import pytest
from hosts import oracle
from notation import Written
from oracle_values import NAN, canonical, equal, order

AB = "event a(k int); event b(k int); event c(k int);"


def at(name: str, start: int, end: int | None = None, *values: object) -> Written:
    """An event at an interval or, without an end, at a point."""
    return Written(name, values or (1,), start, start if end is None else end)


def intervals(rule: str, *events: Written, until: int | None = None) -> set[tuple[int, int]]:
    """The intervals at which ``r`` occurs."""
    return {(start, end) for _, start, end in oracle(f"{AB} {rule};", events, until)["r"]}


# --- strictness -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "found"), [(4, set()), (5, set()), (6, {(1, 9)})])
def test_a_sequence_needs_the_end_strictly_before_the_start(start: int, found: set) -> None:
    assert intervals("r() <- a(_) seq b(_)", at("a", 1, 5), at("b", start, 9)) == found


@pytest.mark.parametrize(("start", "found"), [(4, {(1, 9)}), (5, set())])
def test_par_needs_more_than_a_common_point(start: int, found: set) -> None:
    assert intervals("r() <- a(_) par b(_)", at("a", 1, 5), at("b", start, 9)) == found


@pytest.mark.parametrize(("end", "found"), [(6, {(1, 6)}), (7, set())])
def test_within_includes_its_limit(end: int, found: set) -> None:
    assert intervals("r() <- (a(_) seq b(_)) within 5 us", at("a", 1), at("b", end)) == found


@pytest.mark.parametrize(
    ("absent", "disturbs"),
    [((2, 2), False), ((3, 3), True), ((3, 7), True), ((3, 8), False), ((8, 8), False)],
)
def test_what_is_absent_must_lie_strictly_between(absent: tuple, disturbs: bool) -> None:
    events = at("a", 1, 2), at("b", 8, 9), at("c", *absent)
    found = intervals("r() <- not(c(_)).[a(_), b(_)]", *events)
    assert found == (set() if disturbs else {(1, 9)})


@pytest.mark.parametrize(
    ("inside", "disturbs"), [((1, 1), False), ((2, 2), True), ((5, 5), True), ((5, 6), False)]
)
def test_a_while_window_is_open_on_both_sides(inside: tuple, disturbs: bool) -> None:
    events = at("a", 1), at("b", *inside)
    rule = "r() <- x: a(_), w: extend(x, 5 us), while w: not b(_)"
    assert intervals(rule, *events, until=6) == (set() if disturbs else {(1, 6)})


# --- semantic windows: (t, t + d] and [t - d, t) --------------------------------------------------


@pytest.mark.parametrize(("time", "inside"), [(10, False), (11, True), (15, True), (16, False)])
def test_forward_windows(time: int, inside: bool) -> None:
    events = at("a", 10), at("b", time)
    follows = intervals("r() <- follows(a(_), b(_), 5 us)", *events)
    notfollows = intervals("r() <- notfollows(a(_), b(_), 5 us)", *events, until=20)
    assert follows == ({(time, time)} if inside else set())
    assert notfollows == (set() if inside else {(15, 15)})


@pytest.mark.parametrize(("time", "inside"), [(4, False), (5, True), (9, True), (10, False)])
def test_backward_windows(time: int, inside: bool) -> None:
    events = at("a", 10), at("b", time)
    precedes = intervals("r() <- precedes(a(_), b(_), 5 us)", *events)
    notprecedes = intervals("r() <- notprecedes(a(_), b(_), 5 us)", *events)
    assert precedes == ({(10, 10)} if inside else set())
    assert notprecedes == (set() if inside else {(10, 10)})


@pytest.mark.parametrize(("time", "found"), [(4, set()), (5, {(10, 10)}), (15, {(15, 15)})])
def test_both_is_closed_on_either_side(time: int, found: set) -> None:
    assert intervals("r() <- both(a(_), b(_), 5 us)", at("a", 10), at("b", time)) == found


# --- gates ----------------------------------------------------------------------------------------

GATED = {
    "r() <- x: a(_), w: extend(x, 9 us)": (1, 10),
    "r() <- a(_) and at '1970-01-01T00:00:00.000010Z'": (1, 10),
    "r() <- x: a(_), w: extend(x, 9 us), while w: not c(_)": (1, 10),
    "r() <- x: a(_), w: extend(x, 9 us), while w: collect b(_)": (1, 10),
    "r() <- not(c(_)).[a(_), b(2)]": (1, 12),
    "r() <- notfollows(a(_), c(_), 9 us)": (10, 10),
    "r() <- notprecedes(b(3), c(_), 9 us)": (10, 10),
}


@pytest.mark.parametrize("rule", GATED)
@pytest.mark.parametrize(("until", "judged"), [(9, False), (10, True), (11, True)])
def test_a_match_is_judged_when_its_gate_is_not_after_the_horizon(
    rule: str, until: int, judged: bool
) -> None:
    events = at("a", 1), at("b", 5), at("b", 10, 12, 2), at("b", 4, 10, 3)
    assert intervals(rule, *events, until=until) == ({GATED[rule]} if judged else set())


def test_the_horizon_is_the_latest_end_of_all_events() -> None:
    rule = "r() <- notfollows(a(_), b(_), 5 us)"
    assert intervals(rule, at("a", 1), at("c", 0, 5)) == set()
    assert intervals(rule, at("a", 1), at("c", 0, 6)) == {(6, 6)}


def test_without_events_nothing_is_judged() -> None:
    rule = "r() <- at '1970-01-01T00:00:00Z'"
    assert intervals(rule) == set()
    assert intervals(rule, until=0) == {(0, 0)}


def test_events_after_the_horizon_have_been_seen() -> None:
    assert intervals("r() <- a(_) seq b(_)", at("a", 1), at("b", 9), until=3) == {(1, 9)}


# --- bindings -------------------------------------------------------------------------------------


def rows(program: str, *events: Written, until: int | None = None) -> set:
    return {values for values, _, _ in oracle(program, events, until)["r"]}


def test_null_and_nan_join_nothing_but_are_identical_to_themselves() -> None:
    program = "event p(x float); event q(x float); r(x) <- p(x) and q(x); s(x) <- p(x);"
    events = [Written(n, (x,), 1, 1) for n in "pq" for x in (None, NAN, 0.5, -0.0, None, NAN)]
    assert rows(program, *events) == {(0.5,), (0.0,)}
    assert len(oracle(program, events, None)["s"]) == 4


def test_variables_bound_anywhere_in_the_rule_are_respected_by_what_is_absent() -> None:
    rule = "r() <- c(k) and not(b(k)).[a(1), a(2)]"
    events = at("a", 1), at("a", 5, 5, 2), at("b", 3, 3, 7)
    assert intervals(rule, *events, at("c", 2, 2, 7)) == set()
    assert intervals(rule, *events, at("c", 2, 2, 8)) == {(1, 5)}


def test_an_equation_with_an_unbound_side_binds_it() -> None:
    program = "event p(x int); r(y, z) <- p(x) where z = y + 1 and y = x * 2;"
    events = [Written("p", (x,), 1, 1) for x in (3, None)]
    assert rows(program, *events) == {(6, 7), (None, None)}


def test_a_label_is_one_event_throughout_the_rule() -> None:
    rule = "r() <- (x: a(_) seq b(_)) and (x seq c(_))"
    events = at("a", 1), at("b", 2), at("a", 3), at("c", 4)
    assert intervals(rule, *events) == {(1, 4)}


# --- aggregates -----------------------------------------------------------------------------------

SHOP = """
event day(); event sale(shop string, price int);
r({}) <- x: day, w: extend_backward(x, 100 us), while w: collect sale(shop, price);
"""


@pytest.mark.parametrize(
    ("term", "value"),
    [
        ("count()", 4),
        ("count(price)", 3),
        ("count(distinct price)", 2),
        ("sum(price)", 25),
        ("sum(distinct price)", 15),
        ("avg(price)", 25 / 3),
        ("min(price)", 5),
        ("max(shop)", "b"),
        ("first(shop)", "b"),
        ("last(price)", 10),
        ("list(price)", (10, 5, 10)),
        ("list(distinct price)", (10, 5)),
        ("sum(if(shop = 'a', price, 0))", 15),
    ],
)
def test_aggregates_take_each_collected_event_once(term: str, value: object) -> None:
    sales = [("b", 10, 1), ("a", None, 2), ("a", 5, 2), ("a", 5, 2), ("a", 10, 3)]
    events = [Written("sale", (shop, price), time, time) for shop, price, time in sales]
    assert rows(SHOP.format(term), *events, Written("day", (), 9, 9)) == {(value,)}


def test_nothing_collected_is_no_match() -> None:
    assert rows(SHOP.format("count()"), Written("day", (), 9, 9)) == set()


# --- derived events -------------------------------------------------------------------------------


def test_recursion_reaches_a_fixpoint() -> None:
    program = "event e(x int, y int); r(x, y) <- e(x, y); r(x, z) <- r(x, y) and r(y, z);"
    events = [Written("e", (x, (x + 1) % 3), 0, 0) for x in range(3)]
    assert rows(program, *events) == {(x, y) for x in range(3) for y in range(3)}


def test_negation_sees_all_of_a_derived_event() -> None:
    program = """
    event e(x int, y int); event node(x int);
    path(x, y) <- e(x, y); path(x, z) <- path(x, y) and path(y, z);
    r(x, y) <- n: node(x), m: node(y), w: extend_backward(n, 9 us), while w: not path(x, y);
    """
    events = [Written("e", edge, 1, 1) for edge in ((1, 2), (2, 3))]
    events += [Written("node", (x,), 5, 5) for x in (1, 2, 3)]
    assert rows(program, *events) == {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)}


# --- values ---------------------------------------------------------------------------------------


def test_equality_is_not_identity() -> None:
    assert equal(None, None) is None
    assert equal(NAN, NAN) is False
    assert equal(0.0, canonical(-0.0)) is True
    assert canonical(float("nan")) is canonical(-float("nan"))


def test_order_puts_nulls_first_and_nan_last() -> None:
    assert sorted([NAN, 2.0, None, 1.0], key=order) == [None, 1.0, 2.0, NAN]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("null and false", False),
        ("null and true", None),
        ("null or true", True),
        ("not null", None),
        ("1 in (2, null)", None),
        ("1 not in (2, null)", None),
        ("1 in (1, null)", True),
        ("7 / 2 = 3.5", True),
        ("-7 % 3 = -1", True),
        ("1 / 0 > 1000000", True),
        ("0e0 / 0 != 0e0 / 0", True),
        ("'abc' like 'a%' and 'abc' not like 'a_'", True),
        ("coalesce(null, 1) = 1", True),
        ("nullif(1, 1) is null", True),
        ("2 * 3 s = 6 s and 3 s / 2 s = 1.5", True),
        ("substring('thence', 2, 3) = 'hen'", True),
        ("timestamp '2026-01-01T00:00:00Z' - 1 s < timestamp '2026-01-01T00:00:00Z'", True),
    ],
)
def test_conditions_have_three_values(condition: str, value: bool | None) -> None:
    assert rows(f"event p(); r({condition} as x) <- p();", Written("p", (), 1, 1)) == {(value,)}
