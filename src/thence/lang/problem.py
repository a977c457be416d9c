"""What can be wrong with text before its names are looked at."""

from __future__ import annotations

from thence.lang import syntax as s
from thence.lang.words import MOST_PATTERNS
from thence.logic.expr import Aggregate, Call, Expr, Folded
from thence.logic.ops import Atom, Pattern, Where, children
from thence.model.errors import ThenceError
from thence.model.source import Source, Span
from thence.model.time import parse_timestamp
from thence.model.types import Type


class SyntaxProblem(ThenceError):
    """Text that the grammar accepts but that is no program; becomes a ParseError with a caret.

    What is ``secret`` may hold a password, and is not shown.
    """

    def __init__(
        self, span: Span, message: str, hint: str | None = None, secret: bool = False
    ) -> None:
        super().__init__(message)
        self.span, self.message, self.hint, self.secret = span, message, hint, secret

    def shown(self, source: Source) -> Source:
        """The text as a message may show it."""
        if not self.secret:
            return source
        begin, end = self.span.start, self.span.end
        hidden = "…" * (end - begin)
        return Source(source.text[:begin] + hidden + source.text[end:], source.name)


def too_deep(span: Span) -> SyntaxProblem:
    """The error for a program that is nested too deeply."""
    return SyntaxProblem(
        span,
        f"this is nested more than {s.MAX_DEPTH} levels deep",
        "split it: give the inner part a rule of its own and use that rule's name here",
    )


def too_many(span: Span) -> SyntaxProblem:
    """The error for a pattern that stands for too many."""
    return SyntaxProblem(
        Span(span.start, min(span.end, span.start + 40)),
        f"with everything written out, this has more than {MOST_PATTERNS:,} parts",
        "split it: give the inner part a name of its own and use that name here",
    )


def int_out_of_range(span: Span) -> SyntaxProblem:
    return SyntaxProblem(
        span, "this integer does not fit 64 bits", "write it with a point to make it a float"
    )


def point_in_time(value: object, type_: Type) -> str | None:
    """What to write instead of a number or a text that stands where an event is needed."""
    if type_.kind == "string":
        try:
            parse_timestamp(str(value))
        except ValueError:
            return None
        return f"a point in time is written at '{value}'"
    if type_.numeric:
        return "a point in time is written at '2026-01-01T06:00:00Z'"
    return None


def check_depth(node: s.Node) -> None:
    """Refuse a tree of more than MAX_DEPTH levels, pointing at the first level that is too deep."""
    if node.depth <= s.MAX_DEPTH:
        return
    allowed = node.depth - s.MAX_DEPTH
    while node.depth > allowed:
        node = max(s.children(node), key=lambda child: child.depth)
    raise too_deep(Span(node.start, min(node.end, node.start + 40)))


def check_nesting(root: Pattern | Expr | Aggregate, span: Span) -> None:
    """Refuse what is nested too deeply once rows are grouped: ``1 + 1 + 1 …`` leans to the left."""
    stack: list[tuple[Pattern | Expr | Aggregate, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > s.MAX_DEPTH:
            raise too_deep(getattr(node, "span", span))
        inside: list[Pattern | Expr] = []
        if isinstance(node, Pattern):
            inside.extend(children(node))
            if isinstance(node, Where):
                inside.append(node.condition)
            elif isinstance(node, Atom):
                inside.extend(expr for _, expr in node.args)
        elif isinstance(node, Call):
            inside.extend(node.args)
        elif isinstance(node, Folded):
            stack.append((node.aggregate, depth))
        elif isinstance(node, Aggregate) and node.arg is not None:
            inside.append(node.arg)
        stack.extend((child, depth + 1) for child in inside)
