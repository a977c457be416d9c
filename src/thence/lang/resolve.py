"""Resolves rules: the neutral syntax tree becomes patterns, once it is known what names mean."""

from __future__ import annotations

from thence.lang import syntax as s
from thence.lang.atoms import Atoms
from thence.lang.policies import policy_of
from thence.lang.precedence import is_tight, join
from thence.lang.problem import point_in_time, too_many
from thence.lang.scope import Scope
from thence.lang.values import UNKNOWN, Values
from thence.lang.words import AGGREGATES, FUNCTIONS, MOST_PATTERNS, PATTERN_OPERATORS
from thence.logic.check.problems import Problems
from thence.logic.expr import Const, Expr
from thence.logic.ops import (
    Allen,
    And,
    At,
    Atom,
    Label,
    NoFact,
    Not,
    Or,
    Par,
    Pattern,
    Ref,
    Repeat,
    Seq,
    Until,
    Using,
    Where,
    While,
    Within,
)
from thence.model.source import NOWHERE, Span
from thence.model.suggestions import did_you_mean

_NOTHING = Atom("")
"""Stands in for what could not be resolved; a program that holds one is never returned."""


class Patterns:
    """Turns syntax in a pattern's place into patterns, noting what is wrong."""

    __slots__ = ("_atoms", "_made", "_report", "_scope", "_span", "_values")

    def __init__(self, scope: Scope, report: Problems) -> None:
        self._scope, self._report = scope, report
        self._values = Values(scope, report)
        self._atoms = Atoms(scope, report, self._values, self.pattern)
        self._made = 0
        self._span = NOWHERE

    def body(self, rule: s.RuleDecl) -> Pattern:
        """The pattern that the items of a rule's body make together."""
        self._span = Span(rule.items[0].start, rule.items[-1].end)
        return self._conjunction(rule.items, self._span)

    def _conjunction(self, items: tuple[s.Node, ...], span: Span) -> Pattern:
        patterns: list[Pattern] = []
        conditions: list[Expr] = []
        for item in items:
            if isinstance(item, s.WhileItem):
                patterns.append(self._while(item))
            elif (absent := self._absent_fact(item)) is not None:
                patterns.append(absent)
            elif self._is_value(item):
                conditions.append(self._condition(item))
            else:
                patterns.append(self.pattern(item))
        if not patterns:
            self._report.error(
                span,
                f"there is no {self._scope.kind} here, only conditions",
                f"name at least one {self._scope.kind} that the conditions are about",
            )
            return _NOTHING
        joined = patterns[0] if len(patterns) == 1 else And(tuple(patterns), span)
        return Where(joined, join("and", conditions, span), span) if conditions else joined

    def pattern(self, node: s.Node) -> Pattern:
        """The pattern that a node stands for."""
        self._made += 1
        if self._made > MOST_PATTERNS:
            raise too_many(self._span)
        node = s.strip(node)
        span = s.span_of(node)
        match node:
            case s.Apply():
                return self._atoms.apply(node)
            case s.Name():
                return self._name(node)
            case s.Labelled():
                return self._labelled(node)
            case s.Chain():
                return self._chain(node)
            case s.WithinSuffix():
                return Within(self.pattern(node.base), node.limit, span)
            case s.WhereSuffix():
                return self._where(node)
            case s.Between():
                absent = self.pattern(node.absent)
                return Not(absent, self.pattern(node.first), self.pattern(node.last), span)
            case s.Repeated():
                return Repeat(self.pattern(node.target), node.least, node.most, span)
            case s.Instant():
                return At(node.time, span)
            case s.Group():
                members = tuple(map(self.pattern, node.members))
                return members[0] if len(members) == 1 else And(members, span)
            case s.Paren():
                return self._conjunction(node.items, span)
            case s.WhileItem():
                return self._conjunction((node,), span)
            case s.Chosen():
                inner = self._conjunction(node.items, span)
                return Using(inner, policy_of(node.policy, self._report), span)
        return self._no_pattern(node)

    def _where(self, node: s.WhereSuffix) -> Pattern:
        """A pattern under a condition; rows that it names, as in ``where reachable(x, y) and
        x < 3``, are looked up beside the pattern."""
        inner, span = self.pattern(node.base), s.span_of(node)
        segments = self._asked(node.condition)
        if not segments:
            return Where(inner, self._values.expr(node.condition), span)
        rows: list[Pattern] = []
        conditions: list[Expr] = []
        for segment in segments:
            if (absent := self._absent_fact(segment)) is not None:
                rows.append(absent)
            elif self._is_about_table(segment):
                rows.append(self.pattern(segment))
            else:
                conditions.append(self._values.expr(segment))
        joined = And((inner, *rows), span)
        return Where(joined, join("and", conditions, span), span) if conditions else joined

    def _asked(self, condition: s.Node) -> list[s.Node]:
        """The parts of a condition, all of which must hold, if some of them are rows of tables."""
        whole = s.strip(condition)
        parts = _segments(whole) if isinstance(whole, s.Chain) else [(None, whole)]
        segments = [segment for _, segment in parts]
        about = [
            segment
            for segment in segments
            if self._absent_row(segment) is not None or self._is_about_table(segment)
        ]
        if about and any(op is not None and op.text != "and" for op, _ in parts):
            self._report.error(
                s.span_of(about[0]),
                "a row of a table must be there, or must not: it cannot be one of several choices",
                "join it with `and`, and write one rule for each choice",
            )
        return segments if about else []

    def _no_pattern(self, node: s.Node) -> Pattern:
        self._report.error(
            s.span_of(node),
            "an event or a pattern is needed here, and this is a value",
            "a condition on values goes into `where`, or stands by itself after a comma",
        )
        return _NOTHING

    def _name(self, node: s.Name) -> Pattern:
        span = s.span_of(node)
        if node.text in self._scope.labels:
            return Ref(node.text, span)
        if node.text in self._scope.events:
            return Atom(node.text, (), span)
        self._report.error(
            span,
            f"unknown event or label '{node.text}'",
            did_you_mean(
                node.text,
                self._scope.events,
                f"declare it: event {node.text}(…);",
                also=self._scope.labels,
            ),
        )
        return _NOTHING

    def _labelled(self, node: s.Labelled) -> Pattern:
        span = s.span_of(node)
        if node.label == "_":
            self._report.error(Span(node.start, node.label_end), "`_` cannot be a label")
        target = s.strip(node.target)
        label = node.label
        if isinstance(target, s.Apply):
            inner = self._atoms.apply(target, label)
        else:
            inner = self.pattern(target)
        return _push_label(label, inner, span)

    def _while(self, node: s.WhileItem) -> Pattern:
        if node.window not in self._scope.labels:
            self._report.error(
                Span(node.window_start, node.window_end),
                f"unknown label '{node.window}'",
                did_you_mean(
                    node.window,
                    self._scope.labels,
                    f"give a window first: {node.window}: extend(o, 6h)",
                ),
            )
        return While(
            node.window,
            node.mode,
            self.pattern(node.target),
            s.span_of(node),
            node.reach,
            node.rows,
        )

    def _absent_fact(self, node: s.Node) -> Pattern | None:
        """``not catalogue(id, _)``: what a table does not have, if that is what a node says."""
        operand = self._absent_row(node)
        return None if operand is None else NoFact(self.pattern(operand), s.span_of(s.strip(node)))

    def _absent_row(self, node: s.Node) -> s.Node | None:
        inner = s.strip(node)
        if not isinstance(inner, s.Chain) or len(inner.parts) != 2:
            return None
        op, operand = inner.parts
        if not isinstance(op, s.Op) or op.text != "not" or isinstance(operand, s.Op):
            return None
        return operand if self._is_about_table(operand) else None

    def _is_about_table(self, node: s.Node) -> bool:
        match s.strip(node):
            case s.Name(text=name) | s.Apply(name=name):
                event = self._scope.events.get(name)
                return event is not None and event.table
            case s.Labelled(target=inner) | s.WhereSuffix(base=inner):
                return self._is_about_table(inner)
            case s.Paren(items=items):
                return any(map(self._is_about_table, items))
        return False

    # -- rows of operands

    def _is_value(self, node: s.Node) -> bool:
        """Whether everything in a node is about values, so that it is a condition."""
        stack = [node]
        while stack:
            top = s.strip(stack.pop())
            match top:
                case (
                    s.Literal_() | s.Dotted() | s.Anything() | s.Star() | s.Distinct() | s.Nested()
                ):
                    continue
                case s.Name():
                    if top.text in self._scope.labels or top.text in self._scope.events:
                        return False
                    if top.text not in self._scope.variables:
                        return False
                case s.Apply():
                    name = top.name.lower()
                    if top.name in self._scope.events or name in PATTERN_OPERATORS:
                        return False
                    if name not in FUNCTIONS and name not in AGGREGATES:
                        return False
                case s.Paren():
                    stack.extend(top.items)
                case s.Chain():
                    segments = [segment for _, segment in _segments(top)]
                    if any(self._absent_row(segment) is not None for segment in segments):
                        return False
                    stack.extend(segment for segment in segments if not _is_computed(segment))
                case _:
                    return False
        return True

    def _chain(self, node: s.Chain) -> Pattern:
        if self._is_value(node):
            return self._no_pattern(node)
        segments = _segments(node)
        done: _Side = self._side(segments[0][1])
        at = 1
        while at < len(segments):
            op = segments[at][0]
            assert op is not None
            sides = [done]
            while at < len(segments) and (follower := segments[at][0]) is not None:
                if follower.text != op.text or (op.text not in _ROWS and len(sides) == 2):
                    break
                sides.append(self._side(segments[at][1]))
                at += 1
            done = self._joined(op, sides)
        if not isinstance(done, Pattern):
            return self._no_pattern(node)
        return done

    def _side(self, segment: s.Node) -> _Side:
        absent = self._absent_fact(segment)
        if absent is not None:
            return absent
        if _is_computed(segment) or self._is_value(segment):
            return _Condition(self._condition(segment), s.span_of(segment))
        return self.pattern(segment)

    def _condition(self, node: s.Node) -> Expr:
        """A condition among patterns, where ``not a(x)`` is likely meant as an absence."""
        inner = s.strip(node)
        if isinstance(inner, s.Chain) and len(inner.parts) == 2:
            op, operand = inner.parts
            if isinstance(op, s.Op) and op.text == "not" and not isinstance(operand, s.Op):
                if not self._is_value(operand):
                    self._report.error(
                        s.span_of(inner),
                        "an absence needs the time in which nothing happens",
                        "write not(c).[a, b] for no c between a and b, notfollows(a, c, 10 s) for "
                        "none soon after a, or `while w: not c` for none during w",
                    )
                    return UNKNOWN
        return self._values.expr(node)

    def _joined(self, op: s.Op, sides: list[_Side]) -> _Side:
        """What one operator, or a row of the same operator, makes of its operands."""
        patterns = tuple(side for side in sides if isinstance(side, Pattern))
        conditions = [side for side in sides if isinstance(side, _Condition)]
        span = _side_span(sides[0]).to(_side_span(sides[-1]))
        text = op.text
        if conditions:
            values = [side.expr for side in conditions]
            if not patterns and text in ("and", "or"):
                return _Condition(join("and" if text == "and" else "or", values, span), span)
            if text != "and":
                if UNKNOWN not in values:  # else that is said already
                    self._report.error(
                        conditions[0].span,
                        f"a condition happens at no time, so `{text}` cannot join it to an event",
                        _moment(values[0]) or "put the condition into `where`, or after a comma",
                    )
                return _NOTHING
            inner = patterns[0] if len(patterns) == 1 else And(patterns, span)
            return Where(inner, join("and", values, span), span)
        if text == "seq":
            return Seq(patterns, span)
        if text == "and":
            return And(patterns, span)
        if text == "or":
            return Or(patterns, span)
        left, right = patterns
        if text == "par":
            return Par(left, right, span)
        if text == "until":
            return Until(left, right, span)
        return Allen(text, left, right, span)  # type: ignore[arg-type]


_ROWS = frozenset({"seq", "and", "or"})


class _Condition:
    """A condition among the operands of a pattern."""

    __slots__ = ("expr", "span")

    def __init__(self, expr: Expr, span: Span) -> None:
        self.expr, self.span = expr, span


_Side = Pattern | _Condition


def _moment(value: Expr) -> str | None:
    """What to write where a literal stands for a point in time."""
    return point_in_time(value.value, value.type) if isinstance(value, Const) else None


def _side_span(side: _Side) -> Span:
    span: Span = getattr(side, "span")  # noqa: B009 (every pattern class has one)
    return span


def _is_computed(segment: s.Node) -> bool:
    """Whether a segment of a chain has operators that only values have."""
    return isinstance(segment, s.Chain) and any(
        isinstance(part, s.Op) and is_tight(part) for part in segment.parts
    )


def _segments(node: s.Chain) -> list[tuple[s.Op | None, s.Node]]:
    """A chain cut at the operators that can join events, each with what follows it."""
    found: list[tuple[s.Op | None, s.Node]] = []
    op: s.Op | None = None
    run: list[s.Node | s.Op] = []
    for part in node.parts:
        if isinstance(part, s.Op) and part.kind == "infix" and not is_tight(part):
            found.append((op, _whole(run)))
            op, run = part, []
        else:
            run.append(part)
    found.append((op, _whole(run)))
    return found


def _whole(run: list[s.Node | s.Op]) -> s.Node:
    if len(run) == 1 and not isinstance(run[0], s.Op):
        return run[0]
    return s.Chain(tuple(run), run[0].start, run[-1].end, 1)


def _push_label(label: str, pattern: Pattern, span: Span) -> Pattern:
    """``l: (p where c)`` labels the same occurrence as ``(l: p) where c``; the latter is kept."""
    outer: list[Within | Where] = []
    while isinstance(pattern, (Within, Where)):
        outer.append(pattern)
        pattern = pattern.pattern
    labelled: Pattern = Label(label, pattern, span)
    for layer in reversed(outer):
        if isinstance(layer, Within):
            labelled = Within(labelled, layer.limit, layer.span)
        else:
            labelled = Where(labelled, layer.condition, layer.span)
    return labelled
