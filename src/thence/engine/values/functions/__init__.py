"""The columnar form of every operator and function, by the names of ``logic/functions.py``."""

from __future__ import annotations

from thence.engine.values.functions.casts import CASTS
from thence.engine.values.functions.choices import CHOICES
from thence.engine.values.functions.conversions import Kernel
from thence.engine.values.functions.geometry import GEOMETRY
from thence.engine.values.functions.numbers import NUMBERS
from thence.engine.values.functions.strings import STRINGS
from thence.engine.values.functions.timestamp_parts import TIMES

KERNELS: dict[str, Kernel] = {**NUMBERS, **STRINGS, **TIMES, **CHOICES, **CASTS, **GEOMETRY}

__all__ = ["KERNELS"]
