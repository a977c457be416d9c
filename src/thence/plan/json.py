"""A plan as what JSON can hold: the stable form for whoever draws it, described in docs/plan.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import WindowUse, name_of_node, partition_key
from thence.logic.policy import UNRESTRICTED, policy_text
from thence.model.schema import EventSchema
from thence.plan.cost import Estimate
from thence.plan.make import optimisations
from thence.plan.order import Order
from thence.plan.partition.parts import Piece, cut
from thence.plan.prepared import Prepared
from thence.plan.selection import LENGTH, Selection
from thence.plan.statistics import EventStatistics
from thence.plan.text import atom_name, bound, column_name, expression, finalised_by
from thence.plan.tree import Input, Plan, Stage

VERSION = 1
"""Changes whenever a key is taken away or means something else; new keys may come without."""


def plan_json(plan: Plan, measured: Mapping[Prepared, Any] | None = None) -> dict[str, Any]:
    """All of a plan. ``measured`` is what every join did, to stand beside it."""
    program = plan.checked.program
    known = {s.name: s.longest for s in program.events if s.longest is not None}
    return {
        "version": VERSION,
        "inputs": [_event(plan, schema) for schema in program.events],
        "tables": [_table(plan, schema) for schema in program.tables],
        "relations": [relation.to_json() for relation in plan.relations],
        "outputs": list(plan.outputs),
        "stages": [_stage(plan, stage, measured or {}) for stage in plan.stages],
        "spread": {
            "batch": [_piece(piece) for piece in cut(plan, known, slices=True)],
            "stream": [_piece(piece) for piece in cut(plan, plan.needs.lengths, slices=False)],
        },
        "instants": sorted(plan.needs.instants),
        "unbounded": [remark.message for remark in plan.needs.unbounded],
        "optimisations": [
            {"name": name, "on": name not in plan.off, "does": does}
            for name, does in optimisations().items()
        ],
        "statistics": {name: _known(each) for name, each in plan.statistics.events.items()},
    }


def _event(plan: Plan, schema: EventSchema) -> dict[str, Any]:
    retention = plan.needs.retention.get(schema.name)
    return {
        "event": schema.name,
        "inner": schema.hidden,
        "attributes": [{"name": a.name, "type": str(a.type)} for a in schema.attributes],
        "columns": sorted(plan.columns.get(schema.name, ())),
        "kept": None if retention is None or schema.table else _kept(retention.micros),
        "readers": list(plan.readers.get(schema.name, ())),
        "suppressed": schema.name in plan.suppressed,
    }


def _table(plan: Plan, schema: EventSchema) -> dict[str, Any]:
    rows = schema.rows_from
    stated = None if rows is None else {"kind": rows.kind, "name": rows.name}
    valid = schema.valid
    columns = sorted(plan.columns.get(schema.name, frozenset()) & set(schema.names))
    return {
        **_event(plan, schema),
        "columns": columns,
        "from": stated,
        "changed": schema.name in plan.checked.program.changed,
        "valid": None if valid is None else {"from": valid.since, "to": valid.until},
    }


def _kept(micros: int) -> int | str:
    """How long something is kept, in microseconds."""
    return "forever" if micros >= UNBOUNDED else max(micros, 0)


def _stage(plan: Plan, stage: Stage, measured: Mapping[Prepared, Any]) -> dict[str, Any]:
    return {
        "events": [_event(plan, plan.schemas[name]) for name in stage.events],
        "recursive": stage.recursive,
        "joins": [
            _join(plan, number, alternative, measured.get(alternative))
            for number, rule in enumerate(stage.rules)
            for alternative in rule
        ],
    }


def _join(plan: Plan, number: int, rule: Prepared, measured: Any) -> dict[str, Any]:
    conjunct = rule.conjunct
    inputs = plan.inputs_of(rule)
    kept = [_kept(each.micros) for each in inputs]
    estimate = None if plan.estimates is None else plan.estimates.joins[rule]
    policy = conjunct.policy
    return {
        "event": conjunct.event,
        "rule": number,
        "atoms": [_atom(rule, atom, inputs[atom]) for atom in conjunct.positive],
        "equal": [[column_name(conjunct, c) for c in link] for link in conjunct.links],
        "time": [bound(conjunct, constraint) for constraint in rule.constraints],
        "where": [expression(conjunct, predicate) for predicate in conjunct.predicates],
        "windows": [
            _window(rule, window, kept[window.atom])
            for window in conjunct.windows
            if window.mode != "previous"
        ],
        "policy": None if policy == UNRESTRICTED else policy_text(policy),
        "at": [name_of_node(conjunct, node) for node in (conjunct.head.start, conjunct.head.end)],
        "reported_after": [name_of_node(conjunct, node) for node in conjunct.completions],
        "finalised_by": finalised_by(plan, rule),
        "partition_key": list(partition_key(conjunct)),
        "stride": rule.stride,
        "selection": None if rule.selection is None else _selection(rule.selection),
        "causes": rule.causes,
        "order": None if estimate is None else order_json(rule, estimate.order),
        "estimate": None if estimate is None else estimate_json(estimate),
        "measured": measured,
    }


def _selection(selection: Selection) -> dict[str, Any]:
    condition = selection.condition
    by = None if condition is None or condition.column == LENGTH else condition.column
    length = condition is not None and condition.column == LENGTH
    return {"by": by, "by_length": length, "distinct": selection.distinct}


def _atom(rule: Prepared, atom: int, given: Input) -> dict[str, Any]:
    use, kept = rule.uses[atom], _kept(given.micros)
    read = "table" if use.fact else "streamed" if given.streamed else "kept"
    read = "asks" if given.asks else read
    return {
        "name": atom_name(rule.conjunct, atom),
        "event": use.event,
        "label": use.label,
        "read": read,
        "kept": None if use.fact else kept,
        "where": [expression(rule.conjunct, each) for each in rule.own_predicates(atom)],
    }


def _window(rule: Prepared, window: WindowUse, kept: int | str) -> dict[str, Any]:
    conjunct, how = rule.conjunct, window.repetition
    use = conjunct.atoms[window.atom]
    name = atom_name(conjunct, window.atom)
    times = None
    if how is not None:
        each = [expression(conjunct, c) for c in (*how.conditions, *how.linked)]
        times = {"least": how.least, "most": how.most, "strict": how.strict, "each": each}
    return {
        "mode": window.mode,
        "name": name,
        "event": use.event,
        "kept": kept,
        "equal": [f"{name}.{c} = {expression(conjunct, e)}" for c, e in window.links],
        "time": [bound(conjunct, constraint) for constraint in rule.reduced(window.constraints)],
        "where": [expression(conjunct, predicate) for predicate in window.predicates],
        "last": window.last,
        "optional": window.optional,
        "repetition": times,
    }


def order_json(rule: Prepared, order: Order | None) -> list[dict[str, Any]] | None:
    """An order of a join: what is bound one after another, how, and into how many rows each partial
    match is expected to grow."""
    if order is None:
        return None
    return [
        {
            "atom": atom_name(rule.conjunct, step.atom),
            "strategy": step.strategy,
            "witness": step.witness,
            "grown": round(grown, 3),
        }
        for step, grown in zip(order.steps, order.grown, strict=True)
    ]


def estimate_json(estimate: Estimate) -> dict[str, float]:
    """What is expected of a join, and of what follows it."""
    figures = {
        "rows": estimate.rows,
        "candidates": estimate.candidates,
        "matches": estimate.matches,
        "kept": estimate.kept,
    }
    return {name: round(figure, 3) for name, figure in figures.items()}


def _known(known: EventStatistics) -> dict[str, Any]:
    return {
        "rows": known.rows,
        "seconds": known.seconds,
        "longest": known.longest,
        "distinct": dict(sorted(known.distinct.items())),
        "selectivity": dict(sorted(known.selectivity.items())),
    }


def _piece(piece: Piece) -> dict[str, Any]:
    """A part of the program that is one shuffle on Spark."""
    key = {} if piece.key is None else piece.key.columns
    return {
        "by": piece.how,
        "events": list(piece.part.derived),
        "inputs": list(piece.part.inputs),
        "key": {event: list(key[event]) for event in piece.part.inputs if event in key},
        "reach": {event: reach.furthest for event, reach in sorted(piece.reach.items())},
        "deduplicated": sorted(piece.repeats),
    }
