"""How a query is refused: where, why, and what to write instead."""

from __future__ import annotations

from thence.model.source import Span


class Refused(Exception):
    """A query that cannot mean anything; the statement is given up and the reason reported."""

    def __init__(self, span: Span, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.span, self.message, self.hint = span, message, hint
