"""How far along it is: the partial matches of rules, as :meth:`Session.progress` tells them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thence.engine.progress.progress_table import RULE, TOLD, binding_name
from thence.engine.progress.remembered_progress import progress_of, untold
from thence.io.render import texts
from thence.model.errors import InputError, LimitError
from thence.plan.make import PROGRESS

if TYPE_CHECKING:
    from thence.generation import Generation
    from thence.model.schema import EventSchema

LIMIT = 10_000
"""So many partial matches are told, unless somebody asks for more or for fewer."""

UNTOLD = b"untold"
"""The key in a table's metadata under which rules stand of which nothing can be told, and why."""


def progress(
    generations: Sequence[Generation], rule: Any, bindings: Mapping[str, Any], limit: Any
) -> Any:
    """The partial matches in progress of one rule, or of all, as an Arrow table."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"progress: limit must be a whole number from 1 on, not {limit!r}")
    if not all(each.plan.off >= PROGRESS for each in generations):
        raise InputError(
            "progress: this session remembers only what its rules need, and shares what they have "
            "in common. Begin it with progress=True: program.session(progress=True)"
        )
    schemas = {
        event: each.plan.schemas[event]
        for each in generations
        for event in each.plan.derived
        if not each.plan.schemas[event].hidden
    }
    names = _rules(rule, bindings, schemas)
    silent = {k: v for each in generations for k, v in untold(each.plan.whole).items()}
    if rule is not None and rule in silent:
        raise InputError(f"progress: how far '{rule}' has come is not told: {silent[rule]}")
    found: list[Any] = []
    count = 0
    for each in generations:
        for table in _tables(each, names, bindings, schemas):
            count += table.num_rows
            if count > limit:
                raise LimitError(
                    f"there are more than {limit:,} partial matches, '{table[RULE][0]}' has "
                    f"{table.num_rows:,} of them",
                    "ask for one rule, progress('name'), or for one key, progress('name', id=7); "
                    "or allow more of them with limit",
                    rule=table[RULE][0].as_py(),
                )
            found.append(table)
    whole = _together(found, [schemas[name] for name in names])
    told = "; ".join(f"{name}: {why}" for name, why in silent.items() if name in names)
    return whole.replace_schema_metadata({UNTOLD: told.encode()} if told else None)


def _rules(
    rule: Any, bindings: Mapping[str, Any], schemas: Mapping[str, EventSchema]
) -> Collection[str]:
    """The rules that are asked for: all that have the attributes that are given."""
    if rule is None:
        names = [n for n, schema in schemas.items() if {*bindings} <= {*schema.names}]
        if not names:
            raise InputError(f"progress: no rule has the attributes {', '.join(bindings)}")
        return names
    if rule not in schemas:
        known = ", ".join(schemas) or "none"
        raise InputError(f"progress: no rule derives {rule!r}; there are rules for: {known}")
    for name in bindings:
        if name not in schemas[rule].names:
            has = ", ".join(schemas[rule].names) or "none"
            raise InputError(f"progress: '{rule}' has no attribute '{name}'; it has: {has}")
    return (rule,)


def _tables(
    generation: Generation,
    names: Collection[str],
    bindings: Mapping[str, Any],
    schemas: Mapping[str, EventSchema],
) -> Iterator[Any]:
    """The partial matches of some rules of a generation, rule by rule."""
    for name in names:
        filters = {key: _scalar(schemas[name], key, value) for key, value in bindings.items()}
        yield from progress_of(
            generation.plan.whole,
            generation.state,
            generation.tables,
            generation.plan.assumed_lengths,
            (name,),
            filters,
            generation.how.limits,
        )


def _scalar(schema: EventSchema, name: str, value: Any) -> Any:
    """A value in the type of an attribute."""
    kind = schema.type_of(name)
    assert kind is not None
    try:
        if isinstance(value, str) and kind.arrow != pa.string():
            return pa.scalar(value).cast(kind.arrow)
        return pa.scalar(value, kind.arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise InputError(
            f"progress: '{name}' of '{schema.name}' is {kind}, and {value!r} is none"
        ) from None


def _together(tables: Iterable[Any], schemas: Iterable[EventSchema]) -> Any:
    """Tables of several rules as one, with all attributes of their heads. One that has another type
    in each is text."""
    kinds: dict[str, set[pa.DataType]] = {}
    for schema in schemas:
        for attribute in schema.attributes:
            kinds.setdefault(binding_name(attribute.name), set()).add(attribute.type.arrow)
    keys = [(n, k.pop() if len(k) == 1 else pa.string()) for n, k in kinds.items()]
    layout = pa.schema([(RULE, pa.string()), *keys, *TOLD])
    parts = [layout.empty_table()]
    for table in tables:
        columns = [
            _cast(table[field.name], field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in layout
        ]
        parts.append(pa.Table.from_arrays(columns, schema=layout).sort_by("since"))
    return pa.concat_tables(parts)


def _cast(column: Any, kind: pa.DataType) -> Any:
    return column if column.type == kind else texts(column.combine_chunks())
