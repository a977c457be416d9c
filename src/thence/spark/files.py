"""Files of events in Spark's workers: read by the same code as in this process.

CSV and JSON lines say nothing of types, so Spark would guess them or turn what does not fit into
null. A worker therefore reads such a file with :mod:`thence.io`, which goes by what the program
declares and names the file, the column and the row of a value that does not fit. A large file of
JSON lines is read in pieces, by several workers.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from thence.io.files import format_of
from thence.io.ingest import read_events
from thence.model.errors import InputError
from thence.model.events import Events
from thence.model.schema import EventSchema
from thence.model.types import Type
from thence.spark.types import spark_type

PIECES = "event string, path string, begin bigint, end bigint"
PIECE_BYTES = 64 << 20
_ROWS = 65_536
_TIME = pa.timestamp("us", "UTC")

Schemas = Mapping[str, EventSchema]


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or the lines of it that begin at the bytes from ``begin`` up to ``end``.

    ``event`` is what the rows are, where that is told beside the file.
    """

    event: str | None
    path: str
    begin: int = 0
    end: int | None = None


def shared_types(schemas: Schemas) -> dict[str, Type] | None:
    """Every attribute with its type; None if two events declare one name with two types.

    >>> from thence.model.schema import Attribute
    >>> from thence.model.types import INT, STRING
    >>> one, two = (EventSchema("e", (Attribute("id", t),)) for t in (INT, STRING))
    >>> shared_types({"one": one, "two": two}) is None
    True
    """
    found: dict[str, Type] = {}
    for schema in schemas.values():
        for attribute in schema.attributes:
            if found.setdefault(attribute.name, attribute.type) != attribute.type:
                return None
    return found


def row_type(schemas: Schemas) -> StructType:
    """The rows that workers make of files: the event, its interval, and all attributes."""
    attributes = shared_types(schemas)
    assert attributes is not None
    fields = [("type", StringType()), ("start", TimestampType()), ("end", TimestampType())]
    return StructType(
        [StructField(name, kind) for name, kind in fields]
        + [StructField(name, spark_type(kind)) for name, kind in attributes.items()]
    )


def split(path: str, event: str | None) -> list[Piece]:
    """A file in pieces that workers can read one by one.

    Only JSON lines can be cut anywhere: a line break in CSV may be inside a value.
    """
    file = Path(path)
    size = file.stat().st_size
    if size <= PIECE_BYTES or format_of(file) != "jsonl" or not _is_plain_lines(file):
        return [Piece(event, path)]
    count = -(-size // PIECE_BYTES)
    cuts = [size * number // count for number in range(count + 1)]
    return [Piece(event, path, a, b) for a, b in pairwise(cuts)]


def _is_plain_lines(file: Path) -> bool:
    """Whether this is text as it stands, and not compressed or one array."""
    with file.open("rb") as opened:
        return opened.read(64).lstrip().startswith(b"{")


# -- tasks: what workers do


@dataclass(frozen=True, slots=True)
class ReadPieces:
    """Reads the events in pieces of files, given as rows of ``PIECES``; ``only`` one event's."""

    schemas: Schemas
    only: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from _read(Piece(**row), self.schemas, self.only)


@dataclass(frozen=True, slots=True)
class ReadPaths:
    """Reads the events in whole files, as a stream names them: a column ``path`` of addresses."""

    schemas: Schemas
    event: str | None
    only: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for address in batch.column("path").to_pylist():
                yield from _read(Piece(self.event, local_path(address)), self.schemas, self.only)


@dataclass(frozen=True, slots=True)
class ReadValues:
    """Reads the events in messages: a column ``value`` with a JSON record in each row."""

    schemas: Schemas
    event: str | None
    only: str | None
    label: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # A line break between the parts of a record is as good as a space.
            records = [
                value.replace(b"\n", b" ").replace(b"\r", b" ")
                for value in batch.column("value").to_pylist()
                if value
            ]
            content = b"\n".join(records)
            yield from _read_text(content, self.label, "", self.event, self.schemas, self.only)


# -- one file


def local_path(address: str) -> str:
    """The path of a file that Spark names by an address.

    >>> local_path("file:///data/a%20b.csv"), local_path("/data/c.csv")
    ('/data/a b.csv', '/data/c.csv')
    """
    parts = urlsplit(address)
    if parts.scheme not in ("", "file"):
        raise InputError(
            f"'{address}' is not a file that workers can open. CSV and JSON lines are read from "
            "folders that every worker sees; for other places use Parquet."
        )
    return unquote(parts.path) if parts.scheme else address


def _read(piece: Piece, schemas: Schemas, only: str | None) -> Iterator[pa.RecordBatch]:
    if piece.end is None:
        yield from _rows(_events(piece.path, piece.event, schemas), schemas, only)
        return
    where = f" (lines are counted from byte {piece.begin:,} on)" if piece.begin else ""
    content = _lines(piece.path, piece.begin, piece.end)
    label, suffix = f"'{piece.path}'", Path(piece.path).name
    yield from _read_text(content, label, where, piece.event, schemas, only, suffix)


def _events(path: str, event: str | None, schemas: Schemas) -> dict[str, Events]:
    return read_events([path] if event is None else {event: [path]}, schemas)


def _lines(path: str, begin: int, end: int) -> bytes:
    """The lines of which the first byte is in a range."""
    with open(path, "rb") as file:  # noqa: PTH123
        if begin:
            file.seek(begin - 1)
            file.readline()
        first = file.tell()
        if first >= end:
            return b""
        content = file.read(end - first)
        return content if content.endswith(b"\n") else content + file.readline()


def _read_text(
    content: bytes,
    label: str,
    where: str,
    event: str | None,
    schemas: Schemas,
    only: str | None,
    name: str = "events.jsonl",
) -> Iterator[pa.RecordBatch]:
    """The events in JSON lines that are not a file of their own."""
    if not content.strip():
        return
    with tempfile.TemporaryDirectory(prefix="thence-") as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            found = _events(str(path), event, schemas)
        except InputError as problem:
            said = re.sub(re.escape(f"'{path}'"), lambda _: label, str(problem))
            raise InputError(said + where) from None
    yield from _rows(found, schemas, only)


def _rows(
    found: Mapping[str, Events], schemas: Schemas, only: str | None
) -> Iterator[pa.RecordBatch]:
    """Events as rows of :func:`row_type`, null where an event has no such attribute."""
    chosen = schemas if only is None else {only: schemas[only]}
    attributes = shared_types(chosen)
    assert attributes is not None
    for name in chosen:
        events = found[name]
        if not len(events):
            continue
        columns = {
            "type": pa.repeat(pa.scalar(name), len(events)),
            "start": pa.array(events.start).cast(_TIME),
            "end": pa.array(events.end).cast(_TIME),
        }
        for attribute, kind in attributes.items():
            values = events.columns.get(attribute)
            columns[attribute] = (
                pa.nulls(len(events), kind.arrow) if values is None else _plain(values, kind)
            )
        yield from pa.table(columns).to_batches(max_chunksize=_ROWS)


def _plain(values: Any, kind: Type) -> Any:
    return values if values.type == kind.arrow else values.cast(kind.arrow)
