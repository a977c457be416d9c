"""Labels that stand for two things, or for something that they are a part of themselves."""

from __future__ import annotations

from collections.abc import Iterator

from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView
from thence.logic.ops import AnyOne, Atom, Label, Or, Pattern, Ref, Timer, children, walk

_Path = tuple[tuple[int, int], ...]
"""The alternatives that a place is in, from the outside in: which, and which branch of it."""


def check_labels(view: RuleView, problems: Problems) -> None:
    """Refuse labels of which nobody could say what they stand for."""
    if any(len(labels) > 1 for labels in view.definitions.values()):
        _check_clashes(view, problems)
    timers: dict[str, set[str]] = {}
    referred = {use.label for use in view.label_uses}
    for name in referred & view.definitions.keys():
        for label in view.definitions[name]:
            if isinstance(label.pattern, Timer):
                timers.setdefault(name, set()).add(label.pattern.of)
            for part in walk(label.pattern):
                if part == Ref(name):
                    problems.error(
                        getattr(part, "span", label.span),
                        f"'{name}' stands inside what it is the label of",
                    )
    for name in sorted(timers):
        if _is_relative_to_itself(name, timers):
            span = view.definitions[name][0].span
            problems.error(span, f"the timer '{name}' is relative to itself, in the end")
            return


def _check_clashes(view: RuleView, problems: Problems) -> None:
    known: dict[str, list[tuple[str | None, _Path]]] = {}
    for label, path in _placed(view.rule.body):
        named = _event(label.pattern)
        others = known.setdefault(label.name, [])
        for other, place in others:
            if (named is None or named != other) and not _are_alternatives(path, place):
                problems.error(
                    label.span,
                    f"the label '{label.name}' already stands for something else in this rule",
                    "the same label twice means the same event; use another label for another "
                    "event",
                )
                break
        others.append((named, path))


def _event(pattern: Pattern) -> str | None:
    """What a label stands for, where another one of its name may stand for the same."""
    match pattern:
        case Atom(name) | Ref(name):
            return name
    return None


def _placed(root: Pattern) -> Iterator[tuple[Label, _Path]]:
    """The labels of a pattern, in order, each with the alternatives that it is in."""
    stack: list[tuple[Pattern, _Path]] = [(root, ())]
    while stack:
        part, path = stack.pop()
        if isinstance(part, Label):
            yield part, path
        chosen = isinstance(part, Or | AnyOne)
        for at, inner in reversed(list(enumerate(children(part)))):
            stack.append((inner, (*path, (id(part), at)) if chosen else path))


def _are_alternatives(one: _Path, other: _Path) -> bool:
    """Whether two places are in different branches of an ``or``, so that only one is met."""
    return any(
        left[0] == right[0] and left[1] != right[1] for left, right in zip(one, other, strict=False)
    )


def _is_relative_to_itself(name: str, timers: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    stack = [name]
    while stack:
        for other in timers.get(stack.pop(), set()) - seen:
            seen.add(other)
            stack.append(other)
    return name in seen
