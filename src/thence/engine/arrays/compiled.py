"""Loops that Numba compiles: kept on disk where there is a place for them.

Numba keeps compiled code beside the source file or in the user's cache folder, or where
``NUMBA_CACHE_DIR`` says. Where it can do neither, since the installation and the home folder are
read-only, or since the modules came with a Spark query and are no files at all, a loop is compiled
in each process that needs it, when it is first called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

from thence.model.errors import EvaluationError

try:
    import numba
except ImportError as problem:
    raise EvaluationError(
        "policies, repetitions and aggregates over wide windows need Numba, which cannot be "
        f"imported by the Python that evaluates them, {sys.executable}: {problem}. Run there: pip "
        "install numba (on Spark, for the Python of every executor)"
    ) from None

F = TypeVar("F", bound=Callable[..., object])


def compiled(signature: str | None = None, inner: bool = False) -> Callable[[F], F]:
    """Compile a function for arguments of some types, or load what was compiled before.

    Without a signature that happens when it is first called. An ``inner`` function is only called
    by compiled ones: what Python would need to call it is slow to compile, and is left out.

    >>> @compiled("i8(i8)")
    ... def twice(number: int) -> int:
    ...     return 2 * number
    >>> twice(21)
    42
    """

    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}

    def made(function: F) -> F:
        try:
            return cast(F, numba.njit(signature, nogil=True, cache=True, **bare)(function))
        except (RuntimeError, OSError):  # there is no place, or it cannot be written to
            return cast(F, numba.njit(nogil=True, **bare)(function))

    return made
