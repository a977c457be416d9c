"""The command line: what a person sees, what a pipe gets, and what a script can rely on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import EMBEDDED, Command, Done, on_terminal

PROGRAM = """event order(id string, qty int);
event shipped(id string);
done(id, qty) <- order(id, qty) seq shipped(id);
overdue(id) <- o: order(id, _), w: extend(o, 6h), while w: not shipped(id);
"""
EVENTS = """type,id,qty,time
order,a,1,2026-01-01T00:00:00Z
order,b,2,2026-01-01T01:00:00Z
shipped,a,,2026-01-01T02:00:00Z
order,c,3,2026-01-02T00:00:00Z
"""
BROKEN = """event order(id string, qty int);
done(id) <- ordr(id, qty);
big(qty) <- order(qty=q) where q > 'x';
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "orders.thence"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)
    return path


def test_a_slip_in_the_value_of_an_option_is_asked_about(
    thence: Command, rules: Path, events: Path
) -> None:
    for option, value, meant in [
        ("--engine", "embeded", "Did you mean 'embedded'?"),
        ("--engine", "sprak", "is not spark or embedded. Did you mean 'spark'?"),
        ("--format", "jsn", "is not parquet, csv or json. Did you mean 'json'?"),
    ]:
        done = thence("run", rules, "--events", events, option, value)
        assert done.code == 2
        assert meant in " ".join(done.err.replace("│", " ").split())
    done = thence("check", rules, "--format", "xml")
    assert done.code == 2
    assert "'xml' is not text or json." in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("name", ["found.xlsx", "found.csv.gz", "found.txt"])
def test_an_ending_that_is_no_format_is_refused_with_those_that_are(
    thence: Command, rules: Path, events: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    for engine in ("embedded", "spark"):  # said before Spark is started
        done = thence("run", rules, "--events", events, "--engine", engine, "--out", out)
        assert done.code == 2
        assert "The endings are .parquet, .csv, .jsonl, .ndjson, .json" in done.err
    assert not out.exists()
    out.mkdir()
    assert thence("run", rules, "--events", events, *EMBEDDED, "--out", out).code == 0
    assert (out / "done.parquet").exists()


def test_a_pipe_that_gets_no_results_is_told_so_beside_it(
    thence: Command, rules: Path, events: Path
) -> None:
    one = events.with_name("one.csv")
    one.write_text("type,id,qty,time\norder,a,1,2026-01-01T00:00:00Z\n")
    done = thence("run", rules, "--events", one, *EMBEDDED)
    assert (done.code, done.out) == (0, "")
    assert done.err == "nothing found: no 'done' and no 'overdue'\n"
    done = thence("run", rules, "--events", events, *EMBEDDED, "--emit", "done")
    assert (done.code, done.err) == (0, "")


def test_check_of_a_good_program(thence: Command, rules: Path) -> None:
    done = thence("check", rules)
    assert done.code == 0
    assert "error" not in done.out


def test_check_points_at_every_error(thence: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.thence"
    path.write_text(BROKEN)
    done = thence("check", path)
    assert done.code == 1
    assert f"{path}:2:13: error: " in done.out
    assert "  2 | done(id) <- ordr(id, qty);\n    |             ^^^^" in done.out
    assert "'order'" in done.out


def test_check_for_editors_is_json(thence: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.thence"
    path.write_text(BROKEN)
    done = thence("check", path, "--format", "json")
    first = json.loads(done.out)[0]
    assert done.code == 1
    assert (first["file"], first["severity"], first["line"], first["column"]) == (
        str(path), "error", 2, 13,
    )  # fmt: skip


def test_a_program_may_come_from_standard_input(
    thence: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO(BROKEN))
    done = thence("check", "-")
    assert done.code == 1
    assert "-:2:13: error: " in done.out


def test_text_prints_a_program_that_compiles_again(thence: Command, tmp_path: Path) -> None:
    rules = tmp_path / "rules.thence"
    rules.write_text("-- a remark\nevent a(x   int);\np( x )<- a( x )SEQ a(x);\n")
    done = thence("text", rules)
    assert done == Done(0, "event a(x int);\n\np(x) <- a(x) seq a(x);\n", "")
    rules.write_text(done.out)
    assert thence("text", rules) == done


def test_explain_shows_a_plan(thence: Command, rules: Path) -> None:
    done = thence("explain", rules)
    assert done.code == 0
    assert "done" in done.out
    assert "overdue" in done.out


def test_explain_shows_what_a_run_did(thence: Command, rules: Path, events: Path) -> None:
    done = thence("explain", rules, "--events", events, "--analyze")
    assert done.code == 0
    assert "order taken" in done.out and "candidates" in done.out
    done = thence("explain", rules, "--events", events, "--analyze", "--json")
    assert json.loads(done.out)["run"]["steps"] == 1
    plan = json.loads(thence("explain", rules, "--json", "--without", "join_order").out)
    assert plan["version"] == 1
    assert {"join_order"} == {each["name"] for each in plan["optimisations"] if not each["on"]}


@pytest.mark.parametrize(
    "options",
    [
        ["--analyze"],
        ["--events", "x.jsonl"],
        ["--until", "2026-01-01T00:00:00Z"],
        ["--hierarchy", "--json"],
        ["--without", "speed"],
    ],
)
def test_explain_refuses_what_does_not_go_together(
    thence: Command, rules: Path, options: list[str]
) -> None:
    done = thence("explain", rules, *options)
    assert (done.code, done.out) == (2, "")
    assert done.err


def test_run_in_a_pipe_gives_json_lines_and_nothing_else(
    thence: Command, rules: Path, events: Path
) -> None:
    done = thence("run", rules, "--events", events)
    assert (done.code, done.err) == (0, "")
    assert done.records == [
        {
            "type": "done", "id": "a", "qty": 1,
            "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T02:00:00Z",
        },
        {
            "type": "overdue", "id": "b",
            "start": "2026-01-01T01:00:00Z", "end": "2026-01-01T07:00:00Z",
        },
    ]  # fmt: skip


def test_run_prints_csv_of_one_event(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--format", "csv", "--emit", "overdue")
    assert done.out == "id,start,end\nb,2026-01-01T01:00:00Z,2026-01-01T07:00:00Z\n"


def test_csv_of_several_events_is_refused(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--format", "csv")
    assert done.code == 2
    assert "add --emit, one of done, overdue" in done.err


def test_until_moves_the_horizon(thence: Command, rules: Path, events: Path) -> None:
    until = ("--until", "2026-01-02T06:00:00Z", "--emit", "overdue")
    assert [r["id"] for r in thence("run", rules, "--events", events, *until).records] == ["b", "c"]


def test_a_bad_until_is_refused(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--until", "soon")
    assert done.code == 2
    assert "error: --until: 'soon' is not a timestamp" in done.err


def test_events_may_be_named(thence: Command, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,qty,time\na,1,1\n")
    (tmp_path / "2.jsonl").write_text('{"id": "a", "time": 2}\n')
    done = thence(
        "run", rules, "--events", f"order={tmp_path}/1.csv", f"shipped={tmp_path}/2.jsonl"
    )
    assert [record["type"] for record in done.records] == ["done"]


def test_named_and_other_paths_do_not_mix(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--events", f"order={events}")
    assert done.code == 2
    assert "Name every path, or none" in done.err


def test_lineage_names_the_events_behind_a_result(
    thence: Command, rules: Path, events: Path
) -> None:
    done = thence("run", rules, "--events", events, "--lineage", "--emit", "done")
    assert "order" in json.dumps(done.records[0]["lineage"])


def test_limit(thence: Command, rules: Path, events: Path) -> None:
    assert thence("run", rules, "--events", events, "--limit", "0").out == ""
    assert len(thence("run", rules, "--events", events, "--limit", "1").records) == 2


def test_out_writes_a_file_or_a_directory(
    thence: Command, rules: Path, events: Path, tmp_path: Path
) -> None:
    run = ("run", rules, "--events", events)
    one = thence(*run, "--emit", "done", "--out", tmp_path / "done.csv")
    assert (one.code, one.out) == (0, "")
    assert "wrote " in one.err
    assert (tmp_path / "done.csv").read_text().startswith("id,qty,start,end\na,1,2026-01-01")
    thence(*run, "--out", tmp_path / "found")
    assert pq.read_table(tmp_path / "found" / "overdue.parquet")["id"].to_pylist() == ["b"]
    thence(*run, "--out", tmp_path / "all.jsonl")
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 2


def test_fail_if_found(thence: Command, rules: Path, events: Path, tmp_path: Path) -> None:
    run = ("run", rules, "--fail-if-found", "--events")
    assert thence(*run, events).code == 4
    (tmp_path / "none.csv").write_text("")
    assert thence(*run, tmp_path / "none.csv").code == 0


def test_what_comes_out_can_go_in_again(
    thence: Command, rules: Path, events: Path, tmp_path: Path
) -> None:
    thence("run", rules, "--events", events, "--out", tmp_path / "found", "--format", "json")
    second = tmp_path / "second.thence"
    second.write_text("event done(id string, qty int); event overdue(id string);\n"
                      "pair(x, y) <- done(x, _) and overdue(y);")  # fmt: skip
    done = thence("run", second, "--events", tmp_path / "found")
    assert [(r["x"], r["y"]) for r in done.records] == [("a", "b")]


def test_a_program_with_errors_does_not_run(thence: Command, events: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.thence").write_text(BROKEN)
    done = thence("run", tmp_path / "broken.thence", "--events", events)
    assert (done.code, done.out) == (1, "")
    assert "unknown event 'ordr'" in done.err


def test_bad_input_ends_with_2(thence: Command, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("type,id,qty,time\norder,a,many,1\n")
    done = thence("run", rules, "--events", tmp_path / "bad.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "column 'qty', row 1: 'many' cannot be used" in done.err


@pytest.mark.parametrize("command", ["check", "explain", "text"])
def test_a_program_that_is_not_there_ends_with_2(
    thence: Command, tmp_path: Path, command: str
) -> None:
    for path in (tmp_path / "nowhere.thence", tmp_path):
        done = thence(command, path)
        assert done.code == 2
        assert str(path) in done.err


def test_an_overflow_ends_with_3(thence: Command, tmp_path: Path) -> None:
    (tmp_path / "p.thence").write_text(
        "event e(n int);\nhuge(m) <- e(n) where m = n * 9223372036854775807;"
    )
    (tmp_path / "e.csv").write_text("n,time\n2,1\n")
    done = thence("run", tmp_path / "p.thence", "--events", tmp_path / "e.csv")
    assert done.code == 3
    assert done.err.startswith("error: ")


def test_an_unknown_result_suggests_the_nearest(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--emit", "overdu")
    assert done.code == 2
    assert "Did you mean 'overdue'?" in done.err


def test_wrong_usage_ends_with_2(thence: Command, rules: Path, events: Path) -> None:
    assert thence("run", rules).code == 2
    assert thence("fly").code == 2
    assert thence("run", rules, "--events", events, "--engine", "steam").code == 2
    assert "add --out" in thence("run", rules, "--events", events, "--format", "parquet").err


def test_settings_of_spark_are_not_for_the_embedded_engine(
    thence: Command, rules: Path, events: Path
) -> None:
    done = thence("run", rules, "--events", events, "--master", "local[2]", *EMBEDDED)
    assert done.code == 2
    assert "--master is for Spark" in done.err


def test_an_unwritable_place_ends_with_2(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, "--out", "/nowhere/at/all.jsonl")
    assert done.code == 2
    assert "cannot be written" in done.err


def test_version(thence: Command) -> None:
    done = thence("--version")
    assert done.code == 0
    assert done.out.startswith("thence 0.")


def test_a_terminal_shows_tables(rules: Path, events: Path) -> None:
    code, shown = on_terminal("run", rules, "--events", events, *EMBEDDED)
    assert code == 0
    assert "overdue: 1 event" in shown
    assert "2026-01-01T07:00:00Z" in shown
    assert "\x1b[" in shown


def test_a_terminal_is_not_taken_over_by_data(rules: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.jsonl"
    path.write_text(
        '{"type": "order", "id": "\\u001b[2Jx", "qty": 1, "time": 1}\n'
        '{"type": "shipped", "id": "\\u001b[2Jx", "time": 2}\n'
    )
    _, shown = on_terminal("run", rules, "--events", path, *EMBEDDED)
    assert "\x1b[2J" not in shown
    assert "\\x1b[2Jx" in shown


def test_a_long_result_is_cut_on_a_terminal(rules: Path, tmp_path: Path) -> None:
    rows = [f"order,{i},1,{i}\nshipped,{i},,{i + 1000}\n" for i in range(60)]
    (tmp_path / "many.csv").write_text("type,id,qty,time\n" + "".join(rows))
    _, shown = on_terminal("run", rules, "--events", tmp_path / "many.csv", *EMBEDDED)
    assert "done: 60 events" in shown
    assert "… and 10 more" in shown


def test_errors_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "broken.thence").write_text(BROKEN)
    code, shown = on_terminal("check", tmp_path / "broken.thence")
    assert code == 1
    assert "\x1b[1;31merror" in shown


def test_a_reader_that_goes_away_is_no_error(rules: Path, tmp_path: Path) -> None:
    rows = [f"order,{i},1,{i}\nshipped,{i},,{i + 100_000}\n" for i in range(20_000)]
    (tmp_path / "many.csv").write_text("type,id,qty,time\n" + "".join(rows))
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "thence",
            "run",
            rules,
            "--events",
            tmp_path / "many.csv",
            *EMBEDDED,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "examples/first/first.thence", "--events", "examples/first/events.jsonl"),
        ("stream", "examples/first/first.thence", "--source", "rate:5"),
        ("demo", "library", "--fast"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_without_pyspark_one_line_says_what_to_install(arguments: tuple[str, ...]) -> None:
    code = "import sys; sys.modules['pyspark'] = None; from thence.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("error: Spark's Python package is not complete: there is no 'pyspark'.")
    assert "pip install 'thence[spark]'" in line
    assert "--engine embedded" in line


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.thence")
    process = subprocess.Popen(
        [sys.executable, "-m", "thence", "check", tmp_path / "endless.thence"],
        stderr=subprocess.PIPE,
    )
    # Opening the pipe returns once the command has opened it to read from it.
    with (tmp_path / "endless.thence").open("w"):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err == b"interrupted\n"


def test_help_comes_at_once_because_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys\n"
        "from thence.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'pandas', 'pyspark', 'thence.engine', 'thence.lang'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_file_without_any_declared_event_is_warned_of(
    thence: Command, rules: Path, tmp_path: Path
) -> None:
    misspelt = tmp_path / "events.csv"
    misspelt.write_text("type,id,qty,time\nordr,a,1,2026-01-01T00:00:00Z\n")
    done = thence("run", rules, "--events", misspelt)
    assert done.code == 0
    assert done.out == ""
    assert "no row is an event that the program declares" in done.err
    assert "Did you mean 'order'?" in done.err


def test_a_rule_that_passes_a_limit_is_named(thence: Command, rules: Path, events: Path) -> None:
    done = thence("run", rules, "--events", events, *EMBEDDED, "--max-matches", 1, "--emit", "done")
    assert done.code == 0
    many = rules.with_name("many.thence")
    many.write_text(
        "event order(id string, qty int); pair(x.id, y.id) <- x: order(_, _) and y: order(_, _);"
    )
    done = thence("run", many, "--events", events, *EMBEDDED, "--max-matches", 8)
    assert done.code == 3
    assert "error: the rule 'pair' has more matches than it may: joining 'x' with 'y'" in done.err
    assert "max_matches is 8" in done.err


@pytest.mark.parametrize("size", ["lots", "-1 GB", "0"])
def test_a_memory_limit_that_is_no_size(
    thence: Command, rules: Path, events: Path, size: str
) -> None:
    for command in ("run", "stream"):
        given = ("--events", events) if command == "run" else ("--source", events.parent)
        done = thence(command, rules, *given, f"--memory-limit={size}")
        assert done.code == 2
        assert "--memory-limit" in done.err
