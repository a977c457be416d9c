"""Reactions: what is done when something was detected, ``on overdue(id): post 'https://…'``.

A reaction reads results and changes nothing that is detected. What it matches and what it sends is
a rule like any other, with the event as its body and the payload as its head; so all that is
checked of rules is checked of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from thence.logic.ops import Atom, Rule, walk
from thence.model.source import NOWHERE, Span

Scheme = Literal["bearer", "basic", "header"]


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret that a request carries, by the name that the environment has it under.

    ``bearer`` and ``basic`` are forms of the header Authorization; ``header`` is one of its own.
    """

    scheme: Scheme
    variable: str
    header: str = "Authorization"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Action:
    """What is done with a payload."""


@dataclass(frozen=True, slots=True)
class Post(Action):
    """``post 'https://…' using bearer env 'TOKEN'``: the payload as JSON, by HTTP."""

    url: str
    credentials: tuple[Credential, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CallFunction(Action):
    """``call notify(…)``: a function of Python that is given under that name."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reaction:
    """``on event(…) where …: action with (…)``.

    The terms of ``rule`` are the payload; with ``whole`` there are none, and the payload is the
    result itself: its attributes, ``start`` and ``end``.
    """

    rule: Rule
    action: Action
    whole: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def atom(self) -> Atom:
        """What it reacts to."""
        return next(part for part in walk(self.rule.body) if isinstance(part, Atom))

    @property
    def event(self) -> str:
        """The event that it reacts to."""
        return self.atom.event
