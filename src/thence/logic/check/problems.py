"""Collects what is wrong with a program, so that one run shows all of it."""

from __future__ import annotations

from collections.abc import Iterable

from thence.logic.functions import TypeProblem
from thence.model.errors import CheckError, Diagnostic, Severity, diagnose
from thence.model.source import Source, Span


class Problems:
    """The errors and warnings found so far in one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._errors: dict[tuple[Span, str], str | None] = {}
        self._warnings: list[tuple[Span, str, str | None]] = []

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Note an error about a place in the text; the same one twice counts once."""
        self._errors.setdefault((span, message), hint)

    def type_problem(self, problem: TypeProblem) -> None:
        self.error(problem.span, problem.message, problem.hint)

    def warn(self, span: Span, message: str, hint: str | None = None) -> None:
        self._warnings.append((span, message, hint))

    def raise_if_any(self) -> None:
        """Raise one CheckError with every error, in the order of the text."""
        if self._errors:
            found = [(span, message, hint) for (span, message), hint in self._errors.items()]
            raise CheckError(self._in_order(found, "error"))

    def warnings(self) -> tuple[Diagnostic, ...]:
        return self._in_order(self._warnings, "warning")

    def _in_order(
        self, found: Iterable[tuple[Span, str, str | None]], severity: Severity
    ) -> tuple[Diagnostic, ...]:
        ordered = sorted(found, key=lambda each: each[0].start)
        return tuple(diagnose(self.source, *each, severity) for each in ordered)
