"""What a program costs before it sees an event: long sequences, many slips, large literals.

The parser's tables are read once in a process, and are no part of any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import thence
from benchmarks.hard.rows import Made, Row

LENGTH = 150
NAMES = 10_000
SLIPS = 2_000
LITERAL = 10_000_000


def sequence(length: int = LENGTH) -> str:
    """A rule that is one long sequence on one key."""
    return f"event a(k int); r(k) <- ({' seq '.join(['a(k)'] * length)}) within 10 s;"


def explain_a_long_sequence() -> None:
    """Compile a sequence of 150 events, and explain it."""
    assert str(thence.compile(sequence()).explain()).count("kept for") >= LENGTH - 1


def run_a_long_sequence() -> None:
    """Compile it, and run it for the first time."""
    events = [{"k": 1, "time": second} for second in range(LENGTH)]
    assert thence.compile(sequence()).run({"a": events})["r"].num_rows == 1


def tell_of_many_slips() -> None:
    """Say which of 10,000 names was meant by each of 2,000 that are misspelt."""
    names = [f"sensor_{number * 7919 % 10007}_{number}" for number in range(NAMES)]
    text = "".join(f"event {name}(k int);" for name in names)
    text += "".join(f"r(k) <- {name.replace('sen', 'sne')}(k);" for name in names[:SLIPS])
    try:
        thence.compile(text)
    except thence.ProgramError as problem:
        hints = [found.hint for found in problem.diagnostics]
        assert hints == [f"did you mean '{name}'?" for name in names[:SLIPS]]


def compile_a_large_literal() -> None:
    """Compile, explain and run a program with a literal of 10 MB."""
    text = "x" * LITERAL
    program = thence.compile(f"event a(s string); r(s) <- a(s) where s = '{text}';")
    assert len(str(program.explain())) < 10_000
    assert program.run({"a": [{"s": text, "time": 1}]})["r"].num_rows == 1


def _row(name: str, work: Callable[[], None], **asked: Any) -> Row:
    """A row in which a program is compiled, not run: it does its work, and has no results."""

    def act(_program: thence.Program, _events: Made) -> int:
        work()
        return 0

    return Row(name, "event nothing();", dict, act=act, **asked)


ROWS = (
    _row(f"explain a sequence of {LENGTH}", explain_a_long_sequence, bar=1.0),
    _row(f"first run of a sequence of {LENGTH}", run_a_long_sequence),
    _row(f"{SLIPS:,} misspelt names among {NAMES:,}", tell_of_many_slips, bar=2.0),
    _row("a literal of 10 MB", compile_a_large_literal, bar=1.0, memory=100_000_000),
)
