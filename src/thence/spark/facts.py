"""Static tables on their way to executors: every place has all of them.

Small ones travel inside the tasks. Spark sends a task that is larger than 1 MB in a way that does
not reach stateful operators, so larger ones travel as files of the session, which Spark brings to
each executor once.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thence.engine.arrays.rows import select
from thence.engine.join.shape_search import check_shapes
from thence.engine.limits.growth import Limits
from thence.engine.run.knows import Knows
from thence.engine.state.relation import Relation
from thence.engine.state.state import State, decode, encode
from thence.io.facts import checked_tables, read_tables
from thence.io.ingest import misplaced
from thence.io.temporary import temporary_folder
from thence.knowledge.fact_rows import with_stated
from thence.knowledge.reasoner import Reasoner, reasoner_of
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema

if TYPE_CHECKING:
    from thence.plan.tree import Part
    from thence.program import Program

INSIDE = 256 * 1024
"""The largest tables, in compressed bytes, that travel inside a task."""

_KEPT = 4
"""How many sets of tables a process of an executor holds ready for further tasks."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The rows of some tables: compressed, or the name of the file in which they are."""

    data: bytes = b""
    file: str = ""

    def read(self) -> Mapping[str, Relation]:
        """The rows, on the executor; prepared once for many tasks."""
        if self.file:
            return _of_file(self.file)
        return _of_bytes(self.data) if self.data else {}


NO_FACTS = Facts()


def given_tables(program: Program, part: Part, tables: Any, whole: bool) -> dict[str, Events]:
    """The rows of the tables that a part looks into; of those, only the columns that it reads, or
    all of them."""
    schemas, knowledge = program._table_schemas, part.knowledge
    read = [name for name in part.looked_into if name in schemas]
    found = read_tables(tables, schemas, read, program.folder, knowledge.optional)
    check_shapes((alt for stage in part.stages for rule in stage.rules for alt in rule), found)
    found = {n: r for n, r in with_stated(found, knowledge).items() if n in part.looked_into}
    if whole:
        return found
    columns = part.columns
    made = [name for name in part.tables if name in knowledge.rules_of]
    below = knowledge.tables_under(made)
    return {
        name: rows
        if name in below
        else select(rows, [c for c in rows.columns if c in columns[name]])
        for name, rows in found.items()
    }


def fetched_tables(
    program: Program, parts: Iterable[Part], tables: Any, spark: Any
) -> dict[str, Any]:
    """Tables as a program's ``run`` takes them: DataFrames of Spark, and the tables of its catalog
    that the program names and some part looks into, are fetched."""
    schemas = program._table_schemas
    found = dict(checked_tables(tables, schemas))
    looked_into = dict.fromkeys(name for part in parts for name in part.looked_into)
    for name in (name for name in looked_into if name in schemas):
        stated = schemas[name].rows_from
        if name not in found and stated is not None and stated.kind == "spark":
            found[name] = _of_catalog(spark, schemas[name], stated.name)
    return {name: _fetched(table, schemas[name]) for name, table in found.items()}


def check_tables(program: Program, names: Iterable[str], tables: Any) -> None:
    """Refuse tables that do not fit what some events are derived from, before Spark is started:
    those that are given, and the files that the program names."""
    plan, schemas = program.plan_for(names), program._table_schemas
    given = checked_tables(tables, schemas)
    part = plan.part(plan.stages, plan.outputs)
    looked_into = [name for name in part.looked_into if name in schemas]
    elsewhere = {n for n in looked_into if (at := schemas[n].rows_from) and at.kind != "file"}
    here = [name for name in looked_into if name in given or name not in elsewhere]
    optional = program._checked.knowledge.optional
    read_tables(tables, schemas, here, program.folder, optional)


def refuse_tables(program: Program, frames: Any) -> None:
    """Refuse a table among the DataFrames of events."""
    if isinstance(frames, Mapping):
        for schema in program.tables:
            if schema.name in frames:
                raise misplaced(schema.name)


def knowing(part: Part, facts: Facts, limits: Limits) -> Knows | None:
    """Who derives the relations that a part looks into, on the executor: the same for many tasks,
    so that what was derived for one is there for the next."""
    if not part.knowledge.rules_of.keys() & set(part.tables):
        return None
    found = _KNOWING.get((id(part), facts))
    if found is None:
        found = part, reasoner_of(part, facts.read(), limits)
        while len(_KNOWING) >= _KEPT:
            del _KNOWING[next(iter(_KNOWING))]
        _KNOWING[id(part), facts] = found
    return found[1]


_KNOWING: dict[tuple[int, Facts], tuple[Part, Reasoner | None]] = {}
"""Those at work, each with its part, so that no other one has its identity."""


def _of_catalog(spark: Any, schema: EventSchema, name: str) -> Any:
    """A table of Spark's catalog."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 (where there is Spark)

    try:
        frame = spark.table(name)
        _ = frame.columns  # Spark Connect looks for the table once something is asked of it
    except AnalysisException as problem:
        said = problem.getMessage().strip().partition("\n")[0]
        raise InputError(
            f"the rows of the table '{schema.name}' are in Spark's '{name}', which cannot be "
            f"read: {said}"
        ) from None
    return frame


def _fetched(table: Any, schema: EventSchema) -> Any:
    """A DataFrame of Spark as an Arrow table, with the columns that are declared; anything else as
    it is."""
    name = schema.name
    if not (hasattr(table, "toArrow") and hasattr(table, "isStreaming")):
        return table
    if table.isStreaming:
        raise InputError(
            f"tables[{name!r}] is a stream, and a table is static: read it with spark.read, or "
            f"declare '{name}' as an event"
        )
    columns: list[str] = table.columns
    if any(columns.count(column) != 1 for column in schema.read_names):
        return table.limit(0).toArrow()  # enough to say what is wrong with its columns
    escaped = [column.replace("`", "``") for column in schema.read_names]
    return table.select(*(f"`{column}`" for column in escaped)).toArrow()


def shipped(tables: Mapping[str, Events], names: Iterable[str], spark: Any) -> Facts:
    """Some tables, ready to travel to the executors of a session."""
    chosen = {name: Relation(tables[name]) for name in names}
    if not chosen:
        return NO_FACTS
    data = zlib.compress(encode(State(events=chosen), {}), 1)
    if len(data) <= INSIDE:
        return Facts(data=data)
    name = f"thence-{hashlib.sha256(data).hexdigest()[:32]}"
    path = _folder() / name
    if not path.exists():
        path.write_bytes(data)
    spark.addArtifacts(str(path), file=True)
    return Facts(file=name)


@lru_cache(maxsize=1)
def _folder() -> Path:
    """Where this process keeps files for executors to fetch, as long as it lives."""
    return temporary_folder("thence-tables-")


@lru_cache(maxsize=_KEPT)
def _of_file(name: str) -> Mapping[str, Relation]:
    from pyspark import SparkFiles  # noqa: PLC0415 (an executor's, where there are files)

    return _unpacked(Path(SparkFiles.getRootDirectory(), name).read_bytes())


@lru_cache(maxsize=_KEPT)
def _of_bytes(data: bytes) -> Mapping[str, Relation]:
    return _unpacked(data)


def _unpacked(data: bytes) -> Mapping[str, Relation]:
    return decode(zlib.decompress(data)).events
