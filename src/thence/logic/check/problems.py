"""Collects what is wrong with a program, so that one run shows all of it."""

from __future__ import annotations

from collections.abc import Iterable

from thence.logic.functions import TypeProblem
from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.source import Source, Span


class Problems:
    """The errors and warnings found so far in one source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._errors: dict[tuple[Span, str], Diagnostic] = {}
        self._warnings: list[Diagnostic] = []

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Note an error about a place in the text; the same one twice counts once."""
        if (span, message) not in self._errors:
            self._errors[span, message] = diagnose(self.source, span, message, hint)

    def type_problem(self, problem: TypeProblem) -> None:
        self.error(problem.span, problem.message, problem.hint)

    def warn(self, span: Span, message: str, hint: str | None = None) -> None:
        self._warnings.append(diagnose(self.source, span, message, hint, "warning"))

    def raise_if_any(self) -> None:
        """Raise one CheckError with every error, in the order of the text."""
        if self._errors:
            raise CheckError(_in_order(self._errors.values()))

    def warnings(self) -> tuple[Diagnostic, ...]:
        return _in_order(self._warnings)


def _in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda d: (d.line, d.column)))
