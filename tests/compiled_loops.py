"""Which compiled loops a program uses."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import thence.engine


@cache
def loops() -> dict[tuple[str, str], Any]:
    """Every compiled loop that Python calls, by module and name; some only call one another."""
    found = {}
    for module in pkgutil.walk_packages(thence.engine.__path__, "thence.engine."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "py_func") and value.__module__ == module.name:
                found[module.name, name] = value
    inner = {name for loop in found.values() for name in loop.py_func.__code__.co_names}
    return {place: loop for place, loop in found.items() if place[1] not in inner}


@contextmanager
def watched() -> Iterator[set[tuple[str, str]]]:
    """The compiled loops that are called in a block."""
    used: set[tuple[str, str]] = set()

    def noting(place: tuple[str, str], loop: Any) -> Any:
        def call(*arguments: Any) -> Any:
            used.add(place)
            return loop(*arguments)

        return call

    places = {id(loop): (place, loop) for place, loop in loops().items()}
    held = [
        (module, name, *places[id(value)])
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("thence.engine")
        for name, value in list(vars(module).items())
        if id(value) in places
    ]
    for module, name, place, loop in held:
        setattr(module, name, noting(place, loop))
    try:
        yield used
    finally:
        for module, name, _, loop in held:
            setattr(module, name, loop)
