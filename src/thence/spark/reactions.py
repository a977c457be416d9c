"""Reactions to rows of results that Spark has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thence.model.errors import InputError
from thence.program import Program
from thence.reacting import react_to
from thence.spark.generations import Replaced, program_of

if TYPE_CHECKING:
    from thence.actions.settings import Delivery
    from thence.reacting import Actions


def react(
    program: Program | Replaced,
    frame: DataFrame,
    event: str | None = None,
    *,
    actions: Actions = True,
    delivery: Delivery | None = None,
) -> None:
    """Do what a program says on results: those that ``detect`` found in a batch, or a batch of a
    stream, ``out.writeStream.foreachBatch(lambda rows, _: ts.react(program, rows))``.

    ``event`` is the event that the rows are of; without it, they have a column ``type``. The rows
    that a reaction is about are brought to the driver, which delivers. When this returns, all of
    it has been delivered or given up, as ``delivery`` says; a batch that is repeated repeats the
    same deliveries, under the same ids. ``actions`` are as for a program's ``run``.
    """
    program = program_of(program)
    schemas = {schema.name: schema for schema in program.derived}
    if event is not None and event not in schemas:
        raise InputError(f"react: the program derives no event {event!r}")
    if frame.isStreaming:
        raise InputError(
            "react: these rows are a stream; react to each batch of it: "
            "out.writeStream.foreachBatch(lambda rows, _: ts.react(program, rows))"
        )
    columns = frame.columns
    if event is None and "type" not in columns:
        raise InputError("react: the rows have no column 'type': say which event they are of")
    names = [name for name in program.reacted_to if event in (None, name)]
    if not names or actions is False:
        return
    if "late" in columns and event is None:
        frame = frame.where(~F.col("late"))
    if event is None:
        frame = frame.where(F.col("type").isin(names))
    read = {name: (*schemas[name].names, "start", "end") for name in names}
    needed = dict.fromkeys(c for each in read.values() for c in each if c in columns)
    head = ["type"] if event is None else []
    table = frame.select(*(F.col(f"`{c}`") for c in [*head, *needed])).toArrow()
    found: dict[str, Any] = {}
    for name in names:
        missing = [column for column in read[name] if column not in columns]
        if missing:
            raise InputError(f"react: the rows have no column '{missing[0]}', which '{name}' has")
        rows = table
        if event is None:
            rows = table.filter([kind == name for kind in table.column("type").to_pylist()])
        found[name] = rows
    react_to(program, found, actions, delivery)
