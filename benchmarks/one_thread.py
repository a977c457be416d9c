"""Holds every library to one thread. Import it before anything that imports NumPy or Arrow."""

from __future__ import annotations

import os

os.environ.update(
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    NUMBA_NUM_THREADS="1",
    VECLIB_MAXIMUM_THREADS="1",
    ARROW_IO_THREADS="1",
)

import pyarrow as pa

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
