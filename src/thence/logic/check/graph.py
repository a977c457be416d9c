"""Which events depend on which: the order of evaluation, and recursion that has no meaning.

All of it is linear in the size of the program and keeps its own stacks, so that a program may
have many thousands of rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from thence.logic.check.problems import Problems
from thence.logic.check.scopes import RuleView
from thence.logic.expr import Aggregate
from thence.logic.policy import UNRESTRICTED
from thence.model.errors import Diagnostic, diagnose
from thence.model.source import Span

_MOST_CYCLES = 10
_LONGEST_CYCLE = 12

How = Literal["", "not ", "collect ", "choose ", "repeat ", "aggregate "]


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule for ``head`` reads ``event``: as it is, its absence, all of it in a window, or what a
    policy chooses of it."""

    head: str
    event: str
    how: How
    span: Span


@dataclass(frozen=True, slots=True)
class Graph:
    """The components of derived events in evaluation order, and those that are recursive."""

    strata: tuple[tuple[str, ...], ...]
    recursive: frozenset[str]
    dependencies: Mapping[str, Sequence[Dependency]]


def dependency_graph(views: Iterable[RuleView]) -> Graph:
    """The graph of the events that some rules derive."""
    edges: dict[str, list[Dependency]] = {}
    views = list(views)
    for view in views:
        edges.setdefault(view.rule.event, [])
    for view in views:
        for atom, scope in view.atoms:
            if atom.event in edges:
                window = scope.window
                chosen = any(around.kind == "chosen" for around in scope.path())
                how: How = "choose " if chosen or view.rule.policy != UNRESTRICTED else ""
                if scope.repeated is not None:
                    how = "repeat "
                if view.reasoned and any(isinstance(t.value, Aggregate) for t in view.rule.terms):
                    how = "aggregate "
                if window is not None:
                    how = "not " if window.kind == "absent" else "collect "
                edge = Dependency(view.rule.event, atom.event, how, atom.span)
                edges[view.rule.event].append(edge)
    order = {name: place for place, name in enumerate(edges)}
    strata = [tuple(sorted(component, key=order.__getitem__)) for component in _components(edges)]
    recursive = {
        name
        for component in strata
        for name in component
        if len(component) > 1 or any(edge.event == name for edge in edges[name])
    }
    return Graph(tuple(strata), frozenset(recursive), edges)


def _components(edges: Mapping[str, Sequence[Dependency]]) -> Iterable[list[str]]:
    """Tarjan's strongly connected components: each after those that it depends on."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    for start in edges:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        open_names.append(start)
        is_open.add(start)
        path = [(start, iter(edges[start]))]
        while path:
            name, rest = path[-1]
            for edge in rest:
                if edge.event not in index:
                    index[edge.event] = low[edge.event] = len(index)
                    open_names.append(edge.event)
                    is_open.add(edge.event)
                    path.append((edge.event, iter(edges[edge.event])))
                    break
                if edge.event in is_open:
                    low[name] = min(low[name], index[edge.event])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == index[name]:
                    component = []
                    while True:
                        member = open_names.pop()
                        is_open.discard(member)
                        component.append(member)
                        if member == name:
                            break
                    yield component


def check_recursion(
    graph: Graph, problems: Problems, allowed: str | None = None
) -> dict[str, tuple[Diagnostic, ...]]:
    """Refuse recursion through repetition, and give what is to be said of one through absence,
    collecting or choosing, by its first event: it has a meaning where it only looks back in time.
    Each shows the cycle. Where there is no time, ``allowed`` says what recursion may go through,
    and all other is refused."""
    doubts: dict[str, tuple[Diagnostic, ...]] = {}
    for component in graph.strata:
        if component[0] not in graph.recursive:
            continue
        members = set(component)
        shown = 0
        for name in component:
            for edge in graph.dependencies[name]:
                if edge.how and edge.event in members and shown < _MOST_CYCLES:
                    shown += 1
                    said = _said(edge, _way(graph, members, edge.event, name), allowed)
                    if edge.how == "repeat " or allowed is not None:
                        problems.error(edge.span, *said)
                    else:
                        doubt = diagnose(problems.source, edge.span, *said)
                        doubts[component[0]] = (*doubts.get(component[0], ()), doubt)
    return doubts


def _way(graph: Graph, members: set[str], start: str, goal: str) -> list[Dependency]:
    """A shortest way from one event of a component to another."""
    came: dict[str, Dependency] = {}
    queue = deque([start])
    while queue and goal not in came and start != goal:
        for edge in graph.dependencies[queue.popleft()]:
            if edge.event in members and edge.event not in came:
                came[edge.event] = edge
                queue.append(edge.event)
    way: list[Dependency] = []
    name = goal
    while name != start:
        way.append(came[name])
        name = came[name].head
    return way[::-1]


def _said(edge: Dependency, way: Sequence[Dependency], allowed: str | None) -> tuple[str, str]:
    """What is wrong with a cycle, and what to do."""
    steps = [edge.head, *(f"{step.how}{step.event}" for step in (edge, *way))]
    if len(steps) > _LONGEST_CYCLE:
        steps = [*steps[: _LONGEST_CYCLE // 2], "…", *steps[-(_LONGEST_CYCLE // 2) :]]
    cycle = " -> ".join(steps)
    if edge.how == "not ":
        message = f"'{edge.head}' depends on its own absence: {cycle}"
    elif edge.how == "choose ":
        message = f"the policy of '{edge.head}' chooses from what depends on it: {cycle}"
    elif edge.how == "repeat ":
        message = f"'{edge.head}' repeats what depends on it: {cycle}"
    elif edge.how == "aggregate ":
        message = f"'{edge.head}' aggregates what depends on it: {cycle}"
    else:
        message = f"'{edge.head}' is collected from what depends on it: {cycle}"
    if allowed is not None:
        return message, f"break the cycle: {allowed}"
    if edge.how == "repeat ":
        return message, "break the cycle: recursion may only go through events that occur"
    return message, (
        "break the cycle, or let it only look back: at what ends before the result does, and let "
        "results end with an event"
    )
