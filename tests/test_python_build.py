"""Programs made of Python objects: how they read, and what they say when they are put together
wrongly. That everything can be said is in ``test_python_everything.py``."""

from __future__ import annotations

from copy import copy, deepcopy
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy
import pytest

import thence
from thence import Attribute, Event, absent, all_of, any_of, at, collect, derived, event, fn, var
from thence.lang.parser import parse_program
from thence.lang.python.program import lower_program
from thence.model.source import Source


class Order(Event, name="order"):
    id: str
    product: str
    qty: int


class Shipped(Event, name="shipped", within="2 days"):
    id: str
    tracking: str | None


Tick = event("tick", id=str, price=float)
Alarm = event("alarm", room=str)

DECLARED = """
event order(id string, product string, qty int);
event shipped(id string, tracking string) within 2 d;
event tick(id string, price float);
event alarm(room string);
"""


def assert_means(rules: str, *definitions: Any) -> None:
    """That definitions give the program of a text, and that it can be written and read again."""
    assert_equal([Order, Shipped, Tick, Alarm, *definitions], DECLARED + rules)


def assert_equal(definitions: list[Any], text: str) -> None:
    meant = parse_program(Source(text))
    assert lower_program(definitions) == meant
    assert parse_program(Source(thence.build(*definitions).text())) == meant


# -- how programs read


def test_a_policy_before_or_after_the_head() -> None:
    a, b, c = Tick("a"), Tick("b"), Alarm("c")
    pattern = (a >> b.one_or_more() >> c).within("5 s")
    text = """rising(a.id, count(b.start) as n) <-
              a: tick seq b: tick+ seq c: alarm within 5 s using greedy;"""
    assert_means(text, pattern.using("greedy").select("rising", a.id, n=fn.count(b)))
    assert_means(text, pattern.select("rising", a.id, n=fn.count(b)).using("greedy"))


def test_a_sequence_with_conditions() -> None:
    a, b = Tick("a"), Tick("b")
    spike = (a >> b).within("10 s").where(b.id == a.id, b.price > 1.1 * a.price)
    assert_means(
        """spike(a.id, b.price as peak) <-
           a: tick seq b: tick within 10 s where b.id = a.id and b.price > 1.1e0 * a.price;""",
        spike.select("spike", a.id, peak=b.price),
    )


def test_events_that_agree_in_an_attribute() -> None:
    order, shipped = Order(), Shipped()
    done = (order >> shipped).same("id").within("2 days")
    assert_means(
        "done(id) <- order(id=id) seq shipped(id=id) within 2 days;", done.select("done", var("id"))
    )


def test_an_attribute_that_all_share_is_shared_by_what_is_absent() -> None:
    quiet = absent(Order()).between(Tick(), Tick()).same("id")
    assert_means(
        "quiet(id) <- not(order(id=id)).[tick(id=id), tick(id=id)];",
        quiet.select("quiet", var("id")),
    )


def test_shared_variables() -> None:
    x, n = var("x"), var("n")
    found = all_of(Order(id=x, qty=n), Shipped(id=x)).where(n > 3)
    assert_means(
        "found(x, n) <- order(x, _, n), shipped(x, _), n > 3;", found.select("found", x, n)
    )


def test_a_value_with_a_name() -> None:
    cost, o, t = var("cost"), Order("o"), Tick("t")
    total = (o & t).where(t.id == o.id, cost == o.qty * t.price, cost > 100)
    assert_means(
        """total(o.id, cost) <-
           o: order and t: tick where t.id = o.id and cost = o.qty * t.price and cost > 100;""",
        total.select("total", o.id, cost),
    )


def test_an_absence_in_a_window_brings_the_window_along() -> None:
    o = Order()
    overdue = absent(Shipped(id=o.id)).inside(o.extend("6 h")).where(o.qty < 10)
    assert_means(
        """overdue(o.id) <-
           o: order, w: extend(o, 6 h), while w: not shipped(o.id, _), o.qty < 10;""",
        overdue.select("overdue", o.id),
    )


def test_a_window_that_stands_in_the_pattern_stays_where_it_is() -> None:
    o = Order("o")
    w = o.extend("6 h").label("window")
    overdue = w & o & absent(Shipped(id=o.id)).inside(w)
    assert_means(
        """overdue(o.id) <-
           window: extend(o, 6 h), o: order, while window: not shipped(o.id, _);""",
        overdue.select("overdue", o.id),
    )


def test_collected_events_and_aggregates() -> None:
    a, s = Alarm("a"), Shipped("s")
    report = collect(s).inside(a.extend_backward("24 h"))
    assert_means(
        """report(a.room, count() as n, count(distinct s.id) as ids, list(s.start) as since) <-
           a: alarm, w: extend_backward(a, 24 h), while w: collect s: shipped;""",
        report.select(
            "report",
            a.room,
            n=fn.count(),
            ids=fn.count(s.id, distinct=True),
            since=fn.list(s.start),
        ),
    )


def test_one_object_is_one_event() -> None:
    o = Order()
    twice = (o >> Shipped(id=o.id, tracking="first")) & (o >> Shipped(id=o.id, tracking="second"))
    assert_means(
        """twice(o.id) <-
           (o: order seq shipped(o.id, 'first')) and (o seq shipped(o.id, 'second'));""",
        twice.select("twice", o.id),
    )


def test_two_objects_may_be_two_events() -> None:
    assert_means("pair() <- tick and tick;", (Tick() & Tick()).select("pair"))


def test_each_branch_of_an_alternative_has_the_event_itself() -> None:
    o = Order("o")
    either = (o >> Shipped()) | (o >> Tick())
    assert_means(
        "either(o.id) <- (o: order seq shipped) or (o: order seq tick);",
        either.select("either", o.id),
    )


def test_rows_of_one_operator_are_one_row() -> None:
    a, b, c = Tick("a"), Tick("b"), Tick("c")
    assert_means("r() <- a: tick seq b: tick seq c: tick;", (a >> b >> c).select("r"))
    assert_means("r() <- a: tick seq (b: tick seq c: tick);", (a >> (b >> c)).select("r"))
    assert_means("r() <- a: tick or b: tick or c: tick;", any_of(a, b, c).select("r"))


def test_labels_of_patterns_have_times() -> None:
    p = Tick() >> Tick()
    slow = p.where(p.duration > timedelta(days=1), p.start < p.end)
    assert_means(
        """slow(p.start as since) <-
           p: (tick seq tick) where duration(p) > 1 day and p.start < p.end;""",
        slow.select("slow", since=p.start),
    )


def test_timers_have_times() -> None:
    o = Order("o")
    w = o.extend("6 h")
    assert_means(
        "long(w.end as until) <- o: order, w: extend(o, 6 h), duration(w) > 7 h;",
        all_of(o, w).where(w.duration > timedelta(hours=7)).select("long", until=w.end),
    )


def test_no_field_of_a_pattern_hides_a_method() -> None:
    for kind in _kinds(thence.Pattern):
        fields = set(getattr(kind, "__dataclass_fields__", ()))
        assert not fields & set(dir(thence.Pattern)), kind


def _kinds(kind: type) -> list[type]:
    return [each for below in kind.__subclasses__() for each in (below, *_kinds(below))]


def test_items_about_the_same_events() -> None:
    o, s = Order("o"), Shipped("s")
    done = all_of(o, s, o.before(s), (o & s).within("2 days"))
    assert_means(
        "done() <- o: order, s: shipped, o before s, {o, s} within 2 days;", done.select("done")
    )


def test_instants() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert_means(
        "r() <- order seq at '2026-01-01T12:00:00Z' seq at '2026-01-02';",
        (Order() >> at(moment) >> at("2026-01-02")).select("r"),
    )


def test_fresh_labels_keep_clear_of_what_is_there() -> None:
    t = var("t")
    first, second = Tick(), Tick()
    rise = (first >> second).where(second.price > first.price, Tick("t2").price > t)
    with pytest.raises(thence.BuildError, match=r"'t2' \(tick\) is read"):
        thence.build(rise.select("rise"))
    rise = (first >> second >> Tick("t2", price=t)).where(second.price > first.price)
    assert_means(
        "rise(t) <- t3: tick seq t4: tick seq t2: tick(price=t) where t4.price > t3.price;",
        rise.select("rise", t),
    )


# -- definitions


def test_a_definition_is_an_event_for_others() -> None:
    a = Alarm("a")
    visits = collect(Tick()).inside(a.extend("1 h")).select("visits", a.room, n=fn.count())
    v = visits("v")
    crowded = v.where(v.n >= 10).select("crowded", v.room)
    assert_means(
        """visits(a.room, count() as n) <- a: alarm, w: extend(a, 1 h), while w: collect tick;
           crowded(v.room) <- v: visits where v.n >= 10;""",
        crowded,
    )


def test_a_definition_that_is_needed_comes_along_before() -> None:
    o = Order("o")
    large = o.where(o.qty > 9).select("large", o.id)
    seen = large("l").select("seen")
    program = thence.build(seen)
    assert [schema.name for schema in program.derived] == ["large", "seen"]


def test_recursion() -> None:
    hop = event("hop", {"from": str, "to": str}, within="1 h")
    h = hop("h")
    path = h.select("path", x=h["from"], y=h.to)
    p = path("p")
    longer = (p >> h).where(h["from"] == p.y).select("path", p.x, h.to)
    text = """
        event hop(from string, to string) within 1 h;
        path(h.from as x, h.to as y) <- h: hop;
        path(p.x, h.to) <- p: path seq h: hop where h.from = p.y;
    """
    assert_equal([longer], text)


def test_definitions_that_need_each_other() -> None:
    pong = derived("pong", "id")
    o, t = pong("o"), Tick("t")
    ping = (o >> t).where(t.id == o.id).select("ping", t.id)
    start = t.select("ping", t.id)
    i = ping("i")
    back = (i >> Shipped(id=i.id)).select("pong", i.id)
    assert_means(
        """ping(t.id) <- t: tick;
           ping(t.id) <- o: pong seq t: tick where t.id = o.id;
           pong(i.id) <- i: ping seq shipped(i.id, _);""",
        start,
        ping,
        back,
    )


def test_later_definitions_take_the_names_of_the_first() -> None:
    o, t = Order("o"), Tick("t")
    assert_means(
        "seen(o.id as key) <- o: order; seen(t.id as key) <- t: tick;",
        o.select("seen", key=o.id),
        t.select("seen", t.id),
    )


def test_only_what_is_needed_is_declared() -> None:
    program = thence.build(Tick().select("r"))
    assert [schema.name for schema in program.events] == ["tick"]
    assert [schema.name for schema in thence.build(Order, Tick().select("r")).events] == [
        "order",
        "tick",
    ]


# -- values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "null"),
        (numpy.int64(7), "7"),
        (numpy.float64(2.5), "2.5e0"),
        ("it's", "'it''s'"),
        (timedelta(minutes=90), "90 min"),
        (datetime(2026, 1, 1, 6), "timestamp '2026-01-01T06:00:00Z'"),
        (date(2026, 1, 1), "timestamp '2026-01-01T00:00:00Z'"),
        (Decimal("12.50"), "12.50"),
        (Decimal("-0.001"), "-0.001"),
        (-5, "-5"),
        (1e300, "1e+300"),
    ],
)
def test_plain_values(value: Any, text: str) -> None:
    o = Order("o")
    made = o.where(fn.coalesce(o.id, value).is_null()).select("r")
    condition = f"coalesce(o.id, {text}) is null"
    written = f"event order(id string, product string, qty int); r() <- o: order where {condition};"
    assert lower_program([made]) == parse_program(Source(written))


def test_not_a_number_has_a_text_of_its_own() -> None:
    t = Tick("t")
    assert_means(
        "r() <- t: tick where t.price < float('inf');",
        t.where(t.price < fn.float("inf")).select("r"),
    )


def test_types_of_attributes() -> None:
    kinds = event(
        "kinds", a=int, b=float, c=bool, d=str, e=datetime, f=timedelta, g=Decimal, h=list[int],
        i="decimal(10, 2)", j="list<string>", k=int | None,
    )  # fmt: skip
    text = (
        "event kinds(a int, b float, c bool, d string, e timestamp, f duration, g decimal, "
        "h list<int>, i decimal(10, 2), j list<string>, k int); r() <- kinds;"
    )
    assert_equal([kinds().select("r")], text)


def test_attributes_that_type_checkers_know_to_be_values() -> None:
    class Typed(Event, name="order"):
        id: Attribute[str]
        product: Attribute[str | None]
        qty: Attribute[int]

    assert Typed._declared is not None
    assert Order._declared is not None
    assert Typed._declared.schema == Order._declared.schema


def test_a_copy_of_an_event_is_the_same_event() -> None:
    assert copy(a) is a
    assert deepcopy(a) is a


def test_attributes_of_a_class_come_after_those_of_its_base() -> None:
    class Express(Order, name="express"):
        courier: str

    assert thence.build(Express().select("r")).events[0].names == (
        "id",
        "product",
        "qty",
        "courier",
    )


def test_an_attribute_with_the_name_of_a_method_is_read_in_brackets() -> None:
    odd = event("odd", label=str, duration=int)("o")
    made = odd.where(
        odd["label"] == "x", odd["duration"] > 3, fn.duration(odd) > fn.duration("1 s")
    )
    assert_equal(
        [made.select("r")],
        "event odd(label string, duration int); r() <- o: odd where o.label = 'x' and "
        "o.duration > 3 and duration(o) > 1 s;",
    )


# -- what is refused

a, b = Tick("a"), Tick("b")
MISPLACED = absent(b).inside(a).where(a.price > 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: bool(a.price > 1), "a condition has no truth value here"),
        (lambda: 1 < a.price < 5, "use & for `and`"),
        (lambda: a.price > 1 and b.price > 1, "use & for `and`"),
        (lambda: not a.price > 1, "~ for `not`"),
        (lambda: a.price in [1, 2], "a condition has no truth value here"),
        (lambda: a and b, "a pattern is neither true nor false"),
        (lambda: a.prise, "'tick' has no attribute 'prise': did you mean 'price'"),
        (lambda: a["prise"], "did you mean 'price'"),
        (lambda: Tick(prise=3), "did you mean 'price'"),
        (lambda: Tick(price=None), "null is equal to nothing"),
        (lambda: Tick(3), "a label is a name"),
        (lambda: Tick >> a, r"make an event of the type first: tick\(\)"),
        (lambda: Tick | a, r"make an event of the type first: tick\(\)"),
        (lambda: a.price & a, "read one of its attributes"),
        (lambda: event("e", {"two\nlines": int}), "are one line"),
        (lambda: a >> Tick, r"make an event of the type first: tick\(\)"),
        (lambda: a >> a.select("d"), r"make an event of the definition first: d\(\)"),
        (lambda: a & (a.price > 1), "a condition goes into where"),
        (lambda: a >> absent(b), "say where it is"),
        (lambda: a.price > b, "read one of its attributes"),
        (lambda: a.where(a.label == "x"), "where needs conditions, and this is False"),
        (lambda: a.where(a.price + a.where), "'where' is a method"),
        (lambda: a.where("price > 3"), "write comparisons of attributes"),
        (lambda: a.within(10), "a duration: text with a unit such as '10 s'"),
        (lambda: a.within("10"), "has no unit of time"),
        (lambda: at(17), "at needs a time"),
        (lambda: at("noon"), "is not a timestamp"),
        (lambda: a.select("r", "id"), "needs a name: select"),
        (lambda: a.select(a.id), "the name of an event is text"),
        (lambda: a.where(a.id == None), r"write x.is_null\(\)"),  # noqa: E711
        (lambda: a.where(a.id != None), r"x.is_not_null\(\)"),  # noqa: E711
        (lambda: a.where(a.id.is_in([])), "is_in needs at least one value"),
        (lambda: a.where(a.id == "one\ntwo"), "stands on one line"),
        (lambda: a.where(a.price < float("inf")), r"use fn.float\('inf'\)"),
        (lambda: a.where(a.price == 2**64), "does not fit 64 bits"),
        (lambda: a.where(a.price == object()), "a object is none"),
        (lambda: absent(b).inside(a).start, "occur at no time of their own"),
        (lambda: absent(b).inside(a).label("x"), "label what they are joined to"),
        (lambda: fn.count(distinct=True), "which values"),
        (lambda: setattr(a, "price", 3), "is not changed"),
        (lambda: event("e", x=complex), "has the type <class 'complex'>"),
        (lambda: event("e", x="number"), "has the type 'number', which is none"),
        (Event, "declare one"),
        (lambda: var("_"), "a variable needs a name"),
        (lambda: event("x", duration=int)().duration, "fn.duration"),
        (lambda: thence.build(a), "this is a pattern"),
        (lambda: thence.build(3), "takes definitions"),
        (lambda: thence.compile(Tick("a").select("p")), r"use thence.build\(…\) for definitions"),
        (lambda: thence.load(Tick("a").select("p")), "load takes the path of a program file"),
        (lambda: thence.build(derived("d")().select("r")), "nothing defines 'd'"),
        (lambda: thence.build(a.select("r", b.id)), r"'b' \(tick\) is read in .* of 'r'"),
        (lambda: thence.build(a.same("room").select("r")), "'tick' has only id, price"),
        (lambda: thence.build(Tick(id="x").same("id").select("r")), "leave out one of them"),
        (lambda: thence.build(event("tick")().select("r"), a.select("s")), "declared twice"),
        (lambda: thence.build((a & MISPLACED).select("r")), "belongs to what it is joined to"),
    ],
)  # fmt: skip
def test_wrong_use_says_what_to_write(wrong: Any, message: str) -> None:
    with pytest.raises(thence.BuildError, match=message):
        wrong()


@pytest.mark.parametrize(
    "definition",
    [a.select("r", n=fn.count() + 1), a.where(fn.count() > 3).select("r")],
    ids=["computed with", "compared"],
)
def test_an_aggregate_over_nothing_repeated_is_no_value(definition: Any) -> None:
    with pytest.raises(thence.CheckError, match="only over what a rule repeats"):
        thence.build(definition)


def test_a_missing_attribute_is_missing_to_python_too() -> None:
    assert not hasattr(a, "prise")
    assert hasattr(a, "price")
    assert "price" in dir(a)


def test_a_default_is_no_attribute() -> None:
    with pytest.raises(thence.BuildError, match="'qty' of Wrong cannot have a default"):

        class Wrong(Event):
            qty: int = 3


def test_deep_nesting_is_refused_by_name() -> None:
    value = a.price
    for _ in range(300):
        value = fn.abs(value)
    with pytest.raises(thence.BuildError, match="'deep' is nested more than 200 levels deep"):
        thence.build(a.select("deep", x=value))


def test_long_rows_are_not_deep() -> None:
    condition = a.price > 0
    for n in range(1000):
        condition = condition & (a.price != n)
    assert thence.build(a.where(condition).select("r")).derived[0].name == "r"


def test_objects_show_what_they_are() -> None:
    assert repr(Order("o", qty=3)) == "<thence event o: order(qty=3)>"
    assert repr(1.1 * a.price > Tick().price) == "<thence value 1.1e0 * a.price > tick.price>"
    assert repr(a.select("r", a.id)) == "<thence definition r(id)>"
    assert repr((a >> b).start) == "<thence value p.start>"


def test_optimisations_are_switched_off_as_for_texts() -> None:
    definition = (a >> b).within("10 s").select("r", a.id)
    names = tuple(sorted(thence.optimisations()))
    assert thence.build(definition, without=names).without == names
    with pytest.raises(thence.ThenceError, match="nonsense"):
        thence.build(definition, without=["nonsense"])


def test_programs_without_text_explain_themselves() -> None:
    program = thence.build((a >> b).within("10 s").where(a.id == b.id).select("r", a.id), name="x")
    assert program.source.text == program.text()
    assert program.source.name == "x"
    assert "partition key: id" in program.explain()
