"""From the parser's reductions to the tree of event SQL; a part of the one builder."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from thence.lang import syntax as s
from thence.lang.problem import SyntaxProblem, check_depth, too_deep
from thence.lang.sql import syntax as q
from thence.lang.tokens import (
    Token,
    duration_of,
    end_of,
    positive_duration,
    positive_number,
    start_of,
    token_span,
    unquoted,
)
from thence.lang.words import CALLS
from thence.logic.moments import MOST_TICKS
from thence.model.source import Span

Parts: TypeAlias = list[Any]
_ROWS = frozenset({"seq", "and", "or"})
_LATER = {
    "order": "ORDER BY",
    "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN", "natural": "NATURAL JOIN",
}  # fmt: skip
_WITHOUT_PARTNER = (
    "what has no partner is another event: NOTFOLLOWS(a, b, '1 min'), or NOT EXISTS (SELECT …) for "
    "a table; two CREATE EVENT statements with one name find both"
)
_INSTEAD = {
    "LEFT JOIN": _WITHOUT_PARTNER,
    "RIGHT JOIN": _WITHOUT_PARTNER,
    "FULL JOIN": _WITHOUT_PARTNER,
    "NATURAL JOIN": "say what is equal: JOIN b ON a.id = b.id, or PARTITION BY id for all streams",
    "UNION": "write several CREATE EVENT statements with one name, or EVENT ANYONE(a, b)",
    "ORDER BY": "results are sorted by their start",
}


_SECOND_WORDS = {"by", "join", "outer", "inner", "left", "right", "full"}


def is_later(word: Token, following: str) -> bool:
    """Whether two words begin a clause of SQL that event SQL does not have."""
    if word.lower() == "limit":
        return following.isdigit()
    return word.lower() in _LATER and following.lower() in _SECOND_WORDS


def not_yet(word: Token) -> SyntaxProblem:
    """The refusal of a clause of SQL that event SQL does not have."""
    name = _LATER.get(word.lower(), word.upper())
    return SyntaxProblem(
        token_span(word),
        f"{name} is not part of event SQL in this version",
        _INSTEAD.get(name),
    )


class BuildSql:
    """One method per named piece of event SQL in ``grammar.lark``."""

    def create_event(self, parts: Parts) -> q.CreateEvent:
        create, name, query, semicolon = parts
        return q.CreateEvent(
            unquoted(name),
            query,
            start_of(create),
            start_of(name),
            end_of(name),
            end_of(semicolon),
        )

    def with_query(self, parts: Parts) -> q.WithQuery:
        word, *named, query = parts
        depth = _depth([*named, query], Span(start_of(word), query.end))
        return q.WithQuery(tuple(named), query, start_of(word), query.end, depth)

    def with_item(self, parts: Parts) -> q.Named:
        name, query, close = parts
        return q.Named(_name(name), query, start_of(name), end_of(close), query.depth + 1)

    def select(self, parts: Parts) -> q.Select:
        items = tuple(part for part in parts if isinstance(part, (s.Term, q.AllColumns)))
        held = _Clause(0)
        for part in parts:
            if isinstance(part, q.SourceItem):
                held.add(_Clause(part.end, sources=[part]))
            elif isinstance(part, _Clause):
                held.add(part)
        start = start_of(parts[0])
        event, having = next(iter(held.event), None), next(iter(held.having), None)
        inside = [*held.sources, *held.conditions, *held.event, *held.having]
        return q.Select(
            items,
            tuple(held.sources),
            tuple(held.partition),
            event,
            tuple(held.conditions),
            tuple(held.limits),
            start,
            held.end,
            _depth(inside, Span(start, held.end)),
            tuple(held.policy),
            tuple(held.group),
            having,
        )

    def all_columns(self, parts: Parts) -> q.AllColumns:
        return q.AllColumns(None, start_of(parts[0]), end_of(parts[0]))

    def alias_columns(self, parts: Parts) -> q.AllColumns:
        alias, star = parts
        return q.AllColumns(_name(alias), start_of(alias), end_of(star))

    def stream_source(self, parts: Parts) -> q.SourceItem:
        window, (stream, *aliases) = _window_among(parts)
        return q.SourceItem(
            _name(stream),
            tuple(_name(alias) for alias in aliases or [stream]),
            start_of(stream),
            max(end_of((aliases or [stream])[-1]), window.end if window else 0),
            1,
            window,
        )

    def query_source(self, parts: Parts) -> q.SourceItem:
        window, (opening, query, closing, *aliases) = _window_among(parts)
        span = Span(start_of(opening), end_of(closing))
        if not aliases:
            raise SyntaxProblem(span, "this query has no alias", "write FROM (SELECT …) a")
        return q.SourceItem(
            query,
            tuple(map(_name, aliases)),
            span.start,
            end_of(aliases[-1]),
            query.depth + 1,
            window,
        )

    def joined(self, parts: Parts) -> _Clause:
        """``JOIN b ON a.id = b.id``: a further source, and a condition like those of WHERE."""
        word, source, *condition = parts
        crosses = word.lower().startswith("cross")
        if crosses == bool(condition):
            raise SyntaxProblem(
                token_span(word),
                "CROSS JOIN has no condition" if crosses else "this JOIN has no condition",
                "write JOIN b ON a.id = b.id",
            )
        end = condition[-1].end if condition else source.end
        return _Clause(end, sources=[source], conditions=_checked(condition[-1:]))

    def window(self, parts: Parts) -> q.Window:
        """``[RANGE BY '5 min' SLIDE BY '1 min']``."""
        found: dict[str, int] = {}
        span = Span(start_of(parts[0]), end_of(parts[-1]))
        for kind, value in parts[1:-1]:
            if kind in found:
                raise SyntaxProblem(
                    span, f"this window says {kind} twice", "write [RANGE BY '5 min']"
                )
            found[kind] = value
        reach, slide = found.get("RANGE"), found.get("SLIDE")
        if slide is not None and reach is None:
            raise SyntaxProblem(
                span,
                "a window that slides at set times needs its length",
                "write [RANGE BY '5 min' SLIDE BY '1 min']",
            )
        if slide is not None and reach is not None and reach // slide > MOST_TICKS:
            raise SyntaxProblem(
                span,
                f"every event would be in {reach // slide:,} windows",
                f"there may be {MOST_TICKS:,} at most; let it slide by more",
            )
        return q.Window(reach, slide, found.get("ROWS"), span.start, span.end)

    def window_range(self, parts: Parts) -> tuple[str, int]:
        return "RANGE", positive_duration(parts[-1])

    def window_slide(self, parts: Parts) -> tuple[str, int]:
        return "SLIDE", positive_duration(parts[-1])

    def window_rows(self, parts: Parts) -> tuple[str, int]:
        return "ROWS", positive_number(parts[-1])

    def window_now(self, parts: Parts) -> tuple[str, int]:
        return "RANGE", 0  # what ends at that very instant

    def grouped(self, parts: Parts) -> _Clause:
        return _Clause(parts[-1].end, group=parts)

    def group_column(self, parts: Parts) -> s.Name | s.Dotted:
        if len(parts) == 1:
            return _name(parts[0])
        alias, column = parts
        return s.Dotted(
            unquoted(alias), unquoted(column), end_of(alias), start_of(alias), end_of(column)
        )

    def having(self, parts: Parts) -> _Clause:
        return _Clause(parts[-1].end, having=_checked(parts))

    def partition(self, parts: Parts) -> _Clause:
        return _Clause(end_of(parts[-1]), partition=[*map(_name, parts)])

    def event_clause(self, parts: Parts) -> _Clause:
        return _Clause(parts[0].end, event=parts)

    def query_using(self, parts: Parts) -> _Clause:
        return _Clause(parts[-1].end, policy=parts)

    def query_within(self, parts: Parts) -> _Clause:
        return _Clause(end_of(parts[0]), limits=[_limit(parts[0])])

    def query_where(self, parts: Parts) -> _Clause:
        found = parts[0]
        if isinstance(found, _Clause):
            return found
        return _Clause(found.end, conditions=_checked(parts))

    def condition(self, parts: Parts) -> _Clause:
        """``[id] and [loc] and x > 1``."""
        found = _Clause(0)
        for part in parts:
            if isinstance(part, _Clause):
                found.add(part)
            elif not isinstance(part, Token):
                _refuse_or(part)
                found.add(_Clause(part.end, conditions=_checked([part])))
            elif part.lower() != "and":
                raise SyntaxProblem(
                    token_span(part), "`[…]` can only be joined by AND", "write [id] AND …"
                )
        return found

    def equal_columns(self, parts: Parts) -> _Clause:
        return self.partition(parts[:-1])

    def later(self, parts: Parts) -> None:
        raise not_yet(parts[0])

    # -- queries in conditions

    def exists(self, parts: Parts) -> s.Nested:
        word, _, query, close = parts
        return s.Nested(query, start_of(word), end_of(close), query.depth + 1)

    def in_query(self, parts: Parts) -> s.Op:
        held = self.exists(parts)
        return s.Op("postfix", "in", held.start, held.end, (held,), held.depth + 1)

    def not_in_query(self, parts: Parts) -> s.Op:
        return replace(self.in_query(parts[1:]), text="not in", start=start_of(parts[0]))

    # -- events

    def event_alias(self, parts: Parts) -> s.Name:
        return _name(parts[0])

    def event_row(self, parts: Parts) -> q.EventExpr:
        """A row of operands, from the left; a run of one operator is one operation."""
        done: q.EventExpr = parts[0]
        at = 1
        while at < len(parts):
            word = parts[at].lower()
            row = [done]
            while at < len(parts) and parts[at].lower() == word:
                if word not in _ROWS and len(row) == 2:
                    break
                row.append(parts[at + 1])
                at += 2
            span = Span(row[0].start, row[-1].end)
            depth = _depth(row, span)
            done = q.Operation(word, tuple(row), None, span.end, span.start, span.end, depth)
        return done

    def event_call(self, parts: Parts) -> q.Operation:
        name, args = parts[0], parts[2:-1]
        span = Span(start_of(name), end_of(parts[-1]))
        limit = _number_or_limit(name, args, span)
        depth = _depth(_without_limits(args), span)
        return q.Operation(
            name.lower(), tuple(args), limit, end_of(name), span.start, span.end, depth
        )

    def event_not(self, parts: Parts) -> q.Negation:
        word, operand = parts
        inside = operand.parts if isinstance(operand, q.Several) else (operand,)
        depth = _depth([operand], Span(start_of(word), operand.end))
        return q.Negation(inside, start_of(word), operand.end, depth)

    def event_paren(self, parts: Parts) -> q.EventExpr:
        items = _without_limits(parts[1:-1])
        if len(items) == 1:
            inside: q.EventExpr = items[0]
            return inside
        start, end = start_of(parts[0]), end_of(parts[-1])
        return q.Several(tuple(items), start, end, _depth(items, Span(start, end)))

    def event_within(self, parts: Parts) -> q.Limited:
        base, limit = parts[0], _limit(parts[1])
        depth = _depth([base], Span(base.start, limit.end))
        return q.Limited(base, limit.micros, base.start, limit.end, depth)

    def event_repeated(self, parts: Parts) -> q.EventExpr:
        """``b+``, ``b{2,5}``."""
        done: q.EventExpr = parts[0]
        for times in parts[1:]:
            depth = _depth([done], Span(done.start, times.end))
            done = q.Repeated(done, times.least, times.most, done.start, times.end, depth)
        return done

    def limit(self, parts: Parts) -> Token:
        token: Token = parts[0]
        return token


@dataclass(slots=True)
class _Clause:
    """What a clause of a query adds to each field of it."""

    end: int
    sources: Parts = field(default_factory=list)
    partition: Parts = field(default_factory=list)
    event: Parts = field(default_factory=list)
    conditions: Parts = field(default_factory=list)
    limits: Parts = field(default_factory=list)
    policy: Parts = field(default_factory=list)
    group: Parts = field(default_factory=list)
    having: Parts = field(default_factory=list)

    def add(self, other: _Clause) -> None:
        if self.policy and other.policy:
            raise SyntaxProblem(
                Span(other.policy[0].start, other.end),
                "USING is said twice",
                "say everything in one: USING first exclusive",
            )
        for each in fields(self)[1:]:
            getattr(self, each.name).extend(getattr(other, each.name))
        self.end = max(self.end, other.end)


def _checked(conditions: Parts) -> Parts:
    for condition in conditions:
        check_depth(condition)
    return conditions


def _name(token: Token) -> s.Name:
    return s.Name(unquoted(token), start_of(token), end_of(token))


def _window_among(parts: Parts) -> tuple[q.Window | None, Parts]:
    """The window of a source, if it has one, and the rest of it."""
    windows = [part for part in parts if isinstance(part, q.Window)]
    return windows[0] if windows else None, [p for p in parts if not isinstance(p, q.Window)]


def _limit(token: Token) -> q.Limit:
    return q.Limit(duration_of(token), start_of(token), end_of(token))


def _number_or_limit(name: Token, args: Parts, span: Span) -> q.Limit | None:
    """What is no event among an operator's arguments, taken out of them: a duration, which comes
    last (in ``PERIODIC``, second), or the number of ``ANY``, which comes first."""
    if name.lower() == "any":
        number = args[0]
        if not (isinstance(number, Token) and number.type == "INT"):
            raise SyntaxProblem(
                span, "ANY needs to know how many", "write ANY(2, a, b, c) for two of the three"
            )
        args.pop(0)
        # Whatever is too long for a number of events is too large in any case.
        return q.Limit(int(number[:9]), start_of(number), end_of(number))
    operator = CALLS.get(name.lower())
    second = operator is not None and operator.duration == 1 and len(args) > 1
    place = 1 if second else len(args) - 1
    return _limit(args.pop(place)) if isinstance(args[place], Token) else None


def _depth(inside: Parts, span: Span) -> int:
    """The depth of what holds some nodes; refuses what is nested too deeply."""
    depth: int = 1 + max((node.depth for node in inside), default=0)
    if depth > s.MAX_DEPTH:
        raise too_deep(Span(span.start, min(span.end, span.start + 40)))
    return depth


def _without_limits(args: Parts) -> Parts:
    """Operands among which no duration stands: that comes last, and only in operators."""
    for arg in args:
        if isinstance(arg, Token):
            raise SyntaxProblem(
                token_span(arg),
                "an event is needed here, and this is a duration",
                "the duration of an operator is its last argument: FOLLOWS(a, b, '1 min')",
            )
    return args


def _refuse_or(node: s.Node) -> None:
    if isinstance(node, s.Chain):
        for part in node.parts:
            if isinstance(part, s.Op) and part.text == "or":
                raise SyntaxProblem(
                    s.span_of(part),
                    "`[…]` holds for every match, so OR cannot make up for it",
                    "put parentheses around the conditions that OR joins",
                )
