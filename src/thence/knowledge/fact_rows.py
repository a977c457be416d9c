"""Rows of tables and relations as events of one instant: facts have no time, and joins need one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import concat
from thence.logic.expr import Const
from thence.logic.knowledge import Knowledge
from thence.logic.ops import Fact
from thence.model.events import Events
from thence.model.schema import EventSchema, Validity
from thence.model.types import Type
from thence.model.validity import validity_columns


def rows_of(columns: Mapping[str, Any], count: int) -> Events:
    """Rows with some columns, at the instant at which facts are taken to be."""
    times = np.zeros(count, dtype=np.int64)
    return Events(times, times, dict(columns))


def constants(values: Sequence[Const], kind: Type) -> Any:
    """Literals as a column of a type that holds them."""
    found = [each.value for each in values]
    if kind.kind == "float":
        found = [None if value is None else float(value) for value in found]
    return pa.array(found, kind.arrow)


def stated_rows(facts: Sequence[Fact], schema: EventSchema) -> Events:
    """The rows that a program says of a table."""
    columns = {
        attribute.name: constants([fact.values[place] for fact in facts], attribute.type)
        for place, attribute in enumerate(schema.attributes)
    }
    if schema.valid is not None:
        named = {name: columns[name] for name in schema.valid.columns if name in columns}
        said = Validity(
            *(c if c in named else None for c in (schema.valid.since, schema.valid.until))
        )
        columns |= validity_columns(
            said, len(facts), named.__getitem__, f"facts of '{schema.name}'"
        )
    return rows_of(columns, len(facts))


def with_stated(given: Mapping[str, Events], knowledge: Knowledge) -> dict[str, Events]:
    """The rows of tables that are given, and those that the program says itself."""
    found = dict(given)
    for name, facts in knowledge.facts.items():
        said = stated_rows(facts, knowledge.schemas[name])
        found[name] = concat([given[name], said]) if name in given else said
    return found
