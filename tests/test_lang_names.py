"""Programs whose names, labels or arguments do not fit: what is said, and where."""

from __future__ import annotations

import pytest

from thence.lang.parser import parse_program
from thence.logic.check import check_program
from thence.model.errors import CheckError, Diagnostic
from thence.model.source import Source
from thence.model.suggestions import nearest

EVENTS = """event order(id string, product string, qty int);
event shipped(id string, tracking string);
event gate;
"""


def problems(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(CheckError) as caught:
        check_program(parse_program(Source(EVENTS + text)))
    return caught.value.diagnostics


def pointed_at(found: Diagnostic) -> str:
    """The text over the carets."""
    assert found.excerpt is not None
    text, carets = found.excerpt.splitlines()
    return text[carets.index("^") : len(carets)]


CASES = [
    # text, what the carets point at, the message, the hint
    # events
    ("p <- ordr(x, _, _);", "ordr", "unknown event 'ordr'", "did you mean 'order'?"),
    ("p <- shiped;", "shiped", "unknown event or label 'shiped'", "did you mean 'shipped'?"),
    ("p <- zzz(x);", "zzz", "unknown event 'zzz'", "declare it: event zzz(…);"),
    ("p <- Order;", "Order", "unknown event or label 'Order'", "did you mean 'order'?"),
    ("p <- folows(gate, gate, 1 s);", "folows", "unknown event 'folows'", "'follows'"),
    ("p <- any(3, gate, gate);", "3", "any 3 of 2 events is not possible", "from 1 to 2"),
    ("p <- then(gate);", "then(gate)", "then takes at least 2 arguments", "write then(a, b)"),
    ("p <- periodic(gate, 0 s, gate);", "periodic(gate, 0 s, gate)", "a period takes some time",
     "periodic(a, 10 s, c)"),
    ("p <- lower('x') seq gate;", "lower('x')", "happens at no time", "put the condition into"),
    # arguments
    ("p <- order(x);", "order(x)", "has 3 attributes, and only 1 is given",
     "it is order(id string, product string, qty int)"),
    ("p <- order(x, y);", "order(x, y)", "has 3 attributes, and only 2 are given", "order(qty=…)"),
    ("p <- o: order(x), o.id = 'a';", "order(x)", "only 1 is given", "order(qty=…)"),
    ("p <- gate(x);", "x", "'gate' has no attributes, and 1 is given", "it is gate()"),
    ("p <- shipped(x, y, z);", "z", "has 2 attributes, and 3 are given", "it is shipped("),
    ("p <- order(prodct=x);", "prodct", "has no attribute 'prodct'", "did you mean 'product'?"),
    ("p <- order(zzz=x);", "zzz", "has no attribute 'zzz'", "it is order("),
    ("p <- order(x, id=y);", "id=y", "'id' is given twice", None),
    ("p <- order(id=y, x);", "x", "cannot follow one with a name", "name it too"),
    ("p <- shipped(null, _);", "null", "would never match", "where x is null"),
    ("p <- shipped(id=null);", "null", "would never match", "where x is null"),
    # labels
    ("p <- o: gate, o before s;", "s", "unknown event or label 's'", "declare it"),
    ("p <- start: gate, stat before start;", "stat", "unknown event or label", "'start'"),
    ("p <- o: order, o: shipped;", "o: shipped", "already stands for something else", "another"),
    ("p <- w: extend(o, 1h), o: gate, w: extend(o, 2h);", "w: extend(o, 2h)",
     "already stands for", "another"),
    ("p <- (l: order and l: shipped) or gate;", "l: shipped", "already stands for", "another"),
    ("p <- l: order or gate seq l: shipped;", "l: shipped", "already stands for", "another label"),
    ("p <- _: gate;", "_", "`_` cannot be a label", None),
    ("p <- l: (gate seq l);", "l", "stands inside what it is the label of", None),
    ("p <- o: order, o.qyt > 3;", "o.qyt", "'order' has no attribute 'qyt'", "'qty'"),
    ("p <- o: gate, o.zzz > 3;", "o.zzz", "'gate' has no attribute 'zzz'", "it has start, end"),
    ("p <- (o: order or o: shipped) where o.qty > 1;", "o.qty", "'shipped' has no attribute", "it"),
    ("p <- o: (order seq gate), o.qty > 3;", "o.qty", "'o' names no single event", "o.start"),
    ("p <- o: gate, w: extend(o, 1h), w.qty > 3;", "w.qty", "'w' names no single event", "w.start"),
    ("p <- order, order.qty > 3;", "order", "unknown label 'order'", "l: order(…)"),
    ("p <- ord: order, odr.qty > 3;", "odr", "unknown label 'odr'", "did you mean 'ord'?"),
    ("p <- o: order, o > 3;", "o", "'o' is a label, not a value", "o.start"),
    ("p(duration(x)) <- o: order(x, _, _);", "duration(x)", "takes one label", None),
    ("p(duration(1 + 2)) <- o: order;", "duration(1 + 2)", "takes one label", "l: event(…)"),
    # timers and windows
    ("p <- w: extend(order, 6h), order;", "order", "unknown label 'order'", "o: order(…)"),
    ("p <- ord: gate, extend(odr, 6h);", "odr", "unknown label 'odr'", "did you mean 'ord'?"),
    ("p <- extend(order(x, _, _), 6h);", "order(x, _, _)", "that has a label", "label the event"),
    ("p <- o: gate, extend(o);", "extend(o)", "takes a label and a duration", "extend(o, 6h)"),
    ("p <- o: gate, extend(o, 6);", "6", "6 has no unit of time", "write for example 6 s"),
    ("p <- o: gate, extend(o, '6');", "'6'", "'6' has no unit of time", None),
    ("p <- order(x, _, _) and follows(gate, gate, x);", "x", "a duration is needed", "10 s"),
    ("p <- gate, w: extend(v, 1h), v: extend(w, 1h);", "v: extend(w, 1h)", "relative to itself",
     None),
    ("p <- follows(gate, gate);", "follows(gate, gate)", "two events and a duration", "10 s)"),
    ("p <- both(gate, gate, -1 s);", "both(gate, gate, -1 s)", "cannot be negative", None),
    ("p <- anyone();", "anyone()", "needs at least one event", None),
    ("p <- order, while w: not shipped;", "w", "unknown label 'w'", "w: extend(o, 6h)"),
    ("p <- w: gate seq (order, while w: collect gate);", "while w: collect gate",
     "inside another pattern", "a rule of its own"),
    # conditions among events, and events among conditions
    ("p <- not shipped, order;", "not shipped", "an absence needs the time", "not(c).[a, b]"),
    ("p <- order seq not shipped;", "not shipped", "an absence needs the time", "notfollows("),
    ("p <- order and not (shipped(x, _));", "not (shipped(x, _))", "needs the time", "while w"),
    ("p <- order seq 1 < 2;", "1 < 2", "`seq` cannot join it to an event", "after a comma"),
    ("p <- gate or 1 < 2;", "1 < 2", "`or` cannot join it to an event", "after a comma"),
    ("p <- 1 < 2;", "1 < 2", "there is no event here, only conditions", "at least one event"),
    ("p <- not(1 < 2).[gate, gate];", "1 < 2", "this is a value", "goes into `where`"),
    ("p <- gate where shipped(x, _);", "shipped", "is an event and cannot be used inside", "comma"),
    ("p <- gate where follows(x, y, 1 s);", "follows", "is a pattern operator", "comma"),
    ("p <- gate where (gate within 1 s);", "gate within 1 s", "this is a pattern", "item"),
    ("p <- gate where lowr('A') = 'a';", "lowr", "unknown function 'lowr'", "mean 'lower'?"),
    ("p <- gate where zzz(1);", "zzz", "unknown function 'zzz'", None),
    ("p <- gate where x = timestamp('2026-01-01');", "timestamp", "unknown", "timestamp '"),
    ("p <- gate where count(1) > 2;", "count(1)", "only over what a rule repeats",
     "term of the head"),
    ("p <- gate where min(1, 2) > 2;", "min(1, 2)", "min takes one argument", "write least(…)"),
    ("p <- gate where _ > 2;", "_", "`_` has no value", "use a variable"),
    # heads
    ("p(_) <- gate;", "_", "`_` has no value", "use a variable"),
    ("p(count(x) + 1) <- order(x, _, _);", "count(x)", "only over what a rule repeats",
     "term of the head"),
    ("p(sum()) <- gate;", "sum()", "sum takes one argument", "sum(x)"),
    ("p(sum(x, y)) <- order(x, y, _);", "sum(x, y)", "sum takes one argument", "sum(x)"),
    ("p(sum(*)) <- gate;", "sum(*)", "sum(*) has no meaning", "count(*)"),
    ("p(min(distinct x)) <- order(x, _, _)+;", "min(distinct x)", "distinct changes nothing in min",
     "without it"),
    ("p(x as start) <- order(x, _, _);", "x as start", "cannot be called 'start'", "choose"),
    ("p(x as k, y as k) <- order(x, y, _);", "y as k", "cannot be called 'k'", "choose another"),
    ("order(x, y, z) <- order(x, y, z);", "order(x, y, z)", "is declared with `event`", "another"),
    ("p(x) <- order(x, _, _); p(x, y) <- shipped(x, y);", "p(x, y)",
     "'p' has 2 terms here and 1 in the rule on line 4", "p(x)"),
    ("p(x) <- order(x, _, _); p(x as k) <- shipped(x, _);", "x as k",
     "is called 'x' by its first rule", "write `as x`"),
    ("count(x) <- order(x, _, _);", "count", "that is an aggregate of the language", "name"),
    # declarations
    ("event gate;", "gate", "the event 'gate' is declared twice", None),
    ("event follows;", "follows", "that is an operator of the language", "choose another name"),
    ("event Extend(x int);", "Extend", "that is an operator of the language", "choose another"),
    ("event sum(x int);", "sum", "that is an aggregate of the language", "choose another"),
    ("event e(start timestamp);", "start", "an attribute cannot be called 'start'", "l.start"),
    ("event e(x int, x int);", "x", "the attribute 'x' is declared twice", None),
    ("event e(_ int);", "_", "an attribute cannot be called '_'", None),
    ("event _;", "_", "an event cannot be called '_'", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "message", "hint"), CASES)
def test_an_error_points_at_the_name_and_says_what_to_write(
    text: str, where: str, message: str, hint: str | None
) -> None:
    found, *others = problems(text)
    assert others == []
    assert pointed_at(found) == where
    assert message in found.message
    assert (hint is None) == (found.hint is None)
    assert hint is None or hint in str(found.hint)


def test_all_errors_of_all_rules_are_found_at_once_in_the_order_of_the_text() -> None:
    found = problems("p(_) <- ordr;\nq <- l: order(x), m.id = x, l.idd = x;\nevent gate;\n")
    assert [(each.line, each.column) for each in found] == [
        (4, 3), (4, 9), (5, 9), (5, 19), (5, 29), (6, 7),
    ]  # fmt: skip


def test_nearest_name() -> None:
    assert nearest("ORDER", ["order", "older"]) == "order"
    assert nearest("oder", ["shipped", "order"]) == "order"
    assert nearest("shipped", []) is None
