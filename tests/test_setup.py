"""Setting up: the Makefile's targets, and how a Java runtime is seen to.

The commands that would change the machine are replaced by scripts that write down how they were
called.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FROM_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""What an enclosing make hands down, and by which another one sees that it is inside."""

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


def make(*arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in FROM_MAKE}
    done = subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@needs_make
def test_make_alone_lists_the_targets() -> None:
    listed = make()
    assert listed == make("help")
    for target in ("run", "test", "test-long", "bench", "lint", "clean"):
        assert f"  make {target} " in listed


@needs_make
def test_what_the_targets_do_stands_in_one_column() -> None:
    lines = make("help").splitlines()
    columns = {re.match(r"  make [a-z-]+ +", line).end() for line in lines}  # type: ignore[union-attr]
    assert len(columns) == 1


@needs_make
def test_make_test_checks_style_then_types_then_behaviour() -> None:
    steps = make("-n", "test")
    places = [steps.index(step) for step in ("ruff check", "ruff format", "mypy", "in_halves")]
    assert places == sorted(places)


@needs_make
def test_set_up_is_done_anew_when_the_requirements_change() -> None:
    assert "tools/setup dev" in make("-n", "-W", "requirements-dev.txt", "test")
    assert "tools/setup run" in make("-n", "-W", "requirements.txt", "run")


@pytest.mark.parametrize("script", ["tools/setup", "tools/setup-java", ".ci/run"])
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = (ROOT / script).read_text(encoding="utf-8").splitlines()[0].split()[-1].split("/")[-1]
    subprocess.run([shell, "-n", script], cwd=ROOT, check=True)


def pins(name: str) -> dict[str, str]:
    """What a requirements file pins, each name in the spelling that all tools agree on."""
    found: dict[str, str] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= pins(line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            package, exactly, version = line.partition("==")
            assert exactly, f"{name}: {line} has no exact version"
            found[package.lower().replace("_", "-")] = version
    return found


def test_whatever_the_package_needs_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["dependencies"]) <= set(pins("requirements.txt"))


def test_every_pinned_package_is_explained() -> None:
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    missing = [
        name for name in pins("requirements-dev.txt") if name not in explained.replace("_", "-")
    ]
    assert not missing


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class Machine:
    """A pretended machine: a PATH of its own, with only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bin"
        self.path.mkdir()
        self.log = folder / "log"
        self.log.touch()
        for name in ("sh", "sed", "head", "mv"):
            (self.path / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        self.program("id", "echo 0")

    def program(self, name: str, body: str) -> None:
        script = self.path / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\n{body}\n')
        script.chmod(0o755)

    def java(self, version: str) -> str:
        """The body of a java program of that version."""
        return f"echo 'openjdk version \"{version}\" 2024-01-16' >&2"

    def installer(self, name: str, package: str) -> None:
        """A package manager that knows one package, which brings a Java 17."""
        self.program("new-java", self.java("17.0.9"))
        new = (self.path / "new-java").rename(self.path.parent / "new-java")
        self.program(
            name,
            'case "$*" in\n  *update*) exit 0 ;;\n'
            f'  *{package}*) mv "{new}" "{self.path}/java" ;;\n  *) exit 100 ;;\nesac',
        )

    def set_up_java(self, **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            [str(self.path / "sh"), str(ROOT / "tools" / "setup-java")],
            env={"PATH": str(self.path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def calls(self, name: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if line.startswith(f"{name} ")]


@pytest.mark.parametrize("version", ["17.0.2", "21", "25-ea"])
def test_a_java_that_is_new_enough_is_left_alone(machine: Machine, version: str) -> None:
    machine.program("java", machine.java(version))
    machine.installer("apt-get", "openjdk-17-jre-headless")
    assert machine.set_up_java() == (0, "")
    assert not machine.calls("apt-get")


def test_java_home_counts(machine: Machine) -> None:
    home = machine.path.parent / "jdk"
    (home / "bin").mkdir(parents=True)
    machine.program("java", machine.java("17.0.1"))
    (machine.path / "java").rename(home / "bin" / "java")
    assert machine.set_up_java(JAVA_HOME=str(home)) == (0, "")


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2"])
@pytest.mark.parametrize(
    ("manager", "package"),
    [
        ("apt-get", "openjdk-17-jre-headless"),
        ("dnf", "java-21-openjdk-headless"),
        ("apk", "openjdk17-jre-headless"),
        ("brew", "openjdk@21"),
    ],
)
def test_an_old_java_is_replaced(
    machine: Machine, manager: str, package: str, version: str
) -> None:
    machine.program("java", machine.java(version))
    machine.installer(manager, package)
    code, said = machine.set_up_java()
    assert (code, said) == (0, f"thence: installing a Java runtime with {manager} (for Spark)\n")
    assert any(package in call for call in machine.calls(manager))


def test_without_a_package_manager_one_line_says_what_to_install(machine: Machine) -> None:
    code, said = machine.set_up_java()
    assert code == 1
    assert said.count("\n") == 1
    assert "install a Java 17 runtime by hand" in said


def test_without_rights_one_line_says_what_to_run(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    machine.program("sudo", "exit 1")
    machine.installer("apt-get", "openjdk-17-jre-headless")
    code, said = machine.set_up_java()
    assert code == 1
    assert said.count("\n") == 1
    assert "run as root: apt-get install openjdk-21-jre-headless" in said
    assert not machine.calls("apt-get")


def test_a_failed_installation_is_said(machine: Machine) -> None:
    machine.program("dnf", "exit 1")
    code, said = machine.set_up_java()
    assert code == 1
    assert "dnf could not install it; install one of: java-21-openjdk-headless" in said
