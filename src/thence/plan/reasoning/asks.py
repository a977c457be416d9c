"""What the joins of event rules ask of relations: by which columns, with values from where."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from thence.logic.conjunct import Column, equal_columns
from thence.logic.expr import Call, Const
from thence.model.schema import EventSchema
from thence.plan.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Ask:
    """A join looks rows of a relation up whose ``columns`` equal those of ``source``, which are
    ``values``: an event, or a table or relation that is looked up before; and some ``constants``.
    Without a source and constants it may look any row up."""

    relation: str
    columns: tuple[str, ...] = ()
    source: str | None = None
    values: tuple[str, ...] = ()
    constants: tuple[tuple[str, Const], ...] = ()

    @property
    def bound(self) -> tuple[str, ...]:
        """All columns by which it asks."""
        return (*self.columns, *(name for name, _ in self.constants))


def asks_of(
    rules: Iterable[Prepared],
    relations: Collection[str],
    schemas: Mapping[str, EventSchema],
    own: Collection[str],
) -> tuple[Ask, ...]:
    """What some joins ask of relations, each after what it depends on. ``own`` are the events that
    they derive themselves: those cannot say beforehand what will be asked."""
    found: dict[Ask, None] = {}
    for rule in rules:
        for ask in _asks(rule, relations, schemas, own):
            found.setdefault(ask)
    return tuple(found)


def _asks(
    rule: Prepared,
    relations: Collection[str],
    schemas: Mapping[str, EventSchema],
    own: Collection[str],
) -> Iterator[Ask]:
    waiting = [atom for atom, use in enumerate(rule.uses) if use.event in relations]
    if not waiting:
        return
    positive = rule.conjunct.positive
    ready = [atom for atom in positive if rule.uses[atom].event not in {*relations, *own}]
    # Events say more than tables: only what comes is asked for.
    ready.sort(key=lambda atom: rule.uses[atom].fact)
    while waiting:
        choices = [(_pairs(rule, atom, by, schemas), atom, by) for atom in waiting for by in ready]
        pairs, atom, by = max(
            choices,
            key=lambda each: (bool(each[0]), not rule.uses[each[2]].fact, len(each[0])),
            default=({}, waiting[0], None),
        )
        constants = _constants(rule, atom, schemas)
        for name in constants.keys() & pairs.keys():
            del pairs[name]
        source = rule.uses[by].event if by is not None and pairs else None
        waiting.remove(atom)
        if atom in positive:
            ready.append(atom)
        yield Ask(
            rule.uses[atom].event, tuple(pairs), source, tuple(pairs.values()),
            tuple(sorted(constants.items(), key=lambda each: each[0])),
        )  # fmt: skip


def _pairs(
    rule: Prepared, atom: int, other: int, schemas: Mapping[str, EventSchema]
) -> dict[str, str]:
    """The columns of an atom that equal columns of another one."""
    found: dict[str, str] = {}
    for group in equal_columns(rule.conjunct):
        mine = sorted(column.name for column in group if column.atom == atom)
        theirs = sorted(column.name for column in group if column.atom == other)
        if mine and theirs:
            one = schemas[rule.uses[atom].event].type_of(mine[0])
            if one == schemas[rule.uses[other].event].type_of(theirs[0]):
                found[mine[0]] = theirs[0]
    return found


def _constants(rule: Prepared, atom: int, schemas: Mapping[str, EventSchema]) -> dict[str, Const]:
    """The columns of an atom that equal a literal of their type."""
    found: dict[str, Const] = {}
    for predicate in rule.own_predicates(atom):
        match predicate:
            case Call("=", (Column(of, name), Const() as value)) | Call(
                "=", (Const() as value, Column(of, name))
            ) if of == atom and value.type == schemas[rule.uses[atom].event].type_of(name):
                found[name] = value
    return found
