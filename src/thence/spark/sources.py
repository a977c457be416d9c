"""Files of events as DataFrames.

Parquet is read by Spark itself, so that only the columns and rows that matter are read at all. CSV
and JSON lines, and Parquet with types that Spark does not know, are read by
:mod:`thence.spark.files` in the workers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from thence.io.files import find_files, format_of, is_address, stem
from thence.model.errors import InputError
from thence.model.suggestions import question
from thence.spark.carry import carried
from thence.spark.files import PIECES, Piece, ReadPieces, Schemas, row_type, shared_types, split

RESERVED = ("type", "time", "start", "end")
_GLOB = frozenset("*?[]{}\\")
_TASKS = 200


@dataclass(frozen=True, slots=True)
class Given:
    """DataFrames for ``detect``, and what its messages should call each of them."""

    frames: Any
    labels: Mapping[str, str]
    folder: str | None = None
    """The folder from which paths were given, where messages need not name it."""

    def named(self, message: str) -> str:
        """A message about a DataFrame as one about the files it was read from.

        >>> Given(None, {"frames[0]": "'/data/a.parquet'"}, "/data").named("frames[0]: no time")
        "'a.parquet': no time"
        """
        # The longest first, since one label may be the beginning of another.
        for label in sorted(self.labels, key=len, reverse=True):
            message = message.replace(label, self.labels[label])
        return message if self.folder is None else message.replace(f"'{self.folder}/", "'")


@dataclass(frozen=True, slots=True)
class Part:
    """Some files that are read as one DataFrame."""

    frame: DataFrame
    event: str | None
    label: str


def read_files(
    spark: SparkSession, schemas: Schemas, sources: Sequence[str] | Mapping[str, Sequence[str]]
) -> Given:
    """The events in files: paths, directories and patterns, with a column ``type``, or by event."""
    given: list[tuple[str | None, str]]
    if isinstance(sources, Mapping):
        for name in sources:
            check_event(name, schemas)
        given = [(name, path) for name, paths in sources.items() for path in paths]
    else:
        given = [(None, path) for path in sources]
    found = assemble(list(_parts(spark, schemas, given)), schemas)
    absolute = any(Path(path).expanduser().is_absolute() for _, path in given)
    return replace(found, folder=None if absolute else str(Path.cwd()))


def check_event(name: str, schemas: Schemas) -> None:
    """Refuse a name that the program does not declare."""
    if name not in schemas:
        known = ", ".join(f"'{each}'" for each in schemas) or "none"
        raise InputError(
            f"events: the program declares no input event '{name}'.{question(name, schemas)} "
            f"Declared are: {known}."
        )


def assemble(parts: Sequence[Part], schemas: Schemas) -> Given:
    """All parts as ``detect`` takes them: a list if every row says what it is, else by event.

    Rows of one event are kept apart from others, since another event may give a column of the same
    name another type.
    """
    if all(part.event is None for part in parts):
        labels = {f"frames[{number}]": part.label for number, part in enumerate(parts)}
        return Given([part.frame for part in parts], labels)
    frames: dict[str, list[DataFrame]] = {}
    labels = {}
    for part in parts:
        for event in schemas if part.event is None else (part.event,):
            here = frames.setdefault(event, [])
            labels[f"frames[{event!r}][{len(here)}]"] = part.label
            only = part.frame.where(F.col("type") == event) if part.event is None else part.frame
            here.append(only)
    return Given(frames, labels)


def _parts(
    spark: SparkSession, schemas: Schemas, given: Iterable[tuple[str | None, str]]
) -> Iterator[Part]:
    by_spark: dict[tuple[Any, ...], list[str]] = {}
    pieces: list[Piece] = []
    for event, path in given:
        if is_address(path):
            yield Part(spark.read.parquet(path), event, f"'{path}'")
            continue
        for file in find_files(path):
            form = _form(file, event, schemas)
            if form is None:
                pieces += split(str(file.absolute()), event)
            else:
                by_spark.setdefault(form, []).append(str(file.absolute()))
    for (event, *_), paths in by_spark.items():
        yield Part(spark.read.parquet(*paths), event, labelled(paths))
    if pieces:
        yield from _by_workers(spark, schemas, pieces)


def labelled(paths: Sequence[str]) -> str:
    """What to call some files in a message.

    >>> labelled(["a.parquet"]), labelled(["a.parquet", "b.parquet", "c.parquet"])
    ("'a.parquet'", "'a.parquet' (or one of 2 more files)")
    """
    rest = len(paths) - 1
    more = f" (or one of {rest} more file{'' if rest == 1 else 's'})" if rest else ""
    return f"'{paths[0]}'{more}"


def _by_workers(spark: SparkSession, schemas: Schemas, pieces: Sequence[Piece]) -> Iterator[Part]:
    label = labelled([piece.path for piece in pieces])
    for event in dict.fromkeys(piece.event for piece in pieces):
        rows = [(p.event, p.path, p.begin, p.end) for p in pieces if p.event == event]
        listed = spark.createDataFrame(rows, PIECES).repartition(min(len(rows), _TASKS))
        for only in passes(schemas, event):
            chosen = schemas if only is None else {only: schemas[only]}
            task = carried(ReadPieces(schemas, only))
            yield Part(listed.mapInArrow(task, row_type(chosen)), only, label)


def passes(schemas: Schemas, event: str | None = None) -> Sequence[str | None]:
    """The events for which text is read one after the other; None for all of them at once.

    They can be read at once unless two of them declare an attribute with two types, which one
    column cannot hold.
    """
    if event is not None:
        return (event,)
    return (None,) if shared_types(schemas) is not None else tuple(schemas)


def _form(file: Path, event: str | None, schemas: Schemas) -> tuple[Any, ...] | None:
    """Which files can be read together by Spark itself; None for one that cannot."""
    if format_of(file) != "parquet" or _GLOB & set(str(file)):
        return None
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException):
        return None  # the message comes from where it is read
    names = schema.names
    if len({name.lower() for name in names}) < len(names):
        return None
    event = event or _event_of(file, names, schemas)
    requested = set(RESERVED) | {a for each in schemas.values() for a in each.names}
    relevant = tuple((name, schema.field(name).type) for name in names if name in requested)
    if (event is None and "type" not in names) or not all(is_known(t) for _, t in relevant):
        return None
    return event, *((name, str(kind)) for name, kind in relevant)


def _event_of(file: Path, names: Collection[str], schemas: Schemas) -> str | None:
    if "type" in names:
        return None
    if stem(file) in schemas:
        return stem(file)
    return next(iter(schemas)) if len(schemas) == 1 else None


def is_known(kind: pa.DataType) -> bool:
    """Whether Spark reads values of an Arrow type from Parquet as what they are.

    >>> is_known(pa.int32()), is_known(pa.timestamp("ns")), is_known(pa.duration("us"))
    (True, False, False)
    """
    t = pa.types
    if t.is_list(kind) or t.is_large_list(kind):
        return is_known(kind.value_type)
    if t.is_dictionary(kind):
        return is_known(kind.value_type)
    if t.is_timestamp(kind):
        return kind.unit in ("ms", "us")
    simple = (t.is_string, t.is_large_string, t.is_boolean, t.is_float32, t.is_float64)
    whole = (t.is_signed_integer, t.is_date32, t.is_decimal128)
    return any(check(kind) for check in (*simple, *whole))
