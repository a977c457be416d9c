"""`thence demo`: what a person sees, what is kept, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Command, on_terminal
from doc_pages import ROOT, code, section

from thence.cli.main import app

FAST = ("--engine", "embedded", "--fast")
SMALL = ("--visitors", "8", "--minutes", "5")


def test_without_a_name_the_demos_are_listed(thence: Command) -> None:
    done = thence("demo")
    assert done.code == 0
    assert done.out.startswith("thence demo library: A library with radio tags")


def test_a_name_that_does_not_exist_is_refused(thence: Command) -> None:
    done = thence("demo", "zoo")
    assert done.code == 2
    assert "No such command 'zoo'" in done.err


def test_the_library_tells_what_it_finds_and_compares_it(thence: Command) -> None:
    done = thence("demo", "library", *FAST, *SMALL)
    assert done.code == 0
    told, table = done.out.split("\n\n", 1)
    assert "10:02:31 booklifting: 'Kim' left through the south door" in told.splitlines()
    assert told.splitlines() == sorted(told.splitlines(), key=lambda line: line[:8])
    assert "bookliftings                    2      2\n" in table
    assert table.endswith("Everything that was planted was found, and nothing else.\n")
    assert done.err == "8 visits in 5 minutes, seed 1, as fast as it goes\n"


def test_another_seed_is_another_day(thence: Command) -> None:
    days = [thence("demo", "library", *FAST, *SMALL, "--seed", seed).out for seed in (1, 1, 2)]
    assert days[0] == days[1] != days[2]


def test_every_option_is_described() -> None:
    group: Any = typer.main.get_command(app)
    described = " ".join(code(section(ROOT / "docs" / "cli.md", "thence demo")))
    for name, demo in group.commands["demo"].commands.items():
        assert f"thence demo {name}" in described
        options = {option for p in demo.params for option in p.opts if option.startswith("--")}
        assert {option for option in options - {"--help"} if option not in described} == set()


def test_the_program_is_printed(thence: Command) -> None:
    done = thence("demo", "library", "--rules")
    assert done.code == 0
    assert "CREATE EVENT BookliftingAlert AS" in done.out


def test_what_is_kept_can_be_run_again(thence: Command, tmp_path: Path) -> None:
    out = tmp_path / "day"
    assert str(out) in thence("demo", "library", *FAST, *SMALL, "--out", out).err
    told = [json.loads(line) for line in (out / "found.jsonl").read_text().splitlines()]
    lifted = [each["book"] for each in told if each["kind"] == "booklifting"]
    again = thence(
        "run", out / "library.thence", "--events", out / "readings", "--emit", "BookliftingAlert"
    )
    assert [row["book_id"] for row in again.records] == lifted
    planted = [json.loads(line)["text"] for line in (out / "planted.jsonl").open()]
    assert sorted(planted) == sorted(each["text"] for each in told)


def test_a_difference_is_shown_and_is_an_exit_code(
    thence: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that does not look for confusions misses those that were planted."""
    import thence.demo.library.watch as library

    blind = library.program_text().replace("P1.person_id < P2.person_id", "P1.person_id = 'nobody'")
    monkeypatch.setattr(library, "program_text", lambda: blind)
    done = thence("demo", "library", *FAST, *SMALL)
    assert done.code == 1
    assert "not found:   10:03:54 confusion: Lena and Nora left through the south door" in done.out
    assert done.out.endswith("What was found is not what was planted.\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fast", "--speed", "2"), "--fast does not wait at all: leave --speed out."),
        (("--speed", "0"), "--speed 0: give a number above 0."),
        (("--speed", "nan"), "--speed nan: give a number above 0."),
        (("--minutes", "1"), "open for 5 to 600 minutes, not 1"),
        (("--visitors", "1000"), "in 15 minutes there are 1 to 90 visits, not 1000"),
        (("--engine", "abacus"), "'abacus'"),
    ],
)
def test_what_does_not_fit_is_said(thence: Command, options: tuple[str, ...], said: str) -> None:
    done = thence("demo", "library", *options)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_a_folder_with_something_in_it_is_not_written_to(thence: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = thence("demo", "library", *FAST, "--out", tmp_path)
    assert done.code == 2
    assert "give a folder that is new or empty" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "thence", "demo", "library", *options]


def test_a_terminal_gets_colours() -> None:
    status, shown = on_terminal("demo", "library", *FAST, *SMALL, columns=40)
    assert status == 0
    assert "10:02:31 \x1b[1;31mbooklifting:\x1b[0m 'Kim' left through the south door\r\n" in shown


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    """At a thousandth of the speed of life the first batch is more than an hour away."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command("--engine", "embedded", "--speed", "0.001"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    try:
        assert "0.001 times as fast as life" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_on_spark_it_tells_the_same_and_leaves_nothing_behind(
    spark: Any, thence: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = thence("demo", "library", *FAST, *SMALL)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    there = thence("demo", "library", "--fast", *SMALL)
    assert there.code == 0
    assert sorted(there.out.splitlines()) == sorted(here.out.splitlines())
    assert list(tmp_path.iterdir()) == []
