"""How far along the rules of a stream are, on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spark_feed import event, fed

import thence

pytestmark = pytest.mark.spark

RULES = """
event order(id string);
event shipped(id string);
completed(id) <- (o: order(id) seq s: shipped(id)) within 100 s;
twice(id)     <- (completed(id) seq completed(id)) within 100 s;
"""


def test_every_trigger_tells_what_is_in_progress(spark: Any, tmp_path: Path) -> None:
    with fed(spark, tmp_path, RULES, "id string", None, progress=True, shards=2) as stream:
        stream.push(event("order", 1, id="a"), event("order", 2, id="b"))
        rows = latest(stream.push(event("shipped", 10, id="a")))
        # rule, id, done, met, of, parts, awaiting, since, until, at
        assert [(row[0], row[1], row[2:5]) for row in rows] == [
            ("completed", "b", (0.5, 1, 2)),
            ("twice", "a", (0.5, 1, 2)),
        ]
        (part,), (awaited,) = json.loads(rows[0][5]), json.loads(rows[0][6])
        assert (part["label"], part["attributes"]) == ("o", {"id": "b"})
        assert (awaited["label"], awaited["what"]) == ("s", "event")
        assert rows[0][7:9] == (2, 102)
        assert latest(stream.push(event("order", 300, id="c")))[0][:2] == ("completed", "c")


def latest(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows of the last horizon of all."""
    last = max(row[-1] for row in rows)
    return [row for row in rows if row[-1] == last]


def test_a_batch_has_no_progress(spark: Any) -> None:
    from thence import spark as ts

    frame = spark.createDataFrame([], "type string, time timestamp, id string")
    with pytest.raises(thence.InputError, match="progress: a stream tells it"):
        ts.detect(thence.compile(RULES), frame, progress=True)
