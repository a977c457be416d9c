"""Profiles for the generated tests: ``dev`` (the default) and ``long`` (THENCE_PROFILE=long)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("dev", max_examples=100, derandomize=True, **COMMON)
settings.register_profile("long", max_examples=5000, **COMMON)
settings.load_profile(os.environ.get("THENCE_PROFILE", "dev"))
