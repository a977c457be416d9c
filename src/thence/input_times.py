"""What a caller says of inputs: up to when each was seen, over which times, and how late it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from thence.engine.window.coverage import EVER, Gap
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.instants import instant, length
from thence.model.suggestions import question
from thence.plan.horizons import CLOCK, NEVER


def input_names(names: Any, inputs: Collection[str], what: str) -> tuple[str, ...]:
    """Names of inputs, one or several; an error where there is no such input."""
    several = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else names
    found = tuple(several)
    for name in found:
        if name not in inputs:
            known = ", ".join(f"'{each}'" for each in inputs) or "none"
            raise InputError(
                f"{what}: the program declares no input event {name!r}.{question(name, inputs)} "
                f"Declared are: {known}."
            )
    return found


def latest_of(events: Mapping[str, Events]) -> int:
    """When the latest of some events ended."""
    return max((int(e.end.max()) for e in events.values() if len(e)), default=NEVER)


def horizons_until(until: Any, latest: int, inputs: Collection[str]) -> dict[str, int]:
    """The horizons of a run: one time for all inputs, or one for each of some (None where nothing
    has been seen). An input of which nothing is said has been seen up to the latest event of all.

    >>> horizons_until({"b": 5}, 9, ["a", "b"])
    {'a': 9, 'b': 5, '': 9}
    >>> horizons_until(7, 9, ["a", "b"])
    {'a': 7, 'b': 7, '': 7}
    """
    said: dict[str, int] = {}
    if isinstance(until, Mapping):
        input_names(until, inputs, "until")
        said = {
            name: NEVER if time is None else instant(time, f"until of '{name}'")
            for name, time in until.items()
        }
    elif until is not None:
        latest = instant(until, "until")
    found = {name: said.get(name, latest) for name in inputs}
    return found | {CLOCK: max(found.values(), default=latest)}


def delays_of(max_delay: Any, inputs: Collection[str]) -> dict[str, int]:
    """How late the events of each input may come: one duration for all, or one for each of some.

    >>> delays_of({"b": "2 s"}, ["a", "b"])
    {'a': 0, 'b': 2000000}
    """
    if not isinstance(max_delay, Mapping):
        return dict.fromkeys(inputs, 0 if max_delay is None else length(max_delay, "max_delay"))
    input_names(max_delay, inputs, "max_delay")
    return {
        name: length(max_delay[name], f"max_delay of '{name}'") if name in max_delay else 0
        for name in inputs
    }


def gaps_of(coverage: Any, inputs: Collection[str]) -> dict[str, list[Gap]]:
    """The times over which some inputs are not known, from those over which they are.

    >>> gaps_of({"a": [(10, 20), (30, None)]}, ["a", "b"]) == {"a": [(-EVER, 9), (21, 29)]}
    True
    """
    if coverage is None:
        return {}
    if not isinstance(coverage, Mapping):
        raise InputError(
            "coverage must map inputs to the times over which they are known, such as "
            f"{{'shipped': [(from, to)]}}, not be a {type(coverage).__name__}"
        )
    input_names(coverage, inputs, "coverage")
    found = {name: _between(stretches, name) for name, stretches in coverage.items()}
    return {name: gaps for name, gaps in found.items() if gaps}


def _between(stretches: Any, name: str) -> list[Gap]:
    """What lies outside of some stretches of time."""
    what = f"coverage of '{name}'"
    if isinstance(stretches, str) or not isinstance(stretches, Iterable):
        raise _no_stretch(what, stretches)
    known = sorted(_stretch(stretch, what) for stretch in stretches)
    gaps, since = [], -EVER
    for first, last in known:
        if first > since:
            gaps.append((since, first - 1))
        since = max(since, last + 1)
    return [*gaps, (since, EVER)] if since < EVER else gaps


def _stretch(stretch: Any, what: str) -> Gap:
    if isinstance(stretch, str) or not isinstance(stretch, Iterable):
        raise _no_stretch(what, stretch)
    ends = list(stretch)
    if len(ends) != 2:
        raise _no_stretch(what, stretch)
    first = -EVER if ends[0] is None else instant(ends[0], what)
    last = EVER if ends[1] is None else instant(ends[1], what)
    if first > last:
        raise InputError(f"{what}: {ends[0]} is after {ends[1]}")
    return first, last


def _no_stretch(what: str, given: Any) -> InputError:
    return InputError(
        f"{what} must be pairs of times, (from, to), where a from of None is the beginning, and a "
        f"to of None the horizon; not {given!r}"
    )


def least(horizons: Mapping[str, int]) -> int:
    """The least of the inputs' horizons."""
    return min((time for name, time in horizons.items() if name != CLOCK), default=NEVER)
