"""Writes programs about repetition: chains of events with and without policies, alone and as parts
of larger patterns, over streams in which many events stand at few instants."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st
from notation import INFINITY, Written
from strategies import Example

T = TypeVar("T")
UNIT = 1_000_000
LATEST = 6
DECLARED = """\
event a(k int, v int);
event b(k int, v int);
event c(k int, v int);
table t(k int, w int);
"""
POLICIES = ["", "greedy", "strict", "greedy strict", "greedy", "greedy strict"]
CHOICES = ["first", "last", "chronicle", "recent", "continuous", "first exclusive", "last shared"]
TIMES = ["+", "+", "{2}", "{1,2}", "{2,}", "{2,3}", "{1}", "{3,}"]


class Part(NamedTuple):
    """A part of a sequence; ``label`` has a value for each repetition, if it is repeated."""

    text: str
    label: str | None
    repeated: bool


class RepeatWriter:
    """Writes rules whose bodies repeat events."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0

    def choose(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def upto(self, most: int, least: int = 0) -> int:
        return self.random.randint(least, most)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def duration(self, least: int = 0) -> str:
        return f"{self.choose([n for n in (4, 6, 8, 2, 3, 12, 5, 1, 0) if n >= least])} s"

    def key(self) -> str:
        return self.choose(["_", "k", "_", "_", "k", "_", "1"])

    def event(self, names: str = "abc") -> str:
        value = self.choose(["_"] * 8 + [self.fresh("n"), "1", "x"])
        return f"{self.choose(names)}({self.key()}, {value})"

    def single(self, names: str = "abc") -> Part:
        label = self.fresh("l")
        return Part(f"{label}: {self.event(names)}", label, False)

    def repeated(self, may_be_empty: bool) -> Part:
        """An event or, now and then, a pattern that is repeated."""
        times = (
            self.choose(["*", "{0,1}", "?", "{0,2}"])
            if may_be_empty and self.chance(15)
            else self.choose(TIMES)
        )
        label = self.fresh("l")
        if self.chance(15):
            inner = f"({label}: {self.event()} {self.choose(['seq', 'or'])} {self.event()})"
            if " or " in inner:
                return Part(f"{inner}{times}", None, True)
            return Part(f"{inner}{times}", label, True)
        event = self.event("bbbbac")
        if self.chance(8):
            again = self.choose(["{1}", "{2}", "{1,2}", "+"])
            limit = f" within {self.duration(1)}" if self.chance(30) else ""
            return Part(f"({event}{again}{limit}){times}", None, True)
        if self.chance(8):
            name = self.fresh("n")
            event = f"b({name}, {name}{self.choose(['', ' + 1'])})"
        if self.chance(10):
            return Part(f"({label}: {event} within {self.duration(1)}){times}", label, True)
        return Part(f"{label}: {event}{times}", label, True)

    # --- sequences

    def parts(self) -> list[Part]:
        """One to four parts, some of them repeated."""
        count = self.choose([2, 3, 3, 1, 2, 3, 4])
        repeats = {self.upto(count - 1)}
        if self.chance(30):
            repeats.add(self.upto(count - 1))
        found: list[Part] = []
        for place in range(count):
            names = "abc" if self.chance(35) else "a" if place == 0 else "c"
            found.append(self.repeated(True) if place in repeats else self.single(names))
        return found

    def sequence_of(self, parts: list[Part]) -> str:
        texts = [part.text for part in parts]
        if len(texts) == 1:
            return texts[0]
        if self.chance(15) and not parts[-1].repeated:
            closing = texts[-1]
            if self.chance(30):
                closing = f"({closing} or {self.event('abc')})"
            return f"({' seq '.join(texts[:-1])}) until {closing}"
        if self.chance(8) and not parts[-1].repeated:
            left = " seq ".join(texts[:-1])
            return f"not({self.absent_one()}).[({left}), {texts[-1]}]"
        return " seq ".join(texts)

    def absent_one(self) -> str:
        times = self.choose(["", "", "{2}", "+"])
        return f"{self.choose('abc')}({self.key()}, _){times}"

    def conditions(self, parts: list[Part]) -> list[str]:
        found = []
        for part in parts:
            label = part.label
            if label is None:
                continue
            if part.repeated and self.chance(40):
                sign = self.choose(["<", ">", "!=", "<=", "="])
                value = self.choose([f"{label}.v", f"{label}.v", f"{label}.k"])
                compared = f"{value} {sign} prev({value})"
                found.append(self.choose([compared, compared, f"{value} - prev({value}) {sign} 0"]))
            if part.repeated and self.chance(12):
                found.append(f"count({label}) {self.choose(['>', '<=', '='])} {self.upto(2, 1)}")
            if part.repeated and self.chance(10):
                found.append(f"{self.choose(['max', 'last', 'sum'])}({label}.v) > 1")
            if self.chance(12):
                found.append(f"{label}.v {self.choose(['>', '<', '!='])} {self.upto(2, 1)}")
            others = [p.label for p in parts if not p.repeated and p.label not in (None, label)]
            if others and self.chance(15):
                other = self.choose(others)
                found.append(
                    self.choose(
                        [
                            f"{label}.v {self.choose(['>', '!=', '<='])} {other}.v",
                            f"{label}.end <= {other}.start + {self.duration()}",
                            f"{label}.start >= {other}.end - {self.duration()}",
                        ]
                    )
                )
        return found

    def body(self, parts: list[Part]) -> str:
        text = self.sequence_of(parts)
        if self.chance(30):
            text = f"({text}) within {self.duration(2)}"
        conditions = self.conditions(parts)
        return text + (f" where {' and '.join(conditions)}" if conditions else "")

    def policy(self, over: bool) -> str:
        """Perhaps a policy; greedy only where a repetition is over by the end of its match."""
        words = self.choose(POLICIES if over else ["", "strict"])
        if self.chance(25):
            words = f"{words} {self.choose(CHOICES)}".strip()
        return f" using {words}" if words else ""

    # --- rules

    def program(self) -> str:
        return DECLARED + "\n".join(self.rule() for _ in range(self.choose([1, 1, 2])))

    def rule(self) -> str:
        kinds = [self.plain, self.plain, self.plain, self.chosen, self.chosen, self.around]
        kinds += [self.in_window, self.looked_up, self.beside, self.ticking]
        return self.choose(kinds)()

    def head(self, parts: list[Part], key: bool) -> str:
        terms = ["k as k"] if key else []
        for part in parts:
            if part.label is None:
                continue
            if not part.repeated:
                terms += [f"{part.label}.v as {self.fresh('o')}"] if self.chance(30) else []
            elif self.chance(70):
                options = [f"list({part.label}.v)", f"count({part.label})", f"max({part.label}.v)"]
                options += [f"count({part.label}) + 1"]
                terms.append(f"{self.choose(options)} as {self.fresh('o')}")
        return f"{self.fresh('m')}({', '.join(terms)})"

    def plain(self) -> str:
        parts = self.parts()
        body = self.body(parts)
        head = self.head(parts, self.binds(body) and self.chance(60))
        return f"{head} <- {body}{self.policy(not parts[-1].repeated)};"

    def binds(self, text: str) -> bool:
        """Whether the key can stand in the head."""
        return "(k," in text.split("not(", maxsplit=1)[0]

    def chosen(self) -> str:
        """A sequence with a policy of its own inside a larger pattern."""
        parts = self.parts()
        policy = self.policy(not parts[-1].repeated) or " using strict"
        inner = f"({self.body(parts)}{policy})"
        other = self.single()
        kinds = ["seq", "seq", "and", "before", "during", "meets", "overlaps"]
        operator = self.choose(kinds)
        texts = [inner, other.text]
        if operator != "seq" or self.chance(50):
            texts = texts if self.chance(50) else texts[::-1]
        text = f" {operator} ".join(texts)
        if self.chance(15):
            text = f"{self.choose(['follows', 'notfollows', 'both'])}({inner}, {other.text}, 3 s)"
        elif self.chance(15):
            text = f"ticks({inner}, 1 s, 2 s)"
        elif self.chance(15):
            text = f"({inner}{self.choose(['+', '{2}'])}) seq {other.text}"
        elif self.chance(10):
            text = f"not({inner}).[l: a(k, _), r: c(k, _)]"
        reads = [f"{p.label}.v as {self.fresh('o')}" for p in parts if p.label and not p.repeated]
        terms = reads[:1] if reads and "not(" not in text and inner in text else []
        if f"({inner}" in text:
            terms = []
        around = (
            self.policy("+" not in text and "}" not in text.split(inner)[-1])
            if self.chance(40)
            else ""
        )
        return f"{self.fresh('m')}({', '.join(terms)}) <- {text}{around};"

    def around(self) -> str:
        """A repetition inside other operators, with a label around it."""
        parts = self.parts()
        label = self.fresh("x")
        text = self.sequence_of(parts)
        conditions = self.conditions(parts)
        repeated = [p.label for p in parts if p.repeated and p.label is not None]
        if repeated and self.chance(40):
            inner = self.choose(repeated)
            conditions.append(f"{inner}.end <= {label}.end - {self.duration()}")
        if self.chance(30):
            text = f"ticks({label}: ({text}), {self.duration(1)}, {self.duration(1)})"
        else:
            text = f"{label}: ({text}) {self.choose(['seq', 'and', 'before'])} {self.single().text}"
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return f"{self.head(parts, False)} <- {text}{where}{self.policy(not parts[-1].repeated)};"

    def in_window(self) -> str:
        """A repetition in a window that ends with the match."""
        label, again = self.fresh("l"), self.repeated(False)
        items = [f"{label}: {self.event()}", f"w: extend({label}, {self.duration(2)})"]
        items += [f"({again.text}) during w", *self.conditions([again])]
        return f"{self.head([again], False)} <- {', '.join(items)}{self.policy(True)};"

    def ticking(self) -> str:
        """Ticks after a repetition, up to another event."""
        again = self.repeated(False)
        head = "k as k" if "(k," in again.text and self.chance(60) else ""
        closing = f"c({self.key()}, _)"
        return f"{self.fresh('m')}({head}) <- periodic(({again.text}), 2 s, {closing});"

    def looked_up(self) -> str:
        """A repetition beside the rows of a table."""
        parts = self.parts()
        body = self.sequence_of(parts)
        fact = self.choose(["t(k, w)", "not t(k, _)", "t(_, w)"])
        if fact.startswith("not") and not any("(k," in p.text and not p.repeated for p in parts):
            fact = "t(_, w)"
        items = [f"({body})", fact, *self.conditions(parts)]
        policy = self.policy(not parts[-1].repeated)
        return f"{self.head(parts, False)} <- {', '.join(items)}{policy};"

    def beside(self) -> str:
        """A repetition in what is absent, or collected."""
        inner = self.sequence_of(self.parts())
        label = self.fresh("l")
        event = f"{label}: {self.event()}, w: extend({label}, {self.duration(3)})"
        if self.chance(50):
            return f"{self.fresh('m')}() <- {event}, while w: not ({inner}){self.policy(True)};"
        return f"{self.fresh('m')}(count() as n) <- {event}, while w: collect ({inner});"


def repetition(random: Random) -> Example:
    """A program about repetition, events for it, and perhaps an end of time."""
    program = RepeatWriter(random).program()
    last = (LATEST + 1) * UNIT
    events = [_event(random) for _ in range(random.randint(5, 8))]
    events.append(Written("a", (1, random.randint(1, 3)), 0, 0))
    events.append(Written("c", (1, random.randint(1, 3)), last, last))
    rows = [
        Written("t", (random.randint(1, 2), random.randint(1, 2)), INFINITY, -INFINITY)
        for _ in range(random.randint(0, 2))
    ]
    until = random.choice([None, None, None, 5, 12])
    return Example(program, (*events, *rows), None if until is None else until * UNIT, UNIT)


def _event(random: Random) -> Written:
    """An event at one of few instants; some last."""
    key = random.choice([1, 1, 1, 1, 2, None])
    values = (key, random.choice([1, 2, 3, 1, 2, 3, None]))
    start, length = random.randint(0, LATEST), random.choice([0, 0, 0, 0, 1, 2])
    return Written(random.choice("bbbaacc"), values, start * UNIT, (start + length) * UNIT)


repetitions = st.builds(lambda seed: repetition(Random(seed)), st.integers(0, 2**32))
"""The same by a seed, so that every choice is as likely as it should be."""
