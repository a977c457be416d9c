"""HAVING beside an EVENT clause, and what is computed with the aggregates of one.

Where a rule cannot say it, a further rule does (:mod:`thence.lang.sql.split`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.body import Body
from thence.lang.sql.catalog import Column
from thence.lang.sql.names import is_aggregate, rewritten
from thence.lang.sql.patterns import filtered
from thence.lang.sql.refusal import Refused
from thence.lang.sql.selected import check_collected, check_readable
from thence.lang.sql.split import AddRule, Split, aggregates


def computed(
    select: q.Select, body: Body, columns: Sequence[Column], add: AddRule
) -> tuple[list[Column], tuple[s.Node, ...], tuple[s.PolicyWord, ...]]:
    """The columns, the body and the policy of a query's rule: its own, or those of one that reads
    what a hidden rule finds."""
    values = [column.value for column in columns]
    missing = body.loose - {name for value in values for name in _variables(value)}
    if select.having is None and not missing and not any(_is_beyond(v, body) for v in values):
        check_collected(values, body)
        return list(columns), body.items, select.policy
    split = Split(_label(body), tuple(body.names.shared), lambda name: name, lambda call: call)
    here = s.Name("", select.start, min(select.end, select.start + len("SELECT")))
    for column in select.partition:
        if column.text in missing:
            split.handed(s.Name(column.text, column.start, column.end), column)
    outside = [
        split.outside(value) if _is_beyond(value, body) else split.handed(value, value)
        for value in values
    ]
    kept = []
    if select.having is not None:
        kept = [_having(select.having, body, split, list(zip(columns, outside, strict=True)))]
    check_collected(list(split.columns.values()), body)
    result = split.found(add("groups", split.head(), body.items), here)
    found = [replace(column, value=v) for column, v in zip(columns, outside, strict=True)]
    return found, (filtered(result, kept),), ()


def _is_beyond(node: s.Node, body: Body) -> bool:
    """Whether an expression computes with aggregates as a head cannot: only aggregates over what is
    repeated are values of a single match."""
    if body.names.repeated or is_aggregate(node):
        return False
    return any(True for _ in aggregates(node))


def _variables(node: s.Node) -> set[str]:
    """The variables that an expression reads outside aggregates."""
    inner = s.strip(node)
    if isinstance(inner, s.Name):
        return {inner.text}
    if is_aggregate(inner):
        return set()
    return {name for child in s.children(inner) for name in _variables(child)}


def _label(body: Body) -> str:
    name = "group"
    while name in body.names.aliases or name in body.names.shared:
        name += "′"
    return name


def _having(
    node: s.Node, body: Body, split: Split, columns: Sequence[tuple[Column, s.Node]]
) -> s.Node:
    """The condition of HAVING as the second rule says it: over aggregates, and columns that are
    selected."""
    given = {column.given: value for column, value in columns if column.given is not None}
    found = body.names.value(node, aggregates=True, given=given)
    check_readable(found, s.span_of(node), body)
    computing = {c.given for c, _ in columns if any(True for _ in aggregates(c.value))}
    if not found.aggregates and not computing & _variables(node):
        raise Refused(
            s.span_of(node),
            "HAVING is about aggregates, and there is none in it",
            "a condition on single events goes into WHERE",
        )
    shown = {_key(s.strip(column.value)): value for column, value in columns}

    def leaf(name: s.Name | s.Dotted) -> s.Node:
        if isinstance(name, s.Dotted) and name.label == split.label:
            return name
        value = shown.get(_key(name))
        if value is None:
            column = name.text if isinstance(name, s.Name) else name.attribute
            written = column if isinstance(name, s.Name) else f"{name.label}.{column}"
            hint = (
                f"a condition on single events goes into WHERE; else select {written}, or "
                f"aggregate it: MAX({written})"
            )
            if column in given:
                hint = f"a column is called '{column}', so AS must give another name"
            raise Refused(
                s.span_of(name), f"'{written}' is neither selected nor in an aggregate", hint
            )
        return value

    def call(node: s.Apply) -> s.Node | None:
        return split.handed(node, node) if is_aggregate(node) else None

    return rewritten(found.node, leaf, call)


def _key(node: s.Node) -> tuple[str, ...] | None:
    match node:
        case s.Name(text=text):
            return (text,)
        case s.Dotted(label=label, attribute=attribute):
            return (label, attribute)
    return None
