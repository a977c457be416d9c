"""Statements that are given up at the first thing that is wrong with them."""

from __future__ import annotations

from thence.logic.check.problems import Problems
from thence.model.source import Span


class Refused(Exception):
    """A statement that cannot mean anything; it is given up, and the reason reported."""

    def __init__(self, span: Span, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.span, self.message, self.hint = span, message, hint


class Refusing(Problems):
    """Gives a statement up at its first error."""

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Raise Refused."""
        raise Refused(span, message, hint)
