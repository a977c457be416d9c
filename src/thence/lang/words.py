"""The words of the language: which are reserved, and which names mean something when called.

Reserved words can be used as names in backquotes. The grammar has the same list (a test keeps the
two equal); everything else here is an ordinary name that the resolver gives a meaning.
"""

from __future__ import annotations

from typing import get_args

from thence.logic import functions
from thence.logic.expr import PREVIOUS
from thence.logic.moments import OPERATORS, TICK, Operator
from thence.logic.ops import AllenRelation

ALLEN: frozenset[str] = frozenset(get_args(AllenRelation))
INFIX: frozenset[str] = ALLEN | {"seq", "par", "and", "or", "until"}
RESERVED: frozenset[str] = INFIX | {
    "event", "as", "within", "where", "while", "collect", "not", "at", "is", "in", "like",
    "between", "distinct", "true", "false", "null",
}  # fmt: skip

CALLS: dict[str, Operator] = {
    name: operator for name, operator in OPERATORS.items() if name != TICK
}
"""How operators over moments are called."""

WINDOW_OPERATORS: frozenset[str] = frozenset(
    name for name, operator in CALLS.items() if operator.duration == len(operator.roles)
)
"""The semantic windows: their duration comes last."""

MOMENT_OPERATORS: frozenset[str] = frozenset(CALLS) | {"any"}
PATTERN_OPERATORS: frozenset[str] = MOMENT_OPERATORS | {"anyone", "ticks"}
MOST_PATTERNS = 10_000
"""How many patterns a rule may have, each choice of ``any`` and each copy written out."""

AGGREGATES: frozenset[str] = frozenset(
    {"count", "sum", "avg", "min", "max", "first", "last", "list"}
)

_SYMBOLS = frozenset({"and", "or", "not", "in", "like", "is_null", "neg"})
FUNCTIONS: frozenset[str] = frozenset(
    name for name in functions.FUNCTIONS if name.isidentifier() and name not in _SYMBOLS
) | {"duration", "caused_by", PREVIOUS}
"""What can be called in an expression. ``duration(l)`` is written out by the resolver, and
``caused_by(x, y)`` takes labels."""

TYPE_ALIASES: dict[str, str] = {
    "int": "int", "integer": "int", "bigint": "int", "long": "int",
    "float": "float", "double": "float", "real": "float",
    "bool": "bool", "boolean": "bool",
    "string": "string", "text": "string", "varchar": "string",
    "timestamp": "timestamp", "datetime": "timestamp",
    "duration": "duration", "interval": "duration",
    "decimal": "decimal", "numeric": "decimal",
    "list": "list",
}  # fmt: skip
