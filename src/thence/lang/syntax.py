"""The neutral syntax tree: what was written, before it is known what the names mean.

Whether ``a or b`` joins two events or two conditions depends on what ``a`` and ``b`` are, which the
grammar cannot know. So the parser gives this tree, in which a row of operands and operators is
still flat, and ``lang/resolve.py`` turns it into patterns and expressions.

Every node has ``start`` and ``end`` (character offsets) and ``depth``, the number of levels below
and including it, so that nesting can be limited without walking the tree.

The nodes are no named tuples: a type checker compares tuples field by field, and so the union of
all nodes with itself at every level, which took mypy minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from thence.model.schema import RowsFrom, Validity
from thence.model.source import Span
from thence.model.types import Type

MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier: a variable, a label or an event."""

    text: str
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Anything:
    """``_``."""

    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Literal_:
    """A literal value, in the form that :class:`~thence.logic.expr.Const` has."""

    value: Any
    type: Type
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Dotted:
    """``l.price``."""

    label: str
    attribute: str
    label_end: int
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Apply:
    """``name(arg, …)``: an atom, an operator, a timer, a function or an aggregate."""

    name: str
    args: tuple[Node, ...]
    name_end: int
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Star:
    """The ``*`` of ``count(*)``."""

    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Distinct:
    """``distinct x``, in an aggregate."""

    value: Node
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Paren:
    """``(item, …)``; nearly always one item."""

    items: tuple[Node, ...]
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """``p+``, ``p*``, ``p{2,5}``: a pattern several times; ``most`` is None for any number."""

    target: Node
    least: int
    most: int | None
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Nested:
    """A query in a condition: ``EXISTS (SELECT …)``, or behind IN. ``query`` is of event SQL's own
    tree; nothing else can hold one."""

    query: Any
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Between:
    """``not(absent).[first, last]``."""

    absent: Paren
    first: Node
    last: Node
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """``l: operand``."""

    label: str
    target: Node
    label_end: int
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Instant:
    """``at '2026-01-01'``."""

    time: int
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """``{o, s}``."""

    members: tuple[Name, ...]
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class WithinSuffix:
    """``p within d``."""

    base: Node
    limit: int
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class WhereSuffix:
    """``p where condition``."""

    base: Node
    condition: Node
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class WhileItem:
    """``while w: not p`` or ``while w: collect p``; with ``reach`` or ``rows``, ``over … of w:
    collect p``."""

    window: str
    window_start: int
    window_end: int
    mode: Literal["not", "collect"]
    target: Node
    start: int
    end: int
    depth: int
    reach: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class PolicyWord:
    """A word behind ``using``, perhaps with labels: ``chronicle``, ``first(a)``."""

    word: str
    labels: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """``item, … using policy`` inside parentheses."""

    items: tuple[Node, ...]
    policy: tuple[PolicyWord, ...]
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Op:
    """An operator between or beside operands in a :class:`Chain`, spelled in lower case.

    ``items`` holds the list of ``in``.
    """

    kind: Literal["infix", "prefix", "postfix"]
    text: str
    start: int
    end: int
    items: tuple[Node, ...] = ()
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Chain:
    """A flat row of operands and operators: ``x + 1 < y and not z is null``."""

    parts: tuple[Node | Op, ...]
    start: int
    end: int
    depth: int


Node: TypeAlias = (
    Name | Anything | Literal_ | Dotted | Apply | Star | Distinct | Paren | Between | Labelled
    | Instant | Group | WithinSuffix | WhereSuffix | WhileItem | Chosen | Chain | Repeated | Nested
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a head, with the name that ``as`` gives it."""

    value: Node
    alias: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute of a declared event."""

    name: str
    type: Type
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ValidityDecl:
    """``valid from since to until``"""

    columns: Validity
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EventDecl:
    """``event order(id string);``, perhaps ``within`` the longest that one may last; or a static
    table, ``table catalogue(id string, title string);``, perhaps with where its rows are,
    ``from 'books.csv'``, and when they are valid"""

    name: str
    columns: tuple[Column, ...]
    longest: int | None
    name_start: int
    name_end: int
    table: bool = False
    rows_from: RowsFrom | None = None
    valid: ValidityDecl | None = None


@dataclass(frozen=True, slots=True)
class RuleDecl:
    """``head(term, …) <- item, … using policy;``"""

    name: str
    terms: tuple[Term, ...]
    items: tuple[Node, ...]
    start: int
    name_end: int
    head_end: int
    end: int
    policy: tuple[PolicyWord, ...] = ()
    deductive: bool = False
    """Whether its arrow is ``:-``, which a rule about tables alone has."""


@dataclass(frozen=True, slots=True)
class FactDecl:
    """``linked('a', 'b');``: a row of a table."""

    name: str
    terms: tuple[Term, ...]
    name_start: int
    name_end: int
    end: int


@dataclass(frozen=True, slots=True)
class TableChangeDecl:
    """``insert linked(a, b)`` or ``delete linked(a, _)``, the action of a reaction."""

    verb: Literal["insert", "delete"]
    table: str
    args: tuple[Node, ...]
    name_start: int
    name_end: int
    end: int
    payload: None = None
    """Nothing is sent."""


@dataclass(frozen=True, slots=True)
class CredentialDecl:
    """``bearer env 'TOKEN'``, ``header 'X-Api-Key' env 'KEY'``."""

    scheme: str
    header: str | None
    variable: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ActionDecl:
    """``post 'https://…' with (…) using …`` or ``call name(…)``; ``payload`` is None where nothing
    is said of it."""

    verb: Literal["post", "call"]
    target: str
    payload: tuple[Term, ...] | None
    credentials: tuple[CredentialDecl, ...]
    target_start: int
    target_end: int


@dataclass(frozen=True, slots=True)
class ReactionDecl:
    """``on event(…) where …: action;``. Its rule has the event as its body, the payload as its
    head."""

    rule: RuleDecl
    action: ActionDecl | TableChangeDecl


Definition: TypeAlias = EventDecl | RuleDecl | FactDecl
"""What says something of a name."""

Statement: TypeAlias = Definition | ReactionDecl


def span_of(node: Node | Op | Term | Column | PolicyWord) -> Span:
    """Where a node stands in the text."""
    return Span(node.start, node.end)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node, in the order of the text."""
    match node:
        case Apply(args=args):
            return args
        case Distinct(value=value):
            return (value,)
        case Paren(items=items) | Chosen(items=items):
            return items
        case Between(absent=absent, first=first, last=last):
            return (absent, first, last)
        case Labelled(target=target) | WhileItem(target=target) | Repeated(target=target):
            return (target,)
        case WithinSuffix(base=base):
            return (base,)
        case WhereSuffix(base=base, condition=condition):
            return (base, condition)
        case Group(members=members):
            return members
        case Chain(parts=parts):
            found: list[Node] = []
            for part in parts:
                if isinstance(part, Op):
                    found.extend(part.items)
                else:
                    found.append(part)
            return tuple(found)
    return ()


def strip(node: Node) -> Node:
    """The node inside any number of parentheses that hold just one item."""
    while isinstance(node, Paren) and len(node.items) == 1:
        node = node.items[0]
    return node
