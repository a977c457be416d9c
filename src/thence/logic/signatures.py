"""What type each operator and function gives for the types of its arguments.

The functions here take argument types and give the result's type, or raise :class:`Mismatch`; the
table in ``functions.py`` says which belongs to which name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thence.logic.widening import arithmetic_decimal, as_decimal, common_type, rounded_decimal
from thence.model.types import BOOL, DECIMAL, DURATION, FLOAT, INT, NULL, STRING, TIMESTAMP, Type

Types = Sequence[Type]
Signature = Callable[[Types], Type]
NUMBERS = frozenset({"int", "float", "decimal"})


class Mismatch(Exception):
    """Arguments that a function cannot take: why, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def _refuse(name: str, types: Types, hint: str | None = None) -> Mismatch:
    shown = " and ".join(str(t) for t in types)
    return Mismatch(f"'{name}' cannot take {shown}", hint)


def _numbers(name: str, types: Types) -> Type:
    """The type in which an operator computes with numbers."""
    if not all(t.numeric for t in types):
        hint = None
        if any(t.kind == "string" for t in types):
            hint = "join texts with ||" if name == "+" else "turn text into a number with int(x)"
        raise _refuse(name, types, hint)
    if any(t.kind == "float" for t in types):
        return FLOAT
    if any(t.kind == "decimal" for t in types):
        return arithmetic_decimal(name, as_decimal(types[0]), as_decimal(types[1]))
    return INT


def plus(types: Types) -> Type:
    kinds = (types[0].kind, types[1].kind)
    if "null" in kinds:
        return NULL
    if kinds in (("timestamp", "duration"), ("duration", "timestamp")):
        return TIMESTAMP
    if kinds == ("duration", "duration"):
        return DURATION
    if kinds == ("timestamp", "timestamp"):
        raise _refuse("+", types, "timestamps can be subtracted; a duration can be added to one")
    return _with_unit("+", types)


def minus(types: Types) -> Type:
    kinds = (types[0].kind, types[1].kind)
    if "null" in kinds:
        return NULL
    if kinds == ("timestamp", "timestamp") or kinds == ("duration", "duration"):
        return DURATION
    if kinds == ("timestamp", "duration"):
        return TIMESTAMP
    return _with_unit("-", types)


def _with_unit(name: str, types: Types) -> Type:
    if any(t.kind in ("timestamp", "duration") for t in types) and any(t.numeric for t in types):
        raise _refuse(name, types, "write a duration with its unit, such as 10 s")
    return _numbers(name, types)


def times(types: Types) -> Type:
    kinds = {types[0].kind, types[1].kind}
    if "null" in kinds:
        return NULL
    if "duration" in kinds and kinds & NUMBERS:
        return DURATION
    return _numbers("*", types)


def divided(types: Types) -> Type:
    kinds = (types[0].kind, types[1].kind)
    if "null" in kinds:
        return NULL
    if kinds == ("duration", "duration"):
        return FLOAT
    if kinds[0] == "duration" and kinds[1] in NUMBERS:
        return DURATION
    found = _numbers("/", types)
    return FLOAT if found.kind == "int" else found


def remainder(types: Types) -> Type:
    if any(t.kind == "null" for t in types):
        return NULL
    return _numbers("%", types)


def same(name: str, kinds: frozenset[str], hint: str | None = None) -> Signature:
    def result(types: Types) -> Type:
        if types[0].kind != "null" and types[0].kind not in kinds:
            raise _refuse(name, types[:1], hint)
        return types[0]

    return result


SIZED = NUMBERS | {"duration"}
ORDERED = SIZED | {"string", "timestamp"}


def rounded(name: str) -> Signature:
    number = same(name, NUMBERS)

    def result(types: Types) -> Type:
        if len(types) > 1 and types[1].kind not in ("int", "null"):
            raise Mismatch(f"the number of digits of {name} must be an int, not {types[1]}")
        found = number(types)
        if found.kind == "decimal":
            return rounded_decimal(found)
        return found

    return result


def sign(types: Types) -> Type:
    found = same("sign", SIZED)(types)
    return found if found.kind in ("float", "null") else INT


def float_function(name: str) -> Signature:
    def result(types: Types) -> Type:
        if not all(t.numeric or t.kind == "null" for t in types):
            raise _refuse(name, types)
        return FLOAT

    return result


def inside(types: Types) -> Type:
    for index, found in enumerate(types):
        if found.kind == "null" or (found.numeric if index < 2 else found.kind == "string"):
            continue
        expected = "a number" if index < 2 else "a string, a shape in WKT"
        raise Mismatch(f"argument {index + 1} of 'inside' must be {expected}, not {found}")
    return BOOL


def common(name: str, types: Types) -> Type:
    found = common_type(types)
    if found is not None:
        return found
    kinds = {t.kind for t in types}
    hint = None
    if "timestamp" in kinds and "string" in kinds:
        hint = "write a time as timestamp '2026-01-01T06:00:00Z'"
    elif "duration" in kinds and kinds & {"int", "float", "decimal"}:
        hint = "write a duration with its unit, such as 10 s"
    elif "string" in kinds and kinds & {"int", "float", "decimal"}:
        hint = "text and numbers differ: quote both or neither, or convert with string(x)"
    raise _refuse(name, [t for t in types if t.kind != "null"], hint)


def _comparable(name: str, types: Types, ordered: bool) -> Type:
    found = common(name, types)
    if found.kind == "list":
        raise _refuse(name, types, "compare elements with element(l, i), lengths with size(l)")
    if ordered and found.kind == "bool":
        raise _refuse(name, types, "true and false have no order")
    return found


def compare(name: str, ordered: bool) -> Signature:
    def result(types: Types) -> Type:
        _comparable(name, types, ordered)
        return BOOL

    return result


def distinct(types: Types) -> Type:
    """Identity is defined for values of every kind, lists included."""
    common("is distinct from", types)
    return BOOL


def extreme(name: str) -> Signature:
    return lambda types: _comparable(name, types, ordered=True)


def nullif(types: Types) -> Type:
    _comparable("nullif", types, ordered=False)
    return types[0]


def if_else(types: Types) -> Type:
    if types[0].kind not in ("bool", "null"):
        raise Mismatch(f"the condition of `if` must be true or false, not {types[0]}")
    return common("if", types[1:])


def fixed(name: str, takes: Types, gives: Type, rest: bool = False) -> Signature:
    """A function whose argument types are fixed; ``rest`` repeats the last of them."""

    def result(types: Types) -> Type:
        for index, found in enumerate(types):
            expected = takes[min(index, len(takes) - 1)] if rest else takes[index]
            if found.kind not in ("null", expected.kind):
                hint = "convert it with string(x)" if expected is STRING else None
                place = "" if len(types) == 1 else f"argument {index + 1} of "
                raise Mismatch(f"{place}'{name}' must be {expected}, not {found}", hint)
        return gives

    return result


def cast(name: str, kinds: frozenset[str], gives: Type) -> Signature:
    def result(types: Types) -> Type:
        if types[0].kind not in kinds and types[0].kind != "null":
            hints = {
                "duration": "divide by a duration: d / 1 s is the number of seconds",
                "timestamp": "subtract a timestamp, then divide by a duration",
            }
            raise _refuse(name, types[:1], hints.get(types[0].kind))
        return gives

    return result


TRUTHS = frozenset({"int", "bool", "string"})
SCALARS = NUMBERS | {"bool", "string"}


def decimal(types: Types) -> Type:
    cast("decimal", SCALARS, DECIMAL)(types)
    for found in types[1:]:
        if found.kind != "int":
            raise Mismatch(
                "the digits of a decimal are written as numbers", "write decimal(x, 18, 6)"
            )
    return as_decimal(types[0]) if types[0].kind in ("int", "decimal") else DECIMAL


def size(types: Types) -> Type:
    same("size", frozenset({"list"}), "the length of a text is length(x)")(types)
    return INT


def element(types: Types) -> Type:
    found = same("element", frozenset({"list"}))(types)
    if types[1].kind not in ("int", "null"):
        raise Mismatch(f"the position in a list is an int, not {types[1]}")
    return found if found.of is None else found.of
