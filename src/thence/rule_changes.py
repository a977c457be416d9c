"""What changes when one program takes the place of another: which derived events go on, which begin
anew, and which are gone.

An event goes on if its rules are the same and everything that they rest on is: the rules of other
events, the declarations of inputs and tables. How a program is laid out, its comments and the order
of its statements do not matter; names of variables do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from thence.engine.state.state import fingerprint
from thence.lang.readable import readable
from thence.lang.text import columns_of, format_change, format_event, format_fact, format_rule
from thence.logic.ops import Atom, LogicProgram, walk
from thence.plan.tree import Plan


@dataclass(frozen=True, slots=True)
class Changes:
    """The derived events of two programs: in both and equal, only or otherwise in the later one,
    and only in the earlier one."""

    kept: tuple[str, ...]
    begun: tuple[str, ...]
    gone: tuple[str, ...]

    def among(self, earlier: Collection[str], later: Collection[str]) -> Changes:
        """The same where only some derived events of each program are asked for."""
        every = (*self.kept, *self.begun)
        kept = tuple(name for name in self.kept if name in earlier and name in later)
        begun = tuple(name for name in later if name not in kept and name in every)
        return Changes(kept, begun, tuple(name for name in earlier if name not in later))


def changes(earlier: LogicProgram, later: LogicProgram) -> Changes:
    """What changes from one program to another.

    >>> from thence.lang.parser import parse_program
    >>> from thence.model.source import Source
    >>> earlier = parse_program(Source("event a(x int); b(x) <- a(x); c(x) <- b(x); d(x) <- a(x);"))
    >>> later = parse_program(Source("event a(x int); d(x)<-a(x); b(x) <- a(x), x > 1; e() <- d;"))
    >>> changes(earlier, later)
    Changes(kept=('d',), begun=('b', 'e'), gone=('c',))
    """
    before, after = marks(earlier), marks(later)
    return Changes(
        kept=tuple(event for event, mark in after.items() if before.get(event) == mark),
        begun=tuple(event for event, mark in after.items() if before.get(event) != mark),
        gone=tuple(event for event in before if event not in after),
    )


def marks(program: LogicProgram) -> Mapping[str, str]:
    """For each derived event that has a name, a short name for all that it rests on."""
    shown = readable(program)
    columns = columns_of(shown)
    texts = {schema.name: [format_event(schema)] for schema in shown.declared}
    for fact in shown.facts:
        texts.setdefault(fact.relation, []).append(format_fact(fact))
    reads: dict[str, set[str]] = {name: set() for name in texts}
    for change in shown.changes:
        texts[change.table].append(format_change(change, columns))
        reads[change.table].update(
            part.event for part in walk(change.rule.body) if isinstance(part, Atom)
        )
    for rule in (*shown.deductions, *shown.rules):
        texts.setdefault(rule.event, []).append(format_rule(rule, columns))
        reads.setdefault(rule.event, set()).update(
            part.event for part in walk(rule.body) if isinstance(part, Atom)
        )
    hidden = {
        plain.event for rule, plain in zip(program.rules, shown.rules, strict=True) if rule.hidden
    }
    return {
        event: fingerprint(
            "\n".join(sorted(t for name in _below(event, reads) for t in texts[name]))
        )
        for event in dict.fromkeys(rule.event for rule in shown.rules)
        if event not in hidden
    }


def _below(event: str, reads: Mapping[str, set[str]]) -> set[str]:
    """An event, and every event that it rests on."""
    found, left = {event}, [event]
    while left:
        fresh = reads[left.pop()] - found
        found |= fresh
        left += fresh
    return found


def planned_marks(plan: Plan) -> Mapping[str, str]:
    """For each event that a plan derives, auxiliary ones as well, a short name for all that it
    rests on: state of one plan holds the same events as that of another where these are equal."""
    texts: dict[str, list[str]] = {}
    for rule in plan.checked.program.rules:
        if not rule.hidden:
            texts.setdefault(rule.event, []).append(format_rule(rule))
    found: dict[str, str] = {}
    for stage in plan.stages:
        below = sorted(
            {
                found[use.event]
                for rule in stage.rules
                for alt in rule
                for use in alt.uses
                if use.event in found
            }
        )
        own = [text for event in stage.events for text in texts.get(event, [])]
        inner = [
            repr(alt.conjunct)
            for rule in stage.rules
            for alt in rule
            if not own or alt.demand is not None
        ]
        mark = fingerprint("\n".join([*own, *inner, *below]))
        found |= dict.fromkeys(stage.events, mark)
    return found
