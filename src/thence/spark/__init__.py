"""Thence on Spark: the same programs over DataFrames, batch or streaming.

>>> from thence import spark as ts
>>> ts.detect.__name__
'detect'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thence.spark.errors import explain_failure, explained
    from thence.spark.explanation import explain
    from thence.spark.generations import replaced
    from thence.spark.query import detect
    from thence.spark.reactions import react
    from thence.spark.restart import check_restart
    from thence.spark.sessions import log_file, session

__all__ = [
    "check_restart", "detect", "explain", "explain_failure", "explained", "log_file", "react",
    "replaced", "session",
]  # fmt: skip

# Executors import parts of this package; they must not load what only a driver needs.
_HOMES = {
    "check_restart": "thence.spark.restart",
    "detect": "thence.spark.query",
    "explain": "thence.spark.explanation",
    "explain_failure": "thence.spark.errors",
    "explained": "thence.spark.errors",
    "log_file": "thence.spark.sessions",
    "react": "thence.spark.reactions",
    "replaced": "thence.spark.generations",
    "session": "thence.spark.sessions",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'thence.spark' has no attribute '{name}'")
    import_module("thence.spark.required")  # says what to install where PySpark is missing
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
