"""The queries of the benchmark: their text, and the bar each has to stay under."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.generate import RARE, TYPES

DECLARATIONS = "".join(f"event {name}(id int, price float);\n" for name in (*TYPES, RARE))


@dataclass(frozen=True, slots=True)
class Query:
    """A program with one rule.

    ``bar`` is the longest time allowed, in units of S, the time of sorting the table. ``batches``
    is into how many pushes of a session the events are cut; 1 is a plain run. ``rare`` asks for
    the events in which one in 100,000 is a ``z``.
    """

    name: str
    what: str
    rule: str
    bar: float | None = None
    batches: int = 1
    rare: bool = False

    @property
    def text(self) -> str:
        return DECLARATIONS + self.rule

    @property
    def output(self) -> str:
        """The name of the derived event."""
        return self.rule[: self.rule.index("(")]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A bar between two queries: ``query`` may take ``bar`` times what ``base`` takes, no more."""

    name: str
    what: str
    query: str
    base: str
    bar: float


_Q2 = (
    "(id, x.price as p1, y.price as p2) <- "
    "(x: a(id=id) seq y: b(id=id)) within 10 s where y.price > x.price"
)
POLICIES = ("recent", "chronicle", "exclusive")

Q6_WINDOWS = {
    "200 ms": 200_000,
    "1 s": 1_000_000,
    "2 s": 2_000_000,
    "5 s": 5_000_000,
    "10 s": 10_000_000,
}


def q6_name(window: str) -> str:
    return f"q6_{window.replace(' ', '')}"


def _q6(window: str) -> Query:
    return Query(
        q6_name(window),
        f"a seq b seq c seq z, no key, z rare, {window}",
        f"q6() <- (a(_, _) seq b(_, _) seq c(_, _) seq z(_, _)) within {window};",
        rare=True,
    )


QUERIES = (
    Query(
        "q1",
        "a seq b seq c on one id, 10 s",
        "q1(id, x.start as t1, y.start as t2, z.start as t3) <- "
        "(x: a(id=id) seq y: b(id=id) seq z: c(id=id)) within 10 s;",
        bar=0.6,
    ),
    Query("q2", "a seq b on one id, 10 s, b.price > a.price", f"q2{_Q2};", bar=0.6),
    *(
        Query(f"q2_{policy}", f"q2 using {policy}", f"q2_{policy}{_Q2} using {policy};")
        for policy in POLICIES
    ),
    Query(
        "q3",
        "a, no b of that id in the next 10 s",
        "q3(id) <- notfollows(a(id=id), b(id=id), 10 s);",
        bar=0.6,
    ),
    Query(
        "q3w",
        "the same, written with while",
        "q3w(id) <- o: a(id=id), w: extend(o, 10 s), while w: not b(id=id);",
        bar=0.6,
    ),
    Query(
        "q5",
        "a seq b seq c, no key, 200 ms",
        "q5(x.start as t1, y.start as t2, z.start as t3) <- "
        "(x: a(_, _) seq y: b(_, _) seq z: c(_, _)) within 200 ms;",
        bar=3.0,
    ),
    *(_q6(window) for window in Q6_WINDOWS),
    Query(
        "q7",
        "a, as many b as there are, and c on one id, 2 s",
        "q7(id, count(y) as n) <- "
        "(a(id=id) seq y: b(id=id)+ seq c(id=id)) within 2 s using greedy;",
        bar=2.0,
    ),
    Query("q2_session", "q2 in 100 pushes of a session", f"q2{_Q2};", bar=2.0, batches=100),
)

RATIOS = (
    # A policy judges what the join has found, at no less than a third of the join's speed.
    *(
        Ratio(f"policy {policy}", f"q2 using {policy}, to q2", f"q2_{policy}", "q2", bar=3.0)
        for policy in POLICIES
    ),
    Ratio("window", "q6 within 10 s, to 200 ms", q6_name("10 s"), q6_name("200 ms"), bar=2.0),
)

BY_NAME = {query.name: query for query in QUERIES}
