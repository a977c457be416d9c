"""How far each input of a session has been seen, by what came and what was said.

An input has one source or several. A source has been seen up to just before the latest event that
it has brought, less how late its events may come; and as far as somebody says. An input has been
seen as far as all its sources have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from thence.engine.state.state import damaged
from thence.input_times import delays_of, input_names
from thence.model.errors import InputError
from thence.model.suggestions import question
from thence.model.time import LONGEST
from thence.plan.horizons import NEVER

ONLY = ""
"""The source of an input that has no sources with names."""

Key = tuple[str, str]
"""An input, and a source of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """How far one source has been seen, when it brought something last, and how often it was taken
    to be idle (and since when), by a wall clock."""

    horizon: int = NEVER
    heard: float = 0.0
    idle: bool = False
    idle_count: int = 0
    idle_since: float | None = None


@dataclass(frozen=True)
class SourceTimes:
    """All sources of a session. Immutable: what comes makes another one."""

    delays: Mapping[str, int]
    """How late the events of each input may come."""
    sources: Mapping[Key, Source]
    idle_after: float | None = None
    """After how long a source that brings nothing no longer holds anything up, in the unit of the
    wall clock: seconds in a session."""
    named: frozenset[str] = field(default=frozenset())
    """The inputs whose sources have names."""

    @cached_property
    def horizons(self) -> Mapping[str, int]:
        """The horizon of each input: the least of those of its sources."""
        if not self.named:
            return {name: source.horizon for (name, _), source in self.sources.items()}
        found: dict[str, int] = {}
        for (name, _), source in self.sources.items():
            found[name] = min(found.get(name, source.horizon), source.horizon)
        return found

    def keys(self, names: Iterable[str], source: str | None, what: str) -> list[Key]:
        """The sources that are meant: of some inputs, the one that was named."""
        found = []
        for name in names:
            if source is None and name in self.named:
                known = ", ".join(f"'{each}'" for each in self._of(name))
                raise InputError(
                    f"{what}: '{name}' has several sources: say which one, source=…. Declared are: "
                    f"{known}."
                )
            key = name, ONLY if source is None else source
            if key not in self.sources:
                raise self._unknown(name, source, what)
            found.append(key)
        return found

    def _of(self, name: str) -> list[str]:
        return [source for own, source in self.sources if own == name]

    def _unknown(self, name: str, source: Any, what: str) -> InputError:
        if name not in self.named:
            return InputError(
                f"{what}: '{name}' has no source {source!r}: declare all its sources when the "
                f"session begins, sources={{'{name}': [{source!r}, …]}}"
            )
        known = self._of(name)
        shown = ", ".join(f"'{each}'" for each in known)
        return InputError(
            f"{what}: '{name}' has no source {source!r}.{question(source, known)} Declared are: "
            f"{shown}."
        )

    def together(self, source: str | None, what: str) -> list[Key]:
        """The sources of all inputs that come in one table of many types: all of that name."""
        name = ONLY if source is None else source
        found = [key for key in self.sources if key[1] == name]
        if source is not None and not found:
            known = dict.fromkeys(own for _, own in self.sources if own != ONLY)
            shown = ", ".join(f"'{each}'" for each in known) or "none"
            raise InputError(
                f"{what}: no input has a source {source!r}.{question(source, known)} Declared are: "
                f"{shown}."
            )
        return found

    def brought(self, latest: Mapping[Key, int], now: float) -> SourceTimes:
        """Some sources have brought events, up to some times."""
        found = dict(self.sources)
        for key, time in latest.items():
            known = found[key]
            horizon = max(known.horizon, time - self.delays[key[0]] - 1)
            found[key] = Source(horizon, now, False, known.idle_count, known.idle_since)
        return SourceTimes(self.delays, found, self.idle_after, self.named)

    def advanced(self, keys: Collection[Key], time: int, now: float) -> SourceTimes:
        """Of some sources everything up to a time has been seen."""
        found = {
            key: replace(source, horizon=max(source.horizon, time), heard=now, idle=False)
            if key in keys
            else source
            for key, source in self.sources.items()
        }
        return replace(self, sources=found)

    def idling(self, now: float) -> SourceTimes:
        """Sources that have brought nothing for long, while others went on, follow the furthest of
        those."""
        if self.idle_after is None:
            return self
        quiet = {k for k, s in self.sources.items() if now - s.heard >= self.idle_after}
        going = [s.horizon for key, s in self.sources.items() if key not in quiet]
        furthest = max(going, default=NEVER)
        found = dict(self.sources)
        for key in quiet:
            source = found[key]
            if source.horizon < furthest:
                fresh = not source.idle
                found[key] = replace(
                    source,
                    horizon=furthest,
                    idle=True,
                    idle_count=source.idle_count + fresh,
                    idle_since=now if fresh else source.idle_since,
                )
        return replace(self, sources=found)

    def of(self, inputs: Collection[str], max_delay: Any, now: float) -> SourceTimes:
        """The same for other inputs: those that are not known yet begin now, and those that are no
        longer there are gone. ``max_delay`` is for the new ones; without it they come as late as
        the others, if these are alike."""
        fresh = [name for name in inputs if name not in self.delays]
        alike = set(self.delays.values())
        default = max(alike) if len(alike) == 1 else 0
        delays = dict.fromkeys(fresh, default) if max_delay is None else delays_of(max_delay, fresh)
        kept = {key: source for key, source in self.sources.items() if key[0] in inputs}
        begun = {(name, ONLY): Source(heard=now) for name in fresh}
        return replace(
            self,
            delays={name: self.delays.get(name, delays.get(name, 0)) for name in inputs},
            sources=kept | begun,
            named=self.named & frozenset(inputs),
        )

    @property
    def idle(self) -> dict[str, dict[str, Any]]:
        """The sources that were taken to be idle, by input (or ``input/source``): whether they
        still are, how often they were, and since when last."""
        return {
            name if source == ONLY else f"{name}/{source}": {
                "idle": each.idle,
                "count": each.idle_count,
                "since": None
                if each.idle_since is None
                else datetime.fromtimestamp(each.idle_since, UTC),
            }
            for (name, source), each in self.sources.items()
            if each.idle_count
        }


def source_times(
    inputs: Collection[str],
    delays: Mapping[str, int],
    sources: Any,
    idle_after: int | None,
    now: float,
) -> SourceTimes:
    """The sources of a session that begins. ``sources`` are names of sources by input."""
    if sources is not None and not isinstance(sources, Mapping):
        raise InputError(
            "sources must map inputs to the names of their sources, such as "
            f"{{'shipped': ['eu', 'us']}}, not be a {type(sources).__name__}"
        )
    named = dict(sources or {})
    input_names(named, inputs, "sources")
    found: dict[Key, Source] = {}
    for name in inputs:
        own = named.get(name, (ONLY,))
        names = [own] if isinstance(own, str) else list(own)
        if (
            not names
            or not all(isinstance(each, str) for each in names)
            or (name in named and ONLY in names)
        ):
            raise InputError(f"sources: '{name}' must have the names of its sources, not {own!r}")
        found |= {(name, each): Source(heard=now) for each in names}
    seconds = None if idle_after is None else idle_after / 1_000_000
    return SourceTimes(delays, found, seconds, frozenset(named))


def written_times(times: SourceTimes) -> dict[str, Any]:
    """What is saved of the sources of a session, as JSON can say it. Wall clocks begin anew."""
    return {
        "max_delay": dict(times.delays),
        "named": sorted(times.named),
        "sources": [
            [name, own, each.horizon, each.idle, each.idle_count, each.idle_since]
            for (name, own), each in times.sources.items()
        ],
    }


def read_times(
    extra: Mapping[str, Any],
    begun: SourceTimes,
    delays: bool,
    sources: bool,
    horizons: Mapping[str, int],
) -> SourceTimes:
    """The sources of a session as they were saved: with the ``delays`` and ``sources`` that they
    had then, or with those that the session begins with now."""
    inputs = begun.delays.keys()
    saved = _saved(extra, begun)
    if not sources and saved.sources.keys() != begun.sources.keys():
        known = ", ".join(f"'{name}/{own}'" for name, own in saved.sources if own != ONLY) or "none"
        raise InputError(f"sources: the saved session has others: {known}")
    if {name for name, _ in saved.sources} != inputs or saved.delays.keys() != inputs:
        raise damaged("it does not say how far its inputs have been seen")
    for name, horizon in saved.horizons.items():
        if horizon != horizons.get(name, horizon):
            raise damaged(f"it says twice how far '{name}' has been seen")
    return saved if delays else replace(saved, delays=begun.delays)


def _saved(extra: Mapping[str, Any], begun: SourceTimes) -> SourceTimes:
    delays, named, sources = (extra.get(key) for key in ("max_delay", "named", "sources"))
    wall = next(iter(begun.sources.values())).heard if begun.sources else 0.0
    if not isinstance(delays, dict) or not all(_is_delay(delay) for delay in delays.values()):
        raise damaged("it does not say how late events may come")
    found: dict[Key, Source] = {}
    for row in sources if isinstance(sources, list) else [None]:
        match row:
            case [str() as name, str() as own, int() as horizon, bool() as idle, int() as count, _]:
                since = row[5] if isinstance(row[5], float) else None
                found[name, own] = Source(horizon, wall, idle, count, since)
            case _:
                raise damaged("it does not say how far its inputs have been seen")
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise damaged("it does not say which sources its inputs have")
    return SourceTimes(delays, found, begun.idle_after, frozenset(named))


def _is_delay(delay: Any) -> bool:
    return type(delay) is int and 0 <= delay <= LONGEST
