"""Rules that mean the same are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from thence.logic.changes import changed
from thence.logic.conjunct import Column, Conjunct
from thence.plan.prepared import Prepared
from thence.plan.sharing import Draft, Place, Rule, body_key, is_plain, is_projection
from thence.plan.tree import Plan

_Head = tuple[Hashable, ...]
"""For each column of a rule, what it is in each of the rule's alternatives."""


@dataclass(slots=True)
class _First:
    """The first rule with a body; ``event`` shows what it gives, under some names."""

    place: Place
    rule: Rule
    head: _Head
    event: str | None
    columns: tuple[str, ...]

    @property
    def plain(self) -> bool:
        return all(is_plain(alternative.conjunct) for alternative in self.rule)

    def names(self, head: _Head) -> tuple[str, ...] | None:
        """The columns in which it shows a head, if it does: a part of what it shows is enough
        where results do not depend on each other."""
        shown = dict(zip(self.head, self.columns, strict=True))
        if not set(head) <= shown.keys():
            return None
        return (
            tuple(shown[each] for each in head)
            if self.plain or len(set(head)) == len(shown)
            else None
        )


@dataclass(frozen=True, slots=True)
class _Same:
    """An event that is the same as another, and what the columns of that one are called in it."""

    event: str
    hidden: bool
    columns: Mapping[str, str]


def share_equal_rules(plan: Plan) -> Plan:
    """Rules that differ only in names, or in what their heads leave out, are computed once."""
    draft = Draft(plan)
    rules = Counter(rule[0].conjunct.event for stage in plan.stages for rule in stage.rules if rule)
    known: dict[Hashable, list[_First]] = {}
    same: dict[str, _Same] = {}
    for place, rule in draft.rules():
        read = _renamed(rule, same)
        if read is not rule:
            draft.put(place, read)
        if all(is_projection(alternative.conjunct) for alternative in read):
            continue
        conjunct, head = read[0].conjunct, _head(read)
        alone = rules[conjunct.event] == 1
        others = known.setdefault(_body(read), [])
        found = next((one for one in others if one.names(head) is not None), None)
        if found is None:
            event = conjunct.event if alone else None
            others.append(_First(place, read, head, event, conjunct.head.columns))
            continue
        names = found.names(head)
        assert names is not None
        event = found.event or _promoted(draft, found)
        draft.put(place, (draft.reading(conjunct, event, names),))
        if alone and names == found.columns:
            columns = dict(zip(conjunct.head.columns, names, strict=True))
            same[conjunct.event] = _Same(event, draft.is_hidden(event), columns)
    return draft.plan()


def _body(rule: Rule) -> Hashable:
    return tuple(tuple(body_key(alternative.conjunct).values()) for alternative in rule)


def _head(rule: Rule) -> _Head:
    conjuncts = [alternative.conjunct for alternative in rule]
    return tuple(
        tuple((c.head.terms[place], c.head.types[place]) for c in conjuncts)
        for place in range(len(conjuncts[0].head.columns))
    )


def _promoted(draft: Draft, first: _First) -> str:
    """An event for what a rule gives, where its own event has other rules too."""
    conjuncts = [alternative.conjunct for alternative in first.rule]
    event = draft.add(first.place, conjuncts, draft.shown_by(conjuncts[0]))
    draft.put(first.place, (draft.reading(conjuncts[0], event, first.columns),))
    first.event = event
    return event


def _renamed(rule: Rule, same: Mapping[str, _Same]) -> Rule:
    """A rule that reads other events in the place of those that are the same."""
    if not any(use.event in same for alternative in rule for use in alternative.uses):
        return rule
    return tuple(Prepared(_reads_others(each.conjunct, same)) for each in rule)


def _reads_others(conjunct: Conjunct, same: Mapping[str, _Same]) -> Conjunct:
    def named(atom: int, name: str) -> str:
        event = conjunct.atoms[atom].event
        return same[event].columns[name] if event in same else name

    def column(node: object) -> object:
        if not isinstance(node, Column):
            return node
        name = named(node.atom, node.name)
        return node if name == node.name else replace(node, name=name)

    windows = tuple(
        replace(
            window,
            links=tuple((named(window.atom, n), changed(e, column)) for n, e in window.links),
            predicates=changed(window.predicates, column),
            carried=tuple(named(window.atom, name) for name in window.carried),
            repetition=window.repetition
            and replace(
                window.repetition,
                conditions=changed(window.repetition.conditions, column),
                linked=changed(window.repetition.linked, column),
            ),
        )
        for window in conjunct.windows
    )
    return replace(
        conjunct,
        head=replace(conjunct.head, terms=changed(conjunct.head.terms, column)),
        atoms=tuple(
            replace(use, event=same[use.event].event, hidden=same[use.event].hidden)
            if use.event in same
            else use
            for use in conjunct.atoms
        ),
        links=changed(conjunct.links, column),
        predicates=changed(conjunct.predicates, column),
        windows=windows,
        having=changed(conjunct.having, column),
        identical=changed(conjunct.identical, column),
    )
