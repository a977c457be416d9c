"""Reactions from the command line: run, shown, switched off; dead letters tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command
from receivers import Receiver, receiver

RULES = "event a(x int); b(x) <- a(x) where x > 1; c(x) <- a(x);"


@pytest.fixture
def alerts() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


class Desk:
    """A program that posts, and its events."""

    def __init__(self, folder: Path, thence: Command, alerts: Receiver) -> None:
        self.thence, self.alerts, self.folder = thence, alerts, folder
        self.rules, self.events = folder / "rules.thence", folder / "events.jsonl"
        self.dead = folder / "dead.jsonl"
        self.write(f"on b(x): post '{alerts.url}/b' with (x);")
        self.events.write_text("".join(f'{{"type": "a", "x": {n}, "time": {n}}}\n' for n in (1, 2)))

    def write(self, reactions: str) -> None:
        self.rules.write_text(RULES + reactions)

    @property
    def command(self) -> tuple[object, ...]:
        return (self.rules, "--events", self.events, "--dead-letters", self.dead)


@pytest.fixture
def desk(tmp_path: Path, thence: Command, alerts: Receiver) -> Desk:
    return Desk(tmp_path, thence, alerts)


def test_run_reacts_to_what_it_finds(desk: Desk) -> None:
    done = desk.thence("run", *desk.command)
    assert done.code == 0
    assert {"type": "b", "x": 2} in [{"type": r["type"], "x": r["x"]} for r in done.records]
    assert desk.alerts.payloads == [{"x": 2}]


def test_run_reacts_while_it_writes_batches(desk: Desk) -> None:
    done = desk.thence("run", *desk.command, "--out", desk.folder / "found")
    assert done.code == 0
    assert desk.alerts.payloads == [{"x": 2}]


def test_reactions_are_shown_or_switched_off(desk: Desk) -> None:
    shown = desk.thence("run", *desk.command, "--actions", "show")
    assert f"would do: on b(x=x): post '{desk.alerts.url}/b' with (x); " in shown.err
    assert '{"x": 2, "idempotency_key": "' in shown.err
    off = desk.thence("run", *desk.command, "--actions", "off")
    assert (off.code, off.err) == (0, "")
    assert off.out == shown.out
    assert desk.alerts.got == []


def test_only_what_is_emitted_is_reacted_to(desk: Desk) -> None:
    desk.thence("run", *desk.command, "--emit", "c")
    assert desk.alerts.got == []


@pytest.mark.parametrize("command", ["trace", "explain"])
def test_looking_at_a_program_does_nothing(desk: Desk, command: str) -> None:
    more = {"trace": ("b",), "explain": ("--analyze",)}[command]
    assert desk.thence(command, desk.rules, *more, "--events", desk.events).code == 0
    assert desk.alerts.got == []


def test_a_program_that_calls_python_is_refused_unless_it_is_only_shown(desk: Desk) -> None:
    desk.write("on b(x): call notify(x);")
    done = desk.thence("run", *desk.command)
    assert done.code == 2
    assert "calls 'notify', a function of Python" in done.err
    assert (
        "would do: on b(x=x): call notify(x);"
        in desk.thence("run", *desk.command, "--actions", "show").err
    )


def test_a_secret_that_is_not_there_is_said_before_anything_runs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALERTS", raising=False)
    desk.write(f"on b(x): post '{desk.alerts.url}' using bearer env 'ALERTS';")
    done = desk.thence("run", *desk.command)
    assert (done.code, done.out) == (2, "")
    assert "the environment has no ALERTS" in done.err


def test_dead_letters_are_tried_again_by_a_command(desk: Desk) -> None:
    desk.alerts.answer(400, 400)
    assert desk.thence("run", *desk.command).code == 0
    assert json.loads(desk.dead.read_text())["reason"] == "answered 400"
    replay = ("replay", desk.rules, "--dead-letters", desk.dead)
    again = desk.thence(*replay)
    assert (again.code, again.out) == (5, "delivered: 0; dead letters again: 1\n")
    done = desk.thence(*replay)
    assert (done.code, done.out) == (0, "delivered: 1; dead letters again: 0\n")
    assert len(set(desk.alerts.ids)) == 1
    assert desk.thence(*replay).code == 2
