"""Whether a stream can go on from a checkpoint with the program as it is now.

Each shard checks the state that it reads (``shard_state.py``), which is safe but late: the query
has started by then, and what one sees is an exception of an executor. Where the checkpoint is a
local folder, a note in it tells beforehand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thence.input_times import delays_of
from thence.model.errors import InputError, StateError
from thence.program import Program
from thence.spark.chain import Chain
from thence.spark.compatibility import checked_misfits, refusal
from thence.spark.generations import Replaced, lineup, program_of, stream_chains
from thence.spark.shard_generations import refuse_early, taken_by
from thence.spark.shard_state import READS, SEVERAL, VERSION
from thence.spark.shards import check_shards, stream_partitions

NOTE = "thence.json"


def check_restart(
    checkpoint: str | Path,
    program: Program | Replaced,
    emit: Any = None,
    *,
    spark: Any,
    max_delay: Any = None,
    lineage: bool = False,
    shards: int | None = None,
    late: bool = False,
    allow_unbounded: bool = False,
) -> None:
    """Refuse to go on from a checkpoint whose state does not fit; note in it what will be there.

    The arguments are those that :func:`detect` is called with, and the session. With
    :func:`replaced`, rules are refused as well that would begin before what the query has taken. A
    folder that does not exist yet, or has no note, is a new checkpoint.
    """
    check_shards(shards)
    current = program_of(program)
    lined = lineup(program, current._emitted(emit), lineage)
    count = shards or stream_partitions(spark)
    chains = stream_chains(lined, count, lineage, late, allow_unbounded)
    delays = delays_of(max_delay, current.plan.inputs)
    folder = Path(checkpoint)
    note = folder / NOTE
    noted = _noted(note)
    if noted is not None:
        problems = _problems(noted, chains)
        if problems:
            raise StateError(refusal(problems))
        taken = taken_by(_watermark(folder), max(delays.values(), default=0) // 1000)
        for chain in chains:
            if chain.begin is not None and chain.begin not in _generations(noted):
                refuse_early(chain.begin, taken)
    written = json.dumps(_note_of(chains), indent=2)
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


def _problems(noted: Mapping[str, Any], chains: Sequence[Chain]) -> list[str]:
    if noted.get("version") not in (*READS, SEVERAL):
        return [f"it has format version {noted.get('version')}, and not {SEVERAL} or before"]
    generations, length = _generations(noted), _length(noted)
    if not generations or length is None:
        return ["it does not say what it holds"]
    end = chains[0].end
    if length != end:
        return [f"it is of a query with {_counted(length)}; this program needs {_counted(end)}"]
    found = []
    for chain in chains:
        stages = generations.get(chain.begin, [])
        if chain.begin is None and len(stages) < len(chain.hops):
            found.append("it holds nothing of rules that were there from the beginning")
        for number, (holds, now) in enumerate(zip(stages, chain.holds, strict=False), 1):
            place = f" (stage {number})" if end > 1 else ""
            found += [f"{problem}{place}" for problem in checked_misfits(holds, now)]
    return found


def _note_of(chains: Sequence[Chain]) -> dict[str, Any]:
    """What is noted of a query: what its state holds, and where there are several generations of
    rules, or one that began later, that of each."""
    if [chain.begin for chain in chains] == [None] and len(chains[0].hops) == chains[0].end:
        return {"version": VERSION, "stages": chains[0].holds}
    each = [{"begin": chain.begin, "stages": chain.holds} for chain in chains]
    return {"version": SEVERAL, "length": chains[0].end, "generations": each}


def _generations(noted: Mapping[str, Any]) -> dict[int | None, list[Any]]:
    """What is noted of each generation, by when it began; nothing where that is not said."""
    told = noted.get("generations")
    if noted["version"] != SEVERAL:
        told = [{"begin": None, "stages": noted.get("stages")}]
    found: dict[int | None, list[Any]] = {}
    for one in told if isinstance(told, list) else []:
        stages = one.get("stages") if isinstance(one, dict) else None
        if not isinstance(stages, list):
            return {}
        begin = one.get("begin")
        found[begin if type(begin) is int else None] = stages
    return found


def _length(noted: Mapping[str, Any]) -> int | None:
    """How many stages the query has."""
    stages = noted.get("stages")
    told = noted.get("length") if noted["version"] == SEVERAL else None
    if noted["version"] != SEVERAL and isinstance(stages, list):
        told = len(stages)
    return told if type(told) is int else None


def _watermark(folder: Path) -> int:
    """The watermark, in milliseconds, with which Spark would go on from a checkpoint; 0 where that
    cannot be told, since the shards will know."""
    try:
        numbers = [int(path.name) for path in (folder / "commits").iterdir() if path.name.isdigit()]
        last = (folder / "commits" / str(max(numbers))).read_text(encoding="utf-8")
        told = json.loads(last.partition("\n")[2])["nextBatchWatermarkMs"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return told if type(told) is int else 0


def _counted(stages: int) -> str:
    return "one stage" if stages == 1 else f"{stages} stages"
