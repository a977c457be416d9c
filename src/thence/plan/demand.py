"""Demand: joining a result with what asks for it, as far as its reader ties the two together.

A rule that reads an event ties it to the other events of the match: by equal columns, and by the
closed bounds between their end points. So an event is of use to a rule only where some *asker*, one
of those others, can meet it. Said of a rule's results that is a suppressed sub-expression with
bindings and time ranges passed sideways into it (``rewrites/suppress.py``); said of the rows that
are remembered it is a semi-join reduction of state (``retention.py``). Both are the same join: that
of the results with the asker as one more silent atom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thence.logic.bounds import UNBOUNDED, Bounds, Constraint, close
from thence.logic.conjunct import (
    EPOCH,
    AtomUse,
    Column,
    Conjunct,
    EndPoint,
    Epoch,
    Head,
    Node,
    NodeTime,
    Shifted,
    close_with_extremes,
)
from thence.logic.expr import Call, Expr
from thence.model.schema import EventSchema

if TYPE_CHECKING:
    from thence.plan.prepared import Prepared

Schemas = Mapping[str, EventSchema]

RARER = 4
"""A result is derived only where it is asked for if what asks for it is this many times as rare as
what it is made of. Otherwise looking for askers costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Why a join has an asker.

    ``atom`` is the asker, ``eager`` the same join without it. Joins of one ``eager`` and one
    ``reader`` are different ways to say the same: whatever is asked for has all of their askers.
    """

    atom: int
    eager: Prepared
    reader: int
    late: bool = False
    """Whether an asker may come after results have ended, as far as is known without taking events
    for instants. Then results are told from those that are remembered."""
    behind: bool = False
    """Whether an asker may come after what it asks for has been finalised once and for all, since
    the horizon of its input may be behind. Then all is derived, unless the step is the last."""


def itself(schema: EventSchema) -> Conjunct:
    """The join that gives the events of one type as they are."""
    nodes = (Epoch(), EndPoint(0, "start"), EndPoint(0, "end"))
    constraint = Constraint(1, 2, 0)
    return Conjunct(
        head=Head(
            event=schema.name,
            columns=schema.names,
            types=tuple(attribute.type for attribute in schema.attributes),
            terms=tuple(Column(0, name) for name in schema.names),
            start=1,
            end=2,
        ),
        atoms=(AtomUse(schema.name, None, 1, 2),),
        positive=(0,),
        nodes=nodes,
        constraints=(constraint,),
        bounds=close([constraint]),
        links=(),
        predicates=(),
        windows=(),
        completions=(),
    )


def asked_for(
    results: Conjunct, reader: Prepared, read: int, asker: int, schemas: Schemas
) -> Conjunct | None:
    """A join of ``results`` with an asker: ``reader`` reads those results as its atom ``read``,
    and its atom ``asker`` must be there as well. None where the two can never meet.

    What the reader says of both together and cannot be said here is left out: then more is derived
    than is read, never less.
    """
    conjunct = reader.conjunct
    use = conjunct.atoms[asker]
    atom, start = len(results.atoms), len(results.nodes)
    end = start + 1
    nodes = (*results.nodes, EndPoint(atom, "start"), EndPoint(atom, "end"))
    constraints = [
        Constraint(start, end, 0),
        *_between(results, reader, read, use, (start, end)),
    ]
    predicates, nodes = _own_predicates(reader, asker, Asker(atom, start, end), nodes)

    def closed(bounds: Bounds) -> Bounds:
        return close_with_extremes(bounds.with_constraints(constraints), nodes)

    bounds = closed(results.bounds)
    if not bounds.satisfiable:
        return None
    return replace(
        results,
        atoms=(*results.atoms, replace(use, start=start, end=end, label=None, silent=True)),
        positive=(*results.positive, atom),
        nodes=nodes,
        constraints=(*results.constraints, *constraints),
        bounds=bounds,
        links=_links(results, reader, read, asker, schemas),
        predicates=(*results.predicates, *predicates),
        windows=tuple(replace(w, bounds=closed(w.bounds)) for w in results.windows),
    )


def _between(
    results: Conjunct, reader: Prepared, read: int, use: AtomUse, ends: tuple[int, int]
) -> list[Constraint]:
    """What the closed bounds of a reader say of an asker and of what it reads, without what
    follows from the rest."""
    bounds = bounds_of(reader, read)
    seen = reader.uses[read]
    own = {use.start: ends[0], use.end: ends[1]}
    others = own | {EPOCH: EPOCH, seen.start: results.head.start, seen.end: results.head.end}
    pairs = [(a, b) for a in own for b in others] + [(b, a) for a in own for b in others]
    found = {
        (others[a], others[b]): bounds[a, b]
        for a, b in pairs
        if a != b and bounds[a, b] < UNBOUNDED
    }
    # Times are whole microseconds: what is one earlier at least is earlier, and meant so.
    kept = [Constraint(*pair, limit, strict=limit == -1) for pair, limit in found.items()]
    by_nature = results.bounds.with_constraints(
        [Constraint(ends[0], ends[1], 0), Constraint(results.head.start, results.head.end, 0)]
    )
    for constraint in tuple(kept):
        rest = [other for other in kept if other is not constraint]
        pair = constraint.later, constraint.earlier
        if by_nature.with_constraints(rest)[pair] <= constraint.limit:
            kept = rest
    return kept


def bounds_of(reader: Prepared, atom: int) -> Bounds:
    """The closed bounds that hold of an atom, in the match or in a window of it."""
    windows = (window for window in reader.conjunct.windows if window.atom == atom)
    found = next(windows, None)
    return reader.conjunct.bounds if found is None else found.bounds


@dataclass(frozen=True, slots=True)
class Asker:
    """An asker's place in the join that it is added to."""

    atom: int
    start: int
    end: int


def _own_predicates(
    reader: Prepared, atom: int, place: Asker, nodes: tuple[Node, ...]
) -> tuple[list[Expr], tuple[Node, ...]]:
    """The conditions on an asker alone, in the order of the text up to one that cannot be said
    of it elsewhere; and the nodes that they read."""
    known = list(nodes)

    def moved(expr: Expr) -> Expr | None:
        match expr:
            case Column(_, name):
                return Column(place.atom, name)
            case NodeTime(node):
                base, by = reader.base(node)
                point = reader.conjunct.nodes[base]
                if not isinstance(point, EndPoint):
                    return None
                own = place.start if point.which == "start" else place.end
                if by == 0:
                    return NodeTime(own)
                known.append(Shifted(own, by))
                return NodeTime(len(known) - 1)
            case Call(function, args):
                inner = [moved(arg) for arg in args]
                said = tuple(arg for arg in inner if arg is not None)
                return Call(function, said) if len(said) == len(args) else None
        return expr

    found = []
    for predicate in reader.local.get(atom, ()):
        said = moved(predicate)
        if said is None:
            break
        found.append(said)
    return found, tuple(known)


def _links(
    results: Conjunct, reader: Prepared, read: int, asker: int, schemas: Schemas
) -> tuple[tuple[Column, ...], ...]:
    """The equal columns of the join with an asker: where the reader holds a column of it equal to
    one of the results, it equals what that one is made of."""
    links = [*results.links]
    atom = len(results.atoms)
    used: set[str] = set()
    for own, name in _equal(reader, read, asker):
        term = results.head.terms[results.head.columns.index(name)]
        if not isinstance(term, Column) or term.atom not in results.positive or own in used:
            continue
        kinds = {
            schemas[results.atoms[term.atom].event].type_of(term.name),
            schemas[results.event].type_of(name),
            schemas[reader.uses[asker].event].type_of(own),
        }
        if len(kinds) > 1:
            continue
        place = next((n for n, link in enumerate(links) if term in link), None)
        if place is None:
            links.append((term, Column(atom, own)))
        elif all(column.atom != atom for column in links[place]):
            links[place] = (*links[place], Column(atom, own))
        else:
            continue
        used.add(own)
    return tuple(links)


def _equal(reader: Prepared, read: int, asker: int) -> Iterator[tuple[str, str]]:
    """Columns of an asker and of what is read that a reader holds equal."""
    links = reader.conjunct.links
    for link in links:
        of_asker = [column.name for column in link if column.atom == asker]
        of_read = [column.name for column in link if column.atom == read]
        yield from ((own, name) for own in of_asker for name in of_read)
    for window in reader.conjunct.windows:
        if window.atom != read:
            continue
        for name, expr in window.links:
            same = next((link for link in links if expr in link), (expr,))
            for column in same:
                if isinstance(column, Column) and column.atom == asker:
                    yield column.name, name


Size = Callable[["Prepared", int], int]
"""How many rows an atom of a join has at hand."""


def rarest(partners: Sequence[int], kept: int) -> int | None:
    """Which of several partners to look for, given how many there are of each and how many rows
    might be dropped; none where that would cost more than it saves."""
    number = min(range(len(partners)), key=partners.__getitem__)
    return number if RARER * partners[number] <= kept else None


Form = tuple["Prepared", frozenset[int] | None]
"""A join to run, and the atoms whose new rows it is run for: None for all that is new."""


def forms(alternatives: Sequence[Prepared], size: Size, last: bool = False) -> Iterator[Form]:
    """The joins by which a rule's results are found, given how many rows there are, and whether
    this is the ``last`` step.

    A rule may be evaluated where it is asked for or everywhere, and by the rarest of several
    askers: each finds what is asked for, and some more. Whichever is chosen, a new asker is always
    joined with what is old. So what was left out before is found once it is asked for, and the
    choice may be another one in every step.
    """
    demanded: dict[int, dict[int, list[Prepared]]] = {}
    eager: dict[int, Prepared] = {}
    for prepared in alternatives:
        if prepared.demand is None:
            yield prepared, None
            continue
        number = id(prepared.demand.eager)
        eager[number] = prepared.demand.eager
        demanded.setdefault(number, {}).setdefault(prepared.demand.reader, []).append(prepared)
    for number, whole in eager.items():
        sizes = {
            id(way): size(way, way.demand.atom)
            for ways in demanded[number].values()
            for way in ways
            if way.demand is not None
        }
        rarest = [min(ways, key=lambda way: sizes[id(way)]) for ways in demanded[number].values()]
        askers = sum(sizes[id(way)] for way in rarest)
        made_of = max(size(whole, atom) for atom in whole.conjunct.events)
        in_time = last or not any(
            way.demand is not None and way.demand.behind
            for ways in demanded[number].values()
            for way in ways
        )
        worth = in_time and RARER * askers <= made_of
        if not worth:
            yield whole, None
        for ways in demanded[number].values():
            for way in ways:
                if worth and any(way is chosen for chosen in rarest):
                    yield way, None
                elif way.demand is not None:
                    yield way, frozenset((way.demand.atom,))
