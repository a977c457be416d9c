"""A session as bytes, and back: the state of its generations, and how it was run.

A session that still has the program it began with is saved as the state of its only generation.
After another program took that one's place there may be several: each is saved behind a header that
has the text of the program that its rules come from. Bytes may come from anywhere: the text is
checked like any other program, and whatever is wrong with them is a StateError.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thence.engine.state.state import State, damaged, restore, save
from thence.generation import Generation, begun
from thence.model.errors import StateError, ThenceError
from thence.model.events import Events
from thence.plan.make import serving
from thence.rule_changes import changes

if TYPE_CHECKING:
    from thence.program import Program

VERSION = 1
_MAGIC = b"THENCE-SESSION\n"


def write_session(
    generations: Sequence[Generation], program: Program, extra: Mapping[str, Any]
) -> bytes:
    """A session as bytes. ``extra`` is how it was run, as JSON can say it."""
    (*earlier, last) = generations
    if not earlier and last.program is program and last.begin is None:
        return save(last.state, last.fingerprint, extra)
    saved = [save(each.state, each.fingerprint, {}) for each in generations]
    header = {
        "version": VERSION,
        "extra": dict(extra),
        "generations": [
            {
                "text": each.program.source.text,
                "planned": list(each.planned),
                "outputs": list(each.plan.outputs),
                "without": sorted(each.plan.off),
                "begin": each.begin,
                "bytes": len(data),
            }
            for each, data in zip(generations, saved, strict=True)
        ],
    }
    text = json.dumps(header).encode()
    body = b"".join([struct.pack(">I", len(text)), text, *saved])
    return _MAGIC + hashlib.sha256(body).digest() + body


def read_session(
    data: Any, first: Generation, tables: Mapping[str, Events]
) -> tuple[tuple[Generation, ...], dict[str, Any]]:
    """The generations of a session that was saved, and how it was run. ``first`` is the one that a
    new session of the same program would have; ``tables`` are the rows of static tables."""
    if not isinstance(data, (bytes, bytearray, memoryview)) or not bytes(data).startswith(_MAGIC):
        state, extra = restore(data, first.fingerprint)
        first.restored(state)
        return (first,), extra
    header, saved = _parts(bytes(data))
    told = header.get("extra")
    if not isinstance(told, dict):
        raise damaged("it does not say how the session was run")
    found = []
    for one, written in zip(header["generations"], saved, strict=True):
        generation = _generation(one, first, tables)
        generation.restored(restore(written, generation.fingerprint)[0])
        found.append(generation)
    _check_together(found, first)
    return tuple(found), told


def _parts(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header of a saved session, and the state of each of its generations."""
    begin = len(_MAGIC) + 32
    body = data[begin:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : begin] or len(body) < 4:
        raise StateError("the saved state is damaged or cut short: it fails its checksum")
    (length,) = struct.unpack(">I", body[:4])
    try:
        header = json.loads(body[4 : 4 + length])
    except (ValueError, RecursionError) as problem:
        raise damaged(f"its header cannot be read ({type(problem).__name__})") from None
    if not isinstance(header, dict) or header.get("version") != VERSION:
        raise damaged("its header is none that this version of Thence writes")
    told, place, saved = header.get("generations"), 4 + length, []
    for one in told if isinstance(told, list) and told else [None]:
        size = one.get("bytes") if isinstance(one, dict) else None
        if type(size) is not int or not 0 <= size <= len(body) - place:
            raise damaged("it does not say where its state is")
        saved.append(body[place : place + size])
        place += size
    if place != len(body):
        raise damaged("it is longer than its state")
    return header, saved


def _generation(
    told: Mapping[str, Any], first: Generation, tables: Mapping[str, Events]
) -> Generation:
    """A generation without its state, as the header of a saved session tells of it."""
    from thence.compiling import compile as compiled  # noqa: PLC0415 (programs make sessions)

    text, begin = told.get("text"), told.get("begin")
    planned, outputs, without = (_names(told, key) for key in ("planned", "outputs", "without"))
    if not isinstance(text, str):
        raise damaged("it does not say which rules it holds the state of")
    if begin is not None and type(begin) is not int:
        raise damaged("it does not say when its rules began")
    program = first.program
    if text != program.source.text or without != tuple(sorted(program.without)):
        try:
            program = compiled(text, without=without)
        except ThenceError as problem:
            raise damaged(f"the program in it is none: {problem}") from None
    if not {*planned, *outputs} <= {*program.plan.public} or not {*outputs} <= {*planned}:
        raise damaged("it holds the state of rules that its program does not have")
    plan = serving(first.how.plan(program, planned), outputs)
    return begun(program, plan, first.how, tables, State(), begin, planned)


def _names(told: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = told.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise damaged("it does not say which rules it holds the state of")
    return tuple(names)


def _check_together(generations: Sequence[Generation], first: Generation) -> None:
    """Refuse generations that are not, together, the program that is to go on."""
    later = first.program._checked.program
    outputs = [name for each in generations for name in each.plan.outputs]
    same = sorted(outputs) == sorted(first.plan.outputs)
    for each in generations:
        kept = changes(each.program._checked.program, later).kept
        same = same and set(each.plan.outputs) <= set(kept)
    if not same:
        raise StateError(
            "the saved state belongs to another program: restore it with the one that the session "
            "had when it was saved; session.replace then lets it go on with another"
        )
