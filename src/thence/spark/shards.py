"""Over how many shards work is spread where nobody says."""

from __future__ import annotations

import os
import re
from typing import Any

from thence.model.errors import InputError

_LOCAL = re.compile(r"local(?:\[\s*(\*|\d+)\s*(?:,.*)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,.*\]")


MOST_SHARDS = 10_000


def check_shards(shards: Any) -> None:
    """Refuse what is no number of shards; None leaves it open.

    >>> check_shards("x")
    Traceback (most recent call last):
    ...
    thence.model.errors.InputError: shards must be a whole number from 1 to 10,000, not 'x'
    """
    if shards is None:
        return
    if type(shards) is not int or not 1 <= shards <= MOST_SHARDS:
        raise InputError(f"shards must be a whole number from 1 to {MOST_SHARDS:,}, not {shards!r}")


def batch_shards(spark: Any) -> int:
    """The number of tasks that can run at once, as far as the session's settings tell; else its
    number of shuffle partitions."""
    parallel = _setting(spark, "spark.default.parallelism") or parallel_tasks(
        _setting(spark, "spark.master") or "",
        _setting(spark, "spark.executor.instances"),
        _setting(spark, "spark.executor.cores"),
    )
    return max(1, int(parallel)) if parallel else stream_partitions(spark)


def parallel_tasks(master: str, executors: str | None, cores: str | None) -> int | None:
    """How many tasks a master runs at once; None where its name does not tell.

    >>> parallel_tasks("local[2]", None, None)
    2
    >>> parallel_tasks("local-cluster[2,3,1024]", None, None)
    6
    >>> parallel_tasks("yarn", "8", "4"), parallel_tasks("yarn", None, None)
    (32, None)
    """
    local = local_cores(master)
    if local is not None:
        return local
    if executors and cores:
        return int(executors) * int(cores)
    return None


def local_cores(master: str) -> int | None:
    """How many tasks a local master runs at once; None for a cluster.

    >>> local_cores("local"), local_cores("local[4]"), local_cores("local-cluster[2,1,1024]")
    (1, 4, 2)
    >>> local_cores("yarn") is None
    True
    """
    if found := _LOCAL.fullmatch(master):
        return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)
    if found := _LOCAL_CLUSTER.fullmatch(master):
        return int(found[1]) * int(found[2])
    return None


def stream_partitions(spark: Any) -> int:
    """The number of partitions of every stateful operator: Spark's own setting."""
    return int(spark.conf.get("spark.sql.shuffle.partitions"))


def _setting(spark: Any, key: str) -> str | None:
    found: str | None = spark.conf.get(key, None)
    return found
