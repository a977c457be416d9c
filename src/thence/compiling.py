"""From what a user wrote to a program: text, a file, or Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thence.collection_pauses import without_collection_pauses
from thence.model.errors import BuildError, Diagnostic, InputError, ProgramError
from thence.model.source import Source
from thence.plan import optimisations as known_optimisations
from thence.program import Program


def compile(
    text: str, name: str = "<program>", *, without: Iterable[str] = (), statistics: Any = None
) -> Program:
    """Compile a program text. Raises :class:`thence.ThenceError` where it cannot mean anything.

    ``without`` are optimisations to switch off, by the names that :func:`optimisations` lists; that
    changes what a program costs, never what it finds. ``statistics`` are what is known of the
    events, if anything is, such as ``{"order": {"rows": 10_000, "distinct": {"id": 500}}}``: they
    decide the order of joins, and are what ``explain`` estimates by.
    """
    if not isinstance(text, str):
        raise BuildError(
            f"compile takes the text of a program, not {type(text).__name__}: use thence.build(…) "
            "for definitions made in Python, and thence.load(…) for a file"
        )
    from thence.lang.parser import parse_program

    with without_collection_pauses():
        logic = parse_program(Source(text, name))
        return Program(logic, without=without, statistics=statistics)


def build(*parts: Any, name: str = "<program>", without: Iterable[str] = ()) -> Program:
    """Compile definitions made of Python objects; they bring along whatever they are made of.

    Types of events may be listed too, to declare them first, or although nothing uses them.
    ``without`` is as for :func:`compile`.
    Raises :class:`thence.ThenceError` where the program cannot mean anything.
    """
    from thence.lang.python.program import lower_program

    with without_collection_pauses():
        return Program(lower_program(parts), name, without)


def load(path: str | Path, *, without: Iterable[str] = (), statistics: Any = None) -> Program:
    """Compile the program in a file; see :func:`compile`. Paths in it begin at its folder."""
    if not isinstance(path, str | Path):
        raise BuildError(f"load takes the path of a program file, not {type(path).__name__}")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no program file '{path}'") from None
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not a UTF-8 text file: {error.reason}") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:  # a NUL, or half a character
        raise InputError(f"cannot read '{path}': {error}") from None
    program = compile(text, str(path), without=without, statistics=statistics)
    program.folder = Path(path).absolute().parent
    return program


def check(text: str) -> list[Diagnostic]:
    """All remarks on a program text, errors included, without raising."""
    try:
        return compile(text).check()
    except ProgramError as error:
        return list(error.diagnostics)


def optimisations() -> dict[str, str]:
    """Everything that ``compile(…, without=…)`` can switch off, and what it does."""
    return known_optimisations()
