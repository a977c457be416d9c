"""The layers of a program: each event stands above all that it is built on."""

from __future__ import annotations

import pytest

import thence

FAB = """
event sent(id int, lot string);
event received(id int);
arrived(lot) <- (sent(id, lot) seq received(id)) within 10 s;
held(lot)    <- a: arrived(lot), w: extend(a, 1 min), while w: not left(lot);
left(lot)    <- arrived(lot) seq arrived(lot);
jam(count()) <- h: held(_), w: extend_backward(h, 5 min), while w: collect held(_);
"""


def layers_of(text: str) -> list[list[str]]:
    found = thence.compile(text).hierarchy()
    return [[member.event for member in layer] for layer in found.layers]


def test_layers_go_from_the_input_upwards() -> None:
    assert layers_of(FAB) == [["sent", "received"], ["arrived"], ["left"], ["held"], ["jam"]]


def test_a_hierarchy_as_text_says_what_is_built_on_what() -> None:
    assert str(thence.compile(FAB).hierarchy()).splitlines() == [
        "layer 1: the events of the input",
        "  sent(id int, lot string)",
        "  received(id int)",
        "layer 2",
        "  arrived(lot string) from sent, received",
        "layer 3",
        "  left(lot string) from arrived",
        "layer 4",
        "  held(lot string) from arrived, not left",
        "layer 5",
        "  jam(c1 int) from held, collect held",
    ]


def test_a_member_names_what_it_is_made_of_collects_and_misses() -> None:
    found = thence.compile(FAB).hierarchy()
    (held,), (jam,) = found.layers[3:]
    assert (held.made_of, held.absent, held.collects) == (("arrived",), ("left",), ())
    assert (jam.made_of, jam.absent, jam.collects) == (("held",), (), ("held",))
    assert held.built_on == ("arrived", "left")


def test_events_that_depend_on_each_other_share_a_layer() -> None:
    text = """event a(k int); event b(k int);
    q(k) <- a(k); q(k) <- r(k) seq a(k); r(k) <- q(k) seq b(k); top(k) <- r(k);"""
    assert layers_of(text) == [["a", "b"], ["q", "r"], ["top"]]


def test_an_inner_pattern_is_looked_through() -> None:
    text = """event a(k int); event b(k int); event c();
    mid(k) <- a(k);
    n(count(k)) <- x: c, w: extend(x, 5 s), while w: collect (mid(k) seq b(k)),
                   while w: not (a(k2) seq (b(k2) seq a(k2)));"""
    found = thence.compile(text).hierarchy()
    (n,) = found.layers[2]
    assert (n.made_of, n.collects, n.absent) == (("c",), ("mid", "b"), ("a", "b"))


def test_what_needs_no_event_at_all_is_still_derived() -> None:
    assert layers_of("event a(); noon() <- at '2026-01-01T12:00:00Z';") == [["a"], ["noon"]]


def test_the_layer_of_an_event() -> None:
    found = thence.compile(FAB).hierarchy()
    assert [found.layer_of(name) for name in ("sent", "held", "jam")] == [1, 4, 5]
    with pytest.raises(KeyError):
        found.layer_of("missing")


def test_what_is_repeated_is_what_an_event_is_made_of() -> None:
    program = thence.compile(
        "event a; event b(n int); event c; m(count(x)) <- a seq x: b(_)+ seq c using greedy;"
    )
    (member,) = program.hierarchy().layers[1]
    assert (member.made_of, member.collects) == (("a", "c", "b"), ())
