"""Tasks that bring Thence along: executors need not have it installed.

Spark sends a function to its executors as bytes, and what the function refers to must be
importable there. So the functions made here refer to nothing of Thence: they hold its source
files and the task, and where no Thence of this version is installed they import it from those
files, in memory. Executors need what PySpark's Arrow functions need anyway, pyarrow and NumPy, and
Numba where rules have policies or repetitions.
"""

from __future__ import annotations

import json
import lzma
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

import thence


@lru_cache(maxsize=1)
def source_files() -> Mapping[str, str]:
    """Every module of Thence by its dotted name; packages end with a dot.

    >>> files = source_files()
    >>> "thence." in files, "thence.engine.run.step" in files
    (True, True)
    """
    root = Path(thence.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        names = ("thence", *path.relative_to(root).with_suffix("").parts)
        name = ".".join(names[:-1]) + "." if names[-1] == "__init__" else ".".join(names)
        found[name] = path.read_text(encoding="utf-8")
    return found


@lru_cache(maxsize=1)
def packed_files() -> bytes:
    """The modules as bytes. They are small: what Spark sends as a broadcast variable, which is
    anything above 1 MB, does not reach the process that prepares a stateful operator."""
    return lzma.compress(json.dumps(dict(source_files())).encode())


def packed_task(task: Any) -> bytes:
    """A task as bytes."""
    return zlib.compress(pickle.dumps(task))


def carried(task: Callable[[Iterable[Any]], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """A function that does what a task does, wherever Spark sends it."""
    ready = installer()
    data = packed_task(task)

    def run(batches: Any) -> Iterator[Any]:
        return ready(data)(batches)  # type: ignore[no-any-return]

    return run


def carried_processor(work: Any) -> Any:
    """A stateful processor that does what some work does, wherever Spark sends it."""
    ready = installer()
    data = packed_task(work)
    # As types, not as text, which each task would send to Java to be read.
    content = StructType([StructField("content", BinaryType())])
    piece_of_run = StructType([StructField("name", StringType()), StructField("piece", LongType())])

    class Carried(StatefulProcessor):
        """Spark's side of the work: hands everything on.

        Spark makes one in a process of its own before each trigger, only to ask for the state that
        it will use. So Thence is loaded when there is something to do, not before.
        """

        def init(self, handle: Any) -> None:
            self._handle = handle
            self._header = handle.getValueState("state", content)
            self._runs = handle.getMapState("runs", piece_of_run, content)
            self._loaded: Any = None

        def _work(self) -> Any:
            if self._loaded is None:
                self._loaded = ready(data)
                self._loaded.begin(self._handle, self._header, self._runs)
            return self._loaded

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            return (Row(**values) for values in self._work().rows(key, rows, timerValues))

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            return (Row(**values) for values in self._work().timer(key, timerValues))

        def close(self) -> None:
            pass

    return Carried()


def installer() -> Callable[[bytes], Any]:
    """A function that sees to it that Thence can be imported, and then unpacks what it is given.

    It refers to nothing outside itself but the standard library.
    """
    packed, version = packed_files(), thence.__version__

    def ready(data: bytes) -> Any:
        import gc  # noqa: PLC0415
        import importlib.abc  # noqa: PLC0415
        import importlib.metadata  # noqa: PLC0415
        import importlib.util  # noqa: PLC0415
        import json  # noqa: PLC0415
        import lzma  # noqa: PLC0415
        import pickle  # noqa: PLC0415
        import sys  # noqa: PLC0415
        import zlib  # noqa: PLC0415

        def installed() -> bool:
            if "thence" in sys.modules:
                known = getattr(sys.modules["thence"], "__version__", None)
                if known != version:
                    raise ImportError(
                        f"this executor has loaded Thence {known}, the query brings {version}: "
                        "restart the executor"
                    )
                return True
            if importlib.util.find_spec("thence") is None:
                return False
            try:
                return importlib.metadata.version("thence") == version
            except importlib.metadata.PackageNotFoundError:
                return False

        class Carried(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
            """Finds and loads the modules of Thence that the query brought along."""

            def __init__(self, files: dict[str, str]) -> None:
                self.files = files

            def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
                if fullname in self.files or self.is_package(fullname):
                    return importlib.util.spec_from_loader(
                        fullname, self, origin="<carried>", is_package=self.is_package(fullname)
                    )
                return None

            def is_package(self, fullname: str) -> bool:
                return fullname + "." in self.files

            def get_source(self, fullname: str) -> str:
                return self.files[fullname if fullname in self.files else fullname + "."]

            def get_code(self, fullname: str) -> Any:
                return self.source_to_code(self.get_source(fullname), f"<carried {fullname}>")

        if not installed():
            sys.meta_path.insert(0, Carried(json.loads(lzma.decompress(packed))))
        task = pickle.loads(zlib.decompress(data))  # noqa: S301 (made by this very query)
        if gc.get_freeze_count() == 0:
            # Spark's Python collects garbage after every task, and would go through all that has
            # been imported by now each time; that stays anyway.
            gc.freeze()
        return task

    return ready
