"""What is asked: a sequence of events with one value of an attribute, inside a window.

Each question is written in three ways that have the same answer.

- ``rule`` is Thence's.
- ``join`` is SQL as the paper writes it where there is no event operator: the events are joined on
  the attribute, and a selection demands their order and the window. It does so for every two events
  of the sequence, which says nothing new but leaves an optimizer free to begin with any of them.
- ``join_in_pieces`` is what somebody may write who knows that a join compares all events with equal
  keys, however far apart they are. Time is cut into pieces as long as the window and joined on as
  well, where what follows is in its own piece and in the one before. Then the work grows with the
  window and not with the stream, as in the paper's engine, which forgets what has left the window.

The SQL holds no word that DuckDB and Spark would read differently; ``{base}`` stands for the table.
Every question asks for all attributes and times of all events of the sequence, ``SELECT *``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.figures.data import DOMAINS

FOUND = "found"  # the derived event of every rule


@dataclass(frozen=True, slots=True)
class Question:
    """``e1``, ``e2`` … one after the other, equal in ``attribute``, at most ``window`` ticks."""

    length: int
    attribute: str
    window: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the join, in its order."""
        return (*(f"t{place}" for place in self._places()), *self._attribute_columns())

    @property
    def columns_of_rule(self) -> tuple[str, ...]:
        """The same in what Thence finds: the time of the last event is when the sequence ends."""
        times = (f"t{place}" for place in range(1, self.length))
        return (*times, "end", *self._attribute_columns())

    @property
    def rule(self) -> str:
        """The program, with a declaration for each type that it names.

        >>> print(Question(2, "a3", 100).rule.splitlines()[-1])
        <- follows(x1: e1(a3=k), x2: e2(a3=k), 100 us);
        >>> print(Question(3, "a1", 1000).rule.splitlines()[-1])
        <- (x1: e1(a1=k) seq x2: e2(a1=k) seq x3: e3(a1=k)) within 1000 us;
        """
        attributes = ", ".join(f"{name} int" for name in DOMAINS)
        declared = "".join(f"event e{place}({attributes});\n" for place in self._places())
        events = [f"x{place}: e{place}({self.attribute}=k)" for place in self._places()]
        # A `follows` of a `follows` would give each step a window of its own; the paper's window
        # is one for the whole sequence.
        if self.length == 2:
            body = f"follows({', '.join(events)}, {self.window} us)"
        else:
            body = f"({' seq '.join(events)}) within {self.window} us"
        times = (f"x{place}.start as t{place}" for place in range(1, self.length))
        terms = (*times, *(f"{value} as {name}" for value, name in self._attributes()))
        return f"{declared}{FOUND}({', '.join(terms)})\n<- {body};\n"

    @property
    def join(self) -> str:
        return self._joined("{base}", "{base}", "")

    @property
    def join_in_pieces(self) -> str:
        piece = f"time - time % {self.window}"
        later = ", ".join(f"'e{place}'" for place in range(2, self.length + 1))
        return (
            f"WITH first AS (SELECT *, {piece} AS piece FROM {{base}} WHERE type = 'e1'),\n"
            f"later AS (SELECT *, {piece} - back * {self.window} AS piece"
            f" FROM {{base}} CROSS JOIN (VALUES (0), (1)) AS pieces(back)"
            f" WHERE type IN ({later}))\n"
        ) + self._joined("first", "later", " AND x{n}.piece = x1.piece")

    def _joined(self, first: str, later: str, condition: str) -> str:
        """The join of the events of one table with those of another, and the selection."""
        times = (f"x{place}.time AS t{place}" for place in self._places())
        selected = (*times, *(f"{value} AS {name}" for value, name in self._attributes()))
        joins = [
            f"JOIN {later} x{place} ON x{place}.{self.attribute} = x1.{self.attribute}"
            f"{condition.replace('{n}', str(place))}{self._after_those_before(place)}"
            for place in range(2, self.length + 1)
        ]
        types = (f"x{place}.type = 'e{place}'" for place in self._places())
        return "\n".join(
            [
                f"SELECT {', '.join(selected)}",
                f"FROM {first} x1",
                *joins,
                f"WHERE {' AND '.join(types)}",
            ]
        )

    def _after_those_before(self, place: int) -> str:
        return "".join(
            f" AND x{before}.time < x{place}.time"
            f" AND x{place}.time <= x{before}.time + {self.window}"
            for before in range(1, place)
        )

    def _places(self) -> range:
        return range(1, self.length + 1)

    def _attributes(self) -> Iterator[tuple[str, str]]:
        """Every attribute of every event, and the column it goes to."""
        for place in self._places():
            yield from ((f"x{place}.{name}", f"x{place}_{name}") for name in DOMAINS)

    def _attribute_columns(self) -> Iterator[str]:
        return (column for _, column in self._attributes())


@dataclass(frozen=True, slots=True)
class Point:
    """A question, and where on the x-axis its answer is drawn."""

    x: int
    question: Question


@dataclass(frozen=True, slots=True)
class Figure:
    """A series of questions over ``events`` events, in the order in which the gap should grow.

    ``compared`` names points of which the gap must be more at the second than at the first.
    """

    name: str
    title: str
    x_title: str
    events: int
    points: tuple[Point, ...]
    compared: tuple[tuple[int, int], ...]

    @property
    def ends(self) -> Figure:
        """The same with the first and the last point only."""
        return replace(self, points=(self.points[0], self.points[-1]))


LONGEST_WINDOW = 10_000
WINDOWS = (100, 300, 1_000, 2_500, 5_000, LONGEST_WINDOW)
LENGTHS = (2, 3, 4)


def figures(events: int, events_of_length: int) -> tuple[Figure, ...]:
    """The paper's three figures. The third has a size of its own.

    The joins compare all pairs, triples … of equal keys: with a domain of ten and long sequences
    there are so many that the joins would take hours over what Thence needs to be measurable.
    """
    return (
        Figure(
            "7",
            "throughput and window size (attribute a3, length 2)",
            "window size in events",
            events,
            tuple(Point(window, Question(2, "a3", window)) for window in WINDOWS),
            compared=((WINDOWS[0], LONGEST_WINDOW),),
        ),
        Figure(
            "8",
            "throughput and domain size of the attribute (window 10,000, length 2)",
            "domain size of the partitioning attribute",
            events,
            tuple(
                Point(size, Question(2, name, LONGEST_WINDOW))
                for name, size in sorted(DOMAINS.items(), key=lambda item: -item[1])
            ),
            compared=((max(DOMAINS.values()), min(DOMAINS.values())),),
        ),
        Figure(
            "9",
            "throughput and length of the sequence (attribute a1, window 1,000)",
            "sequence length",
            events_of_length,
            tuple(Point(length, Question(length, "a1", 1_000)) for length in LENGTHS),
            compared=((2, 3), (3, 4)),
        ),
    )
