"""Compiling without pauses of the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection_pauses() -> Iterator[None]:
    """Keep the garbage collector still while a program is compiled.

    A large program makes millions of small objects that all stay; looking through them again and
    again for garbage took a third of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
