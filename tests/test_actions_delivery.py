"""The courier: letters are kept, tried again, given up, never lost, and hold up nothing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from thence.actions import dead_letters
from thence.actions.courier import Clock, Courier
from thence.actions.letters import DeadLetter, Failure, Handler, Letter
from thence.actions.outbox import Outbox
from thence.actions.settings import Delivery
from thence.model.errors import InputError


@dataclass(frozen=True, slots=True)
class Doing(Handler):
    """Does with a letter what a test says."""

    do: Callable[[Letter], object]

    def deliver(self, letter: Letter) -> None:
        self.do(letter)


class Hours:
    """A clock that jumps ahead when somebody waits for a time, so that no test does."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self._wait, lambda: 0.0)

    def _wait(self, changed: threading.Condition, seconds: float | None) -> None:
        if seconds is None:
            changed.wait()
        else:
            self.waits.append(seconds)
            self.now += seconds


def letters(*numbers: int, reaction: str = "on a: f") -> list[Letter]:
    return [Letter(f"id-{number}", reaction, json.dumps({"n": number})) for number in numbers]


def numbers(given: Sequence[Letter]) -> list[int]:
    return [json.loads(letter.payload)["n"] for letter in given]


def failing(times: int, got: list[Letter], **how: Any) -> Doing:
    """Fails so often, then takes letters."""
    left = [times]

    def do(letter: Letter) -> None:
        if left[0]:
            left[0] -= 1
            raise Failure("not now", **how)
        got.append(letter)

    return Doing("lane", do)


def settings(folder: Path, **more: Any) -> Delivery:
    return Delivery(**{"dead_letters": folder / "dead.jsonl", "patience": "1 h", **more})


def dead(folder: Path) -> list[dict[str, Any]]:
    path = folder / "dead.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_letters_come_in_the_order_in_which_they_were_sent(tmp_path: Path) -> None:
    got: list[Letter] = []
    courier = Courier({"on a: f": Doing("lane", got.append)}, settings(tmp_path))
    courier.send(letters(1, 2, 3))
    courier.send(letters(4))
    assert courier.flush()
    assert numbers(got) == [1, 2, 3, 4]
    assert (courier.counts, courier.outstanding) == ((4, 0), 0)
    courier.close()


def test_what_fails_is_tried_again_after_longer_and_longer_waits(tmp_path: Path) -> None:
    got: list[Letter] = []
    hours = Hours()
    given = settings(tmp_path, tries=6, first_wait="1 s", longest_wait="5 s")
    courier = Courier({"on a: f": failing(4, got)}, given, hours.clock)
    courier.send(letters(1))
    assert courier.flush()
    courier.close()
    assert hours.waits == [1.0, 2.0, 4.0, 5.0]
    assert (numbers(got), dead(tmp_path)) == ([1], [])


def test_a_receiver_may_ask_to_be_left_alone_for_a_while(tmp_path: Path) -> None:
    got: list[Letter] = []
    hours = Hours()
    given = settings(tmp_path, first_wait="1 s", longest_wait="1 min")
    courier = Courier({"on a: f": failing(1, got, after=30)}, given, hours.clock)
    courier.send(letters(1))
    assert courier.flush()
    courier.close()
    assert hours.waits == [30.0]


def test_chance_takes_up_to_half_of_a_wait() -> None:
    given = Delivery(first_wait="8 s", longest_wait="1 min")
    assert (given.wait(1, 0.0), given.wait(1, 1.0), given.wait(9, 0.5)) == (8.0, 4.0, 45.0)


def test_what_fails_too_often_is_a_dead_letter(tmp_path: Path) -> None:
    got: list[Letter] = []
    courier = Courier({"on a: f": failing(3, got)}, settings(tmp_path, tries=3), Hours().clock)
    courier.send(letters(1))
    assert courier.flush()
    courier.send(letters(2))
    courier.close()
    (found,) = dead(tmp_path)
    time = found.pop("time")
    assert time.endswith("Z")
    assert found == {
        "id": "id-1",
        "reaction": "on a: f",
        "tries": 3,
        "reason": "not now",
        "payload": {"n": 1},
    }
    assert (numbers(got), courier.counts) == ([2], (1, 1))


def test_what_can_never_be_delivered_is_not_tried_again(tmp_path: Path) -> None:
    got: list[Letter] = []
    courier = Courier({"on a: f": failing(1, got, final=True)}, settings(tmp_path))
    courier.send(letters(1))
    courier.close()
    assert [each["tries"] for each in dead(tmp_path)] == [1]


def test_what_is_given_up_is_said_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    courier = Courier({"on a: f": failing(2, [], final=True)}, settings(tmp_path))
    courier.send(letters(1, 2))
    courier.close()
    first, all_of_them = [record.getMessage() for record in caplog.records]
    assert first == f"given up, and kept in '{tmp_path / 'dead.jsonl'}': on a: f (not now)"
    assert "2 deliveries given up in all" in all_of_them


def test_a_receiver_that_stalls_holds_up_neither_others_nor_whoever_sends(tmp_path: Path) -> None:
    release, got = threading.Event(), []

    def stall(letter: Letter) -> None:
        assert release.wait(60)
        got.append(letter)

    seen = threading.Event()
    handlers = {"slow": Doing("slow", stall), "fast": Doing("fast", lambda _: seen.set())}
    courier = Courier(handlers, settings(tmp_path))
    courier.send(letters(1, 2, reaction="slow"))
    courier.send(letters(3, reaction="fast"))
    assert seen.wait(60)
    assert not courier.flush(timeout=0)
    assert courier.outstanding >= 2
    release.set()
    courier.close()
    assert numbers(got) == [1, 2]


def test_more_than_the_outbox_holds_goes_to_the_dead_letters_at_once(tmp_path: Path) -> None:
    release, got = threading.Event(), []

    def stall(letter: Letter) -> None:
        assert release.wait(60)
        got.append(letter)

    courier = Courier({"on a: f": Doing("lane", stall)}, settings(tmp_path, capacity=3))
    courier.send(letters(1, 2))
    courier.send(letters(3, 4, 5))
    assert [each["payload"]["n"] for each in dead(tmp_path)] == [4, 5]
    assert {each["reason"] for each in dead(tmp_path)} == {"the outbox is full"}
    release.set()
    courier.close()
    assert numbers(got) == [1, 2, 3]


def test_many_letters_wait_on_disk_and_a_few_in_memory(tmp_path: Path) -> None:
    held: list[int] = []
    courier: Courier
    courier = Courier({"on a: f": Doing("lane", lambda letter: held.append(1))}, settings(tmp_path))
    courier.send(letters(*range(1000)))
    assert courier.flush()
    courier.close()
    assert len(held) == 1000


def test_a_letter_that_waits_already_is_kept_once(tmp_path: Path) -> None:
    release, got = threading.Event(), []

    def stall(letter: Letter) -> None:
        assert release.wait(60)
        got.append(letter)

    courier = Courier({"on a: f": Doing("lane", stall)}, settings(tmp_path))
    courier.send(letters(1, 2))
    courier.send(letters(2, 1))
    release.set()
    courier.close()
    assert numbers(got) == [1, 2]


def test_without_an_outbox_what_is_left_when_all_ends_becomes_dead_letters(tmp_path: Path) -> None:
    courier = Courier({"on a: f": failing(99, [])}, settings(tmp_path, first_wait="1 min"))
    courier.send(letters(1, 2))
    courier.close(timeout=0)
    found = dead(tmp_path)
    assert [each["payload"]["n"] for each in found] == [1, 2]
    assert {each["reason"] for each in found} == {
        "it was still waiting when its session was closed"
    }


def test_an_outbox_keeps_what_is_left_for_whoever_opens_it_next(tmp_path: Path) -> None:
    given = settings(tmp_path, outbox=tmp_path / "outbox", first_wait="1 min")
    courier = Courier({"on a: f": failing(99, [])}, given)
    courier.send(letters(1, 2))
    courier.close(timeout=0)
    got: list[Letter] = []
    again = Courier({"on a: f": Doing("lane", got.append)}, given)
    assert again.flush()
    again.close()
    assert (numbers(got), dead(tmp_path)) == ([1, 2], [])


def test_what_waits_for_a_reaction_that_is_gone_becomes_dead_letters(tmp_path: Path) -> None:
    given = settings(tmp_path, outbox=tmp_path / "outbox", first_wait="1 min")
    courier = Courier({"on a: f": failing(99, [])}, given)
    courier.send(letters(1))
    courier.close(timeout=0)
    Courier({}, given).close()
    (found,) = dead(tmp_path)
    assert found["reason"] == "the program has no such reaction any more"


def test_one_process_at_a_time_has_an_outbox(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    with pytest.raises(InputError, match="one session or process at a time"):
        Outbox(tmp_path / "outbox")
    outbox.close()
    Outbox(tmp_path / "outbox").close()


def test_a_file_that_is_no_outbox_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outbox.sqlite").write_text("something else entirely, and long enough" * 50)
    with pytest.raises(InputError, match="holds no outbox"):
        Outbox(tmp_path)


def test_a_reaction_that_waits_for_reactions_is_no_deadlock(tmp_path: Path) -> None:
    courier: list[Courier] = []

    def wait_for_itself(letter: Letter) -> None:
        try:
            courier[0].flush()
        except InputError as problem:
            raise Failure(str(problem), final=True) from None

    courier.append(Courier({"on a: f": Doing("lane", wait_for_itself)}, settings(tmp_path)))
    courier[0].send(letters(1))
    courier[0].close()
    assert "it would wait for itself" in dead(tmp_path)[0]["reason"]


def test_letters_stay_in_the_outbox_while_dead_letters_cannot_be_written(tmp_path: Path) -> None:
    path, hours, got = tmp_path / "dead.jsonl", Hours(), []
    path.mkdir()  # a folder is in the way

    def fail(letter: Letter) -> None:
        got.append(letter)
        if len(got) == 3:
            path.rmdir()
        raise Failure("never", final=True)

    courier = Courier({"on a: f": Doing("lane", fail)}, settings(tmp_path), hours.clock)
    courier.send(letters(1))
    assert courier.flush()
    courier.close()
    assert numbers(got) == [1, 1, 1]
    assert [each["reason"] for each in dead(tmp_path)] == ["never"]


def test_whoever_interrupts_the_end_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    courier = Courier({"on a: f": failing(99, [])}, settings(tmp_path, first_wait="1 min"))
    courier.send(letters(1))

    def interrupted(timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(courier, "flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        courier.close()
    assert [each["payload"]["n"] for each in dead(tmp_path)] == [1]


# -- the file of dead letters


def one(number: int) -> DeadLetter:
    return DeadLetter(letters(number)[0], 5, "no answer")


def test_dead_letters_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "dead.jsonl"
    dead_letters.append(path, [one(1), one(2)])
    dead_letters.append(path, [one(3)])
    assert list(dead_letters.read(path)) == [one(1), one(2), one(3)]


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_text('{"id": "id-1", "rea')
    dead_letters.append(path, [one(2)])
    torn, whole = path.read_text().splitlines()
    assert (torn, json.loads(whole)["id"]) == ('{"id": "id-1", "rea', "id-2")
    with pytest.raises(InputError, match=r"line 1 of .* is no dead letter"):
        list(dead_letters.read(path))


def test_letters_that_are_appended_while_others_are_replayed_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    dead_letters.append(path, [one(1)])
    aside = dead_letters.take(path)
    dead_letters.append(path, [one(2)])
    assert dead_letters.take(path) == aside  # what was put aside first comes first
    assert list(dead_letters.read(aside)) == [one(1)]
    assert list(dead_letters.read(path)) == [one(2)]


def test_a_letter_that_is_appended_just_when_the_file_is_put_aside_is_appended_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "dead.jsonl", os.fsync

    def put_aside(file: int) -> None:
        monkeypatch.setattr(os, "fsync", synced)
        dead_letters.take(path)

    monkeypatch.setattr(os, "fsync", put_aside)
    dead_letters.append(path, [one(1)])
    assert list(dead_letters.read(path)) == [one(1)]


def test_many_writers_append_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    threads = [
        threading.Thread(
            target=lambda n=n: [dead_letters.append(path, [one(n)]) for _ in range(20)]
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(dead_letters.read(path))) == 80


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tries": 0}, "tries must be a whole number from 1 on"),
        ({"capacity": True}, "capacity must be"),
        ({"timeout": "10"}, "timeout"),
        ({"timeout": 0}, "timeout must be more than nothing"),
        ({"patience": -1}, "patience must not be negative"),
        ({"outbox": 3}, "outbox must be a path"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Delivery(**wrong)
