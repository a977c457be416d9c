"""Programs of very many rules: what it costs to compile them, and to look at them afterwards.

In one the rules have nothing to do with each other, in the other each is built on rules of the
layer below. They are like those of the other benchmarks, with names, constants and windows of their
own.
"""

from __future__ import annotations

from collections.abc import Callable

import thence
from benchmarks.hard.rows import Made, Row

RULES = 10_000
LAYERS = 100
EVENTS = 500

# {r} is the rule's name, {n} a number of its own; {a}, {b} and {c} are events.
KINDS = (
    "{r}(id, z.price as price) <- "
    "(x: {a}(id=id) seq y: {b}(id=id) seq z: {c}(id=id)) within {n} s;",
    "{r}(id, y.price as price) <- "
    "(x: {a}(id=id) seq y: {b}(id=id)) within {n} s where y.price > x.price + {n};",
    "{r}(id, p as price) <- notfollows({a}(id=id, price=p), {b}(id=id), {n} s);",
    "{r}(id, p as price) <- "
    "o: {a}(id=id, price=p), w: extend(o, {n} s), while w: not {b}(id=id), p > {n};",
    "{r}(id, sum(p) as price) <- "
    "o: {a}(id=id), w: extend_backward(o, {n} s), while w: collect {b}(id=id, price=p);",
    "{r}(id, p as price) <- "
    "x: {a}(id, p), y: {b}(id, q), x before y, {{x, y}} within {n} s, q < {n}.5;",
    "{r}(id, p as price) <- ({a}(id, p) and {b}(id, _) and {c}(id, _)) within {n} s;",
    "{r}(id, p as price) <- not({c}(id, _)).[{a}(id, p), {b}(id, _)] within {n} s;",
    "{r}(id, p * {n}.0 as price) <- {a}(id, p) where p > {n};",
    "{r}(id, y.price as price) <- "
    "(x: {a}(id=id) seq y: {b}(id=id)) within {n} s where y.price > x.price using recent;",
)


def unrelated(rules: int = RULES, events: int = EVENTS) -> str:
    """Rules over declared events."""
    return _declared(events) + "\n".join(_rule(number, "e", events) for number in range(rules))


def layered(rules: int = RULES, layers: int = LAYERS, events: int = EVENTS) -> str:
    """Rules over rules: as many in each layer, the lowest one over declared events."""
    width = max(rules // layers, 1)
    lowest = [_rule(number, "e", events) for number in range(width)]
    above = [_rule(number, "r", width, above=True) for number in range(width, rules)]
    return _declared(events) + "\n".join([*lowest, *above])


def _declared(events: int) -> str:
    return "".join(f"event e{number}(id int, price float);\n" for number in range(events))


def _rule(number: int, prefix: str, width: int, above: bool = False) -> str:
    """One rule over three of the ``width`` events of the layer below."""
    first = (number // width - 1) * width if above else 0
    a, b, c = (f"{prefix}{first + (number * step + step) % width}" for step in (1, 7, 13))
    return KINDS[number % len(KINDS)].format(r=f"r{number}", a=a, b=b, c=c, n=number + 1)


SMALL = {"e1": [{"id": 1, "price": 2.0, "time": 5}]}
"""One event, which a few of the rules read."""


def looked_at(program: thence.Program) -> None:
    """Everything that one asks of a program before it has much to do."""
    program.check()
    assert program.explain()
    assert program.hierarchy().layers
    program.run(SMALL)


def _compiled(_program: thence.Program, given: Made) -> int:
    return len(thence.compile(given["text"]).derived)


def _asked(_program: thence.Program, given: Made) -> int:
    looked_at(given["program"])
    return len(given["program"].derived)


def _rows(kind: str, text: Callable[[], str]) -> tuple[Row, Row]:
    """Compile a program, against the bar; and ask it what can be asked then."""
    name, nothing = f"{RULES:,} {kind} rules", "event nothing();"
    return (
        Row(f"compile {name}", nothing, lambda: {"text": text()}, 8.0, RULES, act=_compiled),
        Row(
            f"check, explain and run {name}",
            nothing,
            lambda: {"program": thence.compile(text())},
            results=RULES,
            act=_asked,
        ),
    )


ROWS = (*_rows("unrelated", unrelated), *_rows("layered", layered))
