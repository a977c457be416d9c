"""The one hierarchy of errors, and diagnostics that point at the text.

Everything Thence raises on purpose is a :class:`ThenceError`. An error about a
program carries diagnostics; each knows the line and column it is about and can
draw a caret under the offending text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from thence.model.safe_text import message, shortened
from thence.model.source import NOWHERE, Source, Span

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One remark about a program: how grave, what, where, and what to write instead.

    ``file`` is what the text is called: a path, or ``<program>``.

    >>> print(Diagnostic("error", "unknown event 'ordr'", 1, 8, hint="did you mean 'order'?"))
    error: unknown event 'ordr' (line 1, column 8)
      hint: did you mean 'order'?
    """

    severity: Severity
    message: str
    line: int
    column: int
    hint: str | None = None
    excerpt: str | None = None
    file: str = "<program>"

    def __str__(self) -> str:
        text = f"{self.severity}: {self.message} (line {self.line}, column {self.column})"
        if self.excerpt:
            text += "\n" + self.excerpt
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return text


def diagnose(
    source: Source, span: Span, message: str, hint: str | None = None, severity: Severity = "error"
) -> Diagnostic:
    """Make a diagnostic about ``span`` of ``source``, with the line and a caret under it."""
    line, column = source.position(span.start)
    hint = None if hint is None else shortened(hint)
    shown, file = source.excerpt(span), source.file(span.start)
    return Diagnostic(severity, shortened(message), line, column, hint, shown, file)


class ThenceError(Exception):
    """Whatever Thence raises on purpose.

    What a message quotes may come from anywhere; the message can always be printed.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(message(a) if isinstance(a, str) else a for a in arguments))


class ProgramError(ThenceError):
    """A program that cannot mean anything. ``diagnostics`` says why, with positions."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(str(d) for d in diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is copied and pickled: made anew of its diagnostics, not of its message."""
        return type(self), (self.diagnostics,)

    @property
    def line(self) -> int:
        return self.diagnostics[0].line

    @property
    def column(self) -> int:
        return self.diagnostics[0].column


class ParseError(ProgramError):
    """The text is not a program of the language."""


class CheckError(ProgramError):
    """The text is well formed, but names, types, safety or time make it meaningless."""


class ImpossibleError(CheckError):
    """A pattern that no event times satisfy, by itself or as one of several alternatives."""


class BuildError(ThenceError, TypeError):
    """Python objects that were put together in a way that no program can mean."""


class UnknownAttributeError(BuildError, AttributeError):
    """An attribute that an event does not have, read from a Python object."""


class InputError(ThenceError):
    """Events, files or arguments that do not fit: says which column, row or path, and why."""


class InputWarning(UserWarning):
    """Events or settings that can be used, but are hardly what was meant."""


class EvaluationError(ThenceError):
    """A value that cannot be computed while events are processed, such as an overflow."""


class StateError(ThenceError):
    """State that cannot be bounded, or saved state that does not fit the program."""


class LimitError(ThenceError):
    """A rule that would take more memory, or have more matches, than it may.

    ``rule`` is its name, ``doing`` what it was at, such as "joining 'a' with 'b'", and
    ``candidates`` how many rows that was about to have, as far as these are known; ``hint`` is what
    to do about it, and ``span`` the rule's place in the program.
    """

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        rule: str | None = None,
        doing: str | None = None,
        candidates: int | None = None,
        span: Span = NOWHERE,
    ) -> None:
        super().__init__(message, hint)
        self.message, self.hint = self.args
        self.rule = rule
        self.doing = doing
        self.candidates = candidates
        self.span = span
        self.excerpt: str | None = None

    def in_program(self, source: Source) -> LimitError:
        """The same with the text of the rule."""
        if self.span != NOWHERE and self.excerpt is None:
            line, column = source.position(self.span.start)
            self.excerpt = f"{source.excerpt(self.span)}\n  (line {line}, column {column})"
        return self

    def __str__(self) -> str:
        parts = [self.message, self.excerpt, self.hint and f"  hint: {self.hint}"]
        return "\n".join(part for part in parts if part)
