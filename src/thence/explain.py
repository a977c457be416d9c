"""``program.explain()``: what a program will do, and what it did, in words and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thence.engine.limits.measure import Figures, Joined, Meter, Passed
from thence.engine.run.sample import statistics_of
from thence.lang.readable import readable
from thence.lang.text import columns_of, format_reaction, format_rule
from thence.logic.ops import LogicProgram
from thence.model.errors import InputError
from thence.plan.cost import Estimate, Estimates, estimates
from thence.plan.json import estimate_json, order_json, plan_json
from thence.plan.order import Step
from thence.plan.prepared import Prepared
from thence.plan.statistics import Sample
from thence.plan.text import atom_name, plan_text
from thence.plan.tree import Plan

if TYPE_CHECKING:
    from thence.program import Program

COLUMNS = ("rows in", "candidates", "matches", "kept", "time")


@dataclass(frozen=True)
class Measured:
    """What a run or a session did, operator by operator, and what was expected of it."""

    plan: Plan
    meter: Meter
    program: LogicProgram
    """What was run."""
    sample: Sample | None = None
    """Some of the events, to tell what was to be expected where the plan knows nothing of them."""
    steps: int = 1
    replanned: int = 0
    """How often statistics have drifted, and what depends on them was decided anew."""

    @cached_property
    def estimates(self) -> Estimates:
        if self.plan.statistics.events or self.sample is None:
            return estimates(self.plan, self.plan.statistics)
        return estimates(self.plan, statistics_of(self.plan, self.sample))


def explain(plan: Plan) -> str:
    """Logical and physical plan of a program, its state bounds and partition keys."""
    return plan_text(plan, _rules(plan), _expected(plan)) + _reactions(plan)


def _reactions(plan: Plan) -> str:
    """What is done with results, which is no part of how they are found."""
    program = plan.checked.program
    if not program.reactions:
        return ""
    columns = columns_of(readable(program))
    return "\nreactions\n" + "".join(
        f"  {format_reaction(each, columns)}\n" for each in program.reactions
    )


def analyzed(several: Sequence[Measured]) -> str:
    """The plan of a run, or the plans of rules that began one after another, with what every
    operator was expected to do and what it did."""
    return "\n".join(map(_analyzed, several))


def _analyzed(measured: Measured) -> str:
    notes = {rule: tuple(_lines(measured, rule)) for rule in measured.plan.prepared}
    return plan_text(measured.plan, _rules(measured.plan), notes) + _summary(measured)


def as_json(plan: Plan) -> str:
    """A plan as JSON text."""
    return json.dumps(plan.to_json(), indent=2, ensure_ascii=False)


def analyzed_json(several: Sequence[Measured]) -> str:
    """The plan of a run as JSON text, with what every operator did; a list of plans where rules
    began one after another."""
    found = [_analyzed_json(measured) for measured in several]
    return json.dumps(found if len(found) > 1 else found[0], indent=2, ensure_ascii=False)


def _analyzed_json(measured: Measured) -> dict[str, Any]:
    found = {rule: _operators(measured, rule) for rule in measured.plan.prepared}
    whole = plan_json(measured.plan, found)
    derived = {event: _passed(measured.meter.derived(event)) for event in measured.plan.derived}
    whole["run"] = {"steps": measured.steps, "replanned": measured.replanned, "derived": derived}
    return whole


def _rules(plan: Plan) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {}
    for rule in plan.checked.program.rules:
        if rule.event not in plan.rulebook.for_causes.pairs:
            rules.setdefault(rule.event, []).append(format_rule(rule))
    for rule in plan.checked.program.deductions:
        rules.setdefault(rule.event, []).append(format_rule(rule, arrow=":-"))
    return rules


def _expected(plan: Plan) -> dict[Prepared, Sequence[str]]:
    """What is expected of every join, where something is known of the events."""
    if plan.estimates is None:
        return {}
    return {
        rule: (
            *([f"order: {order_text(rule, found.order.steps)}"] if found.order else ()),
            *_table([("join", None, _estimated_join(found)), *_later(rule, None, found)]),
        )
        for rule, found in plan.estimates.joins.items()
    }


def order_text(rule: Prepared, steps: Sequence[Step]) -> str:
    """An order in words.

    A step says how the rows of its atom are found, and which of them are kept where not all are.
    """
    words = []
    for step in steps:
        how = "" if step.strategy == "scan" else f" by {_STRATEGIES[step.strategy]}"
        keyed = " and key" if step.strategy in ("range", "values", "shapes") and step.links else ""
        witness = "" if step.witness == "all" else f" ({_WITNESSES[step.witness]})"
        words.append(f"{atom_name(rule.conjunct, step.atom)}{how}{keyed}{witness}")
    return ", then ".join(words)


_STRATEGIES = {
    "range": "time",
    "lookup": "key",
    "values": "a range of values",
    "shapes": "where shapes are",
    "neighbour": "what is next to it",
    "chain": "the chain that leads to it",
}
_WITNESSES = {"any": "any one", "earliest": "the earliest", "latest": "the latest"}

Cells = tuple[float | None, float | None, float | None, float | None, float | None]
Row = tuple[str, Cells | None, Cells | None]
"""An operator, what was measured, and what was expected: see COLUMNS; times in seconds."""


def _lines(measured: Measured, rule: Prepared) -> Iterator[str]:
    """What one join was expected to do, and what it did."""
    figures, expected = measured.meter.of(rule), measured.estimates.joins[rule]
    for term, joined in sorted(figures.terms.items()):
        yield from _taken(rule, term, joined)
    yield from _table(_rows(rule, figures, expected))


def _taken(rule: Prepared, term: int, joined: Joined) -> Iterator[str]:
    """The orders that a term's joins took."""
    if not joined.orders:
        return
    new = f"from new {atom_name(rule.conjunct, term)}" if term >= 0 else "all that is finalised"
    whose = "" if joined.runs == 1 else f" {new}"
    changed = f" (changed {joined.changes:,} times)" if joined.changes else ""
    for steps, count in joined.orders.items():
        often = f"{count:,} times" if joined.runs > 1 else "taken"
        yield f"order {often}{whose}{changed}: {order_text(rule, steps)}"
        changed = ""


def _rows(rule: Prepared, figures: Figures, expected: Estimate) -> Iterator[Row]:
    for atom, (rows, kept) in expected.filters.items():
        done = figures.filters.get(atom)
        cells = None if done is None else _cells(done)
        yield f"where {atom_name(rule.conjunct, atom)}", cells, (rows, None, None, kept, None)
    # Where a policy searches for what it chooses, nothing is joined.
    done_ = _join_cells(figures) if any(each.runs for each in figures.terms.values()) else None
    yield "join", done_, _estimated_join(expected)
    yield from _later(rule, figures, expected)


def _later(rule: Prepared, figures: Figures | None, expected: Estimate) -> Iterator[Row]:
    """Windows and the policy, after the join."""
    for window in rule.conjunct.windows:
        if window.mode == "previous":
            continue
        name = f"{window.mode} {atom_name(rule.conjunct, window.atom)}"
        done = None if figures is None else figures.windows.get(window.atom)
        rows = expected.windows.get(window.atom, (0.0, 0.0))
        yield name, None if done is None else _cells(done), (rows[0], None, None, rows[1], None)
    if rule.conjunct.policy.chooses:
        rows = expected.policy or (0.0, 0.0)
        done = None if figures is None else figures.policy
        yield "policy", None if done is None else _cells(done), (rows[0], None, None, rows[1], None)


def _cells(done: Passed) -> Cells:
    return done.rows, None, None, done.kept, done.seconds


def _join_cells(figures: Figures) -> Cells:
    terms = figures.terms.values()
    return (
        sum(each.rows for each in terms),
        sum(each.candidates for each in terms),
        sum(each.matches for each in terms),
        None,
        sum(each.seconds for each in terms),
    )


def _estimated_join(expected: Estimate) -> Cells:
    return expected.rows, expected.candidates, expected.matches, None, None


def _table(rows: Sequence[Row] | Iterator[Row]) -> Iterator[str]:
    """Operators with what was measured, and below that what was expected."""
    lines: list[tuple[str, ...]] = [("", *COLUMNS)]
    for name, done, expected in rows:
        if done is not None:
            lines.append((name, *map(_count, done[:4]), _time(done[4])))
        if expected is not None:
            label = "  estimated" if done is not None else f"{name}, estimated"
            lines.append((label, *(_count(cell, "~") for cell in expected[:4]), ""))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *cells in lines:
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"{first.ljust(widths[0])}  {'  '.join(aligned)}".rstrip()


def _count(cell: float | None, about: str = "") -> str:
    return "" if cell is None else f"{about}{round(cell):,}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:,.1f} ms"


def _summary(measured: Measured) -> str:
    """What was derived, and how often the plan was made anew."""
    plan, meter = measured.plan, measured.meter
    lines = ["", "derived"]
    for event in plan.derived:
        done, expected = meter.derived(event), measured.estimates.events[event]
        lines.append(
            f"  {event}: {done.rows:,} found, {done.kept:,} of them new "
            f"(~{expected.rows:,} estimated), {_time(done.seconds)}"
        )
    if measured.steps > 1 or measured.replanned:
        lines += ["", f"{measured.steps:,} steps; statistics drifted {measured.replanned:,} times"]
    return "\n".join(lines) + "\n"


def _operators(measured: Measured, rule: Prepared) -> dict[str, Any]:
    """What one join did, for JSON."""
    figures, expected = measured.meter.of(rule), measured.estimates.joins[rule]
    conjunct = rule.conjunct

    def named(passed: Mapping[int, Passed]) -> dict[str, Any]:
        return {atom_name(conjunct, atom): _passed(done) for atom, done in passed.items()}

    rows, candidates, matches, _, seconds = _join_cells(figures)
    return {
        "join": {
            "rows": rows,
            "candidates": candidates,
            "matches": matches,
            "seconds": seconds,
        },
        "filters": named(figures.filters),
        "windows": named(figures.windows),
        "policy": _passed(figures.policy) if conjunct.policy.chooses else None,
        "orders": [
            {
                "new": atom_name(conjunct, term) if term >= 0 else None,
                "atoms": [atom_name(conjunct, step.atom) for step in steps],
                "strategies": [step.strategy for step in steps],
                "times": count,
            }
            for term, joined in sorted(figures.terms.items())
            for steps, count in joined.orders.items()
        ],
        "changes": sum(joined.changes for joined in figures.terms.values()),
        "estimate": estimate_json(expected),
        "order": order_json(rule, expected.order),
    }


def _passed(done: Passed) -> dict[str, Any]:
    return {"rows": done.rows, "kept": done.kept, "seconds": done.seconds}


def measured_by(program: Program, last: Measured | None, analyze: Any) -> tuple[Measured, ...]:
    """What was measured of a run, of the rules of a session that began together, or of the last
    run of a program."""
    from thence.results import Results  # noqa: PLC0415 (they import this)
    from thence.session import Session  # noqa: PLC0415

    found = last if analyze is True else getattr(analyze, "_measured", None)
    if analyze is True and found is None:
        raise InputError(
            "nothing was measured yet: run the program first, then explain(analyze=True); or "
            "pass what program.run gave, or a session"
        )
    if not isinstance(analyze, Results | Session | bool):
        raise InputError(
            "analyze must be what program.run gave, a session, or True for the last run, not "
            f"{type(analyze).__name__}"
        )
    if found is None:
        raise InputError(
            "results of a session's push were not measured by themselves: pass the session"
        )
    several: tuple[Measured, ...] = found if isinstance(found, tuple) else (found,)
    ran = analyze._program._checked if isinstance(analyze, Session) else several[0]
    if ran.program != program._checked.program:
        raise InputError("analyze must be about a run of this program, not of another one")
    return several
