"""``thence run`` on Spark: files to DataFrames, results back to tables or into a directory."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.cli.deliver import Asked, deliver, say_written
from thence.cli.event_arguments import Sources, paths_in
from thence.cli.exits import warnings_said
from thence.engine.provenance.lineage import LINEAGE
from thence.engine.provenance.lineage import TYPE as LINEAGE_TYPE
from thence.io.filenames import file_names
from thence.io.files import find_files, is_address
from thence.io.ingest import read_events
from thence.io.write import make_folder
from thence.model.errors import ThenceError
from thence.model.types import TIMESTAMP
from thence.program import Program
from thence.reacting import react_to
from thence.spark.errors import explained
from thence.spark.facts import check_tables, refuse_tables
from thence.spark.files import shared_types
from thence.spark.query import detect
from thence.spark.reactions import react
from thence.spark.sessions import session
from thence.spark.sinks import write_parts
from thence.spark.sources import Given, check_event, read_files

LOOKED_THROUGH = 64 << 20
"""Bytes of files up to which it is looked up why nothing was found in them."""


def run_on_spark(
    program: Program,
    sources: Sources,
    tables: Mapping[str, list[str]],
    asked: Asked,
    master: str | None,
    settings: Mapping[str, str],
    shards: int | None,
) -> int:
    """Run a program over files, and deliver what it finds; the answer is how much that is."""
    schemas = {each.name: each for each in program.events}
    # What is wrong with names and paths is said at once, not after the start of Spark.
    refuse_tables(program, sources)
    check_tables(program, asked.names, tables)
    for name in sources if isinstance(sources, dict) else ():
        check_event(name, schemas)
    for path in paths_in(sources):
        if not is_address(path):
            find_files(path)
    with doing("starting Spark"):
        spark = session(master, **settings)
    with doing("detecting"), explained_as_files() as name_files:
        given = read_files(spark, schemas, sources)
        name_files(given)
        results = None
        with _detected(program, given, tables, asked, shards) as frames:
            if asked.is_folder:
                found = _write_folder(frames, asked)
                for name in frames if asked.doing.actions is not False else ():
                    actions, delivery = asked.doing
                    react(program, frames[name], name, actions=actions, delivery=delivery)
            else:
                results = _tables(frames, program, asked)
    if results is not None:
        found = deliver(results, asked)
        react_to(program, results, *asked.doing)
    if not found:
        _say_if_nothing_is_declared(program, sources)
    return found


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Show on a terminal what takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def explained_as_files() -> Iterator[Any]:
    """Errors of jobs as errors of Thence's that name files; the block says which are read."""
    given: list[Given] = []
    try:
        with explained(), _without_logging():
            yield given.append
    except ThenceError as problem:
        said = given[0].named(str(problem)) if given else str(problem)
        if said == str(problem):
            raise
        raise type(problem)(said) from problem.__cause__


@contextmanager
def _without_logging() -> Iterator[None]:
    """Keep the bridge to Java from logging a Ctrl-C, with its traceback, on standard error."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _detected(
    program: Program,
    given: Given,
    tables: Mapping[str, list[str]],
    asked: Asked,
    shards: int | None,
) -> Iterator[dict[str, DataFrame]]:
    """A DataFrame for each event. What is used more than once is kept until the block ends."""
    derived = {schema.name: schema for schema in program.derived}
    chosen = {name: derived[name] for name in asked.names}

    def found(emit: Any) -> DataFrame:
        return detect(
            program,
            given.frames,
            emit,
            tables=tables,
            until=asked.until,
            lineage=asked.lineage,
            shards=shards,
            memory_limit=asked.memory_limit,
            max_matches=asked.max_matches,
        )

    if len(chosen) == 1 or shared_types(chosen) is None:
        frames = {name: found(name) for name in chosen}
        kept = [frame.persist() for frame in frames.values() if asked.is_folder]
    else:
        # One DataFrame can hold the results of all events, so that they share its work.
        together = found(list(chosen)).persist()
        kept = [together]
        last = ("start", "end", *(["lineage"] if asked.lineage else []))
        frames = {
            name: together.where(F.col("type") == name).select(
                *(F.col(f"`{column}`") for column in (*schema.names, *last))
            )
            for name, schema in chosen.items()
        }
    try:
        yield frames
    finally:
        for frame in kept:
            frame.unpersist()


def _tables(frames: Mapping[str, DataFrame], program: Program, asked: Asked) -> dict[str, Any]:
    """The results as tables in this process, in the types and the order of the other engine."""
    schemas = {schema.name: schema for schema in program.derived}
    tables = {}
    for name, frame in frames.items():
        fields = [(a.name, a.type.arrow) for a in schemas[name].attributes]
        fields += [("start", TIMESTAMP.arrow), ("end", TIMESTAMP.arrow)]
        if asked.lineage:
            fields.append((LINEAGE, LINEAGE_TYPE))
        table = frame.toArrow().cast(pa.schema(fields))
        keys = [(field, "ascending") for field in ("start", "end")]
        keys += [(a.name, "ascending") for a in schemas[name].attributes if a.type.kind != "list"]
        tables[name] = table.sort_by(keys)
    return tables


def _write_folder(frames: Mapping[str, DataFrame], asked: Asked) -> int:
    """Write each event's results into a directory; the answer is how many there are in all."""
    assert asked.out is not None
    make_folder(asked.out)
    file_of = file_names(frames)
    paths: list[Path] = []
    counts: dict[str, int] = {}
    found = 0
    for name, frame in frames.items():
        counts[name] = frame.count()
        found += counts[name]
        if asked.limit is not None:
            counts[name] = min(counts[name], asked.limit)
            frame = frame.orderBy("start").limit(asked.limit)
        file = file_of[name]
        paths += write_parts(frame, asked.out, file, asked.kind, counts[name], asked.formulas)
    say_written(paths, counts)
    return found


def _say_if_nothing_is_declared(program: Program, sources: Sources) -> None:
    """Nothing was found: perhaps because no row is an event that the program knows."""
    if any(is_address(path) for path in paths_in(sources)):
        return
    files = [file for path in paths_in(sources) for file in find_files(path)]
    if sum(file.stat().st_size for file in files) <= LOOKED_THROUGH:
        with warnings_said():
            read_events(sources, {each.name: each for each in program.events}, warn=True)
