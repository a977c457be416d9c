"""Where a rule's variables and labels are bound, and from where they can be seen.

A rule has one scope, in which everything that must occur binds rule-wide. Each branch of an
``or`` has one inside it, and so has each pattern that must be absent or is collected. A name is
seen from a scope if the scope or one around it binds it; a scope with an ``or`` binds what every
branch of it binds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thence.logic.expr import (
    Attr,
    Call,
    CausedBy,
    Const,
    Expr,
    Folded,
    TimeOf,
    Var,
    conjuncts,
    leaves,
)
from thence.logic.history import is_own_rule
from thence.logic.ops import (
    And,
    AnyOne,
    At,
    Atom,
    Label,
    Moments,
    Or,
    Pattern,
    Ref,
    Repeat,
    Rule,
    Timer,
    Using,
    Where,
    While,
    Within,
    inside,
    span_of,
)
from thence.logic.repetition import shared_variables
from thence.logic.roles import FieldRole
from thence.model.source import Span

ScopeKind = Literal["rule", "branch", "absent", "collect", "chosen", "repeat"]
_KINDS: dict[FieldRole, ScopeKind] = {
    "absent": "absent", "collected": "collect", "repeated": "repeat"
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Scope:
    """A part of a rule that binds names. ``choices`` holds the branches of each ``or`` in it."""

    kind: ScopeKind
    parent: Scope | None
    span: Span
    variables: dict[str, Span] = field(default_factory=dict)
    labels: dict[str, Span] = field(default_factory=dict)
    choices: list[list[Scope]] = field(default_factory=list)

    def path(self) -> Iterator[Scope]:
        """This scope and those around it, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def window(self) -> Scope | None:
        """The outermost scope around this one of something absent or collected, if any."""
        found = None
        for scope in self.path():
            if scope.kind in ("absent", "collect"):
                found = scope
        return found

    @property
    def nearest_window(self) -> Scope | None:
        """The innermost scope around this one of something absent or collected, if any."""
        return next((each for each in self.path() if each.kind in ("absent", "collect")), None)

    @property
    def repeated(self) -> Scope | None:
        """The scope of the repetition around this one, if any."""
        return next((scope for scope in self.path() if scope.kind == "repeat"), None)

    def bound_variables(self) -> set[str]:
        found = set(self.variables)
        for branches in self.choices:
            found |= set.intersection(*(branch.bound_variables() for branch in branches))
        return found

    def bound_labels(self) -> set[str]:
        found = set(self.labels)
        for branches in self.choices:
            found |= set.intersection(*(branch.bound_labels() for branch in branches))
        return found

    def sees_variable(self, name: str) -> bool:
        return any(
            name in scope.variables or (scope.choices and name in scope.bound_variables())
            for scope in self.path()
        )

    def sees_label(self, name: str) -> bool:
        return any(
            name in scope.labels or (scope.choices and name in scope.bound_labels())
            for scope in self.path()
        )

    def sees(self, leaf: Expr) -> bool:
        """Whether what an expression reads is bound here."""
        match leaf:
            case Var(name):
                return self.sees_variable(name)
            case Attr(label) | TimeOf(label):
                return self.sees_label(label)
            case Const() | CausedBy() | Folded():  # labels and aggregates are looked at elsewhere
                return True
        raise AssertionError(f"what does {type(leaf).__name__} read?")

    def visible(self) -> set[str]:
        """Every variable and label that can be read here."""
        scopes = list(self.path())
        return set().union(*(s.bound_variables() | s.bound_labels() for s in scopes))


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label read as an event: by its name alone, by a timer, or as a window."""

    label: str
    span: Span
    scope: Scope


@dataclass(slots=True)
class RuleView:
    """What stands in a rule, each piece with the scope it stands in, in the order of the text."""

    rule: Rule
    root: Scope
    scopes: list[Scope] = field(default_factory=list)
    atoms: list[tuple[Atom, Scope]] = field(default_factory=list)
    conditions: list[tuple[Expr, Scope]] = field(default_factory=list)
    label_uses: list[LabelUse] = field(default_factory=list)
    definitions: dict[str, list[Label]] = field(default_factory=dict)
    collects: list[tuple[While | Moments | Repeat, Scope]] = field(default_factory=list)
    """What aggregates can be over."""
    repeats: list[tuple[Repeat, Scope]] = field(default_factory=list)
    """What is repeated, also in what is absent or collected."""
    misplaced: list[While | Moments] = field(default_factory=list)
    assignments: list[tuple[Var, Expr]] = field(default_factory=list)
    """Variables that conditions such as ``c = a + b`` bind, in an order that works."""
    occurs: bool = False
    """Whether something in the body must occur: an event, or an instant."""
    reasoned: bool = False
    """Whether it is a deductive rule, about rows of tables and not about events."""


def view_of(rule: Rule) -> RuleView:
    """Take a rule apart into what the checks look at."""
    root = Scope("rule", None, rule.span)
    view = RuleView(rule, root, [root])
    # A `collect` is a part of the body's own conjunction, which the flag follows.
    stack: list[tuple[Pattern, Scope, bool]] = [(rule.body, root, True)]
    shared = shared_variables(rule)
    while stack:
        pattern, scope, direct = stack.pop()
        if isinstance(pattern, Atom):
            _bind(pattern, scope, shared)
        held = _noted(view, pattern, scope, direct)
        direct = direct and isinstance(pattern, And | Where | Within)
        stack.extend((part, own, direct) for part, own in reversed(held))
    _assign(view)
    return view


def _noted(
    view: RuleView, pattern: Pattern, scope: Scope, direct: bool
) -> list[tuple[Pattern, Scope]]:
    """Note what a pattern is, and give the patterns inside it, each with its scope."""
    match pattern:
        case Atom():
            view.atoms.append((pattern, scope))
            view.occurs = view.occurs or scope.window is None
        case At():
            view.occurs = view.occurs or scope.window is None
        case Ref(label, span) | Timer(label, span=span):
            view.label_uses.append(LabelUse(label, span, scope))
        case Label(name, _, span):
            scope.labels.setdefault(name, span)
            view.definitions.setdefault(name, []).append(pattern)
        case Where(_, condition):
            view.conditions += [(part, scope) for part in conjuncts(condition)]
        case Repeat(inner, _, _, span):
            local = _inner(view, "repeat", scope, span)
            if scope.repeated is None:
                view.repeats.append((pattern, local))
                if scope.window is None:
                    view.collects.append((pattern, local))
            return [(inner, local)]
        case While(window, mode, inner, span):
            view.label_uses.append(LabelUse(window, span, scope))
            local = _inner(view, "absent" if mode == "not" else "collect", scope, span)
            if mode == "collect" and not direct:
                view.misplaced.append(pattern)
            elif mode == "collect":
                view.collects.append((pattern, local))
            return [(inner, local)]
        case Using(inner, _, span):
            return [(inner, _chosen(view, "chosen", scope, span))]
        case Moments():
            return _moments(view, pattern, scope)
        case Or(parts, span) | AnyOne(parts, span):
            branches = [_inner(view, "branch", scope, span) for _ in parts]
            scope.choices.append(branches)
            return list(zip(parts, branches, strict=True))
    return [
        (part, scope if role == "part" else _inner(view, _KINDS[role], scope, span_of(pattern)))
        for role, part in inside(pattern)
    ]


def _moments(view: RuleView, pattern: Moments, scope: Scope) -> list[tuple[Pattern, Scope]]:
    span = pattern.span
    around = _chosen(view, "branch", scope, span) if is_own_rule(pattern) else scope
    found = [(part, around) for part in pattern.parts]
    found += [(part, _inner(view, "absent", scope, span)) for part in pattern.absent]
    if pattern.collected and scope is not view.root:
        view.misplaced.append(pattern)
    for part in pattern.collected:
        local = _inner(view, "collect", scope, span)
        view.collects.append((pattern, local))
        found.append((part, local))
    return found


def _bind(atom: Atom, scope: Scope, shared: frozenset[str]) -> None:
    for _, argument in atom.args:
        if isinstance(argument, Var):
            home = _home(argument.name, scope, shared)
            home.variables.setdefault(argument.name, argument.span)


def _chosen(view: RuleView, kind: ScopeKind, parent: Scope, span: Span) -> Scope:
    """A scope inside another one, which binds what it binds."""
    scope = _inner(view, kind, parent, span)
    parent.choices.append([scope])
    return scope


def _home(name: str, scope: Scope, shared: frozenset[str]) -> Scope:
    """The scope that an atom's variable belongs to: a shared one is bound outside repetitions."""
    home = scope
    while name in shared and (outer := _around_repetition(home)) is not None:
        home = outer
    return home


def _around_repetition(scope: Scope) -> Scope | None:
    """The scope around the repetition that a scope is in, without a window in between."""
    for each in scope.path():
        if each.kind == "repeat":
            return each.parent
        if each.kind in ("absent", "collect"):
            return None
    return None


def _inner(view: RuleView, kind: ScopeKind, parent: Scope, span: Span) -> Scope:
    scope = Scope(kind, parent, span)
    view.scopes.append(scope)
    return scope


def inside_of(pattern: Pattern) -> Pattern:
    """The pattern inside the labels and conditions around it."""
    while isinstance(pattern, Label | Within | Where):
        pattern = pattern.pattern
    return pattern


def _assign(view: RuleView) -> None:
    """Let conditions ``v = e`` bind variables that nothing else binds, until none is left."""
    candidates = [
        (variable, value, scope)
        for condition, scope in view.conditions
        if isinstance(condition, Call) and condition.function == "=" and len(condition.args) == 2
        for variable, value in (condition.args, condition.args[::-1])
        if isinstance(variable, Var)
    ]
    # What is outside a window comes first: a window respects what is bound around it.
    _assign_among(view, [c for c in candidates if c[2].window is None])
    _assign_among(view, [c for c in candidates if c[2].window is not None])


def _assign_among(view: RuleView, candidates: Sequence[tuple[Var, Expr, Scope]]) -> None:
    waiting = list(candidates)
    progress = True
    while progress and waiting:
        progress = False
        later = []
        for variable, value, scope in waiting:
            if scope.sees_variable(variable.name):
                continue
            if all(map(scope.sees, leaves(value))):
                scope.variables[variable.name] = variable.span
                view.assignments.append((variable, value))
                progress = True
            else:
                later.append((variable, value, scope))
        waiting = later
