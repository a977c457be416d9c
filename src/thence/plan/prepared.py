"""What the engine works out about a conjunct once, before any event is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thence.logic.bounds import UNBOUNDED, Constraint
from thence.logic.conjunct import (
    AtomUse,
    Column,
    Conjunct,
    EndPoint,
    Extreme,
    NodeTime,
    Shifted,
    Tick,
    WindowUse,
)
from thence.logic.expr import Aggregate, Expr, read_by
from thence.logic.policy import UNRESTRICTED
from thence.plan.demand import Demand
from thence.plan.ends import by_ends
from thence.plan.equalities import Link
from thence.plan.nearest import Nearest, nearest
from thence.plan.repetitions import strict_ends
from thence.plan.selection import Selection

if TYPE_CHECKING:
    from thence.plan.order import Step


@dataclass(frozen=True, slots=True)
class Reads:
    """What an expression, a constraint or a result reads: columns, and nodes that have a time of
    their own (end points of atoms and extremes; a shifted node counts as the one it shifts)."""

    columns: frozenset[Column]
    nodes: frozenset[int]

    def __or__(self, other: Reads) -> Reads:
        return Reads(self.columns | other.columns, self.nodes | other.nodes)


NOTHING = Reads(frozenset(), frozenset())


TICK = -1
"""Stands among the atoms that something needs where it needs a tick: those come after the join."""


class Prepared:
    """A conjunct with its predicates and constraints sorted by what they need."""

    def __init__(
        self,
        conjunct: Conjunct,
        decided: bool = False,
        as_written: bool = False,
        selection: Selection | None = None,
        demand: Demand | None = None,
        causes: str | None = None,
        by_values: bool = True,
    ) -> None:
        """``decided`` says that it is a part of another join: that with a given first and last
        event. ``as_written`` says that its atoms are bound in the order of the text. With a
        ``selection`` there is no join: rows of one event are taken as they are. ``demand``
        says which atom asks for results, where one does. With ``causes`` there is no join either:
        derivations tell which events of that type those of the only atom were made of.
        ``by_values`` says that rows of tables may be found by a range of their values."""
        self.conjunct = conjunct
        self.causes = causes
        self.selection = selection
        self.decided = decided
        self.as_written = as_written
        self.by_values = by_values
        self.steps: dict[Any, Step] = {}
        """How atoms are bound once others are, as far as somebody has asked."""
        self.lookups: dict[tuple[int, int], tuple[Link, ...]] = {}
        """By which columns an atom is looked up, given another, as far as somebody has asked."""
        self.demand = demand
        self._base = [self._resolve(node) for node in range(len(conjunct.nodes))]
        self._node_atoms: dict[int, frozenset[int]] = {}
        self.constraints = self.reduced(conjunct.constraints)
        self.local: dict[int, list[Expr]] = {}
        self.cross: list[tuple[Expr, frozenset[int]]] = []
        for predicate in conjunct.predicates:
            atoms = self.atoms_of(self.reads(predicate))
            if len(atoms) == 1 and TICK not in atoms:
                self.local.setdefault(next(iter(atoms)), []).append(predicate)
            else:
                self.cross.append((predicate, atoms))

    def __str__(self) -> str:
        from thence.plan.text import join_text  # noqa: PLC0415 (it reads joins)

        return join_text(self)

    @property
    def in_text_order(self) -> Prepared:
        """The same join, whose atoms are bound in the order of the text."""
        return self._but(as_written=True)

    @property
    def not_by_values(self) -> Prepared:
        """The same join, which finds no rows of tables by a range of their values."""
        return self._but(by_values=False)

    def _but(self, **other: Any) -> Prepared:
        own = ("decided", "as_written", "selection", "demand", "causes", "by_values")
        return Prepared(self.conjunct, **({name: getattr(self, name) for name in own} | other))

    def _resolve(self, node: int) -> tuple[int, int]:
        offset = 0
        while isinstance(shifted := self.conjunct.nodes[node], Shifted):
            node, offset = shifted.node, offset + shifted.by
        return node, offset

    def base(self, node: int) -> tuple[int, int]:
        """The node that a node is a shift of (itself, if it is none), and by how much."""
        return self._base[node]

    def reduced(self, constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
        """Constraints between base nodes, without those that hold by how nodes are defined."""
        kept: dict[tuple[int, int], Constraint] = {}
        for constraint in constraints:
            if self._by_definition(constraint):
                continue
            later, a = self.base(constraint.later)
            earlier, b = self.base(constraint.earlier)
            limit = constraint.limit - a + b
            if limit >= 0 and (later == earlier or self._start_and_end(later, earlier)):
                continue
            known = kept.get((later, earlier))
            if known is None or limit < known.limit:
                kept[later, earlier] = Constraint(later, earlier, limit, strict=constraint.strict)
        return tuple(kept.values())

    def _by_definition(self, constraint: Constraint) -> bool:
        later, earlier = constraint.later, constraint.earlier
        if constraint.limit < 0:
            return False
        match self.conjunct.nodes[later], self.conjunct.nodes[earlier]:
            case Extreme("earliest", parts), _ if earlier in parts:
                return True
            case _, Extreme("latest", parts) if later in parts:
                return True
        return False

    def _start_and_end(self, later: int, earlier: int) -> bool:
        """Whether two nodes are the start and the end of one event, in this order."""
        match self.conjunct.nodes[later], self.conjunct.nodes[earlier]:
            case EndPoint(a, "start"), EndPoint(b, "end"):
                return a == b
        return False

    def node_atoms(self, node: int) -> frozenset[int]:
        """The atoms that must be bound before a node has a time."""
        found = self._node_atoms.get(node)
        if found is None:
            found = self._node_atoms[node] = self._atoms_of_node(node)
        return found

    def _atoms_of_node(self, node: int) -> frozenset[int]:
        node, _ = self.base(node)
        match self.conjunct.nodes[node]:
            case EndPoint(atom, _):
                return frozenset((atom,))
            case Extreme(_, parts):
                return frozenset(atom for part in parts for atom in self.node_atoms(part))
            case Tick():
                return frozenset((TICK,))
        return frozenset()

    def reads(self, expr: Expr | Aggregate | None) -> Reads:
        """What an expression reads."""
        if isinstance(expr, Aggregate):
            expr = expr.arg
        if expr is None:
            return NOTHING
        found = list(read_by(expr))
        columns = frozenset(leaf for leaf in found if isinstance(leaf, Column))
        times = self.nodes_read(leaf.node for leaf in found if isinstance(leaf, NodeTime))
        return Reads(columns, times.nodes)

    def nodes_read(self, nodes: Iterable[int]) -> Reads:
        """What the times of some nodes are read from; an extreme is read from its parts."""
        found: set[int] = set()
        stack = list(nodes)
        while stack:
            node, _ = self.base(stack.pop())
            found.add(node)
            definition = self.conjunct.nodes[node]
            if isinstance(definition, Extreme):
                stack += definition.nodes
            elif isinstance(definition, Tick):
                stack.append(definition.node)
        return Reads(frozenset(), frozenset(found))

    def atoms_of(self, reads: Reads) -> frozenset[int]:
        """The atoms that must be bound before something can be read."""
        atoms = {column.atom for column in reads.columns}
        for node in reads.nodes:
            atoms |= self.node_atoms(node)
        return frozenset(atoms)

    @cached_property
    def repeated(self) -> dict[int, int]:
        """The atoms that are the first or the last of a repetition, and the atom whose window holds
        that: they are all bound to rows of one relation."""
        return {
            atom: window.atom
            for window in self.conjunct.repetitions
            if (how := window.repetition) is not None
            for atom in (how.first, how.last)
            if atom is not None
        }

    @cached_property
    def ticks(self) -> tuple[int, ...]:
        """The nodes that are ticks."""
        nodes = enumerate(self.conjunct.nodes)
        return tuple(number for number, node in nodes if isinstance(node, Tick))

    @cached_property
    def after_ticks(self) -> tuple[tuple[Constraint, ...], tuple[Expr, ...]]:
        """The constraints and predicates that read a tick."""
        return (
            tuple(
                c
                for c in self.constraints
                if TICK in self.node_atoms(c.later) | self.node_atoms(c.earlier)
            ),
            tuple(predicate for predicate, atoms in self.cross if TICK in atoms),
        )

    @cached_property
    def stride(self) -> int | None:
        """How long after an event of its own type a result occurs, where a rule says no more than
        that: the same columns so much after its end, unless something ends in the meantime. The
        result is that instant, or begins when the event does.

        The meantimes of one stride after another must have neither gaps nor overlaps, and what must
        be absent must not depend on where one is.
        """
        conjunct = self.conjunct
        if len(conjunct.positive) != 1:
            return None
        (atom,) = conjunct.positive
        use = self.uses[atom]
        head = conjunct.head
        if head.start not in (head.end, use.start):
            return None
        since, by = self.base(head.end)
        bare = not (self.constraints or conjunct.predicates or conjunct.having)
        plain = bare and conjunct.completions == (head.end,) and conjunct.policy == UNRESTRICTED
        moved = head.terms == tuple(Column(atom, name) for name in head.columns)
        if not (plain and moved and use.event == conjunct.event and since == use.end and by > 0):
            return None
        return by if all(self._in_meantime(w, since, by) for w in conjunct.windows) else None

    def _in_meantime(self, window: WindowUse, since: int, by: int) -> bool:
        """Whether a window is about what ends in a time of a given length, wherever it begins."""
        use = self.uses[window.atom]
        outer, _ = self.meantime(window)
        limits = {(c.later, c.earlier): c.limit for c in outer}
        if window.mode != "absent" or set(limits) != {(since, use.end), (use.end, since)}:
            return False
        reads = [self.reads(e) for e in (*window.predicates, *(e for _, e in window.links))]
        return limits[since, use.end] + limits[use.end, since] == by - 1 and all(
            read.nodes <= {use.start, use.end} for read in reads
        )

    def own_predicates(self, atom: int) -> Sequence[Expr]:
        """The predicates that concern one atom alone, in a match or in a window."""
        atom = self.aliases.get(atom, atom)
        window = self.window(atom)
        if window is None:
            return self.local.get(atom, ())
        return [p for p in window.predicates if self.atoms_of(self.reads(p)) == {atom}]

    def window(self, atom: int) -> WindowUse | None:
        """The window that an atom is in; None where it is a part of the match."""
        return self._windows.get(atom)

    @cached_property
    def _windows(self) -> dict[int, WindowUse]:
        return {window.atom: window for window in self.conjunct.windows}

    @cached_property
    def aliases(self) -> dict[int, int]:
        """Atoms that stand for one repetition, and the window whose relation they share, so that
        equal row numbers are one event."""
        return {
            atom: window.atom
            for window in self.conjunct.repetitions
            if (how := window.repetition) is not None
            for atom in (how.first, how.last, how.previous)
            if atom is not None
        }

    def meantime(self, window: WindowUse) -> tuple[list[Constraint], list[Constraint]]:
        """The constraints of a window between its atom and the match, and those on its atom."""
        use = self.uses[window.atom]
        outer: list[Constraint] = []
        own: list[Constraint] = []
        for constraint in self.reduced(window.constraints):
            inside = {constraint.later, constraint.earlier} <= {use.start, use.end}
            (own if inside else outer).append(constraint)
        return outer, own

    @cached_property
    def by_ends(self) -> tuple[Prepared, ...]:
        """The same join, split by which events are the first and the last; none where that would
        not help."""
        return by_ends(self)

    @cached_property
    def nearest(self) -> tuple[Nearest, ...]:
        """Which events must be next to which."""
        return nearest(self)

    @cached_property
    def strict_ends(self) -> dict[int, WindowUse]:
        """The atoms that are the first or the last of a strict repetition, and its window."""
        return strict_ends(self)

    @cached_property
    def compares_rows(self) -> bool:
        """Whether matches are compared that differ in nothing but their repetitions."""
        return any(
            how is not None and how.greedy and (how.first is not None or how.last is not None)
            for how in (window.repetition for window in self.conjunct.repetitions)
        )

    @property
    def keeps_all(self) -> bool:
        """Whether every combination counts, since matches are chosen from or compared."""
        return self.conjunct.policy.chooses or self.compares_rows

    @cached_property
    def apart(self) -> dict[tuple[int, int], int]:
        """How much later than an event of the match another one can end at most, as far as the
        closed bounds say so: by the atoms of the later and the earlier one."""
        bounds = self.conjunct.bounds
        ends = {atom: self.uses[atom].end for atom in self.conjunct.events}
        pairs = ((one, other) for one in ends for other in ends if one != other)
        found = {(one, other): bounds[ends[one], ends[other]] for one, other in pairs}
        return {pair: limit for pair, limit in found.items() if limit < UNBOUNDED}

    @cached_property
    def windowed(self) -> bool:
        """Whether the events of a match are bound to be near each other."""
        nodes = [self.uses[atom].start for atom in self.conjunct.events]
        bounds = self.conjunct.bounds
        return all(bounds.bounded(one, other) for one in nodes for other in nodes)

    def window_reads(self, window: WindowUse) -> Reads:
        """What a window reads, of the match and of its own atom."""
        found = self.nodes_read(n for c in window.constraints for n in (c.later, c.earlier))
        exprs = [*window.predicates, *(expr for _, expr in window.links)]
        if window.repetition is not None:
            exprs += [*window.repetition.conditions, *window.repetition.linked]
            ends = [a for a in (window.repetition.first, window.repetition.last) if a is not None]
            found |= self.nodes_read(
                n for a in ends for n in (self.uses[a].start, self.uses[a].end)
            )
        for expr in exprs:
            found |= self.reads(expr)
        return found

    @cached_property
    def after_join(self) -> Reads:
        """What is read once all positive atoms are bound: windows, completions and the head."""
        conjunct = self.conjunct
        found = self.nodes_read((conjunct.head.start, conjunct.head.end, *conjunct.completions))
        for term in (*conjunct.head.terms, *conjunct.having):
            found |= self.reads(term)
        for window in conjunct.windows:
            found |= self.window_reads(window)
        return found

    @cached_property
    def columns_read(self) -> dict[int, frozenset[str]]:
        """The columns of each atom that anything reads; all of them where it is collected."""
        found = self.after_join
        for predicate in self.conjunct.predicates:
            found |= self.reads(predicate)
        columns = set(found.columns)
        columns.update(column for link in self.conjunct.links for column in link)
        names: dict[int, set[str]] = {i: set() for i in range(len(self.conjunct.atoms))}
        for column in columns:
            names[column.atom].add(column.name)
        for window in self.conjunct.windows:
            names[window.atom].update(name for name, _ in window.links)
        return {atom: frozenset(found) for atom, found in names.items()}

    @cached_property
    def key_columns(self) -> frozenset[Column]:
        """The columns that are held equal to others."""
        found = {column for link in self.conjunct.links for column in link}
        for window in self.conjunct.windows:
            found |= {Column(window.atom, name) for name, _ in window.links}
        return frozenset(found)

    @property
    def uses(self) -> tuple[AtomUse, ...]:
        return self.conjunct.atoms
