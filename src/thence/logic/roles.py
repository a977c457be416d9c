"""In which role a field of an operator, or of an expression, holds others.

Whatever looks into rules, patterns and expressions reads these roles, so that nothing is skipped
because somebody forgot to list it: a field that holds patterns or expressions and has no role is a
mistake that shows when its class is first looked into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Literal

FieldRole = Literal["part", "repeated", "absent", "collected", "copy", "value", "aggregate"]
"""``part``: takes part in the match. ``repeated``: is matched for each repetition. ``absent``: must
not occur. ``collected``: all of it in a window. ``copy``: what stands elsewhere too, and is not
looked into again. ``value``: an expression. ``aggregate``: an aggregate, which is a leaf of the
expression that it stands in."""

Said = FieldRole | Callable[[Any], FieldRole]
_NODES = re.compile(r"\b(Pattern|Expr|Aggregate|HeadTerm)\b")


def role(said: Said) -> Mapping[str, Said]:
    """The metadata of a field that holds patterns or expressions; a function says the role for each
    operator anew."""
    return {"role": said}


PART, VALUE = role("part"), role("value")
_KNOWN: dict[type, tuple[tuple[str, Said], ...]] = {}


def roles(kind: type) -> tuple[tuple[str, Said], ...]:
    """The fields of a class that hold patterns or expressions, in order, each with its role.

    >>> from thence.logic.ops import Not
    >>> roles(Not)
    (('absent', 'absent'), ('first', 'part'), ('last', 'part'))
    """
    if kind not in _KNOWN:
        held = fields(kind)
        for each in held:
            if "role" not in each.metadata and _NODES.search(str(each.type)):
                raise TypeError(f"{kind.__name__}.{each.name} has no role")
        _KNOWN[kind] = tuple((f.name, f.metadata["role"]) for f in held if "role" in f.metadata)
    return _KNOWN[kind]
