"""Variables and labels that have no value where they are read."""

from __future__ import annotations

import pytest
from checking import checked, found, only, place


@pytest.mark.parametrize(
    ("rule", "mark", "which", "message", "hint"),
    [
        (
            "p(q) <- a(x, n);", "q", 0,
            "'q' is not bound", "give it a value with q = …",
        ),
        (
            "p(nam) <- a(x, name);", "nam", 0,
            "'nam' is not bound", "did you mean 'name'?",
        ),
        (
            "p(x) <- a(x, _) where x > lim;", "lim", 0,
            "'lim' is not bound", "bind it in an argument of an event",
        ),
        (
            "p(x) <- a(x, _), c(k + 1, x);", "k", 0,
            "'k' is not bound", None,
        ),
        (
            "p(y) <- not(b(y, _)).[a(x, _), c(x, _)];", "y", 0,
            "'y' is bound only inside `not`, so outside it has no value",
            "bind it in an event that occurs",
        ),
        (
            "p(x) <- e: a(x, _), w: extend(e, 1h), while w: not b(y, _), y > 2;", "y > 2", 0,
            "'y' is bound only inside `not`, so outside it has no value", None,
        ),
        (
            "p(x) <- notfollows(a(x, _), c(_, z), 1 min) where z > 2;", "z > 2", 0,
            "'z' is bound only inside `not`, so outside it has no value", None,
        ),
        (
            "p(x) <- e: a(x, _), w: extend(e, 1h), while w: collect b(y, _), y > 2;", "y > 2", 0,
            "'y' is bound inside `collect`, so there may be many of it",
            "such as count(y) or list(y)",
        ),
        (
            "p(y) <- e: a(x, _), w: extend(e, 1h), while w: collect b(y, _);", "y", 0,
            "'y' is bound inside `collect`, so there may be many of it", None,
        ),
        (
            "p(x) <- a(x, _) or b(y, _);", "x", 0,
            "'x' is not bound in every branch of the `or`", "bind it in each branch",
        ),
        (
            "p(x) <- anyone(a(x, _), b(y, _));", "x", 0,
            "'x' is not bound in every branch of the `or`", None,
        ),
        (
            "p(x) <- (a(x, _) or c(x, z)) where z > 1;", "z > 1", 0,
            "'z' is not bound in every branch of the `or`", None,
        ),
        (
            "p(q) <- a(x, _), q = r, r = q;", "q", 0,
            "'q' is not bound", None,
        ),
    ],
)  # fmt: skip
def test_variables(rule: str, mark: str, which: int, message: str, hint: str | None) -> None:
    first = found(rule)[0]
    assert first.message == message
    assert (first.line, first.column) == place(rule, mark, which)
    assert hint is None or hint in (first.hint or "")


@pytest.mark.parametrize(
    ("rule", "mark", "message"),
    [
        (
            "p(x) <- a(x, _), not(l: b(_, _)).[a(x, _), c(x, _)], l.y > 2;",
            "l.y",
            "the label 'l' is bound only inside `not`, so outside it has no value",
        ),
        (
            "p(l.start) <- e: a(_, _), w: extend(e, 1h), while w: collect l: b(_, _);",
            "l.start",
            "the label 'l' is bound inside `collect`, so there may be many of it",
        ),
        (
            "p(l.x) <- l: a(_, _) or b(_, _);",
            "l.x",
            "the label 'l' is not bound in every branch of the `or`",
        ),
        (
            "p(x) <- c(x, _), (l: a(x, _) or b(_, _)), w: extend(l, 1h);",
            "extend(l, 1h)",
            "the label 'l' is not bound in every branch of the `or`",
        ),
        (
            "p(x) <- m: c(x, _), (l: a(x, _) or b(_, _)), l before m;",
            "l before",
            "the label 'l' is not bound in every branch of the `or`",
        ),
    ],
)
def test_labels(rule: str, mark: str, message: str) -> None:
    error = only(rule)
    assert error.message == message
    assert (error.line, error.column) == place(rule, mark)


@pytest.mark.parametrize(
    "rule",
    [
        "p(x) <- a(x, _) or c(x, _);",
        "p(l.x) <- l: a(_, _) or l: c(_, _);",
        "p(x) <- c(x, _), (a(x, _) or g);",
        "p(q) <- a(x, _), q = x + 1;",
        "p(q) <- a(x, _), x + 1 = q;",
        "p(q) <- a(x, _) where q = r + 1 and r = x + 1;",
        "p(q) <- (a(x, _) where q = x) or c(q, _);",
        "p(x) <- (a(x, _) where z > 1) seq c(x, z);",
        "p(x) <- not(c(x, z) where z > k).[a(x, _), c(x, k)];",
        "p(x) <- not(c(x, z) where q = z + 1 and q > 2).[a(x, _), g];",
        "p(x) <- not(b(y, _)).[a(x, _), g] and not(b(y, _)).[a(x, _), g];",
        "p(x) <- w: extend(v, 1h), v: extend(e, 1h), e: a(x, _);",
        "p(x) <- e: a(x, _), w: extend(e, 1h), while w: not (c(x, z) where z > x);",
        "p(max(z)) <- e: a(x, _), w: extend(e, 1h), while w: collect (c(_, z) where z > x);",
        "p <- at '2026-01-01T06:00:00Z';",
    ],
)  # fmt: skip
def test_rules_whose_names_are_all_bound(rule: str) -> None:
    assert checked(rule).strata == (("p",),)


@pytest.mark.parametrize(
    ("rule", "mark", "which"),
    [
        ("p <- (a(x, _) or g) and (c(x, _) or g);", "x", 1),
        ("p <- (a(x, _) or g), not(c(x, _)).[g, g];", "x", 1),
    ],
)
def test_a_variable_of_one_branch_cannot_be_shared(rule: str, mark: str, which: int) -> None:
    error = only(rule)
    assert error.message == (
        "'x' is not bound in every branch of the `or`, but other parts of the rule use it"
    )
    assert (error.line, error.column) == place(rule, mark, which)


def test_branches_may_use_a_name_for_themselves() -> None:
    assert found("p <- (a(x, n) where length(n) > x) or (c(x, z) where z > x);") == []


def test_all_errors_come_at_once_in_the_order_of_the_text() -> None:
    rules = "p(q) <- a(x, n), x > k;\nr(s) <- b(_, _);\n"
    errors = found(rules)
    assert [(error.line, error.column) for error in errors] == [
        place(rules, "q"),
        place(rules, "k;"),
        place(rules, "s)"),
    ]


def test_a_variable_used_once_is_remarked_on() -> None:
    rules = "p(x) <- a(x, n), c(x, _rest);"
    (warning,) = checked(rules).warnings
    assert warning.severity == "warning"
    assert warning.message == "'n' is used once; write _ if that is meant"
    assert (warning.line, warning.column) == place(rules, "n)")


@pytest.mark.parametrize(
    "rule",
    [
        "p(x) <- a(x, n), length(n) > 2;",
        "p(x) <- a(x, n), c(_, length(n));",
        "p(max(z)) <- e: a(_, _), w: extend(e, 1h), while w: collect c(_, z);",
    ],
)
def test_a_variable_that_is_read_is_not_remarked_on(rule: str) -> None:
    assert checked(rule).warnings == ()
