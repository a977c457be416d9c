"""How a command ends: which number a script sees, and what a person reads on the way out."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

OK = 0
PROGRAM = 1
DIFFERENT = 1
INPUT = 2
EVALUATION = 3
FOUND = 4
UNDELIVERED = 5
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143


@contextmanager
def told() -> Iterator[None]:
    """Turn whatever a user can cause into a message and an exit code, never a traceback."""
    from thence.model.errors import EvaluationError, LimitError, ProgramError, ThenceError

    try:
        yield
        sys.stdout.flush()
    except ProgramError as problem:
        _say(str(problem), prefix="")
        raise typer.Exit(PROGRAM) from None
    except (EvaluationError, LimitError) as problem:
        _say(str(problem))
        raise typer.Exit(EVALUATION) from None
    except ThenceError as problem:
        _say(str(problem))
        raise typer.Exit(INPUT) from None
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as problem:
        where = f"'{problem.filename}': " if problem.filename else ""
        _say(f"{where}{problem.strerror or problem}")
        raise typer.Exit(INPUT) from None
    except UnicodeDecodeError as problem:
        _say(f"The program is not text in UTF-8: {problem}")
        raise typer.Exit(INPUT) from None
    except MemoryError:
        _say("There is not enough memory for this run.")
        raise typer.Exit(EVALUATION) from None
    except KeyboardInterrupt:
        _say("interrupted", prefix="")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def warnings_said() -> Iterator[None]:
    """Show what is worth a warning as a message, once the block is done."""
    from thence.model.errors import InputWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", InputWarning)
        yield
    for warning in caught:
        _say(str(warning.message), prefix="warning: ")


def refuse(message: str) -> typer.Exit:
    """Say what is wrong with the way a command is used; raise the answer."""
    _say(message)
    return typer.Exit(INPUT)


def _say(message: str, prefix: str = "error: ") -> None:
    """A message on standard error; red on a terminal."""
    from rich.console import Console
    from rich.text import Text

    if not sys.stderr.isatty():
        sys.stderr.write(f"{prefix}{message}\n")
        return
    text = Text.assemble((prefix, "bold red"), message)
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)
