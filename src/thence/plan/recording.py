"""Of which events derivations are recorded.

Of all where lineage is asked for; otherwise of what lies between an effect and a cause that a rule
asks for with ``caused_by``. Nothing is recorded where nobody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thence.model.schema import EventSchema
from thence.plan.prepared import Prepared

Alternatives = Mapping[str, Sequence[Prepared]]
"""For each derived event, the alternatives of its rules, in the order of their numbers."""


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between effects of one type and their causes of another.

    ``alternatives`` are those of the effect, and of all events that it may be made of and that may
    be made of the cause. ``bound_by`` says of each of these events which others it may be a part
    of.
    """

    effect: str
    cause: str
    alternatives: Alternatives
    bound_by: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded of derivations.

    ``alternatives`` has the derived events of which they are. ``named`` are the events that they
    tell of, as what was derived or as what it was made of. ``archive`` are those of which the
    attributes are kept as well. ``pairs`` are the auxiliary events that say what was caused by
    what, and what each of them has to read. ``bound_by`` says of which others an event may be a
    part, as far as derivations are recorded.
    """

    alternatives: Alternatives = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    archive: frozenset[str] = frozenset()
    pairs: Mapping[str, Between] = field(default_factory=dict)
    bound_by: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.alternatives)

    def concerns(self, events: Iterable[str]) -> bool:
        """Whether derivations of some of these events are recorded, or read for them."""
        return any(event in self.alternatives or event in self.pairs for event in events)


def for_causes(alternatives: Alternatives) -> Recording:
    """What is recorded because rules ask for causes."""
    pairs = {
        event: _between(alternatives, rules[0].uses[0].event, rules[0].causes)
        for event, rules in alternatives.items()
        if rules[0].causes is not None
    }
    if not pairs:
        return Recording()
    recorded = {event: own for pair in pairs.values() for event, own in pair.alternatives.items()}
    causes = frozenset(pair.cause for pair in pairs.values())
    effects = frozenset(pair.effect for pair in pairs.values())
    return Recording(recorded, causes.union(recorded), causes | effects, pairs, _bound_by(recorded))


def for_lineage(
    alternatives: Alternatives, schemas: Mapping[str, EventSchema], causes: Recording
) -> Recording:
    """What is recorded where lineage is asked for."""
    derived = {event: own for event, own in alternatives.items() if event not in causes.pairs}
    archive = (frozenset(schemas) - alternatives.keys()) | causes.archive
    return Recording(derived, frozenset(schemas), archive, causes.pairs, causes.bound_by)


def _between(alternatives: Alternatives, effect: str, cause: str) -> Between:
    """What lies between effects and causes of some types."""
    direct = {event: made_of(rules) for event, rules in alternatives.items()}
    above = {event for event, parts in direct.items() if cause in parts}
    while more := {e for e, parts in direct.items() if not parts.isdisjoint(above)} - above:
        above |= more
    found, left = {effect} & above, [effect]
    while left:
        fresh = (direct[left.pop()] & above) - found
        found |= fresh
        left += fresh
    own = {event: alternatives[event] for event in sorted(found)}
    return Between(effect, cause, own, _bound_by(own))


def _bound_by(alternatives: Alternatives) -> dict[str, list[str]]:
    """Of which others each of some derived events may be a part."""
    direct = {event: made_of(rules) for event, rules in alternatives.items()}
    return {event: [other for other in direct if event in direct[other]] for event in direct}


def made_of(rules: Iterable[Prepared]) -> frozenset[str]:
    """The types of what the results of some rules are directly made of."""
    return frozenset(
        rule.uses[atom].event
        for rule in rules
        if rule.causes is None
        for atom in (*rule.conjunct.parts, *_held(rule))
    )


def _held(rule: Prepared) -> Iterable[int]:
    """The atoms of which the windows of a join hold events that are parts of its results."""
    for window in rule.conjunct.windows:
        if window.mode in ("collect", "repeat") and not rule.uses[window.atom].silent:
            yield window.atom
