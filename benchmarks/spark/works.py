"""What is measured: the works, their sizes, and the bars that they have to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many events; and how often."""

    events: int = 10_000_000
    unkeyed: int = 1_000_000  # of Q5
    per_trigger: int = 500_000
    many_per_trigger: int = 2_000_000
    triggers: int = 10
    many_triggers: int = 7
    seconds: int = 30  # of measuring latency
    unsettled: int = 10  # seconds of those that do not count
    rounds: int = 3


FULL = Sizes()
QUICK = Sizes(
    events=1_000_000,
    unkeyed=200_000,
    per_trigger=50_000,
    many_per_trigger=200_000,
    triggers=5,
    many_triggers=5,
    seconds=12,
    unsettled=5,
    rounds=1,
)

Kind = Literal["batch", "cores", "stream", "triggers", "nothing", "latency"]


@dataclass(frozen=True, slots=True)
class Work:
    """Something to measure.

    ``bar`` is how many times as fast as its opponent it must at least be; for ``nothing``, how
    many seconds more it may take; None is a figure without a bar.
    """

    name: str
    kind: Kind
    what: str
    against: str
    bar: float | None = None


WORKS = (
    Work("q2", "batch", "Q2: a seq b on one id, 10 s", "the join in Spark SQL", 5.0),
    Work("q1", "batch", "Q1: a seq b seq c on one id, 10 s", "the joins in Spark SQL", 5.0),
    Work("q5", "batch", "Q5: a seq b seq c, no key, 200 ms", "the joins in Spark SQL", 4.0),
    Work("q5_cores", "cores", "Q5 on local[2]", "the same on local[1]", 1.0),
    Work("stream", "stream", "Q2 as a stream", "Spark's stream–stream join", 5.0),
    Work("triggers", "triggers", "the stream, larger triggers", "smaller triggers", 1.0),
    Work("no_such_type", "nothing", "a type that does not occur", "filter and count", 2.0),
    Work("no_such_price", "nothing", "a price that does not occur", "filter and count", 2.0),
    Work("latency", "latency", "from event to result, 1 s triggers", "", None),
)

BY_NAME = {work.name: work for work in WORKS}
