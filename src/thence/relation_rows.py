"""The rows of a program's tables, and those of a relation that is asked for without any event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thence.engine.arrays.rows import empty
from thence.engine.join.shape_search import check_shapes
from thence.engine.limits.growth import bounded, limits
from thence.engine.state.relation import Relation
from thence.io.facts import read_tables
from thence.knowledge.fact_rows import rows_of, with_stated
from thence.knowledge.reasoner import Reasoner
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.suggestions import question
from thence.plan.reasoning.reasoning import reasoning

if TYPE_CHECKING:
    from thence.plan import Plan
    from thence.program import Program


def table_rows(program: Program, plan: Plan, tables: Any) -> dict[str, Events]:
    """The rows of all tables of a program; none of a table that a plan does not look into."""
    knowledge, schemas = program._checked.knowledge, program._table_schemas
    asked = knowledge.tables_under(name for name in plan.columns if name in knowledge.schemas)
    read = [name for name in schemas if name in asked]
    found = read_tables(tables, schemas, read, program.folder, knowledge.optional)
    check_shapes((alt for stage in plan.stages for rule in stage.rules for alt in rule), found)
    unread = {name: empty(schema) for name, schema in schemas.items() if name not in found}
    return with_stated(found | unread, knowledge)


def rows(
    program: Program, relation: str, given: Mapping[str, Any], tables: Any, memory_limit: Any
) -> pa.Table:
    """The rows of a relation or a table that have the given values, as a table of Arrow."""
    knowledge = program._checked.knowledge
    named = [name for name, schema in knowledge.schemas.items() if not schema.hidden]
    if relation not in named:
        known = ", ".join(f"'{name}'" for name in named) or "none"
        raise InputError(
            f"the program has no table or relation {relation!r}.{question(relation, named)} "
            f"It has: {known}."
        )
    schema = knowledge.schemas[relation]
    below = knowledge.tables_under([relation])
    read = [name for name in program._table_schemas if name in below]
    given_rows = read_tables(
        tables, program._table_schemas, read, program.folder, knowledge.optional
    )
    found = with_stated(given_rows, knowledge)
    held = {name: Relation(rows) for name, rows in found.items()}
    bounds = limits(memory_limit, None)
    reasoner = Reasoner(reasoning(knowledge, frozenset(program.without)), held, bounds)
    seeds = _seeds(schema, given)
    with bounded(bounds):
        answer = reasoner.answer(relation, tuple(seeds.columns), seeds)
    return pa.table({name: answer.columns[name] for name in schema.names})


def _seeds(schema: EventSchema, given: Mapping[str, Any]) -> Events:
    """The values that are asked for, in the order of the relation's columns."""
    for name in given:
        if name not in schema.names:
            raise InputError(
                f"'{schema.name}' has no column {name!r}.{question(name, schema.names)} "
                f"It is {schema}."
            )
    columns: dict[str, Any] = {}
    for attribute in schema.attributes:
        if attribute.name in given:
            values = given[attribute.name]
            if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
                values = [values]
            columns[attribute.name] = _array(attribute.name, values, attribute.type.arrow)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        shown = " and ".join(map(str, sorted(lengths)))
        raise InputError(f"given: the columns have {shown} values, and must have equally many")
    return rows_of(columns, lengths.pop() if lengths else 1)


def _array(name: str, values: Any, kind: pa.DataType) -> Any:
    try:
        if isinstance(values, pa.Array | pa.ChunkedArray):
            cast = values.cast(kind)
            return cast.combine_chunks() if isinstance(cast, pa.ChunkedArray) else cast
        return pa.array(values if isinstance(values, np.ndarray) else list(values), kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as problem:
        raise InputError(f"given: the values of {name!r} are not all {kind}: {problem}") from None
