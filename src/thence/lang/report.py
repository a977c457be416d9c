"""Collects what is wrong with a program, so that one run shows all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from thence.model.errors import CheckError, Diagnostic, diagnose
from thence.model.source import Source, Span


@dataclass(slots=True)
class Report:
    """The errors found so far in one source."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

    def error(self, span: Span, message: str, hint: str | None = None) -> None:
        """Note an error about a place in the text."""
        self.found.append(diagnose(self.source, span, message, hint))

    def raise_if_any(self) -> None:
        """Raise one CheckError with every error, in the order of the text."""
        if self.found:
            raise CheckError(tuple(sorted(self.found, key=lambda d: (d.line, d.column))))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like the one given, if any is much like it.

    >>> nearest("ordr", ["shipped", "order"])
    'order'
    >>> nearest("x", ["shipped", "order"]) is None
    True
    """
    candidates = {name.lower(): name for name in sorted(known, reverse=True)}
    if word.lower() in candidates:
        return candidates[word.lower()]
    close = get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)
    return candidates[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint that names the nearest known word, or else the hint given."""
    close = nearest(word, known)
    return f"did you mean '{close}'?" if close is not None else otherwise
