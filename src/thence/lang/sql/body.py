"""The body of a query's rule: FROM, PARTITION BY, EVENT, WHERE and WITHIN as patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.apart import differ, pairs
from thence.lang.sql.conditions import targets
from thence.lang.sql.events import (
    Expression,
    Node,
    Place,
    certain,
    expression,
    occurring,
    operator,
    places,
    walk,
)
from thence.lang.sql.lookups import (
    Lookup,
    Tables,
    Variables,
    holds_query,
    lookup,
    row_items,
    with_rows,
)
from thence.lang.sql.names import Alias, Names, Value, conjuncts, renamed
from thence.lang.sql.patterns import Columns, Writer
from thence.lang.sql.refusal import Refused
from thence.lang.sql.repeated import (
    alone,
    check_apart,
    check_collecting,
    check_condition,
    owners_of,
)
from thence.model.source import Span


@dataclass(frozen=True, slots=True)
class Body:
    """The items of a rule's body, and what the select list must know of its aliases.

    ``certain`` aliases are bound in every match and ``occurring`` ones in some. Those that are
    ``collected``, or that ``names`` has as repeated, may be many; ``beside`` are those that stand
    in FROM alone, each with its place there. ``loose`` are partition columns on which repetitions
    agree only if the rule's head shows them. ``merged`` says that the policy makes one result of
    several matches, over which aggregates are.
    """

    items: tuple[s.Node, ...]
    names: Names
    certain: frozenset[str]
    occurring: frozenset[str]
    collected: frozenset[str]
    beside: Mapping[str, Span]
    loose: frozenset[str] = frozenset()
    merged: bool = False


def body(select: q.Select, names: Names, tables: Tables) -> Body:
    """The body of a select. Raises Refused."""
    clause = _clause(select, names)
    streams = places(clause.root)
    clause = _with_tables(clause, names)
    found = places(clause.root)
    beside = _beside(clause, found, names)
    top = found[0]
    found += [Place(node, top, {node.alias}) for node in beside]
    collected = [*beside, *(inner for node in occurring(top.root) for inner in node.collected)]
    _check_once(found, names)
    known = _with_copies(clause, names)
    owners = owners_of(found, names)
    check_collecting(collected, top.root)
    shared = names.partition if owners else _shared(found, names.partition)
    names = replace(names, shared=shared, repeated=frozenset(owners))
    conditions: dict[Node, list[s.Node]] = {}
    asked: list[Lookup] = []
    taken = {*known, *shared}
    for part in (part for node in select.conditions for part in conjuncts(node)):
        if holds_query(part):
            asked.append(lookup(part, names, tables, taken))
            continue
        condition = names.value(part)
        check_condition(condition, owners)
        _add(condition, found, clause, conditions)
    for pair in pairs(streams, known, clause.copies):
        check_apart(pair.one, pair.two, owners, pair.at.span)
        different = differ(known[pair.one], known[pair.two], names.partition, pair.at.span)
        conditions.setdefault(pair.at, []).append(different)
    beyond = {each: _owner(each, found, clause, names) for each in asked}
    known |= _with_rows(select, beyond, known, clause, names, tables)
    variables = None if _is_about_kinds(select, clause) else Variables(taken)
    rows = [
        item for each in asked if not beyond[each] for item in row_items(each, names, variables)
    ]
    columns = _columns(select, known, shared, variables)
    writer = Writer(known, columns, conditions)
    window = clause.windows[0] if beside else None
    main = writer.pattern(clause.root, window)
    items = (main, *(writer.collect(node) for node in beside), *rows)
    return Body(
        items,
        names,
        certain(clause.root),
        frozenset(top.aliases),
        frozenset(part.alias for node in collected for part in occurring(node) if part.alias),
        {node.alias: names.aliases[node.alias].span for node in beside},
        shared if alone(streams) else frozenset(),
        _has_word(select, "cumulative"),
    )


def _clause(select: q.Select, names: Names) -> Expression:
    """The EVENT clause; without one, the only alias, or all of them within the limit given."""
    if select.happening is not None:
        found = expression(select.happening, names)
    else:
        streams = [alias for alias in names.aliases.values() if not alias.table]
        leaves = [Node("alias", (), alias.span, alias.name) for alias in streams]
        if not leaves:
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "nothing occurs in this query: its tables have rows, which are true at all times, "
                "and no events",
                "add the stream that the rows are looked up for: FROM stream e, table t",
            )
        if len(leaves) > 1 and not select.limits:
            shown = ", ".join(alias.name for alias in streams)
            raise Refused(
                Span(select.sources[0].start, select.sources[-1].end),
                "the query does not say how its events relate in time",
                f"add EVENT, such as EVENT SEQ({shown}), or WITHIN for all of them in any order",
            )
        span = Span(leaves[0].span.start, leaves[-1].span.end)
        found = Expression(leaves[0] if len(leaves) == 1 else operator("and", leaves, span))
    root = found.root
    for limit in select.limits:
        root = operator("within", (root,), Span(root.span.start, limit.end), limit=limit.micros)
    return replace(found, root=root)


def _with_tables(clause: Expression, names: Names) -> Expression:
    """The clause with the rows of tables beside it, which are there at all times."""
    tables = [alias for alias in names.aliases.values() if alias.table]
    if not tables:
        return clause
    leaves = [Node("alias", (), alias.span, alias.name) for alias in tables]
    return replace(clause, root=operator("and", (clause.root, *leaves), clause.root.span))


def _beside(clause: Expression, found: list[Place], names: Names) -> list[Node]:
    """The aliases that stand in FROM only: a BETWEEN window collects them."""
    standing = {alias for place in found for alias in place.aliases}
    left = [alias for alias in names.aliases.values() if alias.name not in standing]
    if not left:
        return []
    always = {node for node in clause.windows if _always_occurs(node, clause.root)}
    if not always:
        raise Refused(
            left[0].span,
            f"'{left[0].name}' stands in FROM, and EVENT says nothing about it",
            "say when it occurs, or leave it out; it can be collected in a window: "
            "EVENT BETWEEN(a, b)",
        )
    if len(clause.windows) > 1:
        raise Refused(
            clause.windows[1].span,
            f"there are several windows in which '{left[0].name}' could be collected",
            "write a query for each window, and use one in the FROM of the other",
        )
    return [Node("alias", (), alias.span, alias.name) for alias in left]


def _always_occurs(requested: Node, node: Node) -> bool:
    if node is requested:
        return True
    return node.kind not in ("or", "anyone") and any(
        _always_occurs(requested, part) for part in node.parts
    )


def _check_once(found: list[Place], names: Names) -> None:
    """An alias that occurs cannot be absent as well: it is one event."""
    for place in found[1:]:
        for node in occurring(place.root):
            if node.kind == "alias" and any(node.alias in p.aliases for p in place.around()):
                raise Refused(
                    node.span,
                    f"'{node.alias}' occurs in this query, so it cannot be absent as well",
                    f"give the stream a second alias: FROM {names.aliases[node.alias].stream} "
                    f"{node.alias} {node.alias}2",
                )


def _with_copies(clause: Expression, names: Names) -> dict[str, Alias]:
    """All aliases, those of what would close a window earlier included."""
    known = dict(names.aliases)
    for copies in clause.copies:
        known |= {copy: replace(known[alias], name=copy) for alias, copy in copies.items()}
    return known


def _shared(found: list[Place], partition: frozenset[str]) -> frozenset[str]:
    """Partition columns are variables where there is something to share."""
    uses = Counter(alias for place in found for alias in place.aliases)
    return partition if uses.total() > 1 else frozenset()


def _owner(requested: Lookup, found: list[Place], clause: Expression, names: Names) -> str:
    """The alias among whose events those with such rows are found first; none where rows are
    looked up for the match as it is."""
    top, reads = found[0], requested.reads
    inner = any(reads & place.aliases for place in found[1:])
    untils = [node.parts[1] for node in occurring(top.root) if node.kind == "until"]
    closing = [*clause.copies, *map(certain, untils)]
    closes = bool(reads) and any(reads <= set(each) for each in closing)
    if reads <= certain(top.root) and not (inner or closes or reads & names.repeated):
        return ""
    if len(reads) == 1:
        return min(reads)
    shown = " and ".join(f"'{alias}'" for alias in sorted(reads))
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
    known: Mapping[str, Alias],
    clause: Expression,
    names: Names,
    tables: Tables,
) -> dict[str, Alias]:
    """The aliases that stand for those events of their stream that have certain rows."""
    changed: dict[str, Alias] = {}
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
        read = with_rows(known[alias], requested, names, tables)
        copies = [each[alias] for each in clause.copies if alias in each]
        changed |= {name: replace(known[name], read=read) for name in (alias, *copies)}
    return changed


def _is_about_kinds(select: q.Select, clause: Expression) -> bool:
    """Whether a further variable would change which events are of one kind."""
    return _has_word(select, "strict") or any(node.kind == "until" for node in walk(clause.root))


def _has_word(select: q.Select, name: str) -> bool:
    return any(word.word == name for word in select.policy)


def _columns(
    select: q.Select,
    known: Mapping[str, Alias],
    shared: frozenset[str],
    variables: Variables | None,
) -> dict[str, Columns]:
    """The columns of each alias that are variables: those on which all streams agree, and those by
    which rows are looked up."""
    common = {column.text: column for column in select.partition if column.text in shared}
    found: dict[str, Columns] = {}
    for name, alias in known.items():
        own = [] if variables is None else variables.arguments(name, alias.span)
        found[name] = [*({} if alias.table else common).items(), *own]
    return found


def _add(
    condition: Value,
    found: list[Place],
    clause: Expression,
    conditions: dict[Node, list[s.Node]],
) -> None:
    values = [condition]
    for copies in clause.copies:
        # What is said of the closing event alone says which events close the window.
        values += [
            replace(
                value,
                node=renamed(value.node, copies),
                plain=frozenset(copies[alias] for alias in value.plain),
                folded=frozenset(copies[alias] for alias in value.folded),
            )
            for value in values
            if value.reads and value.reads <= copies.keys()
        ]
    for value in values:
        for node in targets(value, found):
            conditions.setdefault(node, []).append(value.node)
