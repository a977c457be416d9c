"""Hypothesis strategies for whole programs, as text, and for the events they see.

Events have few distinct values and few distinct times, so that shared variables meet and intervals
touch. Patterns are written by ``pattern_writer.py``; here are bodies, heads and rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from hypothesis import strategies as st
from notation import Written
from oracle_values import NAN, instant
from pattern_writer import (
    ALLEN,
    BASE,
    CONSTANTS,
    DECIMAL,
    LATEST,
    POOL,
    TIMERS,
    UNITS,
    PatternWriter,
    Piece,
)

VALUES: dict[str, list[Any]] = {
    "int": [1, 1, 2, 1, 2, None],
    "float": [0.5, 0.5, 1.0, 0.0, None, NAN, -0.0],
    "string": ["x", "x", "y", None],
    "bool": [True, False, None],
    DECIMAL: [Decimal("0.50"), Decimal("1.00"), None, Decimal("-0.25")],
}


class Example(NamedTuple):
    """A program, its events, an end of time or None, and the microseconds in its unit of time."""

    program: str
    events: tuple[Written, ...]
    until: int | None
    unit: int


class Writer(PatternWriter):
    """Writes whole programs."""

    # --- bodies

    def body(self) -> Piece:
        self.budget = 4
        return self.pattern_body() if self.chance(55) else self.conjunction()

    def pattern_body(self) -> Piece:
        body = self.pattern(3)
        if self.chance(25):
            body = body.joined(f"{body.text} within {self.duration(2)}")
        return self.where(body, body) if self.chance(30) else body

    def conjunction(self) -> Piece:
        """A body in the style of paper 3: items, timers, temporal and data conditions."""
        items = [
            self.labelled(1) if self.chance(30) else self.labelled_atom()
            for _ in range(self.upto(2, 1))
        ]
        labels = [item.text.split(":")[0] for item in items]
        if len(labels) > 1:
            if self.chance(50):
                relation = self.choose(["before", self.choose(ALLEN)])
                items.append(Piece(f"{labels[0]} {relation} {labels[1]}"))
            if self.chance(30):
                items.append(Piece(f"{{{', '.join(labels)}}} within {self.duration(2)}"))
        if self.chance(15):
            items.append(self.same_event_again(self.choose(labels)))
        for _ in range(self.choose([1, 0, 2, 1])):
            of = self.choose(labels)
            labels.append(self.fresh("w"))
            items.append(Piece(f"{labels[-1]}: {self.timer(of)}", {}, {labels[-1]: ()}))
        body = Piece("").joined("", *items)
        for _ in range(self.choose([1, 0, 1, 2])):
            window = self.choose(labels[-2:])
            items.append(Piece(f"while {window}: not {self.in_window(body).text}"))
        if self.chance(30) and (self.values(body) or body.labels):
            items.append(Piece(self.condition(body)))
        body.text = ", ".join(item.text for item in items)
        return body

    def same_event_again(self, label: str) -> Piece:
        """A label used a second time: alone, in a pattern of its own, or with its event."""
        if label in self.labelled_events and self.chance(50):
            again = self.atom(names=[self.labelled_events[label]])
            return Piece(f"{label}: {again.text.split(': ')[-1]}", again.variables)
        other = self.atom()
        return other.joined(f"({label} {self.choose(['seq', 'and', 'par'])} {other.text})")

    # --- rules

    def program(self) -> str:
        kinds = [self.rule, self.rule, self.rule, self.aggregating, self.aggregating]
        kinds += [self.recursive, self.recursive, self.mutual, self.clock]
        kinds += [self.repeating]
        rules = [self.choose(kinds)() for _ in range(self.upto(3, 1))]
        declared = [
            f"event {name}({', '.join(f'{c} {t}' for c, t in columns)});"
            for name, columns in BASE.items()
        ]
        return "\n".join(declared + rules)

    def rule(self) -> str:
        body, other = self.body(), self.body() if self.chance(20) else None
        name = self.fresh("r")
        terms = self.terms(body)
        body.text += self.policy(body, ["cumulative"])
        text = self.head(name, terms, body)
        if other and all(type_ in CONSTANTS for _, type_ in terms):
            matching = [self.term_of_type(other, type_) for _, type_ in terms]
            text += f"\n{name}({', '.join(matching)}) <- {other.text};"
        return text

    def head(self, name: str, terms: list[tuple[str, str]], body: Piece) -> str:
        columns = [(f"c{index}", type_) for index, (_, type_) in enumerate(terms, 1)]
        self.events[name] = tuple(columns)
        named = [
            f"{term} as {column}" for (term, _), (column, _) in zip(terms, columns, strict=True)
        ]
        return f"{name}({', '.join(named)}) <- {body.text};"

    def terms(self, body: Piece) -> list[tuple[str, str]]:
        """A few head terms and their types."""
        options = [*self.values(body).items(), ("7", "int")]
        for label in body.labels:
            options += [(f"{label}.start", "timestamp"), (f"{label}.end", "timestamp")]
            options.append((f"duration({label})", "duration"))
        terms = [self.choose(options) for _ in range(self.upto(3))]
        return [
            (f"{value} + 1" if type_ == "int" and self.chance(15) else value, type_)
            for value, type_ in terms
        ]

    def term_of_type(self, body: Piece, type_: str) -> str:
        values = [name for name, found in self.values(body).items() if found == type_]
        return self.choose(values or [self.choose(CONSTANTS[type_])])

    def aggregating(self) -> str:
        self.budget = 4
        body = self.choose([self.labelled_atom, self.labelled_atom, self.conjunction, self.body])()
        if not body.labels:
            return self.rule()
        if self.chance(10):
            return self.accumulating()
        terms = self.terms(body)[:1]
        if self.chance(15):  # two collects: aggregates read labels, so that it is clear of which
            pieces = [self.labelled_atom(["a", "b", "c"]) for _ in range(2)]
            scopes = [Piece("", {}, piece.labels) for piece in pieces]
            options = [self.aggregates(scope, body)[1:] for scope in scopes]
        else:
            pieces = [self.in_window(body)]
            own = {n: t for n, t in pieces[0].variables.items() if n not in body.variables}
            options = [self.aggregates(Piece("", own, pieces[0].labels), body)]
        for piece, aggregates in zip(pieces, options, strict=True):
            window = self.choose(list(body.labels))
            looks = f"while {window}"
            if self.chance(25):
                looks = f"over {self.reach()} of {window}"
            elif self.chance(90):
                of, window = window, self.fresh("w")
                body.text += f", {window}: {self.choose(TIMERS[:4])}({of}, {self.duration(3)})"
                looks = f"while {window}"
            body.text += f", {looks}: collect {piece.text}"
            terms += [self.choose(aggregates) for _ in range(self.upto(3, 1))]
        body.text += self.policy(body)
        return self.head(self.fresh("r"), terms, body)

    def reach(self) -> str:
        """How far back ``over`` looks."""
        rows = f"{self.upto(3, 1)} rows"
        duration = self.duration(1)
        return self.choose([duration, rows, f"{rows} in {duration}"])

    def repeating(self) -> str:
        """A sequence with a repetition in it, aggregates over it, and perhaps a policy."""
        self.budget = 4
        again = self.labelled_atom(["a", "b", "c", "a"])
        (label,) = again.labels
        times = self.choose(["+", "{2}", "{1,2}", "{2,}", "+"])
        places = self.choose(["both", "both", "left", "right", "none"])
        left = [self.atom()] if places in ("both", "left") else []
        right = [self.atom()] if places in ("both", "right") else []
        if places == "both" and self.chance(20):
            times = "*"
        around = Piece("").joined("", *left, *right)
        parts = [*(p.text for p in left), again.text + times, *(p.text for p in right)]
        text = " seq ".join(parts)
        if right and self.chance(20):
            text = f"({' seq '.join(parts[:-1])}) until {parts[-1]}"
        conditions = []
        numbers = [f"{label}.{c}" for c, t in again.labels[label] if t in ("int", "float")]
        if numbers and self.chance(40):
            value = self.choose(numbers)
            conditions.append(f"{value} {self.choose(['>=', '<', '!='])} prev({value})")
        if self.chance(20):
            conditions.append(f"count({label}) {self.choose(['>', '<='])} {self.upto(2, 1)}")
        if numbers and self.chance(20):
            conditions.append(f"{self.choose(numbers)} > 0")
        text = f"({text}) within {self.duration(3)}" if self.chance(60) else text
        text += f" where {' and '.join(conditions)}" if conditions else ""
        own = Piece("", {}, again.labels)
        terms = [self.choose([*self.terms(around), ("7", "int")])]
        terms += [self.choose(self.aggregates(own, Piece(""))) for _ in range(self.upto(2))]
        words = [self.choose(["", "greedy", "strict", "first", "chronicle", "last", "recent"])]
        if words[0] in ("greedy", "") and places in ("both", "right") and self.chance(50):
            words.append("greedy strict" if times != "*" else "")
        if words[0] == "greedy" and places not in ("both", "right"):
            words = []
        if "strict" in words and times == "*":
            words = []
        policy = " ".join(dict.fromkeys(" ".join(words).split()))
        return self.head(
            self.fresh("r"), terms, Piece(text + (f" using {policy}" if policy else ""))
        )

    def accumulating(self) -> str:
        """``aperiodic*`` with aggregates over what it collects."""
        first, last, inner = self.atom(), self.atom(), self.in_window(Piece(""))
        body = first.joined(f"aperiodic*({first.text}, {inner.text}, {last.text})", last)
        own = {n: t for n, t in inner.variables.items() if n not in body.variables}
        options = self.aggregates(Piece("", own, inner.labels), body)
        terms = self.terms(body)[:1] + [self.choose(options) for _ in range(self.upto(2, 1))]
        return self.head(self.fresh("r"), terms, body)

    def policy(self, body: Piece, more: Sequence[str] = ()) -> str:
        """Perhaps a policy: a context, or how to choose and what is used up."""
        if not self.chance(30):
            return ""
        words = [self.choose(["recent", "chronicle", "continuous", "first", "last", *more])]
        if words[0] in ("first", "last"):
            labels = [label for label in body.labels if label in self.labelled_events]
            if labels and self.chance(60):
                words = [f"{self.choose(['first', 'last'])}({self.choose(labels)})"]
            words += self.choose([["exclusive"], ["shared"], []])
        return f" using {' '.join(words)}"

    def aggregates(self, inner: Piece, outer: Piece) -> list[tuple[str, str]]:
        """What can be aggregated over what is collected, with its type; first, ``count()``."""
        options = [("count()", "int")]
        for value, type_ in self.values(inner).items():
            if type_ in POOL and type_ != "bool":
                options += [(f"{f}({value})", type_) for f in ("min", "max", "first", "last")]
                options += [(f"count({value})", "int"), (f"count(distinct {value})", "int")]
                options += [(f"list({value})", f"list<{type_}>")]
            if type_ in ("int", "float"):
                options += [(f"sum({value})", type_), (f"avg({value})", "float")]
                options += [(f"stddev({value})", "float"), (f"median({value})", "float")]
                options += [(f"sum(distinct {value})", type_)]
                reads = [name for name, found in self.values(outer).items() if found == "int"]
                options += [(f"sum({value} + {name})", type_) for name in reads[:2]]
        return options

    def recursive(self) -> str:
        """A rule, and a second one for the same head that needs the head itself."""
        self.budget = 2
        start = self.pattern(1)
        terms = [t for t in self.values(start).items() if t[1] in CONSTANTS][: self.upto(2)]
        self.budget = 2
        step = self.pattern(1)
        name = self.fresh("r")
        text = self.head(name, terms, start)
        again = self.atom(names=[name])
        operator = self.choose(["seq", "and", "meets", "overlaps", "before", "during"])
        pieces = [again, step] if self.chance(70) else [step, again]
        body = again.joined(f"({pieces[0].text} {operator} {pieces[1].text})", step)
        if self.chance(30):
            body = body.joined(f"{body.text} within {self.duration(2)}")
        matching = [self.term_of_type(body, type_) for _, type_ in terms]
        return f"{text}\n{name}({', '.join(matching)}) <- {body.text};"

    def mutual(self) -> str:
        """Two rules that need each other."""
        first, second = self.fresh("r"), self.fresh("r")
        self.events |= {first: (("c1", "int"),), second: (("c1", "int"),)}
        operator = self.choose(["seq", "and"])
        return (
            f"{first}(x as c1) <- a(x, _);\n"
            f"{second}(y as c1) <- {first}(x) seq {self.choose(['a', 'c'])}(k=x, v=y);\n"
            f"{first}(x) <- {second}(x) {operator} b(x, _);"
        )

    def clock(self) -> str:
        """A rule that starts itself again after a while."""
        name, label = self.fresh("r"), self.fresh("l")
        self.events[name] = (("c1", "int"),)
        timer = f"{self.choose(['shift', 'extend', 'from_end'])}({label}, {self.duration(1)})"
        window = f", while w: not {self.atom(names=['b', 'd']).text}" if self.chance(40) else ""
        return f"{name}(x as c1) <- a(_, x);\n{name}(x) <- {label}: {name}(x), w: {timer}{window};"


@st.composite
def examples(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Example:
    """A program, events for it, and perhaps an end of time."""
    writer = Writer(draw)
    program = writer.program()
    unit = UNITS[writer.unit]
    size = draw(st.sampled_from([16, 14, 12, 16, 18, 16, 14, 16, 5, 0]))
    events = draw(st.lists(events_(unit), min_size=size, max_size=size))
    if events and draw(st.booleans()):
        events.append(events[0])  # delivered twice
    until = draw(st.sampled_from([None, 3, None, 3, None, 3, 2, 1, 0.5]))
    return Example(
        program, tuple(events), None if until is None else int(until * LATEST * unit), unit
    )


@st.composite
def events_(draw: Callable[[st.SearchStrategy[Any]], Any], unit: int) -> Written:
    """An event; most are points."""
    name = draw(st.sampled_from("aaabbbcccdde"))
    values = tuple(draw(values_(type_, unit)) for _, type_ in BASE[name])
    start = draw(st.integers(0, LATEST))
    length = draw(st.sampled_from([0, 2, 0, 1, 4, 0]))
    return Written(name, values, start * unit, (start + length) * unit)


def values_(type_: str, unit: int) -> st.SearchStrategy[Any]:
    """A value of a type, from few; times are near those of the events."""
    if type_ == "timestamp":
        return st.sampled_from([instant(time * unit) for time in (2, 4, 5)] + [None])
    if type_ == "duration":
        return st.sampled_from([timedelta(microseconds=time * unit) for time in (2, 1, 0)] + [None])
    return st.sampled_from(VALUES[type_])
