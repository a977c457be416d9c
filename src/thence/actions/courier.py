"""Brings letters to their receivers, in threads of its own, so that nothing waits for a receiver.

A letter is put into the outbox first. Each lane has a thread that takes what is due from there, a
few letters at a time; what fails is due again later, and what has failed often enough becomes a
dead letter. Whoever waits for all of it can do so with ``flush``.
"""

from __future__ import annotations

import atexit
import logging
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thence.actions import dead_letters
from thence.actions.letters import DeadLetter, Failure, Handler, Letter, counted
from thence.actions.outbox import Outbox, Waiting
from thence.actions.settings import Delivery
from thence.model.errors import InputError

AT_ONCE = 100
"""How many letters a lane holds in memory."""

_log = logging.getLogger("thence.actions")

Wait = Callable[[threading.Condition, float | None], object]


@dataclass(frozen=True, slots=True)
class Clock:
    """What time it is, how to wait for a condition or a while, and chance: as tests need it."""

    now: Callable[[], float] = time.monotonic
    wait: Wait = threading.Condition.wait
    luck: Callable[[], float] = random.random


class Courier:
    """Delivers letters, each by the handler of its reaction."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        settings: Delivery = Delivery(),  # noqa: B008 (immutable)
        clock: Clock = Clock(),  # noqa: B008 (immutable)
    ) -> None:
        self._handlers = dict(handlers)
        self._settings, self._clock = settings, clock
        folder = None if settings.outbox is None else Path(settings.outbox)
        self._kept = folder is not None
        self._outbox = Outbox(folder)
        self._changed = threading.Condition()
        self._threads: dict[str, threading.Thread] = {}
        self._stopping = self._closed = False
        self._delivered = self._dead = 0
        self._failing: set[str] = set()  # reactions whose last letter was given up
        with self._changed:
            self._outstanding = len(self._outbox)
            self._give_up_unknown()
            for lane in self._outbox.lanes():
                self._begin(lane)
        atexit.register(self.close)

    # -- what others ask for

    def learn(self, handlers: Mapping[str, Handler]) -> None:
        """Know more reactions. What waits for others is still delivered."""
        with self._changed:
            self._handlers |= handlers

    def send(self, letters: Sequence[Letter]) -> None:
        """Take letters. They are kept when this returns, and delivered as soon as may be."""
        with self._changed:
            if self._closed:
                raise RuntimeError("letters were given to a courier that is closed")
            room = max(0, self._settings.capacity - self._outstanding)
            lanes = [(each, self._handlers[each.reaction].lane) for each in letters[:room]]
            self._outstanding += self._outbox.add(lanes)
            for lane in dict.fromkeys(lane for _, lane in lanes):
                self._begin(lane)
            self._changed.notify_all()
            self._bury([DeadLetter(each, 0, "the outbox is full") for each in letters[room:]])

    def bury(self, dead: Sequence[DeadLetter]) -> None:
        """Keep letters that cannot be delivered at all."""
        with self._changed:
            self._bury(dead)

    @property
    def outstanding(self) -> int:
        """How many letters wait."""
        with self._changed:
            return self._outstanding

    @property
    def counts(self) -> tuple[int, int]:
        """How many letters were delivered so far, and how many became dead letters."""
        with self._changed:
            return self._delivered, self._dead

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing is outstanding; False if it still is after so many seconds."""
        if threading.current_thread() in self._threads.values():
            raise InputError("a reaction cannot wait for reactions: it would wait for itself")
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._outstanding and not self._closed:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            return not self._outstanding

    def close(self, timeout: float | None = None) -> None:
        """Wait for what is outstanding, as long as the settings say, then end. What is left stays
        in the outbox, if there is a folder for it, and becomes dead letters otherwise; also if
        somebody will not wait, and interrupts."""
        patience = self._settings.seconds("patience") if timeout is None else timeout
        delivered = -1
        try:
            while not self.flush(patience) and delivered < (now := self._delivered):
                delivered = now  # as long as letters are delivered, it is worth while to wait
        finally:
            self._end()

    def _end(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        end = time.monotonic() + self._settings.seconds("timeout")
        for thread in self._threads.values():
            thread.join(max(0.0, end - time.monotonic()))
        with self._changed:
            done, self._closed = self._closed, True
            if done:
                return
            atexit.unregister(self.close)
            if not self._kept:
                while left := self._outbox.some(AT_ONCE):
                    self._give_up(left, "it was still waiting when its session was closed")
            if self._dead > 1:
                dead, path = counted(self._dead), self._settings.dead_letter_file
                _log.warning("%s given up in all: see '%s'", dead, path)
            self._outbox.close()

    # -- lanes

    def _begin(self, lane: str) -> None:
        if lane not in self._threads:
            thread = threading.Thread(
                target=self._work, args=(lane,), name=f"thence {lane}", daemon=True
            )
            self._threads[lane] = thread
            thread.start()

    def _work(self, lane: str) -> None:
        while letters := self._next(lane):
            for waiting in letters:
                if self._stopping:
                    return
                try:
                    self._try(waiting)
                except (OSError, sqlite3.Error) as problem:
                    self._rest(problem)
                    break

    def _rest(self, problem: Exception) -> None:
        """Wait for a disk on which something could not be noted. The letter it was about is still
        in the outbox, and will be tried again."""
        _log.error("what became of a delivery cannot be kept: %s", problem)
        with self._changed:
            if not self._stopping:
                self._clock.wait(self._changed, self._settings.seconds("longest_wait"))

    def _next(self, lane: str) -> list[Waiting]:
        """The next letters of a lane, once some are due; none when the work is to end."""
        with self._changed:
            while not self._stopping:
                now = self._clock.now()
                if found := self._outbox.due(lane, now, AT_ONCE):
                    return found
                due = self._outbox.next_due(lane)
                self._clock.wait(self._changed, None if due is None else max(0.0, due - now))
            return []

    def _try(self, waiting: Waiting) -> None:
        letter, tries = waiting.letter, waiting.tries + 1
        failure: Failure | None = None
        try:
            self._handlers[letter.reaction].deliver(letter)
        except Failure as found:
            failure = found
        with self._changed:
            if self._closed:
                return
            if failure is None:
                self._outbox.remove([waiting.number])
                self._outstanding -= 1
                self._delivered += 1
                self._failing.discard(letter.reaction)
            elif failure.final or tries >= self._settings.tries:
                self._give_up([waiting._replace(tries=tries)], failure.reason)
            else:
                pause = self._settings.wait(tries, self._clock.luck())
                pause = max(pause, min(failure.after, self._settings.seconds("longest_wait")))
                self._outbox.postpone(waiting.number, tries, self._clock.now() + pause)
            self._changed.notify_all()

    # -- what is given up

    def _give_up_unknown(self) -> None:
        """Give up letters of reactions that the program no longer has."""
        known = tuple(self._handlers)
        while left := self._outbox.some(AT_ONCE, without=known):
            self._give_up(left, "the program has no such reaction any more")

    def _give_up(self, letters: Sequence[Waiting], reason: str) -> None:
        self._bury([DeadLetter(each.letter, each.tries, reason) for each in letters])
        self._outbox.remove([each.number for each in letters])
        self._outstanding -= len(letters)

    def _bury(self, dead: Sequence[DeadLetter]) -> None:
        if not dead:
            return
        dead_letters.append(self._settings.dead_letter_file, dead)
        self._dead += len(dead)
        for each in dead:
            if each.letter.reaction not in self._failing:
                self._failing.add(each.letter.reaction)
                _log.warning(
                    "given up, and kept in '%s': %s (%s)",
                    self._settings.dead_letter_file,
                    each.letter.reaction,
                    each.reason,
                )
