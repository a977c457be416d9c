"""Rules that differ in constants are one join, and what each of them selects from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thence.logic.conjunct import Column, Conjunct
from thence.logic.expr import Call, Const, Expr
from thence.model.types import Type
from thence.plan.sharing import Draft, Place, Shown, body_key, is_plain, tells
from thence.plan.tree import Plan

_COMPARISONS = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
"""The comparisons of a column with a constant, each with the same one turned round."""

_MOST_ROUNDS = 64
"""So many rules are tried as the widest of those that differ in several limits."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """A condition that compares a column with a constant: its place among a rule's predicates."""

    place: int
    column: Column
    function: str

    @property
    def equality(self) -> bool:
        return self.function == "="


@dataclass(frozen=True, slots=True)
class _Member:
    """A rule with the constants that it has in each slot."""

    place: Place
    conjunct: Conjunct
    constants: tuple[Const, ...]

    def values(self, slots: Iterable[int]) -> tuple[Any, ...]:
        return tuple(self.constants[slot].value for slot in slots)


def share_constants(plan: Plan) -> Plan:
    """Rules that differ only in constants are selected from one join.

    The join is that of the rule whose limits are the widest, or, where a column has to be one of
    several values, that of all of them together: so it finds no more than the rules do between
    them.
    """
    draft = Draft(plan)
    alike: dict[Hashable, tuple[list[_Slot], list[_Member]]] = {}
    for place, rule in draft.rules():
        conjunct = rule[0].conjunct
        if len(rule) > 1 or len(conjunct.atoms) < 2 or not is_plain(conjunct):
            continue
        slots, constants = _slots(draft, conjunct)
        if slots:
            known = alike.setdefault(_shape(conjunct, slots, constants), (slots, []))
            known[1].append(_Member(place, conjunct, constants))
    for slots, members in alike.values():
        if len(members) > 1:
            _share(draft, slots, members)
    return draft.plan()


def _slots(draft: Draft, conjunct: Conjunct) -> tuple[list[_Slot], tuple[Const, ...]]:
    """The conditions in which constants may differ. Where a result says nothing of an event, a join
    looks for one witness, and would have to look for all if it had to show more."""
    slots: list[_Slot] = []
    constants: list[Const] = []
    for place, predicate in enumerate(conjunct.predicates):
        match predicate:
            case Call(function, (Column() as column, Const() as constant)):
                pass
            case Call(function, (Const() as constant, Column() as column)):
                function = _COMPARISONS.get(function, function)
            case _:
                continue
        comparable = function in _COMPARISONS and constant.type.kind not in ("null", "list")
        if comparable and tells(conjunct, column.atom):
            slots.append(_Slot(place, column, function))
            constants.append(constant)
    return slots, tuple(constants)


def _shape(conjunct: Conjunct, slots: Sequence[_Slot], constants: Sequence[Const]) -> Hashable:
    """All that a rule says but for the constants."""
    open_ = {
        slot.place: (slot.column, slot.function, _family(constant.type))
        for slot, constant in zip(slots, constants, strict=True)
    }
    key = body_key(conjunct)
    key["predicates"] = tuple(
        open_.get(place, predicate) for place, predicate in enumerate(conjunct.predicates)
    )
    return (*key.values(), conjunct.head.terms, conjunct.head.types)


def _family(kind: Type) -> str:
    """Kinds whose values can be compared with each other."""
    return "number" if kind.kind in ("int", "decimal") else kind.kind


def _share(draft: Draft, slots: Sequence[_Slot], members: Sequence[_Member]) -> None:
    differing = [s for s in range(len(slots)) if len({m.values([s]) for m in members}) > 1]
    limits = [slot for slot in differing if not slots[slot].equality]
    ways = [limits] if limits else []
    ways += _agreeing([slot for slot in differing if slots[slot].equality], members)
    if not ways:
        return
    parts = [_parted(members, [s for s in differing if s not in way]) for way in ways]
    way, groups = min(zip(ways, parts, strict=True), key=lambda pair: len(pair[1]))
    for group in groups:
        if len({member.values(way) for member in group}) == 1:
            continue
        if slots[way[0]].equality:
            _look_up(draft, [slots[slot] for slot in way], way[0], group)
        else:
            for widest, narrower in _dominated([slots[s] for s in way], way, group):
                _select(draft, [slots[slot] for slot in way], way, widest, narrower)


def _agreeing(slots: Iterable[int], members: Sequence[_Member]) -> list[list[int]]:
    """Slots in classes that have one constant in every rule."""
    classes: dict[Hashable, list[int]] = {}
    for slot in slots:
        classes.setdefault(tuple(m.constants[slot] for m in members), []).append(slot)
    return list(classes.values())


def _parted(members: Sequence[_Member], slots: Sequence[int]) -> list[list[_Member]]:
    """Rules that agree in the constants of some slots."""
    parts: dict[Hashable, list[_Member]] = {}
    for member in members:
        parts.setdefault(member.values(slots), []).append(member)
    return list(parts.values())


def _dominated(
    slots: Sequence[_Slot], way: Sequence[int], members: Sequence[_Member]
) -> Iterator[tuple[_Member, list[_Member]]]:
    """Rules to be selected from one of them, whose limits are all the widest."""

    def at_least(one: _Member, other: _Member) -> bool:
        pairs = zip(slots, one.values(way), other.values(way), strict=True)
        return all(a <= b if s.function.startswith(">") else a >= b for s, a, b in pairs)

    waiting = list(members)
    for _ in range(_MOST_ROUNDS):
        if len(waiting) < 2:
            return
        widest = waiting[0]
        for member in waiting[1:]:
            if at_least(member, widest):
                widest = member
        group = [member for member in waiting if at_least(widest, member)]
        taken = {id(member) for member in group}
        waiting = [member for member in waiting if id(member) not in taken]
        if len(group) > 1:
            yield widest, group


def _select(
    draft: Draft,
    slots: Sequence[_Slot],
    way: Sequence[int],
    widest: _Member,
    group: Sequence[_Member],
) -> None:
    """Read rules from the one whose limits are the widest."""
    shown, names = _showing(draft, widest.conjunct, [slot.column for slot in slots])
    head = replace(widest.conjunct.head, terms=shown.terms)
    event = draft.add(group[0].place, [replace(widest.conjunct, head=head)], shown)
    for member in group:
        conditions = tuple(
            Call(slot.function, (Column(0, names[slot.column]), member.constants[place]))
            for slot, place in zip(slots, way, strict=True)
            if member.constants[place].value != widest.constants[place].value
        )
        _read(draft, member, event, shown, conditions)


def _look_up(draft: Draft, slots: Sequence[_Slot], place: int, group: Sequence[_Member]) -> None:
    """Read rules from a join in which some columns are one of the constants, the same one each."""
    conjunct = group[0].conjunct
    constants = tuple({m.constants[place].value: m.constants[place] for m in group}.values())
    columns = tuple(dict.fromkeys(slot.column for slot in slots))
    if len({draft.type_of(conjunct, column) for column in columns}) > 1:
        return
    shown, names = _showing(draft, conjunct, columns[:1])
    places = {slot.place for slot in slots}
    kept = tuple(p for n, p in enumerate(conjunct.predicates) if n not in places)
    among: tuple[Expr, ...] = tuple(Call("in", (column, *constants)) for column in columns)
    links, equal = _linked(conjunct.links, columns)
    head = replace(conjunct.head, terms=shown.terms)
    wide = replace(conjunct, head=head, predicates=(*kept, *among, *equal), links=links)
    event = draft.add(group[0].place, [wide], shown)
    for member in group:
        condition = Call("=", (Column(0, names[columns[0]]), member.constants[place]))
        _read(draft, member, event, shown, (condition,))


def _read(
    draft: Draft, member: _Member, event: str, shown: Shown, conditions: tuple[Expr, ...]
) -> None:
    own = shown.columns[: len(member.conjunct.head.columns)]
    draft.put(member.place, (draft.reading(member.conjunct, event, own, conditions),))


def _showing(
    draft: Draft, conjunct: Conjunct, columns: Iterable[Column]
) -> tuple[Shown, Mapping[Column, str]]:
    """What an auxiliary event has to show, and the names that some columns have there."""
    shown, names = draft.shown_by(conjunct), {}
    for column in columns:
        shown, names[column] = shown.with_column(column, draft.type_of(conjunct, column))
    return shown, names


def _linked(
    links: Sequence[tuple[Column, ...]], columns: Sequence[Column]
) -> tuple[tuple[tuple[Column, ...], ...], tuple[Expr, ...]]:
    """Classes of equal columns in which some more are equal; and what has to be said besides,
    since a class has one column of an atom."""
    touched = [link for link in links if set(link) & set(columns)]
    others = tuple(link for link in links if link not in touched)
    first: dict[int, Column] = {}
    equal: list[Expr] = []
    for column in dict.fromkeys((*(c for link in touched for c in link), *columns)):
        if column.atom in first:
            equal.append(Call("=", (first[column.atom], column)))
        first.setdefault(column.atom, column)
    link = tuple(first[atom] for atom in sorted(first))
    return (*others, *((link,) if len(first) > 1 else ())), tuple(equal)
