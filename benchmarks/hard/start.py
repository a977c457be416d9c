"""What a process costs before the first result: loading Thence, and a small program.

Measured in fresh processes, once their files have been read before; the median counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import median

from benchmarks.hard.rows import Row

PROCESSES = 7

_SCRIPT = """
import json, time
begin = time.process_time()
import thence
loaded = time.process_time()
program = thence.compile('''
    event order(id string, qty int);
    event shipped(id string);
    done(id) <- (order(id, _) seq shipped(id)) within 2 days;
    overdue(id) <- o: order(id, qty), w: extend(o, 6h), while w: not shipped(id), qty < 10;
''')
orders = [{"id": str(n), "qty": n, "time": n * 1_000_000} for n in range(20)]
found = program.run({"order": orders, "shipped": [{"id": "1", "time": 86_400_000_000}]})
assert found["overdue"]["id"].to_pylist() == [*map(str, range(10))]
print(json.dumps({"import": loaded - begin, "first": time.process_time() - loaded}))
"""


def _seconds(part: str) -> float:
    """The CPU time of a part of the script: of the import, or of all from there to the result."""
    # Python keeps what it has compiled beside the sources, unless somebody forbids it.
    own = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = []
    for _ in range(PROCESSES + 1):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=own, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout)[part])
    return median(found[1:])


ROWS = (
    Row("import thence", "event a();", dict, 0.25, seconds=lambda: _seconds("import")),
    Row("the first result after that", "event a();", dict, 0.15, seconds=lambda: _seconds("first")),
)
