"""Spark as it is installed, in a folder of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

LEFT_OUT = ("python", "work")


def spark_home(folder: Path) -> Path | None:
    """Make a home of Spark that has all of the package PySpark but a copy of its Python in a zip
    file; None where there is no PySpark.

    Workers then import the package that is installed, which Python has compiled already. From the
    zip file each would compile it anew, four times as long; and Spark gives up after ten seconds,
    which on a busy machine may be too early. Besides, executors may write here.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    folder.mkdir()
    for path in Path(found.origin).parent.iterdir():
        if path.name not in LEFT_OUT:
            (folder / path.name).symlink_to(path)
    return folder
