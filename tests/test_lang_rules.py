"""What the text of a rule means: each piece of the language, and the logic it becomes."""

from __future__ import annotations

import pytest

from thence.lang.parser import parse_program
from thence.lang.timers import TIMERS, timer
from thence.logic.expr import Attr, Call, Const, Expr, TimeOf, Var
from thence.logic.ops import (
    Allen,
    And,
    AnyOne,
    At,
    Atom,
    HeadTerm,
    Label,
    LogicProgram,
    Moments,
    Not,
    Or,
    Par,
    Pattern,
    Ref,
    Rule,
    Seq,
    Timer,
    Where,
    While,
    Within,
)
from thence.model.schema import Attribute, EventSchema
from thence.model.source import Source
from thence.model.types import (
    BOOL,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)

EVENTS = """
event a(x int, y int);
event b(x int, y int);
event c(x int, y int);
event gate;
"""
SECOND = 1_000_000
HOUR = 3_600 * SECOND

X, Y, Z = Var("x"), Var("y"), Var("z")
A, B, C = Atom("a"), Atom("b"), Atom("c")
AX, BX, CX = (Atom(name, (("x", X),)) for name in "abc")


def read(text: str) -> LogicProgram:
    return parse_program(Source(EVENTS + text))


def rule(text: str) -> Rule:
    return read(text).rules[-1]


def body(text: str) -> Pattern:
    return rule(f"p <- {text};").body


def condition(text: str) -> Expr:
    found = body(f"a(x, y) where {text}")
    assert isinstance(found, Where)
    return found.condition


def call(function: str, *args: Expr) -> Call:
    return Call(function, args)


def number(value: int) -> Const:
    return Const(value, INT)


# -- statements


def test_an_event_is_declared_with_its_attributes() -> None:
    program = parse_program(Source("event order(id string, qty int);"))
    attributes = (Attribute("id", STRING), Attribute("qty", INT))
    assert program.events == (EventSchema("order", attributes),)


@pytest.mark.parametrize("text", ["event gate;", "event gate();", "EVENT gate ( ) ;"])
def test_an_event_may_have_no_attributes(text: str) -> None:
    assert parse_program(Source(text)).events == (EventSchema("gate", ()),)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("int", INT), ("integer", INT), ("bigint", INT), ("float", FLOAT), ("double", FLOAT),
        ("real", FLOAT), ("bool", BOOL), ("boolean", BOOL), ("string", STRING), ("TEXT", STRING),
        ("varchar", STRING), ("varchar(20)", STRING), ("timestamp", TIMESTAMP),
        ("datetime", TIMESTAMP), ("duration", DURATION), ("decimal", DECIMAL),
        ("decimal(10, 2)", Type("decimal", precision=10, scale=2)),
        ("decimal(10)", Type("decimal", precision=10, scale=0)),
        ("list<int>", list_of(INT)), ("list<list<string>>", list_of(list_of(STRING))),
    ],
)  # fmt: skip
def test_types_have_names_and_common_aliases(text: str, type_: Type) -> None:
    (event,) = parse_program(Source(f"event e(x {text});")).events
    assert event.attributes[0].type == type_


@pytest.mark.parametrize("arrow", ["<-", ":-", "←"])
def test_a_rule_has_a_head_and_a_body(arrow: str) -> None:
    expected = Rule("p", (HeadTerm("x", X),), AX)
    assert rule(f"p(x) {arrow} a(x, _);") == expected


@pytest.mark.parametrize("head", ["p", "p()"])
def test_a_head_may_have_no_terms(head: str) -> None:
    assert rule(f"{head} <- gate;") == Rule("p", (), Atom("gate"))


def test_comments_run_to_the_end_of_the_line() -> None:
    assert rule("-- a <- comment;\np <- gate -- another;\n;").body == Atom("gate")


def test_keywords_are_read_in_any_case() -> None:
    assert body("a Seq b WITHIN 3 S WHERE TRUE") == body("a seq b within 3 s where true")


def test_a_reserved_word_is_a_name_in_backquotes() -> None:
    program = parse_program(Source("event `event`(`two words` int); p(`seq`) <- `event`(`seq`);"))
    assert program.rules[0].body == Atom("event", (("two words", Var("seq")),))


def test_a_backquote_in_a_name_is_written_twice() -> None:
    assert parse_program(Source("event `a``b`;")).events[0].name == "a`b"


def test_an_attribute_may_have_a_reserved_name_without_backquotes() -> None:
    program = parse_program(Source("event e(at int); p(l.at) <- l: e(_);"))
    assert program.rules[0].terms == (HeadTerm("at", Attr("l", "at")),)


# -- events and their arguments


def test_arguments_bind_by_position() -> None:
    assert body("a(x, 3)") == Atom("a", (("x", X), ("y", number(3))))


def test_arguments_bind_by_name_and_may_be_partial() -> None:
    assert body("a(y=x)") == Atom("a", (("y", X),))


def test_names_may_follow_positions() -> None:
    assert body("a(x, y = z)") == Atom("a", (("x", X), ("y", Z)))


def test_an_underscore_is_anything() -> None:
    assert body("a(_, y)") == Atom("a", (("y", Y),))


@pytest.mark.parametrize("text", ["a", "a()", "a(_, _)"])
def test_an_event_without_arguments_is_any_of_its_type(text: str) -> None:
    assert body(text) == A


def test_an_argument_may_be_an_expression() -> None:
    assert body("a(x, y + 1)") == Atom("a", (("x", X), ("y", call("+", Y, number(1)))))


def test_a_named_argument_may_be_an_expression() -> None:
    assert body("a(x = y + 1)") == Atom("a", (("x", call("+", Y, number(1))),))


def test_positions_may_stop_early_where_the_label_reads_the_rest() -> None:
    found = body("l: a(x) where l.y > 3")
    assert found == Where(Label("l", AX), call(">", Attr("l", "y"), number(3)))


# -- rows of operands


def test_operators_of_one_kind_make_one_row() -> None:
    assert body("a seq b seq c") == Seq((A, B, C))
    assert body("a and b and c") == And((A, B, C))
    assert body("a or b or c") == Or((A, B, C))


def test_all_operators_have_one_precedence_and_lean_to_the_left() -> None:
    assert body("a or b seq c") == Seq((Or((A, B)), C))
    assert body("a seq b or c and a") == And((Or((Seq((A, B)), C)), A))


def test_parentheses_say_the_rest() -> None:
    assert body("a or (b seq c)") == Or((A, Seq((B, C))))


def test_par_joins_two() -> None:
    assert body("a par b par c") == Par(Par(A, B), C)


@pytest.mark.parametrize(
    "relation",
    [
        "equals", "before", "after", "meets", "met_by", "during", "contains", "starts",
        "started_by", "finishes", "finished_by", "overlaps", "overlapped_by",
    ],
)  # fmt: skip
def test_the_relations_of_allen_are_operators(relation: str) -> None:
    assert body(f"a {relation} b") == Allen(relation, A, B)  # type: ignore[arg-type]


def test_an_absence_has_two_delimiters() -> None:
    assert body("not(c(x, _)).[a(x, _), b(x, _)]") == Not(CX, AX, BX)


def test_an_absence_can_be_labelled_and_joined() -> None:
    assert body("l: not(c).[a, b] seq c") == Seq((Label("l", Not(C, A, B)), C))


def test_the_parts_of_an_absence_may_have_conditions() -> None:
    found = body("not(c(x, y) where y > z).[a(x, z) within 3 s, b]")
    absent = Where(Atom("c", (("x", X), ("y", Y))), call(">", Y, Z))
    assert found == Not(absent, Within(Atom("a", (("x", X), ("y", Z))), 3 * SECOND), B)


def test_a_time_point_is_an_event() -> None:
    assert body("at '1970-01-01T00:00:01Z' seq a") == Seq((At(SECOND), A))
    assert body("at timestamp '1970-01-01'") == At(0)


# -- suffixes


def test_within_and_where_bind_loosest() -> None:
    found = body("a seq b within 3 s where 1 < 2 within 4 s")
    inner = Where(Within(Seq((A, B)), 3 * SECOND), call("<", number(1), number(2)))
    assert found == Within(inner, 4 * SECOND)


@pytest.mark.parametrize("text", ["90 s", "1.5min", "'90 s'", "90000 ms", '"1.5 minutes"'])
def test_a_duration_can_be_written_in_many_ways(text: str) -> None:
    assert body(f"a within {text}") == Within(A, 90 * SECOND)


def test_a_list_of_conditions_in_parentheses_means_all_of_them() -> None:
    assert condition("(x > 1, y > 2)") == condition("x > 1 and y > 2")


# -- labels


def test_a_label_names_an_event_of_the_rule() -> None:
    found = body("o: a, s: b, o before s")
    assert found == And((Label("o", A), Label("s", B), Allen("before", Ref("o"), Ref("s"))))


def test_a_label_wins_over_an_event_of_the_same_name() -> None:
    assert body("b: a, b seq c") == And((Label("b", A), Seq((Ref("b"), C))))


def test_a_group_of_labels_is_all_of_them() -> None:
    found = body("o: a, s: b, {o, s} within 2 h")
    assert found == And((Label("o", A), Label("s", B), Within(And((Ref("o"), Ref("s"))), 2 * HOUR)))


def test_a_group_of_one_is_that_one() -> None:
    assert body("o: a, {o} within 2 h") == And((Label("o", A), Within(Ref("o"), 2 * HOUR)))


def test_a_label_on_a_condition_is_on_the_event_inside() -> None:
    found = body("l: (a(x, _) where x > 1) where l.y > 2")
    inner = Where(Label("l", AX), call(">", X, number(1)))
    assert found == Where(inner, call(">", Attr("l", "y"), number(2)))


def test_the_same_label_twice_is_the_same_event() -> None:
    assert body("l: a(x, _) and l: a(_, y)") == And(
        (Label("l", AX), Label("l", Atom("a", (("y", Y),))))
    )


def test_a_label_may_stand_for_another_event_in_each_branch_of_an_or() -> None:
    found = body("(l: a or l: b) where l.x > 1")
    assert found == Where(Or((Label("l", A), Label("l", B))), call(">", Attr("l", "x"), number(1)))


def test_a_labels_times_and_duration_are_values() -> None:
    start, end = TimeOf("l", "start"), TimeOf("l", "end")
    found = rule("p(l.start as s, duration(l)) <- l: (a seq b);")
    assert found.terms == (HeadTerm("s", start), HeadTerm("c2", call("-", end, start)))


# -- bodies with commas


def test_a_body_is_all_of_its_items() -> None:
    assert body("a, b seq c") == And((A, Seq((B, C))))


def test_conditions_among_the_items_are_about_all_of_them() -> None:
    found = body("x > 1, a(x, _), y < 2, b(_, y)")
    both = And((AX, Atom("b", (("y", Y),))))
    assert found == Where(both, call("and", call(">", X, number(1)), call("<", Y, number(2))))


def test_a_condition_joined_by_and_is_about_the_events_it_is_joined_to() -> None:
    found = body("a(x, _) and x > 1 and b")
    assert found == Where(And((AX, B)), call(">", X, number(1)))


def test_an_item_of_conditions_alone_has_the_usual_precedence() -> None:
    assert body("a(x, y), x = 1 or x = 2 and not y = 3") == body(
        "a(x, y) where x = 1 or (x = 2 and (not y = 3))"
    )


def test_a_call_is_a_condition_if_no_event_has_that_name() -> None:
    assert body("a(x, _), starts_with(x, 'q')") == Where(
        AX, call("starts_with", X, Const("q", STRING))
    )
    program = parse_program(Source("event starts_with(x string); p <- starts_with(x);"))
    assert program.rules[0].body == Atom("starts_with", (("x", X),))


def test_a_variable_alone_is_a_condition() -> None:
    assert body("a(x, _), x") == Where(AX, X)


def test_parentheses_may_hold_a_conjunction() -> None:
    assert body("gate seq (a(x, _), x > 1)") == Seq(
        (Atom("gate"), Where(AX, call(">", X, number(1))))
    )


# -- timers and windows


@pytest.mark.parametrize("name", TIMERS)
def test_timers_are_relative_to_a_label(name: str) -> None:
    found = body(f"o: a, w: {name}(o, 6h)")
    assert found == And((Label("o", A), Label("w", timer(name, "o", 6 * HOUR))))


def test_what_each_timer_spans() -> None:
    spans = {
        "extend": ("start", 0, "end", 1),
        "extend_backward": ("start", -1, "end", 0),
        "shorten": ("start", 0, "end", -1),
        "shorten_backward": ("start", 1, "end", 0),
        "shift": ("start", 1, "end", 1),
        "shift_backward": ("start", -1, "end", -1),
        "shift_begin": ("start", 1, "end", 0),
        "shift_end": ("start", 0, "end", 1),
        "from_start": ("start", 0, "start", 1),
        "from_start_backward": ("start", -1, "start", 0),
        "from_end": ("end", 0, "end", 1),
        "from_end_backward": ("end", -1, "end", 0),
    }
    assert {name: tuple(shape) for name, shape in TIMERS.items()} == spans


def test_a_timer_may_go_back_and_may_stand_without_a_label() -> None:
    assert body("o: a and extend(o, -6h)") == And(
        (Label("o", A), Timer("o", "start", 0, "end", -6 * HOUR))
    )


def test_absence_and_collection_in_a_window() -> None:
    found = body("w: a, while w: not b(x, _), while w: collect (s: c where s.x > 1)")
    collected = Where(Label("s", C), call(">", Attr("s", "x"), number(1)))
    assert found == And((Label("w", A), While("w", "not", BX), While("w", "collect", collected)))


@pytest.mark.parametrize(
    "operator", ["follows", "notfollows", "precedes", "notprecedes", "both", "FOLLOWS"]
)
@pytest.mark.parametrize("limit", ["10 s", "'10 s'"])
def test_semantic_windows(operator: str, limit: str) -> None:
    found = body(f"{operator}(a(x, _), b seq c, {limit})")
    name, other = operator.lower(), Seq((B, C))
    parts, absent = ((AX,), (other,)) if name.startswith("not") else ((AX, other), ())
    assert found == Moments(name, parts, absent, 10 * SECOND)


def test_semantic_windows_nest() -> None:
    found = body("anyone(gate, a, both(a, b, 1 s))")
    assert found == AnyOne((Atom("gate"), A, Moments("both", (A, B), limit=SECOND)))


# -- programs


def test_a_derived_event_is_used_like_any_other() -> None:
    found = rule("p(x, x + 1 as z) <- a(x, _); q(l.z) <- l: p(3, z) seq p(z=4);")
    labelled = Label("l", Atom("p", (("x", number(3)), ("z", Z))))
    assert found.body == Seq((labelled, Atom("p", (("z", number(4)),))))


def test_rules_may_use_events_that_are_defined_further_down() -> None:
    assert parse_program(Source("p <- q; q <- g; event g;")).rules[0].body == Atom("q")


def test_the_examples_of_the_design() -> None:
    program = parse_program(Source(EXAMPLES))
    assert [found.event for found in program.rules] == [
        "completed", "overdue", "report", "spike", "quiet",
    ]  # fmt: skip


EXAMPLES = """
event order(id string, product string, qty int);
event shipped(id string, tracking string);
event tick(id string, price float);
event a(x int); event b(x int); event c(x int);

completed(id, product) <- o: order(id, product, qty), s: shipped(id, t), o before s,
                          {o, s} within 2 days;
overdue(id)            <- o: order(id, _, qty), w: extend(o, 6h), while w: not shipped(id, _),
                          qty < 10;
report(count(sid))     <- o: overdue(_), w: extend_backward(o, 24h),
                          while w: collect shipped(sid, _);
spike(id, b.price)     <- (a: tick(id) seq b: tick(id)) within 10s where b.price > 1.1 * a.price;
quiet(x)               <- not(c(x)).[a(x), b(x)];
"""


def test_spans_point_at_the_text() -> None:
    source = Source("event a(x int); p(x) <- l: a(x) where x > 10;")
    (found,) = parse_program(source).rules
    assert isinstance(found.body, Where)
    assert isinstance(found.body.condition, Call)
    spans = [
        found.span,
        found.head_span,
        found.terms[0].span,
        found.body.span,
        found.body.condition.span,
    ]
    assert [source.text[span.start : span.end] for span in spans] == [
        "p(x) <- l: a(x) where x > 10;", "p(x)", "x", "l: a(x) where x > 10", "x > 10",
    ]  # fmt: skip
