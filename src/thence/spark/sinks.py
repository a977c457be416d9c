"""Where results go: into folders of files, whole batch by whole batch, or to a topic of Kafka.

A batch of a stream has a number, and its results are always written under that number. When Spark
repeats a batch after a failure, what the first attempt wrote is replaced, so that every result is
there once for whoever reads the folder.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from thence.io.files import is_address
from thence.io.ours import are_results, columns_of, holds_results, refuse_others
from thence.io.render import Formulas, csv_text, json_text
from thence.io.temporary import temporary
from thence.io.write import EXTENSIONS
from thence.model.errors import InputError
from thence.spark.carry import carried
from thence.spark.required import Py4JError, PySparkException

ROWS_PER_FILE = 1_000_000
_LINES = "value string"
_WRITING = "_writing"
_PART = re.compile(r"part-\d+\.(parquet|csv|jsonl)")
_TOKEN = "[0-9a-f]" * 16
_EXISTS = "PATH_ALREADY_EXISTS"

Columns = Mapping[str, Sequence[str]]
"""The columns that each event has among those of all events."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink as it was written: a folder, servers and a topic, or the console."""

    kind: str
    where: str = ""


def parse_sink(text: str, option: str = "--sink") -> Sink:
    """A sink from its text.

    >>> parse_sink("files:found"), parse_sink("console")
    (Sink(kind='files', where='found'), Sink(kind='console', where=''))
    """
    if text == "console":
        return Sink("console")
    kind, colon, where = text.partition(":")
    if not colon or kind not in ("files", "kafka") or is_address(text):
        return Sink("files", text)
    if kind == "kafka" and not all(where.rpartition("/")[::2]):
        raise InputError(f"{option} {text}: write kafka:SERVERS/TOPIC (kafka:host:9092/overdue).")
    if not where:
        raise InputError(f"{option} {text}: write files:FOLDER.")
    return Sink(kind, where)


# -- rows as text


def as_lines(
    frame: DataFrame,
    kind: str,
    columns: Columns | None,
    each: bool = False,
    formulas: Formulas = "keep",
) -> DataFrame:
    """Rows as JSON lines or CSV, in one column ``value``; ``each`` in a row of its own.

    With ``columns``, rows have a column ``type``, and JSON gets only what belongs to that event.
    """
    return frame.mapInArrow(carried(Render(kind, columns, each, formulas)), _LINES)


@dataclass(frozen=True, slots=True)
class Render:
    """The task that turns rows into text."""

    kind: str
    columns: Columns | None
    each: bool
    formulas: Formulas = "keep"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun = False
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if not table.num_rows:
                continue
            if self.kind == "csv":
                pieces = csv_text(table, not begun, self.formulas)
            else:
                pieces = _records(table, self.columns)
            begun = True
            text = b"".join(pieces).decode().removesuffix("\n")
            yield pa.record_batch({"value": text.split("\n") if self.each else [text]})


def _records(table: pa.Table, columns: Columns | None) -> Iterator[bytes]:
    if columns is None:
        yield from json_text(table)
        return
    kinds = table.column("type")
    for event in kinds.unique().to_pylist():
        rows = table.filter(pc.equal(kinds, event))
        yield from json_text(rows.select(list(columns[event])), event)


# -- the results of a batch job


def write_parts(
    frame: DataFrame,
    folder: Path,
    name: str,
    kind: str,
    rows: int,
    formulas: Formulas = "keep",
) -> list[Path]:
    """One event's results as files in a folder, in the order of their start; few results are one
    file. ``name`` is that of the event as a file's. Results of an earlier run under the same name
    are replaced; another file that is in the way is refused."""
    files = -(-rows // ROWS_PER_FILE) or 1
    spread = frame.repartitionByRange(files, "start") if files > 1 else frame.coalesce(1)
    ending = EXTENSIONS[kind]
    old = [path for path in folder.iterdir() if _is_part(path.name, name, ending)]
    for path in old:
        refuse_others(path)
    with temporary(folder / f"{_WRITING}-{secrets.token_hex(8)}") as place:
        writer = Writer(kind, None, formulas)
        writer.write(spread.sortWithinPartitions("start"), str(place.absolute()))
        written = _part_files(place)
        for path in old:
            path.unlink(missing_ok=True)
        return [
            part.replace(folder / (name + (f".{n:05}" if len(written) > 1 else "") + ending))
            for n, part in enumerate(written)
        ]


def _is_part(file: str, name: str, ending: str) -> bool:
    return re.fullmatch(rf"{re.escape(name)}(\.\d+)?{re.escape(ending)}", file) is not None


@dataclass(frozen=True, slots=True)
class Writer:
    """What Spark writes into folders that are new."""

    kind: str
    columns: Columns | None
    formulas: Formulas = "keep"

    def write(self, frame: DataFrame, folder: str, mode: str = "errorifexists") -> None:
        """Rows as files of a folder that is not there yet, unless ``mode`` says otherwise."""
        if self.kind == "parquet":
            frame.write.mode(mode).parquet(folder)
        else:
            lines = as_lines(frame, self.kind, self.columns, formulas=self.formulas)
            lines.write.mode(mode).text(folder)


def _part_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name.startswith("part-"))


# -- the batches of a stream


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to which a stream adds a folder per batch, such as ``batch=000012``."""

    path: str
    kind: str
    columns: Columns | None
    formulas: Formulas = "keep"

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write the rows of a batch; instead of those of an earlier attempt, if there was one."""
        name = f"batch={batch:06}"
        writer = Writer(self.kind, self.columns, self.formulas)
        if is_address(self.path):
            _write_far(frame, f"{self.path.rstrip('/')}/{name}", writer)
            return
        place = Path(self.path)
        target = place / name
        if target.exists():
            _refuse_other_batch(target)
        for killed in (place / _WRITING).glob(f"{name}-{_TOKEN}"):
            shutil.rmtree(killed)  # what an attempt left behind that was killed
        with temporary(place / _WRITING / f"{name}-{secrets.token_hex(8)}") as fresh:
            writer.write(frame, str(fresh.absolute()))
            _name_parts(fresh, EXTENSIONS[self.kind])
            if target.exists():
                shutil.rmtree(target)
            if _part_files(fresh):
                fresh.replace(target)

    def check_unused(self, checkpoint: str) -> None:
        """Refuse a folder with results of a stream that a new checkpoint knows nothing of."""
        if is_address(self.path) or is_address(checkpoint) or Path(checkpoint).exists():
            return
        if any(Path(self.path).glob("batch=*")):
            raise InputError(
                f"'{self.path}' holds results of an earlier stream, and there is no checkpoint "
                f"'{checkpoint}' to go on from. Give its --checkpoint, or another folder."
            )


def _refuse_other_batch(folder: Path) -> None:
    """Refuse to replace a folder in which there is anything else than results of a batch."""
    own = folder.is_dir() and not folder.is_symlink()
    for path in folder.iterdir() if own else [folder]:
        if not (_PART.fullmatch(path.name) and holds_results(path)):
            raise _other_batch(str(folder), path.name)


def _other_batch(folder: str, name: str) -> InputError:
    return InputError(
        f"'{folder}' is to be replaced by results of that batch, but holds something else: "
        f"'{name}'. Move it away, and start the stream again; or give another --sink."
    )


def _write_far(frame: DataFrame, folder: str, writer: Writer) -> None:
    """Write a batch to a store that Spark reaches; an earlier attempt is replaced."""
    try:
        writer.write(frame, folder)
    except PySparkException as problem:
        if _EXISTS not in str(problem):
            raise
        _refuse_other_far(frame.sparkSession, folder, writer.kind)
        writer.write(frame, folder, "overwrite")


def _refuse_other_far(spark: SparkSession, folder: str, kind: str) -> None:
    """The same for a folder that only Spark can look into."""
    listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(folder)
    for (address,) in listed.select("path").collect():
        name = address.rpartition("/")[2]
        if not name.startswith("part-"):
            raise _other_batch(folder, name)
        if not _far_results(spark, address, kind):
            raise _other_batch(folder, name)


def _far_results(spark: SparkSession, address: str, kind: str) -> bool:
    if kind == "parquet":
        try:
            return are_results(spark.read.parquet(address).columns)
        except (PySparkException, Py4JError):  # no Parquet at all
            return False
    first = spark.read.text(address).first()
    return first is None or are_results(columns_of(first[0], kind))


def _name_parts(folder: Path, ending: str) -> None:
    """Give files the ending of their format; remove those without a row, and Spark's own."""
    for file in folder.iterdir():
        if not file.name.startswith("part-") or _is_empty(file, ending):
            file.unlink()
        else:
            number = file.name.split("-")[1]
            file.replace(file.with_name(f"part-{number}{ending}"))


def _is_empty(file: Path, ending: str) -> bool:
    if ending == ".parquet":
        return bool(pq.read_metadata(file).num_rows == 0)
    return file.stat().st_size == 0


def to_kafka(frame: DataFrame, where: str, columns: Columns | None) -> None:
    """Write rows as JSON to a topic."""
    servers, _, topic = where.rpartition("/")
    lines = as_lines(frame, "jsonl", columns, each=True)
    writer = lines.select(F.col("value")).write.format("kafka")
    writer.option("kafka.bootstrap.servers", servers).option("topic", topic).save()
