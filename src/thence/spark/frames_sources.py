"""Whatever a caller gives as DataFrames, as a list of sources that say which event a row is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from thence.model.errors import InputError
from thence.model.schema import EventSchema
from thence.model.suggestions import question
from thence.spark.time_columns import TEXT, Place


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a DataFrame, and its type."""

    column: Column
    kind: DataType


@dataclass(frozen=True, slots=True)
class Source:
    """A DataFrame of events: all of one type (``event``), or of the type that each row says."""

    label: str
    frame: DataFrame
    fields: Mapping[str, Field]
    event: str | None

    @property
    def name(self) -> Column:
        """The name of the event that a row is."""
        return F.lit(self.event) if self.event is not None else self.fields["type"].column

    @property
    def place(self) -> Place:
        return Place(self.label, F.coalesce(self.name, F.lit("null")))

    def holds(self, event: str) -> bool:
        """Whether a row may be such an event."""
        return self.event is None or self.event == event

    def choose(self, choices: Iterable[tuple[Collection[str], Column]]) -> Column:
        """The column that belongs to the event that a row is; null for events not mentioned."""
        if self.event is not None:
            return next((column for events, column in choices if self.event in events), F.lit(None))
        found: Column | None = None
        for events, column in choices:
            among = self.name.isin(*events)
            found = F.when(among, column) if found is None else found.when(among, column)
        return F.lit(None) if found is None else found

    def problem(self, schema: EventSchema) -> str | None:
        """Why rows cannot be such events: an attribute for which there is no column."""
        for attribute in schema.names:
            if attribute not in self.fields:
                return (
                    f"{self.label}: event '{schema.name}' has no column '{attribute}'."
                    f"{question(attribute, self.fields)} Its columns are: {_listed(self.fields)}."
                )
        return None


def read_sources(frames: Any, schemas: Mapping[str, EventSchema]) -> list[Source]:
    """The DataFrames that were given, all batch or all streaming; at least one."""
    found = list(_sources(frames, schemas))
    if not found:
        active = SparkSession.getActiveSession()
        if active is None:
            raise InputError(
                "frames: there is no DataFrame. Give one per event: {name: DataFrame}."
            )
        nothing = active.createDataFrame([], "type string, time timestamp")
        found = [_source(nothing, "frames", None)]
    streams = [source.label for source in found if source.frame.isStreaming]
    if streams and len(streams) < len(found):
        table = next(source.label for source in found if not source.frame.isStreaming)
        raise InputError(
            f"{streams[0]} is a stream and {table} is not. Give only streams (spark.readStream) or "
            "only tables (spark.read)."
        )
    return found


def _sources(frames: Any, schemas: Mapping[str, EventSchema]) -> Iterator[Source]:
    if isinstance(frames, Mapping):
        for name, value in frames.items():
            if name not in schemas:
                raise InputError(
                    f"frames: the program declares no input event {name!r}."
                    f"{question(name, schemas)} Declared are: {_listed(schemas)}."
                )
            for frame, label in _each_frame(value, f"frames[{name!r}]"):
                yield _source(frame, label, name)
        return
    for frame, label in _each_frame(frames, "frames"):
        names = frame.columns
        if "type" in names:
            yield _with_types(_source(frame, label, None))
        elif len(schemas) == 1:
            yield _source(frame, label, next(iter(schemas)))
        else:
            raise InputError(
                f"{label} has no column 'type' that says which event a row is."
                f"{question('type', names)} Add one, or give a DataFrame per event: "
                f"{{name: DataFrame}}. Its columns are: {_listed(names)}. Declared events are: "
                f"{_listed(schemas)}."
            )


def _each_frame(value: Any, label: str) -> Iterator[tuple[DataFrame, str]]:
    if isinstance(value, DataFrame):
        yield value, label
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _each_frame(item, f"{label}[{index}]")
    else:
        raise _not_a_frame(value, label)


def _not_a_frame(value: Any, label: str) -> InputError:
    module = type(value).__module__
    if module.startswith("pyspark.pandas"):
        hint = " Call its to_spark() first."
    elif hasattr(value, "columns") and module.partition(".")[0] in ("pandas", "polars", "pyarrow"):
        hint = " Make one with spark.createDataFrame(…), or use program.run(…), which takes it."
    elif isinstance(value, str):
        hint = " Read it first, for example with spark.read.parquet(path)."
    else:
        hint = ""
    return InputError(f"{label}: this {type(value).__name__} is not a Spark DataFrame.{hint}")


def _source(frame: DataFrame, label: str, event: str | None) -> Source:
    """Names are found by their position, so that 'id' is never mistaken for 'ID'."""
    schema = frame.schema
    names = schema.names
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise InputError(
            f"{label} has {names.count(repeated[0])} columns named '{repeated[0]}'. "
            "Rename or drop all but one of them."
        )
    used = names
    if len({name.lower() for name in names}) < len(names):
        used = [f"{name} {number}" for number, name in enumerate(names)]
        frame = frame.toDF(*used)
    fields = {
        field.name: Field(F.col(_quoted(inside)), field.dataType)
        for field, inside in zip(schema.fields, used, strict=True)
    }
    return Source(label, frame, fields, event)


def _with_types(source: Source) -> Source:
    kind = source.fields["type"].kind
    if not isinstance(kind, TEXT):
        raise InputError(
            f"{source.label}: column 'type' holds {kind.simpleString()}; it must hold the names "
            "of events."
        )
    return source


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
