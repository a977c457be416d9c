"""Where a stream comes from: a folder that grows, messages of Kafka, or events made up for trying.

A source is written as ``files:FOLDER`` (or the folder alone), ``kafka:SERVERS/TOPIC`` or ``rate``;
with ``NAME=`` before it, its rows are all events of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from thence.io.files import FORMATS, find_files, format_of, is_address
from thence.model.errors import InputError
from thence.model.schema import Attribute
from thence.model.types import Type
from thence.spark.carry import carried
from thence.spark.files import ReadPaths, ReadValues, Schemas, row_type
from thence.spark.sources import Given, Part, assemble, check_event, passes
from thence.spark.types import spark_type

KINDS = ("files", "kafka", "rate")
KAFKA_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
OLDEST_FILE = "36500d"
"""Spark passes over files that are older than this, compared with the newest: never, here."""

_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
_FILES = "path string, modificationTime timestamp, length bigint, content binary"
_ENDINGS = {
    kind: [ending for ending, of in FORMATS.items() if of == kind] for kind in ("csv", "jsonl")
}
FILES, EVENTS = "thence_files_", "thence_events_"
"""What the counts of files and of the events in them are called in a query's progress."""

_RATE_KEYS = 50
_RATE_VALUES = 100


@dataclass(frozen=True, slots=True)
class Source:
    """A source as it was written. ``where`` is a folder, servers and topics, or a rate."""

    kind: str
    where: str
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How sources are read: the format of files where their names do not tell, and how many at
    a time."""

    format: str | None = None
    max_files: int | None = None


def parse_source(text: str) -> Source:
    """A source from its text.

    >>> parse_source("order=files:incoming")
    Source(kind='files', where='incoming', event='order')
    >>> parse_source("kafka:host:9092/orders,shipments").where
    'host:9092/orders,shipments'
    >>> parse_source("rate")
    Source(kind='rate', where='10', event=None)
    """
    found = None if Path(text).exists() else _NAMED.fullmatch(text)
    event, rest = (found[1], found[2]) if found else (None, text)
    kind, colon, where = rest.partition(":")
    if rest == "rate":
        return Source("rate", "10", event)
    if not colon or kind not in KINDS or is_address(rest):
        return Source("files", rest, event)
    if kind == "rate" and not re.fullmatch(r"[1-9]\d*", where):
        raise InputError(f"--source {text}: write rate:N, with N events a second.")
    if kind == "kafka" and not all(where.rpartition("/")[::2]):
        raise InputError(f"--source {text}: write kafka:SERVERS/TOPIC (kafka:host:9092/orders).")
    if not where:
        raise InputError(f"--source {text}: write files:FOLDER.")
    return Source(kind, where, event)


def open_sources(
    spark: SparkSession, schemas: Schemas, sources: Sequence[Source], reading: Reading
) -> Given:
    """The streams that sources stand for."""
    parts: list[Part] = []
    for source in sources:
        if source.event is not None:
            check_event(source.event, schemas)
        if source.kind == "rate":
            parts += made_up(spark, schemas, source)
        elif source.kind == "kafka":
            parts += _kafka(spark, schemas, source)
        else:
            parts += _folder(spark, schemas, source, reading, len(parts))
    absolute = any(Path(s.where).expanduser().is_absolute() for s in sources if s.kind == "files")
    return replace(assemble(parts, schemas), folder=None if absolute else str(Path.cwd()))


def check_folder(source: Source) -> None:
    """Refuse a source that should be a folder and is none."""
    if source.kind != "files" or is_address(source.where) or _path(source).is_dir():
        return
    what = "a file" if _path(source).exists() else "not there"
    raise InputError(
        f"--source '{source.where}' is {what}: give a folder, to which files are added. "
        "For files that are complete, use 'thence run'."
    )


def _path(source: Source) -> Path:
    return Path(source.where).expanduser().absolute()


def _folder(
    spark: SparkSession, schemas: Schemas, source: Source, reading: Reading, number: int
) -> Iterator[Part]:
    check_folder(source)
    folder = source.where if is_address(source.where) else str(_path(source))
    kind = reading.format or _format_in(folder)
    stream = spark.readStream.option("maxFileAge", OLDEST_FILE).option("recursiveFileLookup", True)
    if reading.max_files is not None:
        stream = stream.option("maxFilesPerTrigger", reading.max_files)
    label = f"'{source.where}'"
    if kind == "parquet":
        schema = _parquet_schema(spark, folder, schemas, source.event)
        yield Part(stream.schema(schema).parquet(folder), source.event, label)
        return
    if is_address(folder):
        raise InputError(
            f"--source {source.where}: CSV and JSON lines are read from folders that every worker "
            "sees. Use Parquet there, or a local or shared folder."
        )
    endings = ",".join(f"*{end}{z}" for end in _ENDINGS[kind] for z in ("", ".gz", ".bz2", ".zst"))
    stream = stream.option("pathGlobFilter", f"{{{endings}}}").schema(_FILES)
    for offset, only in enumerate(passes(schemas, source.event)):
        chosen = schemas if only is None else {only: schemas[only]}
        read = carried(ReadPaths(schemas, source.event, only))
        # Spark counts the files; how many events are in them is counted here.
        files = stream.format("binaryFile").load(folder).select("path")
        files = files.observe(f"{FILES}{number + offset}", F.count(F.lit(1)).alias("count"))
        rows = files.mapInArrow(read, row_type(chosen))
        rows = rows.observe(f"{EVENTS}{number + offset}", F.count(F.lit(1)).alias("count"))
        yield Part(rows, only, label)


def _format_in(folder: str) -> str:
    """The format of the files that are in a folder already."""
    hint = "say what its files are: --source-format parquet, json or csv"
    if is_address(folder):
        return "parquet"
    try:
        found = {format_of(file) for file in find_files(folder)}
    except InputError as problem:
        raise InputError(f"{problem} For a stream from it, {hint}.") from None
    if len(found) > 1:
        several = " and ".join(sorted(found))
        raise InputError(f"--source '{folder}' has files of several formats, {several}: {hint}.")
    return found.pop()


def _parquet_schema(
    spark: SparkSession, folder: str, schemas: Schemas, event: str | None
) -> StructType:
    """The columns of the files in a folder; where there is none yet, those that are declared."""
    if is_address(folder):
        return spark.read.parquet(folder).schema
    there = [file for file in _files_in(folder) if file.suffix.lower() == ".parquet"]
    if there:
        return spark.read.parquet(str(there[0])).schema
    if event is None and passes(schemas) != (None,):
        raise InputError(
            f"--source '{folder}' has no files yet, and two events of the program declare an "
            "attribute with two types. Put a file there first, or name a folder per event."
        )
    chosen = schemas if event is None else {event: schemas[event]}
    declared = {a.name: a.type for each in chosen.values() for a in each.attributes}
    fields = [StructField("type", StringType())] if event is None else []
    fields.append(StructField("time", TimestampType()))
    fields += [StructField(name, spark_type(kind)) for name, kind in declared.items()]
    return StructType(fields)


def _files_in(folder: str) -> list[Path]:
    try:
        return find_files(folder)
    except InputError:
        return []


def _kafka(spark: SparkSession, schemas: Schemas, source: Source) -> Iterator[Part]:
    for only in passes(schemas, source.event):
        chosen = schemas if only is None else {only: schemas[only]}
        read = carried(ReadValues(schemas, source.event, only, f"kafka:{source.where}"))
        messages = check_kafka(spark, source.where).select("value")
        yield Part(messages.mapInArrow(read, row_type(chosen)), only, f"kafka:{source.where}")


def check_kafka(spark: SparkSession, where: str) -> DataFrame:
    """The messages of topics, from the first on; refused where Spark has no connector to Kafka."""
    servers, _, topics = where.rpartition("/")
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    try:
        return reader.option("subscribe", topics).option("startingOffsets", "earliest").load()
    except AnalysisException as problem:
        if "KAFKA_DATA_SOURCE_NOT_ENABLED" not in str(problem):
            raise
        raise InputError(
            "Spark has no connector to Kafka on its class path. Add it: "
            f"--packages {KAFKA_PACKAGE}:{spark.version}"
        ) from None


def made_up(spark: SparkSession, schemas: Schemas, source: Source) -> Iterator[Part]:
    """Events with invented values: of all declared events in turn, at the time of now.

    Texts, and attributes that several events share, take one of fifty values, the same for rows
    that come one after another, so that events of one key meet. Other numbers are 0 to 99.
    """
    names = [source.event] if source.event is not None else list(schemas)
    counts: dict[str, int] = {}
    for schema in schemas.values():
        for name in schema.names:
            counts[name] = counts.get(name, 0) + 1
    rate = spark.readStream.format("rate").option("rowsPerSecond", int(source.where)).load()
    turn, key = F.col("value") % len(names), F.floor(F.col("value") / len(names)) % _RATE_KEYS
    together = passes({name: schemas[name] for name in names}) == (None,)
    for chosen in [names] if together else [[name] for name in names]:
        event = F.element_at(F.array(*(F.lit(n) for n in names)), (turn + 1).cast("int"))
        rows = rate.where(event.isin(*chosen)) if len(chosen) < len(names) else rate
        attributes = {a.name: a for each in chosen for a in schemas[each].attributes}
        columns = [
            _invented(attribute, key, counts[attribute.name] > 1).alias(attribute.name)
            for attribute in attributes.values()
        ]
        columns = [event.alias("type"), F.col("timestamp").alias("time"), *columns]
        alone = None if len(chosen) > 1 else chosen[0]
        yield Part(rows.select(*columns), alone, f"rate:{source.where}")


def _invented(attribute: Attribute, key: Column, shared: bool) -> Column:
    spread = F.pmod(F.hash(F.col("value"), F.lit(attribute.name)), F.lit(_RATE_VALUES))
    return _value(attribute.type, attribute.name, key if shared else spread, key)


def _value(kind: Type, name: str, number: Column, key: Column) -> Column:
    """A value of a type that is made of a number."""
    if kind.kind == "string":
        return F.concat(F.lit(name), key.cast("string"))
    if kind.kind == "bool":
        return number % 2 == 0
    if kind.kind == "timestamp":
        return F.col("timestamp")
    if kind.kind == "duration":
        return F.make_dt_interval(secs=number.cast("decimal(18,6)"))
    if kind.kind == "list":
        assert kind.of is not None
        return F.array(_value(kind.of, name, number, key))
    return number.cast(spark_type(kind))
