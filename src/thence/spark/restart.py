"""Whether a stream can go on from a checkpoint with the program as it is now.

Each shard checks the state that it reads (``memory.py``), which is safe but late: the query has
started by then, and what one sees is an exception of an executor. Where the checkpoint is a local
folder, a note in it tells beforehand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thence.model.errors import InputError, StateError
from thence.program import Program
from thence.spark.shard_state import VERSION, checked_misfits, refusal
from thence.spark.shards import check_shards, stream_partitions
from thence.spark.stream import stream_chain, stream_needs

NOTE = "thence.json"


def check_restart(
    checkpoint: str | Path,
    program: Program,
    emit: Any = None,
    *,
    spark: Any,
    lineage: bool = False,
    shards: int | None = None,
    late: bool = False,
    allow_unbounded: bool = False,
) -> None:
    """Refuse to go on from a checkpoint whose state does not fit; note in it what will be there.

    The arguments are those that :func:`detect` is called with, and the session. A folder that does
    not exist yet, or has no note, is a new checkpoint.
    """
    check_shards(shards)
    plan = program.plan_for(program._emitted(emit), lineage)
    needs = stream_needs(plan, allow_unbounded)
    chain = stream_chain(
        plan,
        needs,
        plan.outputs,
        shards or stream_partitions(spark),
        lineage,
        late,
    )
    folder = Path(checkpoint)
    note = folder / NOTE
    noted = _noted(note)
    if noted is not None:
        problems = _problems(noted, chain.holds)
        if problems:
            raise StateError(refusal(problems))
    written = json.dumps({"version": VERSION, "stages": chain.holds}, indent=2)
    fresh = note.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fresh.write_text(written + "\n", encoding="utf-8")
        fresh.replace(note)
    except OSError as problem:
        why = problem.strerror or problem
        raise InputError(f"the checkpoint '{folder}' cannot be written: {why}") from None


def _noted(note: Path) -> dict[str, Any] | None:
    """What is noted in a checkpoint; None where nothing is."""
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as problem:
        why = problem.strerror or problem
        raise InputError(f"the checkpoint cannot be read: '{note}': {why}") from None
    except (ValueError, RecursionError) as problem:
        raise _unreadable(note, str(problem)) from None
    if not isinstance(noted, dict) or "version" not in noted:
        raise _unreadable(note, "it does not say what the checkpoint holds")
    return noted


def _unreadable(note: Path, why: str) -> StateError:
    return StateError(
        f"'{note}' is damaged: {why}. It notes what the checkpoint holds. If the program is "
        "the one that made the checkpoint, remove that file: each shard checks its own state. Else "
        "begin with a new checkpoint."
    )


def _problems(noted: dict[str, Any], needs: Sequence[Any]) -> list[str]:
    if noted.get("version") != VERSION:
        return [f"it has format version {noted.get('version')}, not {VERSION}"]
    stages = noted.get("stages")
    if not isinstance(stages, list):
        return ["it does not say what it holds"]
    if len(stages) != len(needs):
        return [
            f"it is of a query with {_counted(len(stages))}; this program needs "
            f"{_counted(len(needs))}"
        ]
    found = []
    for number, (holds, now) in enumerate(zip(stages, needs, strict=True), 1):
        place = f" (stage {number})" if len(needs) > 1 else ""
        found += [f"{problem}{place}" for problem in checked_misfits(holds, now)]
    return found


def _counted(stages: int) -> str:
    return "one stage" if stages == 1 else f"{stages} stages"
