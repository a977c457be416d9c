"""What a rule makes its results of: the events in its body that occur, and those it collects.

Each alternative of a rule's body is a *derivation*: a body without choices in which every such
event has a label, so that its attributes and times can be read. Collecting is put aside: what is
collected occurs in the window, and the group that a match belongs to is the rule's result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from thence.logic.alternatives import alternatives
from thence.logic.changes import changed
from thence.logic.check.scopes import view_of
from thence.logic.conjunct import INNER
from thence.logic.expr import Call, Const, TimeOf, Var
from thence.logic.ops import (
    Allen,
    And,
    Atom,
    Label,
    Moments,
    Pattern,
    Ref,
    Repeat,
    Rule,
    SemiJoin,
    Where,
    While,
    walk,
)
from thence.logic.scope import positive_parts
from thence.model.types import DURATION


@dataclass(frozen=True, slots=True)
class Derivation:
    """One way in which a rule makes results.

    ``atoms`` are the events of ``body`` that count as parts, with their labels. ``group`` says
    whether results are groups of matches, which the body alone does not tell.
    """

    body: Pattern
    atoms: tuple[tuple[str, Atom], ...]
    group: bool
    repeated: frozenset[str] = frozenset()
    """The types of events in repetitions, which have no single label."""

    def event(self, label: str) -> str:
        """The type of the event that a label names."""
        return dict(self.atoms)[label].event


def derivations(rule: Rule) -> list[Derivation]:
    """All ways in which a rule makes results."""
    found = []
    for body in alternatives(rule.body):
        optional, group = _occurring(replace(rule, body=body))
        for occurring in optional:
            labelled, atoms = _labelled(occurring)
            found.append(Derivation(labelled, atoms, group, _repeated(body)))
    return found


def _repeated(body: Pattern) -> frozenset[str]:
    repeats = [part for part in positive_parts(body) if isinstance(part, Repeat)]
    atoms = (part for each in repeats for part in positive_parts(each.pattern))
    return frozenset(part.event for part in atoms if isinstance(part, Atom))


def _occurring(rule: Rule) -> tuple[list[Pattern], bool]:
    """A body in which what is collected must occur; one more without, where it need not."""
    outside = view_of(rule).root.bound_variables()
    partners: list[Pattern] = []
    numbers = count(1)
    group = False

    def own(pattern: Pattern) -> Pattern:
        """What is collected, with names for its own variables that nothing else has."""
        number = next(numbers)

        def rename(node: object) -> object:
            if isinstance(node, Var) and node.name not in outside:
                return replace(node, name=f"{node.name}{INNER}{number}")
            return node

        renamed: Pattern = changed(pattern, rename)
        return renamed

    def windows(node: object) -> object:
        if isinstance(node, And) and any(map(_collects, node.parts)):
            partners.extend(
                _inside(part, own(part.pattern), f"{INNER}held {next(numbers)}")
                for part in node.parts
                if isinstance(part, While) and part.mode == "collect"
            )
            rest = tuple(part for part in node.parts if not _collects(part))
            inner = rest[0] if len(rest) == 1 else replace(node, parts=rest)
            return changed(inner, windows)
        return node

    body = changed(rule.body, windows)
    if partners:
        group = True
        body = SemiJoin(body, partners[0] if len(partners) == 1 else And(tuple(partners)))
    bodies = [body]
    for part in list(walk(rule.body)):
        if isinstance(part, Moments) and part.collected:
            group = True
            bare = Moments("then", part.parts, span=part.span)
            opening, closing = part.parts
            full = Moments("then", (opening, own(part.collected[0]), closing), span=part.span)
            bodies = [
                changed(each, _replacing(part, other)) for each in bodies for other in (bare, full)
            ]
    return bodies, group


def _inside(window: While, held: Pattern, label: str) -> Pattern:
    """What a window collects, where the window says."""
    if not window.over:
        return Allen("during", held, Ref(window.window))
    end, until = TimeOf(label, "end"), TimeOf(window.window, "end")
    conditions = [Call("<=", (end, until))]
    if window.reach is not None:
        since = Call("-", (until, Const(window.reach, DURATION)))
        conditions.append(Call(">=", (end, since)))
    return Where(Label(label, held, hidden=True), Call("and", tuple(conditions)))


def _collects(pattern: Pattern) -> bool:
    return isinstance(pattern, While) and pattern.mode == "collect"


def _replacing(old: Pattern, new: Pattern) -> Callable[[object], object]:
    return lambda node: new if node is old else node


def _labelled(body: Pattern) -> tuple[Pattern, tuple[tuple[str, Atom], ...]]:
    """The body with a label for each event that occurs, and these."""
    atoms: dict[str, Atom] = {}
    done: set[int] = set()
    parts = list(positive_parts(body))
    for part in parts:
        if isinstance(part, Label) and isinstance(part.pattern, Atom):
            atoms.setdefault(part.name, part.pattern)
            done.add(id(part.pattern))
    bare = {id(part) for part in parts if isinstance(part, Atom)} - done
    numbers = count(1)

    def label(node: object) -> object:
        if isinstance(node, Atom) and id(node) in bare:
            name = f"{INNER}part {next(numbers)}"
            atoms[name] = node
            return Label(name, node, node.span, hidden=True)
        return node

    return changed(body, label), tuple(atoms.items())
