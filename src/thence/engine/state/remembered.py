"""What is remembered, for somebody who wants to see how state grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from thence.engine.limits.growth import named, owner
from thence.engine.state.state import State
from thence.plan.tree import Part

PURPOSES = {
    "events": "to join",
    "emitted": "to give once",
    "waiting": "to complete lineage",
    "used": "used up",
    "derivations": "to tell derivations",
    "archive": "named by derivations",
}
"""Why rows are remembered, by the table of state that they are in."""

_SCHEMA = pa.schema(
    [
        ("event", pa.string()),
        ("purpose", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("runs", pa.int64()),
        ("oldest", pa.timestamp("us", "UTC")),
    ]
)


def remembered(held: Iterable[tuple[State, Part]]) -> Any:
    """A row for each relation of some states, those with most bytes first. An inner pattern goes by
    the rule that it was written in; ``oldest`` is when the first of the rows ended."""
    rows = [row for state, part in held for row in _rows(state, part)]
    rows.sort(key=lambda row: -row["bytes"])
    return pa.Table.from_pylist(rows, _SCHEMA)


def _rows(state: State, part: Part) -> Iterator[dict[str, Any]]:
    for table, purpose in PURPOSES.items():
        for name, held in getattr(state, table).items():
            yield {
                "event": _shown(name.rpartition("|")[2], part),
                "purpose": purpose,
                "rows": len(held),
                "bytes": held.nbytes,
                "runs": len(held.runs),
                "oldest": held.oldest,
            }


def most_of(state: State, part: Part) -> str:
    """What takes most of some state, for a message: the rows, and the join that they are for."""
    held = [(table, name) for table in PURPOSES for name in getattr(state, table)]
    table, name = max(held, key=lambda place: getattr(state, place[0])[place[1]].nbytes)
    event = name.rpartition("|")[2]
    rows = len(getattr(state, table)[name])
    found = f"{rows:,} rows of '{_shown(event, part)}', {PURPOSES[table]}"
    for rule in part.prepared if table == "events" else ():
        if any(use.event == event for use in rule.uses):
            atoms = named(rule, range(len(rule.uses)))
            return f"{found} {atoms} in the rule '{owner(rule.conjunct.event, part)}'"
    return found


def _shown(event: str, part: Part) -> str:
    if not part.schemas[event].hidden:
        return event
    return f"inner pattern of {owner(event, part)}"
