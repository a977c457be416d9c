"""Whether what a stream remembers still fits a program that was changed between two starts.

State comes with a description of what is in it: which events, with which columns, kept for how
long. A query that is restarted with a changed program can go on where that is at least what the new
program needs; where it is not, some results would be missed or wrong, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from thence.engine.arrays.rows import select
from thence.engine.state.relation import Relation, relation
from thence.engine.state.state import State
from thence.logic.bounds import UNBOUNDED
from thence.logic.conjunct import EPOCH
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.time import format_duration
from thence.plan.horizons import CLOCK
from thence.plan.prepared import Prepared
from thence.plan.pushdown import conditions_on
from thence.spark.chain import Chain, Hop
from thence.spark.row_conditions import condition_form, let_through


def refusal(problems: list[str]) -> str:
    """Why a query cannot go on from a checkpoint."""
    return (
        "the state in the checkpoint does not fit the changed program:\n"
        + "\n".join(f"  - {problem}" for problem in problems)
        + "\nGo on with the program as it was, or begin with a new checkpoint."
    )


def described(chain: Chain, hop: Hop, rules: Mapping[str, str]) -> dict[str, Any]:
    """What the state of a hop holds, as JSON can say it. ``rules`` has a fingerprint of everything
    that a derived event rests on."""
    columns = hop.part.columns
    recorded = hop.part.rulebook.recording(chain.lineage).alternatives
    events: dict[str, Any] = {}
    for event, kept in sorted(hop.retention.items()):
        if kept.micros <= -UNBOUNDED:
            continue
        schema = hop.part.schemas[event]
        names = [n for n in schema.names if chain.lineage or n in columns.get(event, ())]
        events[event] = {
            "columns": {name: str(schema.type_of(name)) for name in names},
            "kept": kept.micros if kept.bounded else None,
            "key": list(hop.key.columns[event]) if hop.key is not None else [],
            "rows": [[condition_form(predicate) for predicate in way] for way in kept.ways],
            "met": [[_partner_form(j, rules) for j in way] for way in kept.reduction.partners],
            "rules": rules.get(event, ""),
        }
    return {
        "shards": len(hop.places),
        "spread": hop.how,
        "lineage": chain.lineage,
        "events": events,
        "gives": sorted({*hop.part.derived, *hop.part.outputs}),
        "hidden": sorted(name for name, each in hop.part.schemas.items() if each.hidden),
        "uses": {name: rules.get(event, "") for name, event in hop.part.consuming.items()},
        "derivations": {event: rules[event] for event in sorted(recorded)},
    }


def _partner_form(join: Prepared, rules: Mapping[str, str]) -> dict[str, Any]:
    """What an event must have met to be kept: the join of the event with a partner, as JSON can
    say it."""
    conjunct = join.conjunct
    event = conjunct.atoms[1].event
    ends = [EPOCH, *(node for use in conjunct.atoms for node in (use.start, use.end))]
    bounds = [[conjunct.bounds[one, other] for other in ends] for one in ends]
    return {
        "event": event,
        "rules": rules.get(event, ""),
        "equal": [[column.name for column in link] for link in conjunct.links],
        "time": bounds,
        "rows": [condition_form(predicate) for predicate in conditions_on(join, 1)],
    }


def _asks_no_less(need: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether what meets one partner meets another as well."""
    return (
        (need["event"], need["rules"]) == (held["event"], held["rules"])
        and all(link in need["equal"] for link in held["equal"])
        and all(
            limit <= other
            for limits, others in zip(need["time"], held["time"], strict=True)
            for limit, other in zip(limits, others, strict=True)
        )
        and let_through([need["rows"]], [held["rows"]])
    )


def _all_met(need: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    """Whether all that is needed was kept: for each way to read an event there is one by which it
    was kept, none of whose partners it may lack. State that says nothing of partners was written
    when events were kept without them."""
    known = held.get("met", [])
    return not known or (
        bool(need["met"])
        and all(
            any(all(any(_asks_no_less(n, h) for n in way) for h in by) for by in known)
            for way in need["met"]
        )
    )


def checked_misfits(holds: Any, needs: Mapping[str, Any]) -> list[str]:
    """The same for what may not be a description at all.

    >>> checked_misfits({"shards": []}, {"shards": 4, "spread": "key"})
    ['it does not say what it holds']
    """
    try:
        return misfits(holds, needs)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return ["it does not say what it holds"]


def misfits(holds: Mapping[str, Any], needs: Mapping[str, Any]) -> list[str]:
    """Why state that holds one thing cannot serve a program that needs another; nothing if it can.

    >>> base = {"shards": 2, "spread": "key", "lineage": False, "events": {}}
    >>> misfits(base, {**base, "shards": 4})
    ['it is spread over 2 shards, not 4: use shards=2']
    """
    found = []
    if holds["shards"] != needs["shards"] and holds["spread"] == needs["spread"]:
        found.append(
            f"it is spread over {holds['shards']} shards, not {needs['shards']}: "
            f"use shards={holds['shards']}"
        )
    if holds["lineage"] != needs["lineage"]:
        found.append(f"it was written with lineage={holds['lineage']}")
    if needs["events"] and holds["spread"] != needs["spread"]:
        found.append(f"it is spread by {holds['spread']}, not by {needs['spread']}")
    hidden = needs.get("hidden", ())
    for rule, need in needs.get("uses", {}).items():
        if holds.get("uses", {}).get(rule) != need:
            event = unquote(rule.partition("/")[0])
            whose = (
                "a pattern inside a changed rule"
                if event in hidden
                else (f"the changed rule for '{event}'")
            )
            found.append(f"it does not say which events {whose} has used up")
    told = holds.get("derivations", {})
    for event, rule in needs.get("derivations", {}).items():
        name = "inner" if event in hidden else f"'{event}'"
        if told.get(event, rule) != rule:
            found.append(f"it tells of {name} events how other rules derived them")
        elif event not in told and event in {*holds.get("gives", ()), *holds["events"]}:
            found.append(f"it does not tell how {name} events were derived, as rules now ask")
    for event, need in needs["events"].items():
        held = holds["events"].get(event)
        name = "inner" if event in hidden else f"'{event}'"
        if held is None:
            found.append(f"it holds no {name} events, which rules now look back at")
        else:
            found += _event_misfits(name, held, need)
    return found


def _event_misfits(event: str, held: Mapping[str, Any], need: Mapping[str, Any]) -> list[str]:
    found = []
    for name, kind in need["columns"].items():
        known = held["columns"].get(name)
        if known is None:
            found.append(f"it does not hold '{name}' of {event} events, which rules now read")
        elif known != kind:
            found.append(f"it holds '{name}' of {event} events as {known}, not as {kind}")
    if held["kept"] is not None and (need["kept"] is None or need["kept"] > held["kept"]):
        requested = "forever" if need["kept"] is None else f"for {format_duration(need['kept'])}"
        kept = format_duration(max(held["kept"], 0))
        found.append(f"it keeps {event} events for {kept}; rules now need them {requested}")
    elif (need["kept"] is None or need["kept"] > 0) and not _all_met(need, held):
        # Only what the horizon has passed is dropped for want of a partner.
        found.append(f"it holds only those {event} events that the joins so far can use")
    if held["key"] != need["key"]:
        found.append(f"{event} events are spread by {held['key']}, not by {need['key']}")
    # State that says nothing of rows was written when all derived events were kept.
    if not let_through(need["rows"], held["rows"] or [[]]):
        found.append(f"it holds only those {event} events that the conditions so far let through")
    if held["rules"] != need["rules"]:
        found.append(f"it holds {event} events that other rules derived")
    return found


def converted(state: State, hop: Hop, needs: Mapping[str, Any]) -> State:
    """State of an earlier program with what a new one needs of it, in runs of its own."""
    events = {
        event: relation(_narrowed(state.events[event].whole(), hop, event, need["columns"]))
        for event, need in needs["events"].items()
        if event in state.events
    }
    recording = hop.part.rulebook.recording(needs["lineage"])
    effects = {asked.effect for asked in recording.pairs.values()}
    given = {*hop.part.outputs, *effects.intersection(hop.part.derived)}
    derived = {event: hop.part.schemas[event] for event in given}
    uses = needs["uses"]
    return replace(
        state,
        horizons={n: t for n, t in state.horizons.items() if n in {*hop.part.origins, CLOCK}},
        events=events,
        emitted=_anew(state.emitted, lambda e, t: e in derived and _same(t, derived[e])),
        waiting=_anew(state.waiting, lambda e, t: e in derived and _same(t, derived[e])),
        used=_anew(state.used, lambda name, _: name.partition("|")[0] in uses),
        derivations=_anew(state.derivations, lambda e, _: e in recording.alternatives),
        archive=_anew(state.archive, lambda e, _: e in recording.archive),
    )


def _narrowed(held: Events, hop: Hop, event: str, columns: Collection[str]) -> Events:
    """Events with the columns that are needed of them. Those that are derived where they are kept
    have all of theirs."""
    needed = set(columns)
    if event not in hop.part.inputs:
        needed |= set(hop.part.schemas[event].names)
    return select(held, [name for name in held.columns if name in needed])


def _anew(
    held: Mapping[str, Relation], fits: Callable[[str, Relation], bool]
) -> dict[str, Relation]:
    """The relations that fit, each made of its rows."""
    return {name: relation(table.whole()) for name, table in held.items() if fits(name, table)}


def _same(held: Relation, schema: EventSchema) -> bool:
    """Whether events have the attributes of a schema."""
    have = {name: c.type for name, c in held.recent.columns.items()}
    return have == {a.name: a.type.arrow for a in schema.attributes}
