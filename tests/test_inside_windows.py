"""Patterns inside patterns: what is absent, collected, one of several or judged at moments may
itself be repeated, chosen by a policy or have conditions over its repetitions. Each is compared
with the oracle, in a run and in a session; and what is refused is refused in the user's words."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hosts import batch, in_a_session, oracle
from hypothesis import given, note, reject
from hypothesis import strategies as st
from notation import Written

import thence

EVENTS = "event a(k int, x int); event b(k int, x int); event c(k int, x int); event o(k int);\n"
INSIDE = (
    "a(k, _){2}",
    "a(k, _)+",
    "a(_, n){2}",
    "(a(k, _){2} using strict)",
    "(a(k, _) seq b(k, _) using recent)",
    "(x: a(k, _) seq y: b(k, _) using first(x))",
    "((a(k, _) seq b(k, _)) using first exclusive)",
    "(a(_, _) seq b(_, _) using chronicle)",
    "(a(k, _) seq b(k, _)+)",
    "(a(k, _)+ seq b(k, _) using greedy)",
    "(a(k, _)+ seq b(k, _) using greedy strict)",
    "(a(_, _)+ seq c(_, _) using strict)",
    "(a(k, _)+ until b(k, _))",
    "(a(k, _)* seq b(k, _))",
    "(a(k, _) seq b(k, _)){2}",
    "(a(k, _) or b(k, _)){2}",
    "(p: a(k, v)+ where v > prev(v))",
    "(p: a(k, _)+ where p.x > prev(p.x))",
    "(p: a(k, _)+ where count(p) > 1)",
    "(p: a(k, _)+ seq q: b(k, _) where q.x > max(p.x))",
    "((p: a(k, _)+ where sum(p.x) > 2) using last)",
    "(a(k, _) seq b(k, _)+ using greedy strict)",
)
AROUND = (
    "r(k, count() as n) <- z: o(k), w: extend(z, 5 s), while w: collect {};",
    "r(k) <- z: o(k), w: extend(z, 5 s), while w: not {};",
    "r(k, count() as n) <- z: o(k), over 5 s of z: collect {};",
    "r(k) <- not({}).[o(k), c(k, _)];",
    "r(k) <- not(o(k)).[{}, c(k, _)];",
    "r(k) <- any(2, {}, o(k), c(k, _));",
    "r(k) <- follows(o(k), {}, 5 s);",
    "r(k) <- notfollows(o(k), {}, 5 s);",
    "r(k) <- notprecedes(o(k), {}, 5 s);",
    "r(k) <- then(o(k), {});",
    "r(k) <- aperiodic(o(k), {}, c(k, _));",
    "r(k, count() as n) <- aperiodic*(o(k), {}, c(k, _));",
    "r(k) <- periodic({}, 2 s, o(k));",
    "r(k) <- periodic(o(k), 2 s, {});",
    "r(k) <- o(k) during {};",
    "r(k) <- o(k) or {};",
    "r(k) <- (o(k) seq {} using recent);",
    "r(k) <- o(k) seq {} within 4 s;",
)
REASONS = (
    "a greedy repetition at the end of a pattern",
    "is not bound in every branch of the `or`",
    "bound only inside `not`",
    "prev reads the repetition before",
    "a repetition that may be empty needs",
    "there is no room for a repetition",
    "this can never hold",
)
"""Why a program may be refused here; docs/language.md lists them among the limits."""

SECOND = 1_000_000
happenings = st.lists(
    st.builds(
        lambda kind, k, x, at: Written(
            kind, (k,) if kind == "o" else (k, x), at * SECOND, at * SECOND
        ),
        st.sampled_from("aaabbco"),
        st.integers(1, 2),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=9,
)


@given(st.sampled_from(AROUND), st.sampled_from(INSIDE), happenings, st.integers(0, 99))
def test_hosts_agree_with_the_oracle(
    around: str, inside: str, events: list[Written], seed: int
) -> None:
    text = EVENTS + around.format(inside)
    note(text)
    note("\n".join(map(str, events)))
    try:
        thence.compile(text)
    except thence.ProgramError as refusal:
        for found in refusal.diagnostics:
            assert any(reason in found.message for reason in REASONS), str(refusal)
        reject()
    wanted = oracle(text, events, None)
    assert batch(text, events, None) == wanted
    assert in_a_session(text, events, None, random.Random(seed), save=seed % 2 == 0) == wanted


def test_most_of_them_mean_something() -> None:
    refused = 0
    for around, inside in product(AROUND, INSIDE):
        try:
            thence.compile(EVENTS + around.format(inside))
        except thence.ProgramError:
            refused += 1
    assert refused < len(AROUND) * len(INSIDE) / 8


MISTAKES = (
    "(a(k, _)+ using greedy)",
    "(p: a(k, _)+ where p.x > z.x)",
    "(p: a(k, _)+ where max(p.x) > z.x)",
    "(p: a(k, _)+ where max(p.x) > u)",
    "(p: a(k, _)+ where count(q) > 1)",
    "(p: a(k, _)+ where p.nothing > 1)",
    "(x: a(k, _) seq y: b(k, _) using first(z))",
    "(x: a(k, _) seq y: b(k, _) using cumulative)",
    "(a(k, _) seq nothing(k, _) using recent)",
    "(a(k, _, _) seq b(k, _) using recent)",
    "(a(k, 'text') seq b(k, _) using recent)",
    "(a(k, _) seq z using recent)",
    "(a(k, _){2} where k > 'text' using strict)",
    "(x: a(k, v) seq b(k, v) using recent) where x.y > w",
    "((a(k, _) seq b(k, _)) within 0 s using recent)",
    "((a(k, _) before b(k, _)) within 1 us using recent)",
    "(a(k, _) using recent) where duration(x) > 3",
    "periodic((a(k, _){2}), 0 s, b(k, _))",
    "(a(k, _){2} seq (b(k, _) using recent) where nothing > 1 using recent)",
)


@pytest.mark.parametrize("head", ["r(k)", "r(k, count() as n)", "r(list(p.x) as n)", "r(x.start)"])
@pytest.mark.parametrize("inside", [*INSIDE, *MISTAKES])
def test_no_message_names_what_is_hidden(head: str, inside: str) -> None:
    """Whatever is said about a program, as an error, a warning or the reason why a session
    refuses it, speaks of what the user wrote."""
    for around in AROUND:
        body = around.partition(" <- ")[2].format(inside)
        try:
            program = thence.compile(f"{EVENTS}{head} <- {body}")
            said = [str(found) for found in program.check()]
            program.session()
        except thence.ProgramError as refusal:
            said = [
                f"{found.message} {found.hint} {found.line}:{found.column}"
                for found in refusal.diagnostics
            ]
            assert all(found.line == 2 for found in refusal.diagnostics), str(refusal)
        except thence.ThenceError as refusal:
            said = [str(refusal)]
        assert not any("#" in text for text in said), said
