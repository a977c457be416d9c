"""All tests in two processes at once: those with the marker ``spark``, and the others.

``python tests/in_halves.py [ARGUMENTS OF PYTEST]``: a test with Spark mostly waits for Java, and
the others need one core. The others are shown as they run, those with Spark when they are done;
then come the slowest of both, and the last line counts both. Whoever ends this process ends both.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, NoReturn

SPARK, OTHERS = "spark", "not spark"
NO_TESTS = 5  # pytest's exit code where nothing was selected
SUMMARY = re.compile(r"[0-9]+ [a-z]+.* in [0-9.]+s\b")
SINGULAR = {"errors": "error", "warnings": "warning"}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SLOWEST = 30
DURATION = re.compile(r"([0-9.]+)s (?:call|setup|teardown) +\S")
AROUND = re.compile(r"=+ slowest [0-9]+ durations =+|\([0-9]+ durations < .* hidden\.")


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, _ended)
    begin = time.monotonic()
    said: list[str] = []
    halves: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        try:
            halves.append(_pytest(SPARK, arguments, log))
            halves.append(_pytest(OTHERS, arguments, subprocess.PIPE))
            others = halves[1].stdout
            assert others is not None
            said += _shown(others)
            statuses = [half.wait() for half in reversed(halves)]
        finally:
            for half in halves:
                half.terminate()  # nothing happens if it has ended
                half.wait()
            log.seek(0)
            said += _shown(log)
    print("\n".join(slowest(said)))
    print(told(counts(said), time.monotonic() - begin))
    return status(statuses)


def _ended(number: int, _frame: object) -> NoReturn:
    """Let a signal unwind the program, as Ctrl-C does."""
    sys.exit(128 + number)


def _pytest(half: str, arguments: list[str], output: IO[str] | int) -> subprocess.Popen[str]:
    # Each half remembers its own failures, for `--last-failed`.
    cache = f"cache_dir=.pytest_cache/{half.replace(' ', '_')}"
    colours = "yes" if sys.stdout.isatty() else "no"
    command = [sys.executable, "-m", "pytest", "-m", half, "-o", cache, f"--color={colours}"]
    # Hundreds of processes load the same modules: let Python keep what it has compiled.
    own = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.Popen(
        [*command, f"--durations={SLOWEST}", *arguments],
        env=own,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    )


def _shown(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are shown as they come, apart from what took how long: that comes at the end."""
    for line in lines:
        plain = COLOURS.sub("", line)
        if not DURATION.match(plain) and not AROUND.match(plain):
            print(line, end="", flush=True)
        yield line


def slowest(lines: Iterable[str]) -> list[str]:
    """What took longest in both halves, the longest first, under a title.

    >>> slowest(["0.50s call     tests/a.py::x", "...", "12.01s setup    tests/b.py::y"])
    ['slowest 30 of both halves:', '12.01s setup    tests/b.py::y', '0.50s call     tests/a.py::x']
    """
    plain = (COLOURS.sub("", line).rstrip() for line in lines)
    found = [(float(match[1]), line) for line in plain if (match := DURATION.match(line))]
    longest = sorted(found, key=lambda each: -each[0])[:SLOWEST]
    return [f"slowest {SLOWEST} of both halves:", *(line for _, line in longest)]


def counts(lines: Iterable[str]) -> Counter[str]:
    """How many tests passed, failed … in all; what a half left to the other is not counted.

    >>> half = "=== 1 failed, 3 passed, 2 deselected, 1 error in 1.50s (0:00:01) ==="
    >>> dict(counts(["...F", half, half]))
    {'failed': 2, 'passed': 6, 'error': 2}
    """
    found: Counter[str] = Counter()
    for line in lines:
        plain = COLOURS.sub("", line).strip("= \n")
        if SUMMARY.match(plain):
            for number, what in re.findall(r"([0-9]+) ([a-z]+)", plain.rpartition(" in ")[0]):
                found[SINGULAR.get(what, what)] += int(number)
    del found["deselected"]
    return found


def told(found: Counter[str], seconds: float) -> str:
    """The last line, in pytest's form.

    >>> told(Counter(passed=8, skipped=1), 61.0)
    '8 passed, 1 skipped in 61.00s (0:01:01)'
    """
    parts = ", ".join(f"{number} {what}" for what, number in found.items()) or "no tests ran"
    whole = round(seconds)
    clock = f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{parts} in {seconds:.2f}s ({clock})"


def status(halves: list[int]) -> int:
    """The exit code: that of a half that failed; it is no failure if one half had no tests.

    >>> status([0, 1]), status([0, 5]), status([5, 5]), status([0, 0]), status([0, -9])
    (1, 0, 5, 0, 1)
    """
    ran = [code for code in halves if code != NO_TESTS] or [NO_TESTS]
    failed = [code for code in ran if code != 0]
    return max(failed[0], 1) if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
