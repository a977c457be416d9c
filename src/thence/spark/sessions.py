"""A quiet local Spark session with everything set that streams need.

``thence.spark.session()`` is a convenience: whoever has a session already, on a cluster or in a
notebook, gets that one back as it is, and :func:`thence.spark.detect` works on its DataFrames.

Spark's Java process writes warnings and start messages to its standard error, and so do the
processes it starts. They go to a file (:func:`log_file`) instead of the terminal, unless the
environment variable ``THENCE_SPARK_LOG`` is ``stderr``. Python's own standard error is untouched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from thence.model.errors import InputError
from thence.spark.jvm import jvm_running, log_file, start_jvm
from thence.spark.required import PySparkException, SparkConf, SparkContext, SparkSession
from thence.spark.shards import local_cores

__all__ = ["log_file", "session"]

STATE_STORE = "spark.sql.streaming.stateStore"
CHANGELOG = f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# What streams need, on whatever master.
STREAMING = {
    f"{STATE_STORE}.providerClass": ROCKSDB,
    CHANGELOG: "true",
}
# Spark asks the network who this machine is; a local session has no need to be reached.
_HERE = "127.0.0.1"
_CONNECT = "sc://"
_GIGABYTE = 1 << 30


def session(master: str | None = None, name: str = "thence", **conf: Any) -> SparkSession:
    """The active Spark session as it is, or else a new one: local and quiet unless told otherwise.

    ``master`` is Spark's (``local[4]``, ``spark://host:7077``, ``sc://host`` for Spark Connect);
    without it, what ``spark-submit`` or Spark's own configuration says, else ``local[*]``. Further
    settings have dots in their names: ``session(**{"spark.driver.memory": "4g"})``.
    """
    active = _existing()
    if active is not None:
        return active
    given = {key: _text(value) for key, value in conf.items()}
    if master is None:
        master = given.pop("spark.master", None)
    remote = master if master is not None and master.startswith(_CONNECT) else None
    if remote is not None or (master is None and _is_remote()):
        return _connect(remote, {**STREAMING, **given})
    return _start(master, name, given)


def _existing() -> SparkSession | None:
    """The session of this thread, or of another thread of this process."""
    active = SparkSession.getActiveSession()
    if active is not None or _is_remote():
        return active
    # Sessions are known by thread; one that another thread made is still the one to use. Made with
    # no settings at all, since settings would be applied to it.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def _is_remote() -> bool:
    return any(name in os.environ for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"))


def _connect(url: str | None, settings: Mapping[str, str]) -> SparkSession:
    """A session of a Connect server; what the server does not let a client set is left as it is."""
    builder = SparkSession.builder if url is None else SparkSession.builder.remote(url)
    try:
        connected = builder.getOrCreate()
        for key, value in settings.items():
            if connected.conf.isModifiable(key):
                connected.conf.set(key, value)
    except PySparkException as problem:
        where = url or os.environ.get("SPARK_REMOTE", "the Spark Connect server")
        raise InputError(f"No session with {where}: {problem}") from problem
    except ImportError as problem:
        raise InputError(
            f"Spark Connect needs more packages. Run: pip install 'pyspark[connect]' ({problem})"
        ) from None
    return connected


def _start(master: str | None, name: str, given: Mapping[str, str]) -> SparkSession:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    local = (master or "local").startswith("local") and not submitted
    with _environment(_local_environment(given) if local else {}):
        if not jvm_running():
            start_jvm({**({} if submitted else early_settings(local)), **given})
        # Only now is it known what spark-submit, its arguments and Spark's own files say.
        configured = dict(SparkConf().getAll())
        master = master or configured.get("spark.master", "local[*]")
        defaults = {key: configured.get(key, value) for key, value in settings(master).items()}
        chosen = {**defaults, "spark.master": master, **given}
        if "spark.app.name" not in given and not submitted:
            chosen["spark.app.name"] = name
        return SparkSession.builder.config(map=dict(chosen)).getOrCreate()


def early_settings(local: bool) -> dict[str, str]:
    """What has to be known when the Java process starts.

    >>> early_settings(local=False)
    {'spark.ui.showConsoleProgress': 'false'}
    """
    # The launcher takes Python for a shell, and turns the bars on where nothing is said.
    quiet = {"spark.ui.showConsoleProgress": "false"}
    if not local or "SPARK_DRIVER_MEMORY" in os.environ:
        return quiet
    return {**quiet, "spark.driver.memory": f"{driver_memory(_machine_memory())}m"}


def settings(master: str) -> dict[str, str]:
    """The defaults of a new session; whatever the user has set wins.

    >>> settings("local[3]")["spark.sql.shuffle.partitions"]
    '3'
    >>> "spark.driver.host" in settings("spark://host:7077")
    False
    """
    quiet = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        # Else Spark writes timestamps to Parquet in a form that others have given up.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    cores = local_cores(master)
    if cores is None:
        return {**STREAMING, **quiet}
    here = {
        "spark.driver.bindAddress": _HERE,
        "spark.driver.host": _HERE,
        "spark.sql.shuffle.partitions": str(cores),
        # With a limit in bytes Spark adds up a batch anew with every row that it hands to Python.
        # The limit in rows (10,000) stays.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    }
    return {**STREAMING, **quiet, **here}


def driver_memory(machine: int) -> int:
    """Megabytes for the Java process on a machine with so many bytes: a quarter, 1 to 8 GB.

    The rest is for the Python workers, which hold the events, and for everybody else.

    >>> driver_memory(16 * 2**30), driver_memory(2 * 2**30), driver_memory(256 * 2**30)
    (4096, 1024, 8192)
    """
    return min(max(machine // 4, _GIGABYTE), 8 * _GIGABYTE) >> 20


def _machine_memory() -> int:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return 4 * _GIGABYTE
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:  # noqa: PTH123
            return min(memory, int(limit.read()))
    except (OSError, ValueError):  # no container, or one without a limit
        return memory


def _local_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Workers on this machine run the same Python as the driver, with the same packages."""
    python = given.get("spark.pyspark.python", sys.executable)
    return {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": _HERE}


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Set variables that are not set yet, and take them away again."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
