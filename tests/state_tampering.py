"""Saved state that somebody has changed, with a checksum that is right again.

Run as a program, it restores thousands of such states and goes on from each, in a process of its
own, so that a crash of Arrow's is seen for what it is. It prints how often each outcome came, and
ends with 1 on anything but an answer or a clear error.
"""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from hashlib import sha256
from typing import Any

import thence

SECOND = 1_000_000
MAGIC = b"THENCE-STATE\n"
TYPES = (
    "event a(k int, s string, l list<string>, m decimal(9, 2), t timestamp); "
    "event b(k int, s string, l list<string>, m decimal(9, 2), t timestamp);\n"
)
PROGRAMS = {
    "join": ("r(x.s, x.l, x.m, x.t) <- (x: a(k=k) seq y: b(k=k)) within 60 s;", False),
    "lineage": ("q(k, s) <- a(k=k, s=s); r(s) <- (q(k, s) seq b(k=k)) within 60 s;", True),
    "policy": ("r(k, x.s) <- (x: a(k=k) seq y: b(k=k)) within 60 s using chronicle;", False),
    "absence": ("r(k, s) <- x: a(k=k, s=s), w: extend(x, 60 s), while w: not b(k=k, s=s);", False),
    "collect": (
        "r(k, list(s)) <- x: a(k=k), w: extend(x, 60 s), while w: collect b(k=k, s=s);", False
    ),
}  # fmt: skip


def rows(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "k": n % 3, "s": None if n % 5 == 0 else f"text {n}é" * (n % 4),
            "l": None if n % 7 == 0 else ["x" * i for i in range(n % 4)],
            "m": Decimal(n) / 4, "t": n * SECOND, "time": (first + n) * SECOND,
        }
        for n in range(count)
    ]  # fmt: skip


def sessions() -> Iterator[tuple[str, thence.Program, bool, bytes]]:
    """Programs, and what a session of each has saved."""
    for name, (rule, lineage) in PROGRAMS.items():
        program = thence.compile(TYPES + rule)
        session = program.session("5 s", lineage=lineage)
        session.push({"a": rows(0, 15), "b": rows(3, 15)})
        yield name, program, lineage, session.save()


def sealed(body: bytes) -> bytes:
    return MAGIC + body + sha256(body).digest()


def parts(saved: bytes) -> tuple[dict[str, Any], bytes]:
    body = saved[len(MAGIC) : -32]
    (length,) = struct.unpack(">I", body[:4])
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def joined(header: Any, payload: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return sealed(struct.pack(">I", len(text)) + text + payload)


NUMBERS = [-1, 0, 1, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**30]
LONG = [-1, 0, 2**31, 2**62, 2**63 - 1, -(2**63)]
VALUES = [None, True, -1, 0, 2**70, 1.5, float("nan"), "x", "", [], [[]], {}, {"x": 1}, "events"]


def changed_payload(source: random.Random, payload: bytes) -> bytes:
    """The tables with one of many kinds of damage."""
    data = bytearray(payload)
    place = source.randrange(len(data))
    kind = source.randrange(7)
    if kind == 0:
        data[place] ^= 1 << source.randrange(8)
    elif kind == 1:  # offsets of texts and lists are whole numbers of 32 bits
        struct.pack_into("<i", data, place // 4 * 4 % (len(data) - 4), source.choice(NUMBERS))
    elif kind == 2:  # times, lengths and Arrow's own figures have 64
        struct.pack_into("<q", data, place // 8 * 8 % (len(data) - 8), source.choice(LONG))
    elif kind == 3:
        end = min(len(data), place + source.randrange(1, 64))
        data[place:end] = source.randbytes(end - place)
    elif kind == 4:
        end = min(len(data), place + source.randrange(1, 64))
        data[place:end] = b"\0" * (end - place)
    elif kind == 5:
        other = source.randrange(len(data))
        size = source.randrange(1, 128)
        data[place : place + size] = data[other : other + size]
    else:
        for _ in range(source.randrange(2, 30)):
            data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data)


def changed_header(source: random.Random, header: Any) -> Any:
    """The header with one value, anywhere in it, gone or another one."""
    whole = json.loads(json.dumps(header))
    node, steps = whole, source.randrange(1, 4)
    for _ in range(steps):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = source.choice(keys)
        if isinstance(node[key], (dict, list)) and node[key] and source.random() < 0.7:
            node = node[key]
            continue
        action = source.randrange(3)
        if action == 0:
            del node[key]
        elif action == 1 and isinstance(node, dict):
            node[source.choice(["x", "c.s", "", "a", "q", "r/0|a"])] = node.pop(key)
        else:
            node[key] = source.choice(VALUES)
        break
    return whole


def tampered(source: random.Random, saved: bytes, count: int) -> Iterator[bytes]:
    header, payload = parts(saved)
    for _ in range(count):
        if source.random() < 0.75:
            yield joined(header, changed_payload(source, payload))
        else:
            yield joined(changed_header(source, header), payload)
    for deep in (b"[" * 10_000, b'{"a":' * 10_000, b"[" * 10_000 + b"]" * 10_000):
        yield joined(deep, payload)
    yield joined({**header, "extra": [[]]}, payload)


def outcome(program: thence.Program, lineage: bool, state: bytes) -> str:
    """What comes of going on from a state: an answer, or an error of Thence's."""
    try:
        session = program.session(state=state, lineage=lineage)
    except thence.StateError:
        return "refused"
    try:
        for first in (20, 40):
            found = session.push({"a": rows(first, 5), "b": rows(first + 2, 5)})
            for table in found.values():
                table.validate(full=True)
                table.to_pylist()
        session.advance("2100-01-01T00:00:00Z")
        program.session(state=session.save(), lineage=lineage)
    except thence.EvaluationError:  # a number was changed into one with which nothing computes
        return "not computed"
    return "answered"


def main(seed: int, count: int) -> int:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    source = random.Random(seed)
    found: Counter[str] = Counter()
    for name, program, lineage, saved in sessions():
        assert outcome(program, lineage, saved) == "answered"
        for number, state in enumerate(tampered(source, saved, count)):
            try:
                found[outcome(program, lineage, state)] += 1
            except Exception:  # noqa: BLE001 (whatever it is, it is what we look for)
                traceback.print_exc()
                print(f"{name}, state {number}", file=sys.stderr)
                return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
