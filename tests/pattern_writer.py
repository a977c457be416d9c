"""Writes patterns and conditions for generated programs, by drawing choices.

Every operator, nested, over a small vocabulary. What is written is nearly always accepted;
``Piece`` carries what is needed for that: which variables and labels a piece of text binds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st
from oracle_values import instant

from thence.logic.ops import AllenRelation

T = TypeVar("T")
Columns = tuple[tuple[str, str], ...]

DECIMAL = "decimal(6, 2)"
BASE: dict[str, Columns] = {
    "a": (("k", "int"), ("v", "int")),
    "b": (("k", "int"), ("f", "float")),
    "c": (("k", "int"), ("v", "int"), ("s", "string")),
    "d": (),
    "e": (("ok", "bool"), ("q", DECIMAL), ("t", "timestamp"), ("g", "duration")),
}
POOL = {
    "int": ("i1", "i2"),
    "float": ("x1",),
    "string": ("s1",),
    "timestamp": ("t1",),
    "duration": ("g1",),
    "bool": ("o1",),
    DECIMAL: ("q1",),
}
CONSTANTS = {
    "int": ("1", "2"),
    "float": ("0.5", "1.0"),
    "string": ("'x'", "'y'"),
    "bool": ("true", "false"),
}
UNITS = {"s": 1_000_000, "us": 1}
LATEST = 8
ARGUMENTS = ["anything"] * 6 + ["fresh"] * 5 + ["pool"] * 3 + ["constant", "expression"]
ALLEN = get_args(AllenRelation)
TIMERS = (
    "extend", "extend_backward", "from_end", "from_start_backward", "from_start",
    "from_end_backward", "shift", "shift_end", "shift_backward", "extend",
)  # fmt: skip
SHORTENING_TIMERS = ("shift_begin", "shorten", "shorten_backward", "shift", "extend")


@dataclass
class Piece:
    """A text, and the variables (with their types) and labels that it binds for others to read.

    A label maps to the columns of its event; a timer or a compound has none.
    """

    text: str
    variables: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Columns] = field(default_factory=dict)

    def joined(self, text: str, *others: Piece) -> Piece:
        """A text made from this piece and others, with what all of them bind."""
        joined = Piece(text, dict(self.variables), dict(self.labels))
        for other in others:
            joined.variables |= other.variables
            joined.labels |= other.labels
        return joined


class PatternWriter:
    """Writes patterns; the simplest choice comes first in each list."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.count = 0
        self.events = dict(BASE)
        self.labelled_events: dict[str, str] = {}
        self.unit = self.choose(["s", "us"])
        self.budget = 0

    # --- choices

    def choose(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def upto(self, most: int, least: int = 0) -> int:
        return int(self.draw(st.integers(least, most)))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def duration(self, least: int = 0) -> str:
        options = [number for number in (4, 6, 8, 2, 3, 12, 5, 1, 0) if number >= least]
        return f"{self.choose(options)} {self.unit}"

    # --- patterns

    def pattern(self, depth: int) -> Piece:
        """Any pattern that binds something, nested up to a depth."""
        kinds = [self.atom]
        if depth > 0 and self.budget > 1:
            kinds += [self.atom, self.infix, self.infix, self.either, self.absence, self.window]
            kinds += [self.limited, self.conditional, self.labelled, self.timed, self.sequence]
            kinds += [self.group, self.either_label, self.moments, self.judged, self.history]
        return self.choose(kinds)(depth - 1)

    def atom(self, depth: int = 0, names: Sequence[str] | None = None) -> Piece:
        self.budget -= 1
        name = self.choose(names or [*"aabbcc", *self.events])
        columns = self.events[name]
        piece = Piece(name)
        label = self.fresh("l") if self.chance(40) else None
        if self.chance(20) and columns:
            arguments = [f"{c}={self.argument(t, piece)}" for c, t in columns if self.chance(40)]
            arguments = [argument for argument in arguments if not argument.endswith("_")]
        elif self.chance(10):
            arguments = []
        else:
            arguments = [self.argument(type_, piece) for _, type_ in columns]
        piece.text = f"{name}({', '.join(arguments)})"
        if label is not None:
            self.labelled_events[label] = name
            piece.labels[label] = columns
            piece.text = f"{label}: {piece.text}"
        return piece

    def argument(self, type_: str, piece: Piece) -> str:
        kind = self.choose(ARGUMENTS)
        if kind == "anything":
            return "_"
        if kind == "constant" and type_ in CONSTANTS:
            return self.choose(CONSTANTS[type_])
        if kind == "expression" and type_ == "int" and "int" in piece.variables.values():
            return f"{self.of_type(piece, 'int')} + 1"
        pooled = kind == "pool" and type_ in POOL
        name = self.choose(POOL[type_]) if pooled else self.fresh("n")
        piece.variables[name] = type_
        return name

    def labelled(self, depth: int) -> Piece:
        piece = self.pattern(depth)
        if re.match(r"\w+:", piece.text):
            return piece
        label = self.fresh("l")
        labelled = piece.joined(f"{label}: {piece.text}")
        labelled.labels[label] = ()
        return labelled

    def labelled_atom(self, names: Sequence[str] | None = None) -> Piece:
        piece = self.atom(names=names)
        if piece.labels:
            return piece
        label, name = self.fresh("l"), piece.text.split("(")[0]
        self.labelled_events[label] = name
        return Piece(f"{label}: {piece.text}", piece.variables, {label: self.events[name]})

    def infix(self, depth: int) -> Piece:
        left, right = self.pattern(depth), self.pattern(depth)
        operator = self.choose(["seq", "and", "par", self.choose(ALLEN)])
        return left.joined(f"({left.text} {operator} {right.text})", right)

    def sequence(self, depth: int) -> Piece:
        parts = [self.pattern(depth) for _ in range(3)]
        return parts[0].joined(f"({' seq '.join(p.text for p in parts)})", *parts[1:])

    def either(self, depth: int) -> Piece:
        """Alternatives share the variables that all of them bind; others get names of their own."""
        parts = [self.pattern(depth) for _ in range(2)]
        common = {n: t for n, t in parts[0].variables.items() if n in parts[1].variables}
        texts = [self.renamed(part, common) for part in parts]
        if self.chance(30):
            return Piece(f"anyone({', '.join(texts)})", common)
        return Piece(f"({' or '.join(texts)})", common)

    def either_label(self, depth: int) -> Piece:
        """Alternatives that bind one label, to events of different types."""
        label = self.fresh("l")
        names = [self.choose(list(self.events)) for _ in range(2)]
        columns = [column for column in self.events[names[0]] if column in self.events[names[1]]]
        self.budget -= 1
        return Piece(
            f"({label}: {names[0]}() or {label}: {names[1]}())", {}, {label: tuple(columns)}
        )

    def group(self, depth: int) -> Piece:
        """A conjunction in parentheses, with a timer and perhaps a window of its own."""
        piece = self.labelled(depth)
        label, timer = piece.text.split(":")[0], self.fresh("w")
        text = f"{piece.text}, {timer}: {self.timer(label)}"
        if self.chance(40):
            text += f", while {timer}: not {self.in_window(piece).text}"
        group = piece.joined(f"({text})")
        group.labels[timer] = ()
        return group

    def timer(self, label: str) -> str:
        if self.chance(20):
            sign = self.choose(["", "-"])
            return f"{self.choose(SHORTENING_TIMERS)}({label}, {sign}{self.duration()})"
        return f"{self.choose(TIMERS)}({label}, {self.duration()})"

    def in_window(self, outer: Piece) -> Piece:
        """What is looked for in a window; a compound or conditional one in parentheses."""
        inner = self.atom(names="abcd") if self.chance(70) else self.pattern(1)
        return self.where(inner, inner.joined("", outer)) if self.chance(25) else inner

    def renamed(self, piece: Piece, kept: Collection[str]) -> str:
        """The text of a piece, with new names for its variables that are not kept."""
        names = {name: self.fresh("n") for name in piece.variables if name not in kept}
        return re.sub(r"\b[a-z]\d+\b", lambda match: names.get(match[0], match[0]), piece.text)

    def absence(self, depth: int) -> Piece:
        first, last = self.pattern(depth), self.pattern(depth)
        both = first.joined("", last)
        absent = self.absent(depth, both)
        return both.joined(f"not({absent}).[{first.text}, {last.text}]")

    def absent(self, depth: int, outer: Piece) -> str:
        """A pattern whose bindings stay inside, perhaps with a condition on those outside."""
        inner = self.pattern(min(depth, 1))
        return self.where(inner, inner.joined("", outer)).text if self.chance(25) else inner.text

    def window(self, depth: int) -> Piece:
        operator = self.choose(["follows", "notfollows", "precedes", "notprecedes", "both"])
        left = self.pattern(depth)
        if operator.startswith("not"):
            right = self.absent(depth, left)
            return left.joined(f"{operator}({left.text}, {right}, {self.duration()})")
        other = self.pattern(depth)
        text = f"{operator}({left.text}, {other.text}, {self.duration(1)})"
        return left.joined(text, other)

    def moments(self, depth: int) -> Piece:
        """An operator of SNOOP or COMPOSE."""
        operator = self.choose(
            ["then", "prior", "simultaneous", "relative", "aperiodic", "periodic*", "immediately"]
        )
        left = self.pattern(depth)
        if self.chance(10):
            return Piece(f"other_than({left.text})")
        if self.chance(15):
            durations = f"{self.duration(1)}, {self.duration(1)}"
            return left.joined(f"ticks({left.text}, {durations})")
        right = self.pattern(depth)
        both = left.joined("", right)
        if self.chance(10):
            ending = self.atom(names="abcd")
            if ":" not in ending.text:
                whole = left.joined("", ending)
                text = f"without({left.text}, {self.absent(depth, whole)}, {ending.text})"
                return whole.joined(text)
        arguments = [left.text, right.text]
        if operator == "aperiodic":
            arguments.append(self.absent(depth, both))
        elif operator == "periodic*":
            arguments.insert(1, self.duration())
        return both.joined(f"{operator}({', '.join(arguments)})")

    def history(self, depth: int) -> Piece:
        """What is judged on the history after something: an instant, or an absence at some depth,
        or a row of such."""
        kinds = [self.moments, self.window, self.absence, self.another, self.another]
        if self.chance(25):
            inner = self.another(0)
            return Piece(f"relative+({inner.text})", inner.variables)
        first = self.pattern(min(depth, 1))
        later = self.choose(kinds)(max(depth, 1))
        return first.joined(f"relative({first.text}, {later.text})", later)

    def another(self, depth: int) -> Piece:
        """An event at which something else does not occur."""
        event = self.atom(names="abcd")
        inner = self.choose([self.infix, self.another, self.moments])(0) if depth else self.infix(0)
        text = f"other_than({self.renamed(inner, event.variables)}, {event.text})"
        return event.joined(text)

    def judged(self, depth: int) -> Piece:
        """A pattern with a rule of its own: a clock, or a choice. What it binds can be read; its
        labels are its own."""
        if self.chance(15):
            inner = self.pattern(depth)
            return inner.joined(f"relative+({inner.text})")
        first, last = self.atom(), self.atom()
        if self.chance(40):
            closing = self.renamed(last, first.variables)
            return Piece(f"periodic({first.text}, {self.duration(1)}, {closing})", first.variables)
        both = first.joined("", last)
        word = self.choose(["recent", "chronicle", "continuous", "first", "last exclusive"])
        operator = self.choose(["seq", "seq", "and"])
        return Piece(f"({first.text} {operator} {last.text} using {word})", both.variables)

    def limited(self, depth: int) -> Piece:
        piece = self.pattern(depth)
        return piece.joined(f"({piece.text} within {self.duration(2)})")

    def conditional(self, depth: int) -> Piece:
        piece = self.pattern(depth)
        if self.chance(20) and "int" in piece.variables.values():
            name, operand = self.fresh("n"), self.of_type(piece, "int")
            piece = piece.joined(f"({piece.text} where {name} = {operand} + 1)")
            piece.variables[name] = "int"
            return piece
        return self.where(piece, piece)

    def where(self, piece: Piece, scope: Piece) -> Piece:
        """A piece with a condition on what can be read, if there is anything."""
        if not self.values(scope) and not scope.labels:
            return piece
        return piece.joined(f"({piece.text} where {self.condition(scope)})")

    def timed(self, depth: int) -> Piece:
        """A pattern together with a time point, or inside an interval made of two."""
        piece = self.pattern(depth)
        time = self.upto(LATEST)
        if self.chance(40):
            interval = (
                f"(at '{self.instant(time)}' seq at '{self.instant(time + 1 + self.upto(6))}')"
            )
            return piece.joined(f"({piece.text} during {interval})")
        operator = self.choose(["and", "seq", "meets", "contains"])
        return piece.joined(f"({piece.text} {operator} at '{self.instant(time)}')")

    def instant(self, time: int) -> str:
        return instant(time * UNITS[self.unit]).isoformat()

    # --- conditions

    def condition(self, scope: Piece) -> str:
        """A condition on what a piece binds."""
        simple = self.simple_condition(scope)
        match self.choose(["simple", "simple", "not", "or", "and"]):
            case "not":
                return f"not ({simple})"
            case "or":
                return f"({simple} or {self.simple_condition(scope)})"
            case "and":
                return f"{simple} and {self.simple_condition(scope)}"
        return simple

    def simple_condition(self, scope: Piece) -> str:
        types = set(self.values(scope).values())
        by_type = {
            "int": self.int_condition,
            "float": self.float_condition,
            "string": self.string_condition,
            "bool": self.bool_condition,
            DECIMAL: self.decimal_condition,
            "timestamp": self.timestamp_condition,
            "duration": self.duration_condition,
        }
        kinds = [by_type[type_] for type_ in sorted(types & by_type.keys())]
        if types:
            kinds.append(self.null_condition)
        if scope.labels:
            kinds.append(self.time_condition)
        return self.choose(kinds)(scope)

    def values(self, scope: Piece) -> dict[str, str]:
        """Everything that can be read, with its type."""
        found = dict(scope.variables)
        for label, columns in scope.labels.items():
            found |= {f"{label}.{name}": type_ for name, type_ in columns}
        return found

    def of_type(self, scope: Piece, type_: str) -> str:
        return self.choose([name for name, found in self.values(scope).items() if found == type_])

    def comparison(self) -> str:
        return self.choose(["=", "!=", "<", "<=", ">", ">="])

    def int_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "int"), self.of_type(scope, "int")
        left = self.choose([x, f"{x} + 1", f"{x} * 2", f"-{x}", f"{x} - {y}", f"abs({x})"])
        right = self.choose(["1", y, f"{y} + 1", "0", f"coalesce({y}, 1)", "1.5", f"{y} * 0.5"])
        if self.chance(20):
            return f"{x} {self.choose(['in', 'not in'])} ({self.choose(['1', '1.0'])}, {y}, 2)"
        return f"{left} {self.comparison()} {right}"

    def float_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "float"), self.of_type(scope, "float")
        left = self.choose([x, f"{x} * 2", f"{x} / 2", f"{x} - {y}", f"{x} * 0.1"])
        return f"{left} {self.comparison()} {self.choose(['0.5', y, '1', '5e-1', '0.1'])}"

    def string_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "string"), self.of_type(scope, "string")
        return self.choose(
            [f"{x} = 'x'", f"{x} {self.comparison()} {y}", f"{x} like 'x%'", f"length({x}) > 0",
             f"{x} || {y} != 'xx'", f"upper({x}) = 'Y'"]
        )  # fmt: skip

    def bool_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "bool"), self.of_type(scope, "bool")
        return self.choose([x, f"not {x}", f"{x} = {y}", f"({x} or {y})"])

    def decimal_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, DECIMAL), self.of_type(scope, DECIMAL)
        left = self.choose([x, f"{x} + {y}", f"{x} * 2", f"-{x}", f"{x} * 1.5"])
        return f"{left} {self.comparison()} {self.choose(['1', y, '0.5', f'{y} - 0.125'])}"

    def timestamp_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "timestamp"), self.of_type(scope, "timestamp")
        left = self.choose([x, f"{x} + {self.duration()}"])
        right = self.choose([y, f"timestamp '{self.instant(self.upto(LATEST))}'"])
        return f"{left} {self.comparison()} {right}"

    def duration_condition(self, scope: Piece) -> str:
        x, y = self.of_type(scope, "duration"), self.of_type(scope, "duration")
        left = self.choose([x, f"{x} * 2", f"{x} + {y}", f"-{x}", f"{x} * 0.5"])
        return f"{left} {self.comparison()} {self.choose([y, self.duration()])}"

    def null_condition(self, scope: Piece) -> str:
        value = self.choose(list(self.values(scope)))
        return f"{value} is {self.choose(['not null', 'null'])}"

    def time_condition(self, scope: Piece) -> str:
        x, y = self.choose(list(scope.labels)), self.choose(list(scope.labels))
        if x == y:
            return f"duration({x}) {self.choose(['<=', '>=', '!='])} {self.duration()}"
        left = f"{x}.{self.choose(['start', 'end'])}"
        right = f"{y}.{self.choose(['start', 'end'])}"
        return self.choose(
            [f"{left} <= {right} + {self.duration()}", f"{left} - {right} <= {self.duration()}",
             f"{left} != {right}", f"{right} <= {left} + {self.duration()}"]
        )  # fmt: skip
