"""From the parser's reductions to the neutral syntax tree.

The parser calls a method here each time it recognises a piece of the grammar, innermost first, so
the tree is built without recursion and without an intermediate tree.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from thence.lang import syntax as s
from thence.lang.problem import SyntaxProblem, check_depth, int_out_of_range, too_deep
from thence.lang.reactions import BuildReactions
from thence.lang.sql.build import BuildSql
from thence.lang.table_changes import BuildChanges
from thence.lang.tokens import (
    Token,
    duration_of,
    end_of,
    positive_number,
    start_of,
    string_value,
    timestamp_of,
    token_span,
    unquoted,
)
from thence.lang.words import TYPE_ALIASES
from thence.logic.widening import literal_type
from thence.model.schema import RowsFrom, RowsFromKind, Validity
from thence.model.source import Span
from thence.model.table_names import parts_of
from thence.model.types import (
    BOOL,
    DECIMAL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    list_of,
)

Parts: TypeAlias = list[Any]
MAX_INT = 2**63 - 1
MOST_TIMES = 1000


def _deepest(nodes: Parts) -> int:
    return 1 + max((node.depth for node in nodes), default=0)


_LIMITS = frozenset({"DURATION", "STRING", "INT", "FLOAT"})
_ROWS_FROM: dict[str, RowsFromKind] = {"spark": "spark", "postgres": "postgres"}


class Build(BuildReactions, BuildChanges, BuildSql):
    """One method per named piece of ``grammar.lark``; ``parts`` holds what is inside it."""

    def start(self, parts: Parts) -> tuple[s.Statement, ...]:
        return tuple(parts)

    # -- statements

    def event(self, parts: Parts) -> s.EventDecl:
        name = parts[0]
        columns = tuple(part for part in parts if isinstance(part, s.Column))
        limits = [p for p in parts[1:] if isinstance(p, Token) and p.type in _LIMITS]
        longest = duration_of(limits[0]) if limits else None
        return s.EventDecl(unquoted(name), columns, longest, start_of(name), end_of(name))

    def table(self, parts: Parts) -> s.EventDecl:
        name = parts[1]
        columns = tuple(part for part in parts if isinstance(part, s.Column))
        rows = next((part for part in parts if isinstance(part, RowsFrom)), None)
        valid = next((part for part in parts if isinstance(part, s.ValidityDecl)), None)
        start, end = start_of(name), end_of(name)
        return s.EventDecl(unquoted(name), columns, None, start, end, True, rows, valid)

    def validity(self, parts: Parts) -> s.ValidityDecl:
        named = {parts[at].type: parts[at + 1] for at in range(1, len(parts), 2)}
        since, until = (unquoted(named[t]) if t in named else None for t in ("FROM", "TO"))
        return s.ValidityDecl(Validity(since, until), start_of(parts[0]), end_of(parts[-1]))

    def rows_from(self, parts: Parts) -> RowsFrom:
        word, where = parts[1:-1], parts[-1]
        kind = _ROWS_FROM.get(unquoted(word[0]).lower()) if word else "file"
        if kind is None:
            raise SyntaxProblem(
                token_span(word[0]),
                f"rows cannot come from '{word[0]}'",
                "write from 'rows.csv' for a file, from spark 'db.name' or from postgres "
                "'schema.name' for a table",
            )
        if not string_value(where).strip():
            raise SyntaxProblem(token_span(where), "rows come from somewhere, and this is empty")
        if kind == "postgres":
            try:
                parts_of(string_value(where))
            except ValueError as problem:
                span = token_span(where)
                message = "this is no name of a table of PostgreSQL"
                raise SyntaxProblem(span, message, str(problem), secret=True) from None
        return RowsFrom(kind, string_value(where))

    def rule(self, parts: Parts) -> s.RuleDecl:
        name, semicolon = parts[0], parts[-1]
        arrow = next(
            i for i, part in enumerate(parts) if isinstance(part, Token) and part.type == "ARROW"
        )
        before = parts[arrow - 1]
        policy = tuple(part for part in parts if isinstance(part, s.PolicyWord))
        items = tuple(parts[arrow + 1 : -1 - len(policy)])
        for item in items:
            check_depth(item)
        return s.RuleDecl(
            unquoted(name),
            tuple(part for part in parts[1:arrow] if isinstance(part, s.Term)),
            items,
            start_of(name),
            end_of(name),
            end_of(before),
            end_of(semicolon),
            policy,
            parts[arrow] == ":-",
        )

    def fact(self, parts: Parts) -> s.FactDecl:
        name = parts[0]
        terms = tuple(part for part in parts if isinstance(part, s.Term))
        return s.FactDecl(unquoted(name), terms, start_of(name), end_of(name), end_of(parts[-1]))

    def policy_word(self, parts: Parts) -> s.PolicyWord:
        words = [part for part in parts if part.type == "WORD"]
        labels = tuple(unquoted(word) for word in words[1:])
        return s.PolicyWord(words[0].lower(), labels, start_of(parts[0]), end_of(parts[-1]))

    def column(self, parts: Parts) -> s.Column:
        word, kind = parts
        return s.Column(unquoted(word), kind[0], start_of(word), end_of(word))

    def plain_type(self, parts: Parts) -> tuple[Type, int]:
        kind = _kind(parts[0])
        if kind == "decimal":
            return DECIMAL, 1
        if kind == "list":
            raise SyntaxProblem(
                token_span(parts[0]), "a list needs the type of its elements", "write list<int>"
            )
        return Type(kind), 1

    def sized_type(self, parts: Parts) -> tuple[Type, int]:
        name, numbers = parts[0], [p for p in parts if p.type == "INT"]
        span = Span(start_of(name), end_of(parts[-1]))
        kind = _kind(name)
        if kind == "string":
            return STRING, 1
        if kind != "decimal":
            raise SyntaxProblem(span, f"{name} takes no size", f"write {kind}")
        precision = _small(numbers[0])
        scale = _small(numbers[1]) if len(numbers) == 2 else 0
        if not 1 <= precision <= 38 or scale > precision:
            raise SyntaxProblem(
                span,
                f"decimal({numbers[0]}, {scale}) is not possible",
                "precision is 1 to 38 digits, of which at most all stand after the point",
            )
        return Type("decimal", precision=precision, scale=scale), 1

    def list_type(self, parts: Parts) -> tuple[Type, int]:
        name, _, (element, depth), end = parts
        span = Span(start_of(name), end_of(end))
        if name.lower() != "list":
            raise SyntaxProblem(span, f"{name} takes no type of elements", "write list<…>")
        if depth >= s.MAX_DEPTH:
            raise too_deep(span)
        return list_of(element), depth + 1

    def term(self, parts: Parts) -> s.Term:
        value = parts[0]
        check_depth(value)
        if len(parts) == 1:
            return s.Term(value, None, value.start, value.end)
        return s.Term(value, unquoted(parts[1]), value.start, end_of(parts[1]))

    # -- items and suffixes

    def while_item(self, parts: Parts) -> s.WhileItem:
        word, window, mode, target = parts
        _one_event(f"while {window}: {mode.lower()}", f"while … {mode.lower()}", target)
        return s.WhileItem(
            unquoted(window),
            start_of(window),
            end_of(window),
            "not" if mode.type == "NOT" else "collect",
            target,
            start_of(word),
            target.end,
            target.depth + 1,
        )

    def over_item(self, parts: Parts) -> s.WhileItem:
        word, (reach, rows), _, window, _, target = parts
        _one_event(f"over … of {window}: collect", "over … collect", target)
        return s.WhileItem(
            unquoted(window),
            start_of(window),
            end_of(window),
            "collect",
            target,
            start_of(word),
            target.end,
            target.depth + 1,
            reach,
            rows,
        )

    def over_reach(self, parts: Parts) -> tuple[int | None, int | None]:
        durations = [part for part in parts if part.type == "DURATION"]
        numbers = [part for part in parts if part.type == "INT"]
        return (
            duration_of(durations[0]) if durations else None,
            positive_number(numbers[0]) if numbers else None,
        )

    def within(self, parts: Parts) -> s.WithinSuffix:
        base, token = parts
        limit = duration_of(token)
        return s.WithinSuffix(base, limit, base.start, end_of(token), base.depth + 1)

    def where(self, parts: Parts) -> s.WhereSuffix:
        base, condition = parts
        return s.WhereSuffix(
            base, condition, base.start, condition.end, _deepest([base, condition])
        )

    # -- rows of operands and operators

    def chain(self, parts: Parts) -> s.Node:
        row: Parts = []
        open_between = False
        for part in parts:
            if isinstance(part, s.Chain):
                row.extend(part.parts)
                continue
            if isinstance(part, _Quantifier):
                row.append(_repeated(row.pop(), part))
                continue
            if isinstance(part, s.Op):
                if open_between and part.text == "and":
                    part = replace(part, text="between_and")
                    open_between = False
                elif part.text in ("between", "not between"):
                    open_between = True
            row.append(part)
        return row[0] if len(row) == 1 else _chain(row)

    def operand(self, parts: Parts) -> s.Node:
        last = parts[-1]
        if isinstance(last, _Delimited):
            word = parts[-2]
            if word.text != "not":
                raise SyntaxProblem(
                    s.span_of(word), f"'{word.text}' cannot stand before `(…).[a, b]`"
                )
            absence = _between(word.start, last)
            return absence if len(parts) == 2 else _chain([*parts[:-2], absence])
        return _chain(parts)

    def prefix(self, parts: Parts) -> s.Op:
        token = parts[0]
        return s.Op("prefix", token.lower(), start_of(token), end_of(token))

    def infix(self, parts: Parts) -> s.Op:
        token = parts[0]
        text = _SPELLINGS.get(token) or token.lower()
        return s.Op("infix", text, start_of(token), end_of(token))

    def not_infix(self, parts: Parts) -> s.Op:
        word, token = parts
        return s.Op("infix", f"not {token.lower()}", start_of(word), end_of(token))

    def is_null(self, parts: Parts) -> s.Op:
        text = "is null" if len(parts) == 2 else "is not null"
        return s.Op("postfix", text, start_of(parts[0]), end_of(parts[-1]))

    def distinct_from(self, parts: Parts) -> s.Op:
        text = "is distinct from" if len(parts) == 3 else "is not distinct from"
        return s.Op("infix", text, start_of(parts[0]), end_of(parts[-1]))

    def in_list(self, parts: Parts) -> s.Op:
        items = parts[2:-1]
        start, end = start_of(parts[0]), end_of(parts[-1])
        return s.Op("postfix", "in", start, end, tuple(items), _deepest(items))

    def not_in_list(self, parts: Parts) -> s.Op:
        return replace(self.in_list(parts[1:]), text="not in", start=start_of(parts[0]))

    def repeat(self, parts: Parts) -> _Quantifier:
        start, end = start_of(parts[0]), end_of(parts[-1])
        if len(parts) == 1:
            most = 1 if parts[0] == "?" else None
            return _Quantifier(1 if parts[0] == "+" else 0, most, start, end)
        counts = [int(part) for part in parts if part.type == "INT" and len(part) < 10]
        open_ended = any(part.type == "COMMA" for part in parts)
        if len(counts) < sum(part.type == "INT" for part in parts) or max(counts) > MOST_TIMES:
            raise SyntaxProblem(
                Span(start, end),
                f"a repetition can be limited to at most {MOST_TIMES} times",
                "leave out the upper limit: {3,} is three times or more",
            )
        most = None if open_ended and len(counts) == 1 else counts[-1]
        if most is not None and (most < counts[0] or most == 0):
            raise SyntaxProblem(
                Span(start, end),
                "a repetition that can never be"
                if most
                else "what is repeated no times is not there",
                "write the lower limit first, as in {2,5}",
            )
        return _Quantifier(counts[0], most, start, end)

    # -- operands

    def name(self, parts: Parts) -> s.Name | s.Anything:
        token = parts[0]
        if token == "_":
            return s.Anything(start_of(token), end_of(token))
        return s.Name(unquoted(token), start_of(token), end_of(token))

    def dotted(self, parts: Parts) -> s.Dotted:
        label, attribute = parts
        return s.Dotted(
            unquoted(label), unquoted(attribute), end_of(label), start_of(label), end_of(attribute)
        )

    def apply(self, parts: Parts) -> s.Apply:
        name, args = parts[0], parts[2:-1]
        return s.Apply(
            unquoted(name),
            tuple(args),
            end_of(name),
            start_of(name),
            end_of(parts[-1]),
            _deepest(args),
        )

    def star(self, parts: Parts) -> s.Star:
        return s.Star(start_of(parts[0]), end_of(parts[0]))

    def distinct(self, parts: Parts) -> s.Distinct:
        word, value = parts
        return s.Distinct(value, start_of(word), value.end, value.depth + 1)

    def labelled(self, parts: Parts) -> s.Labelled:
        label, target = parts
        return s.Labelled(
            unquoted(label), target, end_of(label), start_of(label), target.end, target.depth + 1
        )

    def labelled_not(self, parts: Parts) -> s.Labelled:
        label, word, delimited = parts
        return self.labelled([label, _between(start_of(word), delimited)])

    def paren(self, parts: Parts) -> s.Paren:
        words = tuple(part for part in parts if isinstance(part, s.PolicyWord))
        items = tuple(parts[1 : -1 - len(words)])
        start, end = start_of(parts[0]), end_of(parts[-1])
        if words:
            chosen = s.Chosen(items, words, items[0].start, words[-1].end, _deepest(list(items)))
            return s.Paren((chosen,), start, end, chosen.depth + 1)
        return s.Paren(items, start, end, _deepest(list(items)))

    def delimited(self, parts: Parts) -> _Delimited:
        return _Delimited(parts)

    def group(self, parts: Parts) -> s.Group:
        members = tuple(s.Name(unquoted(t), start_of(t), end_of(t)) for t in parts[1:-1])
        return s.Group(members, start_of(parts[0]), end_of(parts[-1]))

    def instant(self, parts: Parts) -> s.Instant:
        if len(parts) == 3 and parts[1].lower() != "timestamp":
            raise SyntaxProblem(
                token_span(parts[1]), "`at` needs a time", "write at '2026-01-01T06:00:00Z'"
            )
        token = parts[-1]
        return s.Instant(timestamp_of(token), start_of(parts[0]), end_of(token))

    # -- literals

    def typed_literal(self, parts: Parts) -> s.Literal_:
        name, token = parts
        start, end = start_of(name), end_of(token)
        if name.lower() == "timestamp":
            return s.Literal_(timestamp_of(token), TIMESTAMP, start, end)
        if name.lower() in ("duration", "interval"):
            return s.Literal_(duration_of(token), DURATION, start, end)
        raise SyntaxProblem(
            token_span(token),
            f"a string cannot follow '{name}'",
            "is a comma or an operator missing? a time is written timestamp '2026-01-01'",
        )

    def integer(self, parts: Parts) -> s.Literal_:
        token = parts[0]
        # 9223372036854775808 may yet turn out to stand behind a minus; the resolver looks at that.
        value = int(token) if len(token.lstrip("0")) <= 19 else MAX_INT + 2
        if value > MAX_INT + 1:
            raise int_out_of_range(token_span(token))
        return s.Literal_(value, INT, start_of(token), end_of(token))

    def floating(self, parts: Parts) -> s.Literal_:
        """A number with a point is an exact decimal; one with an exponent is a float, as in SQL."""
        token = parts[0]
        if "e" not in token.lower():
            exact = Decimal(token)
            kind = literal_type(exact)
            if kind is None:
                raise SyntaxProblem(
                    token_span(token),
                    "this number has more than 38 digits, the most that a decimal has",
                    "with an exponent it is a float: write e0 behind it",
                )
            return s.Literal_(exact, kind, start_of(token), end_of(token))
        value = float(token)
        if math.isinf(value):
            raise SyntaxProblem(token_span(token), "this number is too large for a float")
        return s.Literal_(value, FLOAT, start_of(token), end_of(token))

    def duration(self, parts: Parts) -> s.Literal_:
        token = parts[0]
        return s.Literal_(duration_of(token), DURATION, start_of(token), end_of(token))

    def string(self, parts: Parts) -> s.Literal_:
        token = parts[0]
        return s.Literal_(string_value(token), STRING, start_of(token), end_of(token))

    def true(self, parts: Parts) -> s.Literal_:
        return s.Literal_(True, BOOL, start_of(parts[0]), end_of(parts[0]))

    def false(self, parts: Parts) -> s.Literal_:
        return s.Literal_(False, BOOL, start_of(parts[0]), end_of(parts[0]))

    def null(self, parts: Parts) -> s.Literal_:
        return s.Literal_(None, NULL, start_of(parts[0]), end_of(parts[0]))


def _one_event(written: str, shown: str, target: s.Node) -> None:
    """Refuse to look for more than an event in a window, unless it stands in parentheses."""
    if isinstance(target, (s.WithinSuffix, s.WhereSuffix)):
        hint = f"put parentheses around an event with its conditions: {written} (… where …)"
    elif isinstance(target, s.Chain):
        hint = f"put parentheses around a pattern: {written} (a seq b)"
    else:
        return
    raise SyntaxProblem(s.span_of(target), f"`{shown}` takes one event", hint)


_SPELLINGS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}


class _Quantifier(NamedTuple):
    """How often the operand before it is repeated."""

    least: int
    most: int | None
    start: int
    end: int


def _repeated(target: s.Node | s.Op, times: _Quantifier) -> s.Repeated:
    if isinstance(target, s.Op):
        raise SyntaxProblem(Span(times.start, times.end), "there is nothing here to repeat")
    return s.Repeated(target, times.least, times.most, target.start, times.end, target.depth + 1)


class _Delimited:
    """``(absent).[first, last]``, which must turn out to stand behind ``not``."""

    def __init__(self, parts: Parts) -> None:
        self.absent, self.first, self.last, end = parts
        self.start, self.end = self.absent.start, end_of(end)
        self.depth = _deepest([self.absent, self.first, self.last])


def _between(start: int, parts: _Delimited) -> s.Between:
    return s.Between(parts.absent, parts.first, parts.last, start, parts.end, parts.depth)


def _chain(row: Parts) -> s.Chain:
    return s.Chain(tuple(row), row[0].start, row[-1].end, _deepest(row) - 1)


def _kind(token: Token) -> Kind:
    kind = TYPE_ALIASES.get(token.lower())
    if kind is None:
        raise SyntaxProblem(
            token_span(token),
            f"unknown type '{unquoted(token)}'",
            "types are int, float, bool, string, timestamp, duration, decimal(p, s) and list<…>",
        )
    return kind  # type: ignore[return-value]


def _small(token: Token) -> int:
    return int(token) if len(token) <= 4 else 9999
