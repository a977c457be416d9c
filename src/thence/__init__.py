"""Thence: complex event processing for Python and Spark.

You write what a situation is; Thence finds every occurrence in event data.
"""

# ruff: noqa: F405 (what programs in Python are made of is listed in `__all__` and at home)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thence.compiling import build, check, compile, load, optimisations
from thence.model.errors import (
    BuildError,
    CheckError,
    Diagnostic,
    EvaluationError,
    InputError,
    InputWarning,
    LimitError,
    ParseError,
    ProgramError,
    StateError,
    ThenceError,
)
from thence.program import Program

if TYPE_CHECKING:
    from thence.actions.settings import Delivery
    from thence.batches import Batches
    from thence.causes import Absence, Cause, Derivation
    from thence.hierarchy import Hierarchy
    from thence.lang.python import *  # noqa: F403
    from thence.results import Results
    from thence.session import Session

__version__ = "0.1.0"

__all__ = [
    "Absence",
    "Attribute",
    "Batches",
    "BuildError",
    "Cause",
    "CheckError",
    "Definition",
    "Delivery",
    "Derivation",
    "Diagnostic",
    "EvaluationError",
    "Event",
    "Hierarchy",
    "InputError",
    "InputWarning",
    "LimitError",
    "ParseError",
    "Pattern",
    "Program",
    "ProgramError",
    "Reaction",
    "Results",
    "Session",
    "StateError",
    "Table",
    "ThenceError",
    "Value",
    "absent",
    "all_of",
    "any_of",
    "anyone",
    "at",
    "both",
    "build",
    "call",
    "check",
    "collect",
    "compile",
    "delete",
    "derived",
    "event",
    "fact",
    "fn",
    "follows",
    "insert",
    "load",
    "moments",
    "notfollows",
    "notprecedes",
    "on",
    "optimisations",
    "post",
    "precedes",
    "relation",
    "sequence",
    "table",
    "ticks",
    "var",
]

# These, and what programs in Python are made of, wait until somebody asks.
_HOMES = {
    "Absence": "thence.causes",
    "Batches": "thence.batches",
    "Cause": "thence.causes",
    "Delivery": "thence.actions.settings",
    "Derivation": "thence.causes",
    "Hierarchy": "thence.hierarchy",
    "Results": "thence.results",
    "Session": "thence.session",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'thence' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "thence.lang.python")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
