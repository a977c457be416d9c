"""Tables that events change, in the text: ``on road_closed(a, b): delete linked(a, b);``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from thence.lang import syntax as s
from thence.lang.problem import check_depth
from thence.lang.scope import named_argument
from thence.lang.tokens import Token, end_of, start_of, unquoted
from thence.logic.check.problems import Problems
from thence.model.schema import EventSchema
from thence.model.source import Span
from thence.model.suggestions import question

Parts: TypeAlias = list[Any]


class BuildChanges:
    """The methods of the parser's builder that are about tables that events change."""

    def insert(self, parts: Parts) -> s.TableChangeDecl:
        return _change(parts, "insert")

    def delete(self, parts: Parts) -> s.TableChangeDecl:
        return _change(parts, "delete")


def _change(parts: Parts, verb: Any) -> s.TableChangeDecl:
    name = parts[1]
    args = tuple(part for part in parts[2:] if not isinstance(part, Token))
    for arg in args:
        check_depth(arg)
    place = start_of(name), end_of(name), end_of(parts[-1])
    return s.TableChangeDecl(verb, unquoted(name), args, *place)


def as_rule(
    rule: s.RuleDecl,
    action: s.TableChangeDecl,
    schemas: Mapping[str, EventSchema],
    problems: Problems,
) -> s.RuleDecl | None:
    """A change as the rule whose heads are rows: a term for each column that something is said of.
    What is wrong with the columns is noted."""
    name = Span(action.name_start, action.name_end)
    table = schemas.get(action.table)
    if table is None or not table.table:
        tables = [each.name for each in schemas.values() if each.table]
        problems.error(
            name,
            f"no table '{action.table}' is declared, and events change tables."
            f"{question(action.table, tables)}",
            f"declare it: table {action.table}(…);",
        )
        return None
    terms: dict[str, s.Term] = {}
    for place, arg in enumerate(action.args):
        key, value = named_argument(arg)
        column = key.text if key is not None else ""
        if key is None and place < len(table.names):
            column = table.names[place]
        where = s.span_of(arg)
        if column not in table.names or column in terms:
            known = f"it is {table}"
            what = "has it already" if column in terms else "has no such column"
            problems.error(where, f"'{action.table}' {what}", known)
            return None
        if isinstance(value, s.Anything):
            if action.verb == "insert":
                problems.error(
                    where,
                    f"a row that is inserted has a value in '{column}'",
                    "`_` stands for anything; write null for no value",
                )
                return None
            continue
        terms[column] = s.Term(value, column, arg.start, arg.end)
    missing = [column for column in table.names if column not in terms]
    if action.verb == "insert" and missing:
        problems.error(
            Span(action.name_start, action.end),
            f"a row that is inserted has a value in '{missing[0]}'",
            f"it is {table}",
        )
        return None
    return replace(rule, name=f"{action.verb} {action.table}", terms=tuple(terms.values()))
