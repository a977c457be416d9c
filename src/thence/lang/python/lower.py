"""Turns definitions made of Python objects into logic: the same as their text would give.

An occurrence that is read, or used again, needs a label in logic; one that has none of its own gets
a fresh one. Where it is used first, it is what the label stands on; after that, it is the label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any

from thence.lang.policies import policy_of
from thence.lang.precedence import join
from thence.lang.python.patterns import (
    Between,
    Choices,
    Closed,
    Definition,
    Filtered,
    Inside,
    Instant,
    Joined,
    Judged,
    Layer,
    Limited,
    Missing,
    Moment,
    Occurrence,
    Pattern,
    Related,
    Renamed,
    Repeating,
    Shared,
    Ticking,
    Timed,
    Whichever,
    core,
)
from thence.lang.python.places import Spans
from thence.lang.python.values import (
    Aggregated,
    AttributeOf,
    Caused,
    Computed,
    EndPoint,
    Literal_,
    Value,
    Variable,
)
from thence.lang.python.walk import inner_patterns, tag_of
from thence.lang.syntax import MAX_DEPTH, PolicyWord
from thence.lang.timers import timer
from thence.lang.words import MOST_PATTERNS
from thence.logic import expr as e
from thence.logic import ops
from thence.logic.check.problems import Problems
from thence.logic.moments import OPERATORS
from thence.logic.policy import Policy
from thence.logic.repetition import as_a_whole, settled
from thence.model.errors import BuildError
from thence.model.source import Span

Placed = set[object]
"""The keys of the occurrences that stand in a pattern already."""


def lower_rule(
    definition: Definition, columns: tuple[str, ...], spans: Spans, report: Problems
) -> ops.Rule:
    """The rule that a definition is; ``columns`` are the names of its head's columns, and ``spans``
    tells where in Python each part of it was made."""
    lowering = _Lowering(definition, spans, report)
    body = lowering.pattern(definition.pattern, set(), ())
    terms = tuple(
        ops.HeadTerm(name, lowering.term(value), lowering.span(value), named=alias is not None)
        for name, (alias, value) in zip(columns, definition.terms, strict=True)
    )
    span = spans.of(definition.place)
    policy = lowering.policy(definition.words, definition.choices, span)
    return settled(as_a_whole(ops.Rule(definition.name, terms, body, span, span, policy)))


class _Survey:
    """What stands in a definition: occurrences, in order, and which of them are read."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.uses: dict[object, int] = {}
        self.owners: dict[object, Pattern] = {}
        self.explicit: dict[object, str] = {}
        self.read: dict[object, None] = {}
        self.names: set[str] = set()
        self.windows: list[Pattern] = []
        self.placed_for: dict[object, None] = {}
        self._pattern(definition.pattern)
        for _, value in definition.terms:
            arg = value.arg if isinstance(value, Aggregated) else value
            self._values([] if arg is None else [arg])
        for _, chosen in definition.choices:
            self._reads(chosen)
        for window in self.windows:
            self._place(window)
        for key in self.read:
            if not self._stands(key):
                raise BuildError(self._missing(self.owners[key]))

    def _stands(self, key: object) -> bool:
        """Whether an occurrence, or another one under the same label, stands in the pattern."""
        label = self.explicit.get(key)
        if key in self.uses or label is None:
            return key in self.uses
        return any(self.explicit.get(other) == label for other in self.uses)

    def _pattern(self, root: Pattern) -> None:
        stack = [root]
        while stack:
            pattern = stack.pop()
            if self._seen_before(pattern):
                continue
            match pattern:
                case Occurrence():
                    self.names.add(pattern._origin.name)
                    self._values([value for _, value in pattern._args])
                case Filtered(conditions=conditions):
                    self._values(conditions)
                case Shared(attributes=attributes):
                    self.names.update(attributes)
                case Timed(of=of):
                    self._reads(of)
                case Judged(choices=choices):
                    for _, chosen in choices:
                        self._reads(chosen)
                case Inside(window=window):
                    self._reads(window)
                    self.windows.append(window)
            stack.extend(reversed(list(inner_patterns(pattern))))

    def _seen_before(self, pattern: Pattern) -> bool:
        tag = tag_of(pattern)
        if tag is None:
            return False
        self._know(pattern)
        self.uses[tag.key] = self.uses.get(tag.key, 0) + 1
        return self.uses[tag.key] > 1

    def _values(self, values: Iterable[Value]) -> None:
        stack = list(values)
        while stack:
            match stack.pop():
                case Variable(name):
                    self.names.add(name)
                case AttributeOf(owner) | EndPoint(owner):
                    self._reads(owner)
                case Caused(effect, cause):
                    self._reads(effect)
                    self._reads(cause)
                case Computed(_, args):
                    stack.extend(args)
                case Aggregated(_, arg) if arg is not None:
                    stack.append(arg)

    def _reads(self, owner: Pattern) -> None:
        occurrence = core(owner)
        self._know(occurrence)
        tag = tag_of(occurrence)
        if tag is not None:
            self.read.setdefault(tag.key)

    def _know(self, pattern: Pattern) -> None:
        tag = tag_of(pattern)
        if tag is not None:
            self.owners.setdefault(tag.key, pattern)
            if tag.label is not None:
                self.explicit.setdefault(tag.key, tag.label)

    def _place(self, window: Pattern) -> None:
        """Let a window that stands nowhere, and what it is relative to, stand before its use."""
        tag = tag_of(window)
        if tag is None or self._stands(tag.key):
            return
        if isinstance(window, Timed):
            self._place(core(window.of))
        self.placed_for[tag.key] = None
        self._pattern(window)

    def _missing(self, pattern: Pattern) -> str:
        tag = tag_of(pattern)
        name = pattern._origin.name if isinstance(pattern, Occurrence) else "a pattern"
        shown = f"'{tag.label}' ({name})" if tag is not None and tag.label else name
        return (
            f"{shown} is read in the definition of '{self.definition.name}', but does not occur in "
            f"its pattern: join it with >>, & or another operator ({self.definition.place})"
        )


class _Lowering:
    """One definition on its way to logic."""

    def __init__(self, definition: Definition, spans: Spans, report: Problems) -> None:
        self._definition, self._spans, self._report = definition, spans, report
        self._survey = _Survey(definition)
        self._labels = _labels(self._survey)
        self._made = 0

    def span(self, made: Pattern | Value) -> Span:
        """Where something was made."""
        return self._spans.of(made._place)

    # -- patterns

    def pattern(
        self, pattern: Pattern, placed: Placed, shared: tuple[str, ...], depth: int = 1
    ) -> ops.Pattern:
        """The logic of a pattern, each part with the place where it was made."""
        if depth > MAX_DEPTH:
            raise self._too_deep()
        self._made += 1
        if self._made > MOST_PATTERNS:
            raise BuildError(
                f"with everything written out, the definition of '{self._definition.name}' has "
                f"more than {MOST_PATTERNS:,} parts: select its inner parts first, and use their "
                f"results ({self._definition.place})"
            )
        depth += 1
        span = self.span(pattern)
        match pattern:
            case Inside():
                before = self._before(pattern, placed, shared, depth)
                inside = self._inside(pattern, placed, shared, depth)
                return ops.And((*before, inside), span) if before else inside
            case Missing(inner):
                return ops.NoFact(self.pattern(inner, set(placed), shared, depth), span)
            case Layer(inner):
                self._check_layer(pattern)
                if isinstance(pattern, Shared):
                    return self.pattern(inner, placed, (*shared, *pattern.attributes), depth)
                lowered = self.pattern(inner, placed, shared, depth)
                if isinstance(pattern, Filtered):
                    conditions = [*map(self.value, pattern.conditions)]
                    return ops.Where(lowered, join("and", conditions, span), span)
                assert isinstance(pattern, Limited)
                return ops.Within(lowered, pattern.limit, span)
        tag = tag_of(pattern)
        assert tag is not None
        if tag.key in placed:
            return ops.Ref(self._labels[tag.key], span)
        node = self._node(pattern, placed, shared, depth)
        if not isinstance(pattern, Renamed):
            node = replace(node, span=span)
        placed.add(tag.key)
        label = self._labels.get(tag.key)
        return node if label is None else ops.Label(label, node, span)

    def _node(self, pattern: Pattern, placed: Placed, shared: tuple[str, ...], depth: int) -> Any:
        """The operator that a pattern is, without its place."""

        def lower(inner: Pattern, where: Placed = placed) -> ops.Pattern:
            return self.pattern(inner, where, shared, depth)

        match pattern:
            case Occurrence():
                return self._atom(pattern, shared)
            case Renamed(inner):
                return lower(inner)
            case Joined("and", parts):
                return self._conjunction(parts, placed, shared, depth)
            case Joined("or", parts):
                return ops.Or(self._branches(parts, placed, shared, depth))
            case Joined("seq", parts):
                return ops.Seq(tuple(map(lower, parts)))
            case Related("par", left, right):
                return ops.Par(lower(left), lower(right))
            case Related(relation, left, right):
                return ops.Allen(relation, lower(left), lower(right))  # type: ignore[arg-type]
            case Between(absent, first, last):
                outside = lower(first), lower(last)
                return ops.Not(lower(absent, set(placed)), *outside)
            case Repeating(inner, least, most):
                return ops.Repeat(lower(inner, set(placed)), least, most)
            case Closed(inner, closing):
                return ops.Until(lower(inner), lower(closing))
            case Instant(time):
                return ops.At(time)
            case Timed(name, of, length):
                return timer(name, self._label(of), length)
            case Moment(operator, parts, absent, limit):
                before = set(placed)
                asserted = tuple(map(lower, parts))
                unwanted = [lower(each, set(placed)) for each in absent]
                if len(absent) < OPERATORS[operator].roles.count("absent"):
                    # What comes last is the first of its kind: no other one came before.
                    unwanted.append(lower(parts[-1], before))
                collected = tuple([lower(each, set(placed)) for each in pattern.collected])
                return ops.Moments(operator, asserted, tuple(unwanted), limit, collected=collected)
            case Judged(inner):
                policy = self.policy(pattern.words, pattern.choices, self.span(pattern))
                return ops.Using(lower(inner), policy)
            case Ticking(inner, period, reach):
                return ops.Ticks(lower(inner), period, reach)
            case Whichever(parts):
                return ops.AnyOne(self._branches(parts, placed, shared, depth))
        raise AssertionError(f"no logic is known for {type(pattern).__name__}")

    def _atom(self, event: Occurrence, shared: tuple[str, ...]) -> ops.Atom:
        given: dict[str, e.Expr] = {name: self.value(value) for name, value in event._args}
        origin = event._origin
        for name in () if origin.is_table else shared:
            if name not in origin.columns:
                raise BuildError(
                    f"same('{name}') needs '{name}' in all events of the pattern, and "
                    f"'{origin.name}' has only {', '.join(origin.columns) or 'no attributes'} "
                    f"({self._definition.place})"
                )
            variable = e.Var(name, self.span(event))
            if given.setdefault(name, variable) != variable:
                raise BuildError(
                    f"same('{name}') says what '{name}' of '{origin.name}' is, and so does "
                    f"{origin.name}({name}=…): leave out one of them ({self._definition.place})"
                )
        args = tuple((name, given[name]) for name in origin.columns if name in given)
        return ops.Atom(origin.name, args)

    def _conjunction(
        self, parts: tuple[Pattern, ...], placed: Placed, shared: tuple[str, ...], depth: int
    ) -> ops.Pattern:
        lowered: list[ops.Pattern] = []
        for part in parts:
            if isinstance(part, Inside):
                lowered.extend(self._before(part, placed, shared, depth))
                lowered.append(self._inside(part, placed, shared, depth))
            else:
                lowered.append(self.pattern(part, placed, shared, depth))
        return ops.And(tuple(lowered))

    def _branches(
        self, parts: tuple[Pattern, ...], placed: Placed, shared: tuple[str, ...], depth: int
    ) -> tuple[ops.Pattern, ...]:
        """Alternatives: each binds labels for itself, and what all of them bind is bound."""
        own = [set(placed) for _ in parts]
        pairs = zip(parts, own, strict=True)
        lowered = tuple([self.pattern(part, bound, shared, depth) for part, bound in pairs])
        placed |= set.intersection(*own)
        return lowered

    def _before(
        self, inside: Inside, placed: Placed, shared: tuple[str, ...], depth: int
    ) -> list[ops.Pattern]:
        """The window of an absence or collection, where it stands nowhere else."""
        found: list[Pattern] = []
        window: Pattern | None = inside.window
        while window is not None:
            tag = tag_of(window)
            if tag is None or tag.key in placed or tag.key not in self._survey.placed_for:
                break
            found.append(window)
            window = core(window.of) if isinstance(window, Timed) else None
        return [self.pattern(each, placed, shared, depth) for each in reversed(found)]

    def _inside(
        self, inside: Inside, placed: Placed, shared: tuple[str, ...], depth: int
    ) -> ops.Pattern:
        inner = self.pattern(inside.pattern, set(placed), shared, depth)
        return ops.While(
            self._label(inside.window),
            inside.mode,
            inner,
            self.span(inside),
            inside.reach,
            inside.rows,
        )

    def _check_layer(self, layer: Layer) -> None:
        inner: Pattern = layer
        while isinstance(inner, Layer):
            inner = inner.inner
        if isinstance(inner, Missing) and not isinstance(layer, Shared):
            raise BuildError(
                "a condition on absent(…) belongs to the row inside it, or to what it is joined "
                f"to: absent(row.where(…)), (a & absent(row)).where(…) ({self._definition.place})"
            )
        if isinstance(inner, Inside) and not isinstance(layer, Shared):
            tag = tag_of(inner.window)
            if tag is None or tag.key not in self._survey.placed_for:
                raise BuildError(
                    "a condition on absent(…).inside(w) or collect(…).inside(w) belongs to what it "
                    f"is joined to: (o & absent(s).inside(w)).where(…) ({self._definition.place})"
                )

    def _label(self, owner: Pattern) -> str:
        tag = tag_of(core(owner))
        assert tag is not None
        return self._labels.get(tag.key) or self._survey.explicit[tag.key]

    # -- the policy

    def policy(self, words: tuple[str, ...], choices: Choices, span: Span) -> Policy:
        """The policy that words and choices are; what is wrong with them goes into the report."""
        at = span.start, span.end
        found = [PolicyWord(word.lower(), (), *at) for word in words]
        found += [PolicyWord(c, (self._label(p),), *at) for c, p in choices]
        return policy_of(found, self._report)

    # -- values

    def term(self, value: Value) -> e.Expr | e.Aggregate:
        """What a column holds."""
        if isinstance(value, Aggregated):
            arg = None if value.arg is None else self.value(value.arg)
            return e.Aggregate(value.function, arg, value.distinct, self.span(value))
        return self.value(value)

    def value(self, value: Value, depth: int = 1) -> e.Expr:
        """The expression that a value is, each part with the place where it was made."""
        if depth > MAX_DEPTH:
            raise self._too_deep()
        span = self.span(value)
        match value:
            case Literal_(const):
                return replace(const, span=span)
            case Variable(name):
                return e.Var(name, span)
            case AttributeOf(owner, name):
                return e.Attr(self._label(owner), name, span)
            case Caused(effect, cause):
                return e.CausedBy(self._label(effect), self._label(cause), span)
            case EndPoint(owner, which):
                return e.TimeOf(self._label(owner), which, span)
            case Aggregated():
                aggregate = self.term(value)
                assert isinstance(aggregate, e.Aggregate)
                return e.Folded(aggregate, span)
            case Computed("and" | "or" as function, args):
                parts = [self.value(arg, depth + 1) for arg in _row(function, args)]
                return join("and" if function == "and" else "or", parts, span)
            case Computed(function, args):
                return e.Call(function, tuple([self.value(arg, depth + 1) for arg in args]), span)
        raise AssertionError(f"no logic is known for {type(value).__name__}")

    def _too_deep(self) -> BuildError:
        return BuildError(
            f"the definition of '{self._definition.name}' is nested more than {MAX_DEPTH} levels "
            f"deep: select its inner parts first, and use their results ({self._definition.place})"
        )


def _row(function: str, args: tuple[Value, ...]) -> list[Value]:
    """The operands of a row of ``and`` or ``or``, which may be long and leans to the left."""
    found: list[Value] = []
    stack = list(reversed(args))
    while stack:
        top = stack.pop()
        if isinstance(top, Computed) and top.function == function:
            stack.extend(reversed(top.args))
        else:
            found.append(top)
    return found


def _labels(survey: _Survey) -> Mapping[object, str]:
    """The label of every occurrence that has one or needs one."""
    taken = survey.names | set(survey.explicit.values())
    labels: dict[object, str] = {}
    for key, uses in survey.uses.items():
        if key in survey.explicit:
            labels[key] = survey.explicit[key]
        elif key in survey.read or uses > 1:
            stem = _stem(survey.owners[key])
            tries = chain([stem], (f"{stem}{number}" for number in count(2)))
            labels[key] = next(each for each in tries if each not in taken)
            taken.add(labels[key])
    return labels


def _stem(pattern: Pattern) -> str:
    if isinstance(pattern, Occurrence):
        first = pattern._origin.name[0].lower()
        return first if first.isascii() and first.isalpha() else "e"
    return "w" if isinstance(pattern, Timed) else "p"
