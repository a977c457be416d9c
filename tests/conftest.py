"""Profiles of the tests: ``dev`` (the default), and ``long`` (THENCE_PROFILE=long), in which
generated tests try many more examples and tests that take long are run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import EMBEDDED, Command, Done
from hypothesis import HealthCheck, settings
from spark_home import spark_home

PROFILE = os.environ.get("THENCE_PROFILE", "dev")

COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("dev", max_examples=60, derandomize=True, **COMMON)
settings.register_profile("long", max_examples=5000, **COMMON)
settings.load_profile(PROFILE)

# Processes that tests start inherit these.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("spark-conf")))
if PROFILE != "long":
    # Java's second compiler takes more time than it saves in queries that run for seconds: with the
    # first one alone, Spark needs half of the CPU.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


def pytest_configure(config: pytest.Config) -> None:
    if "SPARK_HOME" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="thence-tests-")
        config.add_cleanup(folder.cleanup)
        home = spark_home(Path(folder.name) / "spark")
        if home is not None:
            os.environ["SPARK_HOME"] = str(home)
            config.add_cleanup(lambda: os.environ.pop("SPARK_HOME"))


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if PROFILE != "long" and item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes long: set THENCE_PROFILE=long"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests of this process: local, quiet, with few partitions."""
    from thence import spark as ts

    session = ts.session(master="local[2]", name="tests")
    yield session
    session.stop()


@pytest.fixture
def thence(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process; `thence run` without Spark, unless an engine is named."""
    from thence.cli.main import main

    def run(*arguments: object) -> Done:
        if arguments[0] == "run" and "--engine" not in arguments:
            arguments = (*arguments, *EMBEDDED)
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Done(int(caught.value.code or 0), out, err)

    return run
