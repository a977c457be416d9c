"""What a rule may take: an error that names it comes before the memory is gone."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thence
from thence.engine.limits import growth as engine_limits
from thence.engine.limits.memory import available, peak, resident
from thence.io.write import write_table

A_B = "event a(k int); event b(k int);\n"
FAR = "2030-01-01T00:00:00Z"


def events(count: int, first: int = 0) -> Any:
    """Simple events with one key, two microseconds apart."""
    return pa.table({"k": np.zeros(count, np.int64), "time": np.arange(count) * 2 + first})


def both(count: int) -> dict[str, Any]:
    return {"a": events(count), "b": events(count, 1)}


def refused(rules: str, given: dict[str, Any], **options: Any) -> thence.LimitError:
    with pytest.raises(thence.LimitError) as caught:
        thence.compile(A_B + rules).run(given, **options)
    return caught.value


# --- joins ----------------------------------------------------------------------------------------


def test_a_join_that_no_machine_can_hold_is_refused_before_it_is_made() -> None:
    before = resident()
    error = refused("r(k) <- a(k) seq b(k);", both(200_000))
    assert error.rule == "r"
    assert error.candidates == 20_000_100_000
    text = str(error)
    assert "the rule 'r'" in text
    assert "joining 'a' with 'b' gives 20,000,100,000 candidates" in text
    assert "2 | r(k) <- a(k) seq b(k);" in text
    assert "within 10 s" in text and "policy" in text and "memory_limit" in text
    after = resident()
    if before is not None and after is not None:
        assert after - before < 300_000_000


def test_labels_name_what_is_joined() -> None:
    error = refused(
        "r(x.k, z.k, y.start) <- (x: a(_) seq y: b(_)) seq z: a(_);", both(200), max_matches=50_000
    )
    assert "joining 'x' and 'y' with 'z'" in str(error)


def test_what_a_condition_leaves_counts_and_not_what_it_looks_at() -> None:
    program = thence.compile(f"{A_B}r(x.k) <- x: a(_) seq y: b(_) where x.k + y.k > 0;")
    assert program.run(both(2_000), max_matches=10)["r"].num_rows == 0


def test_a_rule_with_as_many_matches_as_it_may_have_is_answered() -> None:
    program = thence.compile(f"{A_B}r(k) <- a(k) seq b(k);")
    assert program.run(both(10), max_matches=55)["r"].num_rows == 55
    with pytest.raises(thence.LimitError, match="gives 55 candidates, and max_matches is 54"):
        program.run(both(10), max_matches=54)


def test_the_matches_of_all_terms_of_a_step_count_together() -> None:
    session = thence.compile(f"{A_B}r(k) <- (a(k) seq b(k)) within 1 h;").session(max_matches=20)
    session.push(both(4))
    later = {"a": events(3, 100), "b": events(3, 101)}  # 12 with old ones, 6 with new ones, 3 + …
    with pytest.raises(thence.LimitError, match="'r'"):
        session.push({"a": events(3, 100), "b": events(5, 101)})
    assert session.push(later)["r"].num_rows == 18


def test_an_inner_pattern_is_called_by_the_rule_that_it_is_in() -> None:
    error = refused(
        "r(k) <- x: a(k), w: extend(x, 1 h), while w: not (a(k) seq b(k));",
        both(20_000),
        memory_limit="200 MB",
    )
    assert error.rule == "r"
    assert "#" not in str(error)


# --- time, recursion, collections -----------------------------------------------------------------

ENDLESS = {
    "periodic": "r() <- periodic(a, 1 us, b);",
    "ticks": "r() <- ticks(a, 1 us, 100 ms);",
    "a recursion by strides": "r() <- anyone(a); r() <- notfollows(r, b, 2 us);",
    "a recursion of ticks": "r(k) <- a(k); r(k) <- ticks(r(k), 1 us, 100 us);",
    "a recursion of two": "r(k) <- a(k); r(k) <- s(k); s(k) <- x: r(k), w: shift(x, 1 us);",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_time_that_never_ends_is_bounded(what: str) -> None:
    error = refused(ENDLESS[what], {"a": [{"k": 1, "time": 0}]}, until=FAR, max_matches=1_000)
    assert error.rule in ("r", "s")
    assert error.candidates is not None and error.candidates > 1_000


@pytest.mark.parametrize("what", ["periodic", "a recursion by strides"])
def test_strides_are_counted_before_they_are_gone(what: str) -> None:
    error = refused(ENDLESS[what], {"a": [{"k": 1, "time": 0}]}, until=FAR)
    assert error.candidates is not None and error.candidates > 10**14


def test_collected_events_are_bounded() -> None:
    error = refused(
        "r(k, list(k) as n) <- x: a(k), w: extend(x, 1 h), while w: collect b(k);",
        both(20_000),
        memory_limit="150 MB",
        until=FAR,
    )
    assert error.rule == "r"


GROWING = {
    "a join": (6_000, "r(x.k, y.start) <- x: a seq y: b;", "joining 'x' with 'y'"),
    "a join of three": (
        600,
        "r(x.k, y.start, z.end as e) <- x: a seq y: b seq z: a;",
        "joining 'x' and 'y' with 'z'",
    ),
    "a list": (
        6_000,
        "r(k, list(j)) <- x: a(k), w: extend(x, 1 h), while w: collect b(j);",
        "collecting 'b' for each 'x'",
    ),
    "a list of rows": (
        6_000,
        "r(k, list(j)) <- x: a(k), over 3000 rows of x: collect b(j);",
        "collecting 'b' for each 'x'",
    ),
    "repetitions": (120, "r(k, count(x.k)) <- (x: a(k)){5};", "repeating 'x'"),
    "repetitions that are greedy": (
        6_000,
        "r(k, list(x.end)) <- ((x: a(k))+ seq y: b(k)) using greedy;",
        "repeating 'x' for each 'y'",
    ),
    "ticks": (6_000, "r(k) <- ticks(a(k), 1 us, 50 ms);", "a tick every 1 us"),
    "a recursion": (
        6_000,
        "r(k, y.end) <- y: a(k); r(k, y.end) <- r(k, _) seq y: a(k);",
        "joining 'r' with 'y'",
    ),
    "lineage": (1_000, "r(k) <- a(k) seq b(k);", "writing 'r' from 'a' and 'b'"),
}


@pytest.mark.parametrize("what", GROWING)
def test_whatever_grows_is_refused_with_what_it_is_and_how_many(what: str) -> None:
    """Without a limit each would take several hundred megabytes."""
    count, rules, doing = GROWING[what]
    program = thence.compile(A_B + rules)
    options: dict[str, Any] = {"until": 4_000_000_000, "lineage": what == "lineage"}
    program.run(both(3), **options, max_matches=10_000_000)  # loops are compiled
    before = peak()
    with pytest.raises(thence.LimitError) as caught:
        program.run(both(count), memory_limit="60 MB", **options)
    after = peak()
    error = caught.value
    assert error.rule == "r"
    assert error.doing is not None and error.doing.startswith(doing)
    assert error.candidates is not None and error.candidates > 100
    assert f"{error.doing} gives {error.candidates:,} " in str(error)
    assert "memory_limit" in str(error)
    assert before is not None and after is not None
    assert after - before < 250_000_000


def test_text_that_is_computed_counts_as_long_as_it_is() -> None:
    error = refused(
        f"r('{'x' * 1000}' || string(x.k) as t, y.end) <- x: a seq y: b;",
        both(700),
        memory_limit="100 MB",
    )
    assert error.doing == "writing 'r' from 'x' and 'y'"


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_file_that_does_not_fit_is_not_read(kind: str, tmp_path: Path) -> None:
    path = write_table(events(3_000_000), tmp_path / f"a.{kind}")
    error = refused("r(k) <- a(k) where k > 0;", {"a": path}, memory_limit="5 MB")
    assert f"a.{kind}' takes about" in str(error)
    assert error.doing is not None and error.doing.startswith("reading ")
    program = thence.compile(f"{A_B}r(k) <- a(k) where k > 0;")
    with pytest.raises(thence.LimitError, match="reading"):
        program.run_batches({"a": path}, memory_limit="5 MB")
    assert program.run({"a": path}, memory_limit="unlimited")["r"].num_rows == 0


def test_a_table_of_results_that_does_not_fit_is_not_made() -> None:
    program = thence.compile(f"{A_B}r(k) <- b(k); r(k) <- a(k);")
    results = program.run(both(1_000_000), memory_limit="600 MB")
    results._limits = engine_limits.limits(10_000_000, None)
    with pytest.raises(thence.LimitError, match="making the table of 'r' gives 2,000,000 rows"):
        results["r"]


# --- how it is said -------------------------------------------------------------------------------


def test_memory_that_is_not_there_is_the_same_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("thence.engine.run.derive.joins", no_memory)
    error = refused("r(k) <- a(k) seq b(k);", both(2))
    assert "the rule 'r' ran out of memory" in str(error)
    assert error.rule == "r"


def test_so_is_memory_that_is_not_there_for_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("thence.io.ingest.Reader.read", no_memory)
    assert "not enough memory" in str(refused("r(k) <- a(k);", both(2)))


def test_a_session_that_was_refused_goes_on_as_if_nothing_had_been() -> None:
    session = thence.compile(f"{A_B}r(k) <- (a(k) seq b(k)) within 1 h;").session(max_matches=100)
    session.push({"a": events(10)})
    saved = session.save()
    with pytest.raises(thence.LimitError):
        session.push({"b": events(100, 1001)})
    assert session.save() == saved
    assert session.push({"b": events(10, 1001)})["r"].num_rows == 100


def test_a_session_that_remembers_ever_more_ends_in_an_error() -> None:
    program = thence.compile(f"{A_B}r(k) <- a(k) seq b(k);")
    session = program.session(allow_unbounded=True, memory_limit="20 MB")
    session.push({"a": events(500_000)})
    rows = session.state_rows
    with pytest.raises(thence.LimitError) as caught:
        session.push({"a": events(1_000_000, 2_000_000)})
    assert "more to remember than it may: 1,500,000 rows" in str(caught.value)
    most = "1,500,000 rows of 'a', to join 'a' and 'b' in the rule 'r'"
    assert f"most of it is {most}" in str(caught.value)
    assert session.state_rows == rows == 500_000


def test_the_error_survives_a_pickle() -> None:
    error = refused("r(k) <- a(k) seq b(k);", both(10), max_matches=1)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    assert str(again) == str(error)
    assert (again.rule, again.candidates) == ("r", 55)


@pytest.mark.parametrize("value", [0, -5, "lots", "5 GX", 1.5, True, "", "-1 GB"])
def test_a_memory_limit_that_is_none(value: Any) -> None:
    with pytest.raises(thence.InputError, match="memory_limit"):
        thence.compile(f"{A_B}r(k) <- a(k);").run(both(1), memory_limit=value)


@pytest.mark.parametrize("value", [0, -5, "5", 1.5, True])
def test_a_number_of_matches_that_is_none(value: Any) -> None:
    with pytest.raises(thence.InputError, match="max_matches"):
        thence.compile(f"{A_B}r(k) <- a(k);").session(max_matches=value)


def test_without_a_limit_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_limits, "MODEST", 0)
    program = thence.compile(f"{A_B}r(k) <- a(k) seq b(k);")
    assert program.run(both(10), memory_limit="unlimited")["r"].num_rows == 55
    with pytest.raises(thence.LimitError, match="are left of 1 B"):
        program.run(both(10), memory_limit=1)


# --- what the machine has -------------------------------------------------------------------------


def machine(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 40 kB\n"


def test_what_the_machine_leaves(tmp_path: Path) -> None:
    assert available(machine(tmp_path, proc__meminfo=MEMINFO)) == 40 * 1024


def test_where_there_are_no_such_files_the_machine_less_what_is_held(tmp_path: Path) -> None:
    """As on macOS."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    left, held = available(tmp_path), peak()
    assert left is not None and held is not None
    assert whole - held <= left < whole


def test_where_nobody_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf_names")
    assert available(tmp_path) is None


def test_the_most_that_was_held_is_no_less_than_what_is() -> None:
    held, most = resident(), peak()
    assert held is not None and most is not None
    assert 0 < held <= 1.1 * most  # the system counts the two in different ways


def test_what_a_container_leaves(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__meminfo=MEMINFO,
        proc__self__cgroup="0::/\n",
        sys__fs__cgroup__memory_dot_max="30000\n",
        sys__fs__cgroup__memory_dot_current="20000\n",
        sys__fs__cgroup__memory_dot_stat="anon 1\ninactive_file 5000\n",
    )
    assert available(root) == 15_000


def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__meminfo=MEMINFO,
        proc__self__cgroup="0::/a/b\n",
        sys__fs__cgroup__a__memory_dot_max="9000\n",
        sys__fs__cgroup__a__memory_dot_current="2000\n",
        sys__fs__cgroup__a__b__memory_dot_max="max\n",
        sys__fs__cgroup__a__b__memory_dot_current="1000\n",
    )
    assert available(root) == 7000


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__meminfo=MEMINFO,
        proc__self__cgroup="5:cpu:/x\n4:memory:/x\n",
        sys__fs__cgroup__memory__x__memory_dot_limit_in_bytes="8000\n",
        sys__fs__cgroup__memory__x__memory_dot_usage_in_bytes="3000\n",
        sys__fs__cgroup__memory__x__memory_dot_stat="total_inactive_file 1000\n",
    )
    assert available(root) == 6000


def test_a_limit_of_the_process_itself(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__meminfo=MEMINFO,
        proc__self__limits="Limit  Soft Limit  Hard Limit\nMax address space  20000  x bytes\n",
        proc__self__statm="2 1 1 1 0 1 0\n",
    )
    left = available(root)
    assert left is not None and left < 20_000
