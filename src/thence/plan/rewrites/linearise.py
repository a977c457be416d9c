"""Recursion that puts chains together: one more link at a time, at the end of what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thence.logic.bounds import Constraint
from thence.logic.changes import changed
from thence.logic.conjunct import AtomUse, Column, Conjunct, Extreme
from thence.plan.prepared import Prepared
from thence.plan.sharing import Draft, Place, Rule, is_plain, is_projection
from thence.plan.tree import Plan, Stage


def linearise(plan: Plan) -> Plan:
    """Chains that a recursion puts together in any way grow by one link at their end.

    ``p(x, z) <- p(x, y) seq p(y, z)`` finds a chain of n links in n - 1 ways, and
    ``p(x, z) <- q(x, y) seq p(y, z)`` goes back link by link when another one comes. To put two
    chains together is associative, so both give what ``p(x, z) <- p(x, y) seq q(y, z)`` gives,
    where ``q`` are the links: each chain once, in the round after the one that it continues.
    """
    draft = Draft(plan)
    for number, stage in enumerate(plan.stages):
        if stage.recursive and len(stage.events) == 1 and not draft.is_told(stage):
            rules = _linear(draft, number, stage)
            if rules is not None:
                draft.put_all(number, rules)
    return draft.plan()


def _linear(draft: Draft, number: int, stage: Stage) -> list[Rule] | None:
    """The rules of a recursion in which chains grow at their end; None where it is no such
    recursion, or one already."""
    (event,) = stage.events
    again = [rule for place, rule in enumerate(stage.rules) if stage.goes_round(place)]
    begin = [rule for place, rule in enumerate(stage.rules) if not stage.goes_round(place)]
    if not begin or len(again) != 1 or len(again[0]) != 1:
        return None
    conjunct = again[0][0].conjunct
    chain = _chained(conjunct)
    if chain is None or conjunct.atoms[chain[1]].event != event:
        return None
    left, right = chain
    links = _links_of(draft, event, begin)
    if conjunct.atoms[left].event == event:
        if not _composes(conjunct, left, right, {}, {}):
            return None
        if links is None:
            if not all(is_plain(each.conjunct) for rule in begin for each in rule):
                return None
            links, begin = _promoted(draft, number, begin)
    else:
        # It has its links at the front: the same at the end, if they are all that chains are of.
        if links is None or links.use.event != conjunct.atoms[left].event:
            return None
        if _is_joint(conjunct) or not _composes(conjunct, left, right, links.shown, {}):
            return None
        own = conjunct.atoms[right]
        conjunct = _read_as(conjunct, left, own, links.shown)
    shows = {column: name for name, column in links.shown.items()}
    grown = _read_as(conjunct, right, links.use, shows)
    return [*begin, (Prepared(grown),)]


@dataclass(frozen=True, slots=True)
class _Links:
    """What chains are made of: an event, and which column of a chain each of its columns is."""

    use: AtomUse
    shown: Mapping[str, str]


def _links_of(draft: Draft, event: str, begin: list[Rule]) -> _Links | None:
    """What chains begin with, where it is another event under another name."""
    if len(begin) != 1 or len(begin[0]) != 1:
        return None
    conjunct = begin[0][0].conjunct
    if not is_projection(conjunct) or conjunct.links or conjunct.atoms[0].fact:
        return None
    use = conjunct.atoms[0]
    if conjunct.constraints != (Constraint(use.start, use.end, 0),):
        return None
    if (conjunct.head.start, conjunct.head.end) != (use.start, use.end):
        return None
    columns = [term for term in conjunct.head.terms if isinstance(term, Column)]
    shown = {term.name: name for term, name in zip(columns, conjunct.head.columns, strict=True)}
    types = zip(columns, conjunct.head.columns, strict=True)
    if len(shown) != len(columns) or any(
        draft.type_of(conjunct, term) != draft.attribute(event, name) for term, name in types
    ):
        return None
    return _Links(use, shown)


def _promoted(draft: Draft, number: int, begin: list[Rule]) -> tuple[_Links, list[Rule]]:
    """What chains begin with as an event of its own, and the rule that reads it."""
    conjuncts = [alternative.conjunct for rule in begin for alternative in rule]
    columns = conjuncts[0].head.columns
    event = draft.add(Place(number, 0), conjuncts, draft.shown_by(conjuncts[0]))
    reading = draft.reading(conjuncts[0], event, columns)
    use = reading.conjunct.atoms[0]
    return _Links(use, {name: name for name in columns}), [(reading,)]


def _chained(conjunct: Conjunct) -> tuple[int, int] | None:
    """The two events that a rule puts together, the first and the last; None where it does more, or
    where it asks more of their times than how the end of one lies to the start of the other, and
    how long it takes from the first to the last."""
    if (
        conjunct.positive != (0, 1)
        or len(conjunct.atoms) != 2
        or not is_plain(conjunct)
        or conjunct.windows
        or conjunct.predicates
        or conjunct.completions
        or any(use.fact or use.silent for use in conjunct.atoms)
        or not all(isinstance(term, Column) for term in conjunct.head.terms)
    ):
        return None
    first, last = conjunct.head.start, conjunct.head.end
    if _is_joint(conjunct):
        told = {*_lasting(conjunct), *_extremes(conjunct)}
        further = [each for each in conjunct.constraints if each not in told]
        return (0, 1) if _limits_whole(conjunct, further) else None
    left, right = (0, 1) if conjunct.atoms[0].start == first else (1, 0)
    one, other = conjunct.atoms[left], conjunct.atoms[right]
    if (one.start, other.end) != (first, last) or conjunct.bounds[one.end, other.start] > 0:
        return None
    told = set(_lasting(conjunct))
    between = {one.end, other.start}
    for each in conjunct.constraints:
        if each not in told and (each.later, each.earlier) != (last, first):
            if not {each.later, each.earlier} <= between:
                return None
    return left, right


def _is_joint(conjunct: Conjunct) -> bool:
    """Whether a result reaches from the earlier start of two events to the later end."""
    one, other = conjunct.atoms
    return conjunct.nodes[conjunct.head.start] == Extreme(
        "earliest", (one.start, other.start)
    ) and conjunct.nodes[conjunct.head.end] == Extreme("latest", (one.end, other.end))


def _limits_whole(conjunct: Conjunct, constraints: Sequence[Constraint]) -> bool:
    """Whether constraints say how long it is from the first start of two events to the last end, or
    nothing."""
    starts, ends = zip(*((use.start, use.end) for use in conjunct.atoms), strict=True)
    pairs = {(end, start) for end in ends for start in starts}
    limits = {each.limit for each in constraints}
    said = {(each.later, each.earlier) for each in constraints}
    return not said or (said == pairs and len(limits) == 1)


def _lasting(conjunct: Conjunct) -> Iterator[Constraint]:
    """That no event ends before it starts."""
    return (Constraint(use.start, use.end, 0) for use in conjunct.atoms)


def _extremes(conjunct: Conjunct) -> Iterator[Constraint]:
    """That a result starts no later, and ends no earlier, than what it is made of."""
    for use in conjunct.atoms:
        yield Constraint(conjunct.head.start, use.start, 0)
        yield Constraint(use.end, conjunct.head.end, 0)


def _composes(
    conjunct: Conjunct, left: int, right: int, first: Mapping[str, str], last: Mapping[str, str]
) -> bool:
    """Whether to put together is associative: what is asked of the first of two by the next is seen
    in the last of them, too, and the other way round.

    ``first`` and ``last`` say which column of a chain each column of the first and the last event
    is, where that is none.
    """
    views = {left: first, right: last}

    def seen(column: Column) -> str | None:
        view = views[column.atom]
        return view.get(column.name) if view else column.name

    shown: dict[int, set[str | None]] = {left: set(), right: set()}
    for name, term in zip(conjunct.head.columns, conjunct.head.terms, strict=True):
        if not isinstance(term, Column) or seen(term) != name:
            return False
        shown[term.atom].add(name)
    for link in conjunct.links:
        by_atom = {atom: {seen(c) for c in link if c.atom == atom} for atom in (left, right)}
        common = by_atom[left] & by_atom[right]
        shown[left] |= common
        shown[right] |= common
    return all(
        seen(column) in shown[right if column.atom == left else left]
        for link in conjunct.links
        for column in link
    )


def _read_as(conjunct: Conjunct, atom: int, use: AtomUse, names: Mapping[str, str]) -> Conjunct:
    """The same with another event in the place of one, whose columns have other names."""

    def column(node: object) -> object:
        if isinstance(node, Column) and node.atom == atom:
            return replace(node, name=names.get(node.name, node.name))
        return node

    atoms = list(conjunct.atoms)
    atoms[atom] = replace(atoms[atom], event=use.event, hidden=use.hidden)
    return replace(
        conjunct,
        atoms=tuple(atoms),
        head=replace(conjunct.head, terms=changed(conjunct.head.terms, column)),
        links=changed(conjunct.links, column),
    )
