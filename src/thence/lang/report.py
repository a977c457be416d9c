"""Collects what is wrong with a program, so that one run shows all of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.source import Source, Span


class Refused(Exception):
    """A statement that cannot mean anything; it is given up, and the reason reported."""

    def __init__(self, span: Span, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.span, self.message, self.hint = span, message, hint


@dataclass(slots=True)
class Report:
    """The errors found so far in one source."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Note an error about a place in the text."""
        self.found.append(diagnose(self.source, span, message, hint))

    def refuse(self, refused: Refused) -> None:
        """Note why a statement was given up."""
        self.error(refused.span, refused.message, refused.hint)

    def raise_if_any(self) -> None:
        """Raise one CheckError with every error, in the order of the text."""
        if self.found:
            raise CheckError(tuple(sorted(self.found, key=lambda d: (d.line, d.column))))


class Refusing(Report):
    """A report that gives a statement up at its first error."""

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Raise Refused."""
        raise Refused(span, message, hint)
