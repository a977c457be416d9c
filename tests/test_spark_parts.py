"""How a program is cut into parts for Spark: by key, by time, or in one place."""

from __future__ import annotations

import pytest

import thence
from thence.plan.partition.parts import Piece, cut
from thence.plan.partition.slices import Reach

SECOND = 1_000_000
EVENTS = """
    event a(x int, y int, s string); event b(x int, y int, s string);
    event c(x int, f float, d decimal(9, 2)); event d();
"""
INSTANTS = dict.fromkeys("abcd", 0)


def pieces(rules: str, *emit: str, slices: bool = True) -> tuple[Piece, ...]:
    program = thence.compile(EVENTS + rules)
    return cut(program.plan_for(emit or program.plan.public), INSTANTS, slices)


def the_piece(rules: str) -> Piece:
    (piece,) = pieces(rules)
    return piece


def keys(piece: Piece) -> dict[str, tuple[str, ...]]:
    assert piece.key is not None
    return dict(piece.key.columns)


# -- keys


def test_a_variable_that_joins_every_atom_is_the_key() -> None:
    piece = the_piece("r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;")
    assert (piece.how, keys(piece)) == ("key", {"a": ("x",), "b": ("x",)})


def test_variables_that_all_join_every_atom_make_up_the_key_together() -> None:
    piece = the_piece("r(x, s) <- (a(x, _, s) seq b(x, _, s)) within 5 s;")
    assert keys(piece) == {"a": ("x", "s"), "b": ("x", "s")}


def test_a_chain_of_different_variables_has_no_key() -> None:
    piece = the_piece("r(x) <- (a(x, y, _) seq b(y, z, _) seq c(z, _, _)) within 5 s;")
    assert piece.key is None


def test_what_must_be_absent_is_joined_by_the_key_as_well() -> None:
    with_it = the_piece("r(x) <- o: a(x, _, _), w: extend(o, 5 s), while w: not b(x, _, _);")
    without = the_piece("r(x) <- o: a(x, _, _), w: extend(o, 5 s), while w: not b(_, _, _);")
    assert keys(with_it) == {"a": ("x",), "b": ("x",)}
    assert without.key is None


def test_one_event_under_two_columns_has_no_key() -> None:
    assert the_piece("r(x) <- (a(x, y, _) seq a(y, _, _)) within 5 s;").key is None


def test_rules_with_the_same_key_share_a_part() -> None:
    piece = the_piece("""
        r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
        q(x) <- (b(x, _, _) seq c(x, _, _)) within 5 s;
    """)
    assert keys(piece) == {"a": ("x",), "b": ("x",), "c": ("x",)}


def test_rules_that_need_different_keys_of_an_event_are_two_parts() -> None:
    first, second = pieces("""
        r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
        q(y) <- (a(_, y, _) seq b(_, y, _)) within 5 s;
    """)
    assert keys(first) == {"a": ("x",), "b": ("x",)}
    assert keys(second) == {"a": ("y",), "b": ("y",)}


def test_a_rule_on_a_rule_stays_in_the_part_if_the_key_passes_through_the_head() -> None:
    piece = the_piece("""
        r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
        q(x) <- (r(x) seq c(x, _, _)) within 9 s;
    """)
    assert keys(piece) == {"a": ("x",), "b": ("x",), "r": ("x",), "c": ("x",)}


def test_a_rule_on_a_rule_that_forgets_the_key_is_a_part_of_its_own() -> None:
    program = """
        r(y) <- (a(x, y, _) seq b(x, _, _)) within 5 s;
        q(y) <- (r(y) seq c(y, _, _)) within 9 s;
    """
    first, second = pieces(program, "q")
    assert keys(first) == {"a": ("x",), "b": ("x",)}
    assert keys(second) == {"r": ("y",), "c": ("x",)}
    assert first.part.outputs == ("r",)


def test_recursion_stays_together_where_every_round_passes_the_key_on() -> None:
    piece = the_piece("""
        r(x) <- a(x, _, _);
        r(x) <- (r(x) seq b(x, _, _)) within 5 s;
    """)
    assert keys(piece) == {"a": ("x",), "r": ("x",), "b": ("x",)}


def test_events_that_never_meet_may_have_keys_of_different_types() -> None:
    piece = the_piece("""
        r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
        q(f) <- o: c(_, f, _), w: extend(o, 5 s), while w: not c(_, f, _);
    """)
    assert piece.key is not None
    assert piece.key.kinds == {"a": ("int",), "b": ("int",), "c": ("float",)}


def test_a_group_of_an_aggregate_must_not_be_torn_apart() -> None:
    rule = "x: a(k, _, _), w: extend(x, 5 s), while w: collect b(k, v, _);"
    assert the_piece(f"r(sum(v)) <- {rule}").key is None
    assert keys(the_piece(f"r(k, sum(v)) <- {rule}")) == {"a": ("x",), "b": ("x",)}


# -- causes

MADE = """
    r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
    q(y) <- (r(y) seq c(y, _, _)) within 9 s;
    t(k, count()) <- o: c(k, _, _), w: extend_backward(o, 9 s), while w: collect r(k);
"""


@pytest.mark.parametrize(
    "rule",
    [
        "m(x) <- (p: r(x) and y: a(x, _, _)) within 9 s where caused_by(p, y);",
        "m(x) <- (p: q(x) and y: a(x, _, _)) within 9 s where caused_by(p, y);",
        "m(x) <- (p: q(x) and y: a(x, _, _)) within 9 s where not caused_by(p, y);",
        # That the two have the attribute in common is said by the rules between them.
        "m(x) <- (p: q(x) and y: a(_, _, _)) within 9 s where caused_by(p, y);",
        "m(x) <- (p: t(x, _) and y: b(_, _, _)) within 9 s where caused_by(p, y);",
    ],
)
def test_what_a_cause_and_its_effect_share_is_the_key(rule: str) -> None:
    (piece,) = pieces(MADE + rule, "m")
    assert {event: key for event, key in keys(piece).items() if event in "abcrq"}.items() <= {
        "a": ("x",), "b": ("x",), "c": ("x",), "r": ("x",), "q": ("y",),
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        # One way to make it forgets what the other keeps.
        "r(y) <- (a(_, y, _) seq b(_, _, _)) within 5 s;"
        "m(x) <- (p: r(x) and y: a(_, _, _)) within 9 s where caused_by(p, y);",
        # What an effect was not made of need have nothing in common with it.
        "m(x) <- (p: r(x) and y: a(_, _, _)) within 9 s where not caused_by(p, y);",
    ],
)
def test_causes_that_share_nothing_have_no_key(rule: str) -> None:
    last = pieces(MADE + rule, "m")[-1]
    assert (last.how, last.key) == ("time", None)


# -- results that may be found in several places


def test_a_result_whose_attributes_tell_its_key_is_found_in_one_place() -> None:
    assert the_piece("r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;").repeats == frozenset()


def test_a_result_that_forgets_its_key_is_made_distinct_at_the_end() -> None:
    found, last = pieces("r(y) <- (a(x, y, _) seq b(x, _, _)) within 5 s;")
    assert found.repeats == {"r"}
    assert (last.how, last.part.outputs, last.part.stages) == ("whole row", ("r",), ())


def test_half_a_key_in_the_head_is_not_enough() -> None:
    found, _ = pieces("r(x) <- (a(x, _, s) seq b(x, _, s)) within 5 s;")
    assert found.repeats == {"r"}


def test_an_event_that_only_other_rules_read_need_not_be_made_distinct() -> None:
    program = """
        r(y) <- (a(x, y, _) seq b(x, _, _)) within 5 s;
        q(y) <- (r(y) seq c(y, _, _)) within 9 s;
    """
    assert [piece.how for piece in pieces(program, "q")] == ["key", "key"]
    assert [piece.how for piece in pieces(program, "q", "r")] == ["key", "key", "whole row"]


# -- without a key


def test_a_rule_without_a_key_is_spread_by_time() -> None:
    piece = the_piece("r() <- (a(_, _, _) seq b(_, _, _)) within 5 s;")
    assert piece.how == "time"
    assert piece.reach == {"a": Reach(1, 5 * SECOND), "b": Reach(0, 0)}


def test_in_a_stream_it_is_in_one_place() -> None:
    (piece,) = pieces("r() <- (a(_, _, _) seq b(_, _, _)) within 5 s;", slices=False)
    assert piece.how == "one place"


def test_a_rule_without_key_and_bound_is_in_one_place() -> None:
    assert the_piece("r() <- a(_, _, _) seq b(_, _, _);").how == "one place"


def test_reach_adds_up_over_rules() -> None:
    piece = the_piece("""
        r() <- (a(_, _, _) seq b(_, _, _)) within 5 s;
        q() <- (r() seq c(_, _, _)) within 7 s;
    """)
    assert piece.part.derived == ("r", "q")
    assert piece.reach["a"].furthest == (5 + 7) * SECOND
    assert piece.reach["c"] == Reach(0, 0)


def test_reach_covers_what_must_be_absent() -> None:
    piece = the_piece("r() <- o: a(_, _, _), w: extend(o, 5 s), while w: not b(_, _, _);")
    assert piece.reach["a"] == Reach(5 * SECOND, 5 * SECOND)
    assert piece.reach["b"].nearest >= 0
    assert piece.reach["b"].furthest < 5 * SECOND


def test_a_recursion_that_can_go_on_forever_is_in_one_place() -> None:
    piece = the_piece("""
        r() <- a(_, _, _);
        r() <- (r() seq b(_, _, _));
    """)
    assert piece.how == "one place"


# -- only what is asked for


def test_rules_that_nothing_asked_for_depends_on_are_left_out() -> None:
    (piece,) = pieces(
        """
        r(x) <- (a(x, _, _) seq b(x, _, _)) within 5 s;
        q(y) <- (a(_, y, _) seq b(_, y, _)) within 5 s;
        """,
        "q",
    )
    assert piece.part.derived == ("q",)
    assert keys(piece) == {"a": ("y",), "b": ("y",)}


def test_a_key_is_made_of_columns_that_the_rules_asked_for_read() -> None:
    (piece,) = pieces("r(x) <- a(x, _, _); q() <- a(_, _, _);", "q")
    assert piece.key is None
