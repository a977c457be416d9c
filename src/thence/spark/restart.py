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

from thence.model.errors import StateError
from thence.program import Program
from thence.spark.memory import VERSION, misfits, refusal
from thence.spark.shards import stream_partitions
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
    needs = stream_needs(program._compiled, allow_unbounded)
    chain = stream_chain(
        program._compiled,
        needs,
        program._emitted(emit),
        shards or stream_partitions(spark),
        lineage,
        late,
    )
    folder = Path(checkpoint)
    note = folder / NOTE
    if note.exists():
        problems = _problems(json.loads(note.read_text(encoding="utf-8")), chain.holds)
        if problems:
            raise StateError(refusal(problems))
    folder.mkdir(parents=True, exist_ok=True)
    written = json.dumps({"version": VERSION, "stages": chain.holds}, indent=2)
    fresh = note.with_suffix(".new")
    fresh.write_text(written + "\n", encoding="utf-8")
    fresh.replace(note)


def _problems(noted: dict[str, Any], needs: Sequence[Any]) -> list[str]:
    if noted.get("version") != VERSION:
        return [f"it has format version {noted.get('version')}, not {VERSION}"]
    stages = noted["stages"]
    if len(stages) != len(needs):
        return [
            f"it is of a query with {_counted(len(stages))}; this program needs "
            f"{_counted(len(needs))}"
        ]
    found = []
    for number, (holds, now) in enumerate(zip(stages, needs, strict=True), 1):
        place = f" (stage {number})" if len(needs) > 1 else ""
        found += [f"{problem}{place}" for problem in misfits(holds, now)]
    return found


def _counted(stages: int) -> str:
    return "one stage" if stages == 1 else f"{stages} stages"
