"""The columnar form of every operator and function, by the names of ``logic/functions.py``."""

from __future__ import annotations

from thence.engine.functions.casts import CASTS
from thence.engine.functions.choices import CHOICES
from thence.engine.functions.numbers import NUMBERS
from thence.engine.functions.strings import STRINGS
from thence.engine.functions.times import TIMES
from thence.engine.functions.values import Kernel

KERNELS: dict[str, Kernel] = {**NUMBERS, **STRINGS, **TIMES, **CHOICES, **CASTS}

__all__ = ["KERNELS"]
