"""The time points of a rule's body, while it is taken apart, and the bounds between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from thence.logic.bounds import Constraint, less
from thence.logic.conjunct import EPOCH, Epoch, Extreme, Node, Shifted
from thence.logic.pieces import Interval, Nodes
from thence.model.source import Span


class Points:
    """Nodes, each once, and what is known of the differences between them.

    >>> from thence.model.source import NOWHERE
    >>> points = Points()
    >>> points.node(Shifted(EPOCH, 5), NOWHERE), points.shifted(EPOCH, 5, NOWHERE)
    (1, 1)
    >>> [(c.later, c.earlier, c.limit) for c in points.constraints]
    [(1, 0, 5), (0, 1, -5)]
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = [Epoch()]
        self.constraints: list[Constraint] = []
        self.completions: list[int] = []
        """The nodes that must have passed before a match is final."""
        self.instants: list[int] = []
        """The nodes of instants that are those of a clock."""
        self._index: dict[Node, int] = {Epoch(): EPOCH}

    def node(self, node: Node, span: Span) -> int:
        """The index of a node, made and tied to the others where it is new."""
        if node in self._index:
            return self._index[node]
        index = self._index[node] = len(self.nodes)
        self.nodes.append(node)
        match node:
            case Shifted(of, by):
                self.constraints.append(Constraint(index, of, by, span))
                self.constraints.append(Constraint(of, index, -by, span))
            case Extreme("earliest", parts):
                self.constraints += [Constraint(index, part, 0, span) for part in parts]
            case Extreme("latest", parts):
                self.constraints += [Constraint(part, index, 0, span) for part in parts]
        return index

    def shifted(self, node: int, by: int, span: Span) -> int:
        """A node, moved by some microseconds."""
        return self.node(Shifted(node, by), span) if by else node

    def single(self, which: Literal["earliest", "latest"], nodes: Nodes, span: Span) -> int:
        """One node for the earliest, or the latest, of some."""
        return nodes[0] if len(nodes) == 1 else self.node(Extreme(which, nodes), span)

    def ends(self, interval: Interval, span: Span) -> tuple[int, int]:
        """One start node and one end node for an interval."""
        starts, ends = interval
        return self.single("earliest", starts, span), self.single("latest", ends, span)

    def clock(self, node: int) -> Interval:
        """The interval of an instant of a clock: whatever has it waits for it to pass."""
        self.completions.append(node)
        self.instants.append(node)
        return instant(node)

    def sequence(self, intervals: Sequence[Interval], span: Span) -> Interval:
        """Intervals, each of which begins after the one before it has ended."""
        for (_, ends), (starts, _) in pairwise(intervals):
            self.constraints += [less(e, s, 0, span) for e in ends for s in starts]
        return spanning(intervals)


def instant(node: int) -> Interval:
    """The interval of an instant."""
    return (node,), (node,)


def spanning(intervals: Sequence[Interval]) -> Interval:
    """From the first of some intervals to the last."""
    return intervals[0][0], intervals[-1][1]
