"""Head aggregates: each must know which ``collect`` it is over, and take what it can compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thence.logic.check.names import check_read
from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView, Scope, inside_of, view_of
from thence.logic.expr import Aggregate, Attr, Expr, Folded, TimeOf, Var, leaves
from thence.logic.ops import Moments, Repeat, Rule, While
from thence.logic.repetition import reads_previous

_DISTINCT = frozenset({"count", "sum", "avg", "list"})


def collect_of(rule: Rule, aggregate: Aggregate) -> While | Moments | Repeat | None:
    """The pattern that collects the events which an aggregate of a checked rule is over."""
    view = view_of(rule)
    places = _places(aggregate.arg, view) if aggregate.arg else range(len(view.collects))
    return view.collects[places[0]][0] if len(places) == 1 else None


def check_aggregates(view: RuleView, problems: Problems) -> None:
    """Refuse aggregates that have nothing to aggregate, or could mean several things."""
    policy = view.rule.policy
    if policy.merges and any(isinstance(pattern, Repeat) for pattern, _ in view.collects):
        problems.error(
            policy.span,
            "a rule whose matches are merged cannot repeat events besides",
            "'using greedy exclusive' takes all repetitions, and uses them up",
        )
        return
    for term in view.rule.terms:
        if isinstance(term.value, Aggregate):
            _check(term.value, view, problems)
    plain = [term.value for term in view.rule.terms if not isinstance(term.value, Aggregate)]
    given = [(arg, scope) for atom, scope in view.atoms for _, arg in atom.args]
    for expr, scope in (*((value, view.root) for value in plain), *view.conditions, *given):
        for leaf in leaves(expr):
            if isinstance(leaf, Folded):
                _check_folded(leaf, scope, view, problems)
    kinds = {isinstance(pattern, Repeat) for pattern, _ in view.collects}
    if len(kinds) == 2:
        problems.error(
            view.rule.span,
            "a rule collects events or repeats them, not both",
            "give one of the two a rule of its own",
        )
    _check_previous(view, problems)
    _warn_of_combinations(view, problems)


def _check_previous(view: RuleView, problems: Problems) -> None:
    """Refuse ``prev`` where there is no repetition before."""
    exprs = [(condition, scope.repeated is not None) for condition, scope in view.conditions]
    exprs += [(term.value, False) for term in view.rule.terms if isinstance(term.value, Expr)]
    exprs += [(arg, False) for atom, _ in view.atoms for _, arg in atom.args]
    for expr, repeated in exprs:
        if not repeated and reads_previous(expr):
            problems.error(
                view.rule.span,
                "prev reads the repetition before, so it can stand only in a condition on what "
                "is repeated",
                "write b: tick(id)+ where b.price > prev(b.price)",
            )


def _check_folded(leaf: Folded, scope: Scope, view: RuleView, problems: Problems) -> None:
    """An aggregate in a condition, or in a larger expression, is over repetitions: those of the
    pattern that the condition is on, and not what is absent or collected beside it."""
    window = scope.nearest_window
    over = [
        (repeat, local)
        for repeat, local in view.repeats
        if local.nearest_window is window and any(each is scope for each in local.path())
    ]
    if over:
        _check(leaf.aggregate, replace(view, collects=[*over]), problems)
        return
    problems.error(
        leaf.span,
        f"{leaf.aggregate.function} can be computed with, or be in a condition, only over what a "
        "rule repeats",
        "over what it collects, an aggregate is a term of the head by itself",
    )


_FEW = frozenset({"count", "min", "max", "first", "last"})


def _warn_of_combinations(view: RuleView, problems: Problems) -> None:
    """Warn where every combination of any number of repetitions is a result of its own."""
    if view.rule.policy.greedy or view.rule.policy.strict:
        return
    for term in view.rule.terms:
        value = term.value
        if isinstance(value, Aggregate) and (value.function not in _FEW or value.distinct):
            found = collect_of(view.rule, value)
            if isinstance(found, Repeat) and found.most is None:
                problems.warn(
                    value.span,
                    f"this {value.function} is over every combination of repetitions; "
                    "add 'using greedy' for the longest one only",
                )


def _check(aggregate: Aggregate, view: RuleView, problems: Problems) -> None:
    function = aggregate.function
    if view.rule.policy.merges and not _reads_collected(aggregate, view):
        _check_merging(aggregate, view, problems)
        return
    if not view.collects:
        problems.error(
            aggregate.span,
            f"{function} has nothing to aggregate: the rule collects and repeats no events",
            "add a window and a collect to the body, such as w: extend_backward(o, 24h), "
            "while w: collect e(x)",
        )
        return
    _check_distinct(aggregate, problems)
    if aggregate.arg is None:
        if function != "count" or aggregate.distinct:
            problems.error(aggregate.span, f"{function} needs a value", f"write {function}(x)")
        elif len(view.collects) > 1:
            problems.error(
                aggregate.span,
                "count() does not say which of the collected events it counts",
                "count a variable of one of them, such as count(x)",
            )
        return
    places = _places(aggregate.arg, view)
    if len(places) == 1:
        check_read(aggregate.arg, view.collects[places[0]][1], view, problems)
    elif not places:
        check_read(aggregate.arg, view.root, view, problems)
    else:
        problems.error(
            aggregate.span,
            f"this {function} could be over several of the collects",
            "an aggregate reads variables of one collect; write one rule per collect, "
            "or use a variable that only one of them binds",
        )


def _check_distinct(aggregate: Aggregate, problems: Problems) -> None:
    if aggregate.distinct and aggregate.function not in _DISTINCT:
        problems.error(
            aggregate.span,
            f"distinct changes nothing in {aggregate.function}",
            f"write {aggregate.function}(…) without it",
        )


def _reads_collected(aggregate: Aggregate, view: RuleView) -> bool:
    """Whether an aggregate is over what a rule collects, and not over the events of its matches."""
    if aggregate.arg is None:
        return bool(view.collects)
    inner = [leaf for leaf in leaves(aggregate.arg) if not view.root.sees(leaf)]
    return any(scope.sees(leaf) for leaf in inner for _, scope in view.collects)


def _check_merging(aggregate: Aggregate, view: RuleView, problems: Problems) -> None:
    """An aggregate over what a policy merges is over the events of one label."""
    function = aggregate.function
    _check_distinct(aggregate, problems)
    over: set[object] = set()
    for leaf in leaves(aggregate.arg) if aggregate.arg is not None else ():
        if isinstance(leaf, Attr | TimeOf):
            over.add(leaf.label)
        elif isinstance(leaf, Var):
            binding = [id(atom) for atom, _ in view.atoms if leaf in [arg for _, arg in atom.args]]
            over.add(_label_of(binding[0], view) if len(binding) == 1 else None)
    if aggregate.arg is not None:
        check_read(aggregate.arg, view.root, view, problems)
    if len(over) != 1 or None in over:
        problems.error(
            aggregate.span,
            f"this {function} does not say which events it is over",
            f"read one labelled event: {function}(x.start), {function}(x.n)",
        )


def _label_of(atom: int, view: RuleView) -> object:
    """The label of an atom, or what else tells it from others."""
    for label, definitions in view.definitions.items():
        for definition in definitions:
            if id(inside_of(definition)) == atom:
                return label
    return atom


def _places(arg: Expr, view: RuleView) -> Sequence[int]:
    """The collects that an aggregate's argument may be over, by number."""
    inner: set[int] = set()
    for leaf in leaves(arg):
        if view.root.sees(leaf):
            continue
        inner.update(i for i, (_, scope) in enumerate(view.collects) if scope.sees(leaf))
    if inner:
        return sorted(inner)
    if len(view.collects) == 1:
        return [0]
    # Only outer names: a collect that mentions them is meant, if there is just one such.
    names = {leaf.name for leaf in leaves(arg) if isinstance(leaf, Var)}
    mentions = [i for i, (_, scope) in enumerate(view.collects) if names & _mentioned(scope, view)]
    return mentions if names else range(len(view.collects))


def _mentioned(scope: Scope, view: RuleView) -> set[str]:
    return {
        name
        for each in view.scopes
        if any(around is scope for around in each.path())
        for name in each.variables
    }
