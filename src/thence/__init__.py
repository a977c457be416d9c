"""Thence: complex event processing for Python and Spark.

You write what a situation is; Thence finds every occurrence in event data.
"""

from __future__ import annotations

from thence.model.errors import (
    CheckError,
    Diagnostic,
    EvaluationError,
    InputError,
    ParseError,
    ProgramError,
    StateError,
    ThenceError,
)
from thence.program import Program, check, compile, load
from thence.results import Results
from thence.session import Session

__version__ = "0.1.0"

__all__ = [
    "CheckError",
    "Diagnostic",
    "EvaluationError",
    "InputError",
    "ParseError",
    "Program",
    "ProgramError",
    "Results",
    "Session",
    "StateError",
    "ThenceError",
    "check",
    "compile",
    "load",
]
