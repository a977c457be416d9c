"""Policies: which of a rule's matches count, and whether the events in them are used up.

Without a policy every combination of events is a match. With one, matches are looked at in the
order in which they are complete. All that end at one time with the same last event, the
*terminator*, are finalised together: of those that differ only in events that a selection is made
of, the first or the last is taken, or all of them as one, and then events that are used up take
part in nothing later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from thence.model.source import NOWHERE, Span

Choice = Literal["all", "first", "last", "cumulative"]
Consumption = Literal["shared", "exclusive", "initiator"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How to choose among matches, and what a chosen match uses up.

    ``choice`` is for every event of the rule that ``labels`` does not name. ``consumption`` says
    what is used up: nothing, every event of the match, or the one it began with. ``greedy`` and
    ``strict`` are about repetitions and sequences: whether they are as long as can be, and whether
    nothing of the kind may lie between one event and the next.
    """

    choice: Choice = "all"
    labels: tuple[tuple[str, Choice], ...] = ()
    consumption: Consumption = "shared"
    greedy: bool = False
    strict: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def chooses(self) -> bool:
        """Whether it matters which matches there are besides: some are chosen, or used up."""
        return self.choice != "all" or bool(self.labels) or self.consumes

    @property
    def consumes(self) -> bool:
        return self.consumption != "shared"

    @property
    def merges(self) -> bool:
        """Whether several matches may become one result."""
        return "cumulative" in (self.choice, *(choice for _, choice in self.labels))

    def choice_of(self, label: str | None) -> Choice:
        """The choice for an event, by its label."""
        return dict(self.labels).get(label or "", self.choice)


UNRESTRICTED = Policy()
"""Every match counts, and nothing is used up: what a rule without a policy has."""

CONTEXTS: Mapping[str, Policy] = {
    "unrestricted": UNRESTRICTED,
    "recent": Policy("last"),
    "chronicle": Policy("first", consumption="exclusive"),
    "continuous": Policy("all", consumption="initiator"),
    "cumulative": Policy("cumulative", consumption="exclusive"),
}
"""SNOOP's parameter contexts by name."""


def policy_text(policy: Policy, written: Callable[[str], str] = str) -> str:
    """A policy as it is written behind ``using``; ``written`` is how a label is.

    >>> policy_text(Policy("first", consumption="exclusive"))
    'chronicle'
    >>> policy_text(Policy("all", (("a", "first"), ("b", "last")), "exclusive"))
    'first(a) last(b) exclusive'
    """
    shape = [word for word in ("greedy", "strict") if getattr(policy, word)]
    plain = replace(policy, greedy=False, strict=False)
    for name, context in CONTEXTS.items():
        if plain == context:
            return " ".join(shape if shape and context == UNRESTRICTED else [name, *shape])
    words: list[str] = [] if policy.choice == "all" else [policy.choice]
    words += [f"{choice}({written(label)})" for label, choice in policy.labels]
    if policy.consumption == "initiator":
        words.append("continuous")
    elif policy.consumption == "exclusive" and policy.choice != "cumulative":
        words.append("exclusive")
    return " ".join([*words, *shape])
