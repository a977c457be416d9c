"""Spark's Java process: it writes its chatter to a file, and says plainly if it cannot start."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thence.io.temporary import keep, temporary_folder
from thence.model.errors import InputError
from thence.spark.required import PySparkException, SparkConf, SparkContext, launch_gateway

JAVA_NEEDED = 17
_LINES_SHOWN = 6


class _Log:
    """Where the Java process of this Python process writes; there is at most one."""

    path: Path | None = None


def log_file() -> Path | None:
    """The file with what Spark's Java process wrote on its standard error.

    None while there is no such process, or when its standard error was left alone. The file is
    removed when this process ends, unless somebody has asked for it here.
    """
    if _Log.path is not None:
        keep(_Log.path.parent)
    return _Log.path


def jvm_running() -> bool:
    """Whether this process has a Java process already, be it with a session or after one."""
    return SparkContext._gateway is not None


def start_jvm(conf: Mapping[str, str]) -> None:
    """Start the Java process with these settings, or use the one that ``spark-submit`` made."""
    settings = SparkConf(loadDefaults=False)
    settings.setAll(list(conf.items()))
    try:
        if os.environ.get("THENCE_SPARK_LOG") == "stderr":
            gateway = _launch(settings, {})
        else:
            _Log.path = _new_log()
            with _Log.path.open("wb") as log:
                gateway = _launch(settings, {"stderr": log})
    except (PySparkException, OSError) as problem:
        raise InputError(_why_not(problem)) from None
    SparkContext._ensure_initialized(gateway=gateway)


def _launch(settings: SparkConf, popen_kwargs: dict[str, Any]) -> Any:
    return launch_gateway(settings, popen_kwargs)  # type: ignore[no-untyped-call]


def _new_log() -> Path:
    return temporary_folder("thence-spark-") / "spark.log"


def _why_not(problem: Exception) -> str:
    """What to tell somebody whose Java process did not start."""
    version = java_version()
    install = (
        f"Install Java {JAVA_NEEDED} or newer (Debian, Ubuntu: apt-get install "
        f"openjdk-{JAVA_NEEDED}-jre-headless; macOS: brew install openjdk@{JAVA_NEEDED}) and set "
        "JAVA_HOME to it. Without Java, program.run(…) and 'thence run --engine embedded' work."
    )
    if version is None:
        return f"Spark needs Java, and there is none. {install}"
    if version < JAVA_NEEDED:
        return f"Spark needs Java {JAVA_NEEDED} or newer, and this is Java {version}. {install}"
    text = "Spark's Java process ended while it started."
    log = log_file()
    if log is None:
        return f"{text} {problem}"
    last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    shown = "".join(f"\n  {line.strip()}" for line in last[-_LINES_SHOWN:])
    return f"{text} The end of its log, {log}:{shown}"


def java_version() -> int | None:
    """The major version of the Java that Spark would use, or None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    try:
        said: Any = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return major_version(said.stderr + said.stdout)


def major_version(text: str) -> int | None:
    """The major version in what ``java -version`` says.

    >>> major_version('openjdk version "17.0.2" 2022-01-18'), major_version('version "1.8.0_292"')
    (17, 8)
    >>> major_version("command not found") is None
    True
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
