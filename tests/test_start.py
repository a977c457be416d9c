"""What is loaded before the first result: nothing that takes longer than a small program."""

from __future__ import annotations

import subprocess
import sys

import pytest

NEVER = {"lark", "numba", "pandas", "pyspark", "typer", "rich"}

PROGRAM = """
import thence

program = thence.compile('''
    event order(id string, qty int, price float);
    event shipped(id string);
    done(id) <- (order(id=id) seq shipped(id)) within 2 days;
    overdue(id, price) <- o: order(id, qty, price), w: extend(o, 6h), while w: not shipped(id),
        qty > 2 and price < 3.5;
''')
orders = [{"id": str(n), "qty": n, "price": n / 2, "time": n * 1_000_000} for n in range(6)]
found = program.run({"order": orders, "shipped": [{"id": "1", "time": 86_400_000_000}]})
assert found["done"]["id"].to_pylist() == ["1"]
assert found["overdue"]["id"].to_pylist() == ["3", "4", "5"]
"""


def _loaded(code: str) -> set[str]:
    """The modules that are there after some code has run in a process of its own."""
    shown = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import thence", PROGRAM], ids=["import", "first result"])
def test_a_small_program_needs_no_heavy_package(code: str) -> None:
    loaded = _loaded(code)
    assert {"thence", "numpy", "pyarrow"} <= loaded
    assert not loaded & NEVER


def test_what_runs_programs_is_loaded_by_the_first_run() -> None:
    loaded = _loaded("import thence")
    assert "thence.plan.make" in loaded
    assert not {name for name in loaded if name.startswith(("thence.engine", "thence.lang"))}
