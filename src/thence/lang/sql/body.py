"""The body of a query's rule: FROM, PARTITION BY, EVENT, WHERE and WITHIN as patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.report import Refused
from thence.lang.sql import syntax as q
from thence.lang.sql.clause import (
    Clause,
    Place,
    atom,
    certain,
    clause_of,
    conjunction,
    event_of,
    filtered,
    occurring,
    occurring_aliases,
    parts_of,
    places,
    rebuilt,
    walk,
)
from thence.lang.sql.conditions import (
    check_collecting,
    check_condition,
    check_distinct,
    is_one_repetition,
    owners_of,
    targets,
)
from thence.lang.sql.distinct import differ, pairs
from thence.lang.sql.lookups import (
    Lookup,
    Tables,
    Variables,
    holds_query,
    lookup,
    row_patterns,
    with_rows,
)
from thence.lang.sql.names import Alias, Names, free, reads, renamed, span_of
from thence.logic.expr import Expr, Var, conjuncts
from thence.logic.ops import And, AnyOne, Label, Moments, Or, Pattern, Until, While, Within
from thence.model.source import Span

Conditions = dict[int, list[Expr]]
"""The conditions around patterns, by the identity of these."""


@dataclass(frozen=True, slots=True)
class Body:
    """A rule's body, and what the select list must know of its aliases.

    ``certain`` aliases are bound in every match and ``occurring`` ones in some. Those that are
    ``collected``, or that ``names`` has as repeated, may be many; ``only_in_from`` are those that
    stand in no EVENT clause, each with its place. ``loose`` are partition columns on which
    repetitions agree only if the rule's head shows them. ``merged`` says that the policy makes one
    result of several matches, over which aggregates are.
    """

    pattern: Pattern
    names: Names
    certain: frozenset[str]
    occurring: frozenset[str]
    collected: frozenset[str]
    only_in_from: Mapping[str, Span]
    loose: frozenset[str] = frozenset()
    merged: bool = False


def body(select: q.Select, names: Names, tables: Tables) -> Body:
    """The body of a select. Raises Refused."""
    clause = _clause(select, names, tables.base)
    streams = places(clause.root)
    clause = _with_tables(clause, names)
    found = places(clause.root)
    only = _only_in_from(clause, found, names)
    top = found[0]
    found += [Place(event, top, {event.name}) for event in only]
    collecting = [p for p in occurring(top.root) if isinstance(p, Moments)]
    collected = [*only, *(inner for each in collecting for inner in each.collected)]
    _check_once(found, names)
    known = _with_copies(clause, names)
    owners = owners_of(found, names)
    check_collecting(collected, top.root)
    shared = names.partition if owners else _shared(found, names.partition)
    names = replace(names, shared=shared, repeated=frozenset(owners))
    conditions: Conditions = {}
    asked: list[Lookup] = []
    taken = {*known, *shared}
    values = (names.value(node, queries=True) for node in select.conditions)
    for condition in (part for value in values for part in conjuncts(value)):
        if holds_query(condition):
            asked.append(lookup(condition, names, tables, taken))
        else:
            check_condition(condition, owners)
            _add(condition, found, clause, conditions)
    for pair in pairs(streams, known, clause.copies):
        span = span_of(pair.at)
        check_distinct(pair.one, pair.two, owners, span)
        different = differ(known[pair.one], known[pair.two], names.partition, span)
        conditions.setdefault(id(pair.at), []).append(different)
    beyond = {each: _owner(each, found, clause, names) for each in asked}
    events = {alias.name: alias.event for alias in known.values()}
    events |= _with_rows(select, beyond, clause, names, tables)
    variables = None if _is_about_kinds(select, clause) else Variables(taken)
    rows = [
        pattern
        for each in asked
        if not beyond[each]
        for row in each.rows
        for pattern in row_patterns(row, names, variables)
    ]
    columns = _columns(select, known, shared, variables)
    window = free("window", known)

    def complete(was: Pattern, now: Pattern) -> Pattern:
        """A pattern with its conditions, and its events with what is known of them."""
        if isinstance(was, Label):
            now = atom(was.name, events[was.name], was.span, columns[was.name])
        elif only and was is clause.windows[0]:
            now = Label(window, now, span_of(was))
        return filtered(now, conditions.get(id(was), ()))

    collects = (While(window, "collect", rebuilt(each, complete), each.span) for each in only)
    parts = (rebuilt(clause.root, complete), *collects, *rows)
    return Body(
        conjunction(parts),
        names,
        certain(clause.root),
        frozenset(top.aliases),
        frozenset(alias for each in collected for alias in occurring_aliases(each)),
        {event.name: event.span for event in only},
        shared if is_one_repetition(streams) else frozenset(),
        _has_word(select, "cumulative"),
    )


def _clause(select: q.Select, names: Names, base: Sequence[str]) -> Clause:
    """The EVENT clause; without one, the only alias, or all of them within the limit given."""
    if select.event is not None:
        found = clause_of(select.event, names, base)
    else:
        streams = [alias for alias in names.aliases.values() if not alias.table]
        events = tuple(map(event_of, streams))
        whole = Span(select.sources[0].start, select.sources[-1].end)
        if not events:
            raise Refused(
                whole,
                "nothing occurs in this query: its tables have rows, which are true at all times, "
                "and no events",
                "add the stream that the rows are looked up for: FROM stream e, table t",
            )
        if len(events) > 1 and not select.limits:
            shown = ", ".join(alias.name for alias in streams)
            raise Refused(
                whole,
                "the query does not say how its events relate in time",
                f"add EVENT, such as EVENT SEQ({shown}), or WITHIN for all of them in any order",
            )
        span = Span(events[0].span.start, events[-1].span.end)
        found = Clause(events[0] if len(events) == 1 else And(events, span))
    root = found.root
    for limit in select.limits:
        root = Within(root, limit.micros, Span(span_of(root).start, limit.end))
    return replace(found, root=root)


def _with_tables(clause: Clause, names: Names) -> Clause:
    """The clause with the rows of tables beside it, which are there at all times."""
    rows = [event_of(alias) for alias in names.aliases.values() if alias.table]
    return replace(clause, root=conjunction((clause.root, *rows)))


def _only_in_from(clause: Clause, found: list[Place], names: Names) -> list[Label]:
    """The aliases that stand in FROM only: a BETWEEN window collects them."""
    standing = {alias for place in found for alias in place.aliases}
    left = [alias for alias in names.aliases.values() if alias.name not in standing]
    if not left:
        return []
    if not any(_always_occurs(window, clause.root) for window in clause.windows):
        raise Refused(
            left[0].span,
            f"'{left[0].name}' stands in FROM, and EVENT says nothing about it",
            "say when it occurs, or leave it out; it can be collected in a window: "
            "EVENT BETWEEN(a, b)",
        )
    if len(clause.windows) > 1:
        raise Refused(
            span_of(clause.windows[1]),
            f"there are several windows in which '{left[0].name}' could be collected",
            "write a query for each window, and use one in the FROM of the other",
        )
    return list(map(event_of, left))


def _always_occurs(requested: Pattern, pattern: Pattern) -> bool:
    if pattern is requested:
        return True
    return not isinstance(pattern, Or | AnyOne) and any(
        _always_occurs(requested, part) for part in parts_of(pattern)
    )


def _check_once(found: list[Place], names: Names) -> None:
    """An alias that occurs cannot be absent as well: it is one event."""
    for place in found[1:]:
        around = {alias for each in place.around() for alias in each.aliases}
        for event in occurring(place.root):
            if isinstance(event, Label) and event.name in around:
                raise Refused(
                    event.span,
                    f"'{event.name}' occurs in this query, so it cannot be absent as well",
                    f"give the stream a second alias: FROM {names.aliases[event.name].stream} "
                    f"{event.name} {event.name}2",
                )


def _with_copies(clause: Clause, names: Names) -> dict[str, Alias]:
    """All aliases, those of what would close a window earlier included."""
    known = dict(names.aliases)
    for copies in clause.copies:
        known |= {copy: replace(known[alias], name=copy) for alias, copy in copies.items()}
    return known


def _shared(found: list[Place], partition: frozenset[str]) -> frozenset[str]:
    """Partition columns are variables where there is something to share."""
    uses = Counter(alias for place in found for alias in place.aliases)
    return partition if uses.total() > 1 else frozenset()


def _owner(requested: Lookup, found: list[Place], clause: Clause, names: Names) -> str:
    """The alias among whose events those with such rows are found first; none where rows are
    looked up for the match as it is."""
    top, read = found[0], requested.reads
    inner = any(read & place.aliases for place in found[1:])
    untils = [part.closing for part in occurring(top.root) if isinstance(part, Until)]
    closing = [*clause.copies, *map(certain, untils)]
    closes = bool(read) and any(read <= set(each) for each in closing)
    if read <= certain(top.root) and not (inner or closes or read & names.repeated):
        return ""
    if len(read) == 1:
        return min(read)
    shown = " and ".join(f"'{alias}'" for alias in sorted(read))
    raise Refused(
        requested.span,
        f"this looks rows up for {shown}, of which some are absent, collected, repeated, or in "
        "some alternatives only",
        "look rows up for one of them, or in a query of its own: FROM (SELECT … WHERE EXISTS (…)) "
        "a",
    )


def _with_rows(
    select: q.Select,
    beyond: Mapping[Lookup, str],
    clause: Clause,
    names: Names,
    tables: Tables,
) -> dict[str, str]:
    """The events of aliases that stand for those of their stream that have certain rows."""
    changed: dict[str, str] = {}
    for alias in dict.fromkeys(filter(None, beyond.values())):
        requested = [each for each, owner in beyond.items() if owner == alias]
        if alias in names.repeated and _has_word(select, "strict"):
            raise Refused(
                requested[0].span,
                f"with STRICT, '{alias}' is every event of its stream, whether it has such a row "
                "or not",
                "say which events there are in a query of its own: FROM (SELECT … WHERE EXISTS "
                "(…)) a",
            )
        read = with_rows(names.aliases[alias], requested, names, tables)
        copies = [each[alias] for each in clause.copies if alias in each]
        changed |= dict.fromkeys((alias, *copies), read)
    return changed


def _is_about_kinds(select: q.Select, clause: Clause) -> bool:
    """Whether a further variable would change which events are of one kind."""
    return _has_word(select, "strict") or any(isinstance(part, Until) for part in walk(clause.root))


def _has_word(select: q.Select, name: str) -> bool:
    return any(word.word == name for word in select.policy)


def _columns(
    select: q.Select,
    known: Mapping[str, Alias],
    shared: frozenset[str],
    variables: Variables | None,
) -> dict[str, tuple[tuple[str, Var], ...]]:
    """The columns of each alias that are variables: those on which all streams agree, and those by
    which rows are looked up."""
    common = {c.text: Var(c.text, s.span_of(c)) for c in select.partition if c.text in shared}
    found: dict[str, tuple[tuple[str, Var], ...]] = {}
    for name, alias in known.items():
        own = [] if variables is None else variables.arguments(name, alias.span)
        found[name] = (*({} if alias.table else common).items(), *own)
    return found


def _add(
    condition: Expr,
    found: list[Place],
    clause: Clause,
    conditions: Conditions,
) -> None:
    values = [condition]
    for copies in clause.copies:
        # What is said of the closing event alone says which events close the window.
        closing = [value for value in values if reads(value) and reads(value) <= copies.keys()]
        values += [renamed(value, copies) for value in closing]
    for value in values:
        for pattern in targets(value, found):
            conditions.setdefault(id(pattern), []).append(value)
