"""The layout of the code: who may import whom, how long a file may be, what must not be in it."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "thence"
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE = 600
MOST_FIELDS = 19

# Spark sends tasks to its executors as pickles; these are made by the driver of the very query.
CARRIES_TASKS = {PACKAGE / "spark" / "carry.py"}

# Modules that stand directly in src/thence, such as program.py, go by this name.
TOP = "top"

CORE = {"model", "lang", "logic", "plan", "engine", "io", "knowledge", "prob", "actions", TOP}

MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "io": {"model"},
    "logic": {"model"},
    "lang": {"model", "logic"},
    "plan": {"model", "logic"},
    "engine": {"model", "logic", "plan"},
    "knowledge": {"model", "logic", "plan", "engine"},
    "prob": {"model", "logic", "plan", "engine"},
    "actions": {"model", "io", "logic", "lang", "plan", "engine"},
    TOP: CORE,
    "spark": CORE,
    "studio": CORE | {"spark", "viz"},
    "viz": CORE | {"spark"},
    "demo": CORE | {"spark", "studio", "viz"},
    "cli": CORE | {"spark", "studio", "viz", "demo"},
}

# The folders of a package, from the ground up: each may import those before it, and itself.
FOLDERS: dict[str, tuple[str, ...]] = {
    "engine": (
        "arrays",
        "values",
        "aggregates",
        "limits",
        "join",
        "window",
        "repetition",
        "policy",
        "output",
        "state",
        "run",
        "provenance",
        "progress",
    ),
}


def part_of(module: str) -> str:
    """The part of Thence that a dotted module name belongs to.

    >>> part_of("thence.engine.join.join"), part_of("thence.program"), part_of("thence")
    ('engine', 'top', 'top')

    ``python -m thence`` is the command line:

    >>> part_of("thence.__main__")
    'cli'
    """
    names = module.split(".")
    if names[1:2] == ["__main__"]:
        return "cli"
    return names[1] if len(names) > 1 and names[1] in MAY_IMPORT else TOP


def module_name(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@cache
def tree(path: Path) -> ast.Module:
    """A source file, parsed once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """Each module of Thence that a file imports, wherever in the file, with the line."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from thence import engine` imports the package, not a name of the top level.
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return tuple(found)


@pytest.fixture(scope="module", autouse=True)
def forgotten_at_the_end() -> Iterator[None]:
    """No later test carries the parsed files along."""
    yield
    tree.cache_clear()


def files_of_the_project() -> list[Path]:
    """Every text file that is, or would be, part of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.splitlines()]
    else:  # an unpacked archive
        hidden = {".venv", "build", "dist", ".git"}
        found = [p for p in ROOT.rglob("*") if not hidden & set(p.relative_to(ROOT).parts)]
    return [path for path in found if path.is_file() and b"\0" not in path.read_bytes()]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    own = part_of(module_name(path))
    wrong = [
        f"line {line}: {own} may not import {name}"
        for line, name in imports(path)
        if name.split(".")[0] == "thence"
        and part_of(name) != own
        and part_of(name) not in MAY_IMPORT[own]
    ]
    assert not wrong


def folder_of(module: str, folders: tuple[str, ...]) -> int | None:
    """The place of a module's folder among those of its package."""
    name = ".".join(module.split(".")[2:3])
    return folders.index(name) if name in folders else None


@pytest.mark.parametrize("package", FOLDERS)
def test_folders_of_a_package_import_one_way(package: str) -> None:
    folders = FOLDERS[package]
    wrong = []
    for path in sorted((PACKAGE / package).rglob("*.py")):
        own = folder_of(module_name(path), folders)
        for line, name in imports(path):
            other = folder_of(name, folders) if part_of(name) == package else None
            if own is not None and other is not None and other > own:
                wrong.append(f"{path.name}, line {line}: {folders[own]} may not import {name}")
    assert not wrong


@pytest.mark.parametrize("package", FOLDERS)
def test_every_folder_of_a_package_has_its_place(package: str) -> None:
    found = {path.parent.name for path in (PACKAGE / package).glob("*/__init__.py")}
    assert found == set(FOLDERS[package])


def test_every_package_stands_in_the_import_table() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= set(MAY_IMPORT)


def test_the_import_table_has_no_cycles() -> None:
    settled: set[str] = set()
    while ready := {
        part for part in MAY_IMPORT if part not in settled and MAY_IMPORT[part] - {part} <= settled
    }:
        settled |= ready
    assert settled == set(MAY_IMPORT)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_files_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST_FILE


def own_fields(node: ast.ClassDef) -> set[str]:
    """The fields that a class has itself: those it declares, its slots, and what methods set.

    >>> text = "class A:\\n x: int\\n y: ClassVar[int]\\n def f(me): me.z, me.v.u = 1, 2"
    >>> sorted(own_fields(ast.parse(text).body[0]))
    ['x', 'z']
    """
    found = set()
    for part in node.body:
        match part:
            case ast.AnnAssign(target=ast.Name(name), annotation=kind):
                if "ClassVar" not in ast.unparse(kind):
                    found.add(name)
            case ast.Assign(targets=[ast.Name("__slots__")], value=value):
                slots = (each for each in ast.walk(value) if isinstance(each, ast.Constant))
                found.update(str(each.value) for each in slots)
            case ast.FunctionDef(args=ast.arguments(args=[first, *_])):
                found.update(
                    each.attr
                    for each in ast.walk(part)
                    if isinstance(each, ast.Attribute)
                    and isinstance(each.ctx, ast.Store)
                    and isinstance(each.value, ast.Name)
                    and each.value.id == first.arg
                )
    return found


def test_no_class_has_twenty_fields() -> None:
    """What one inherits counts as well."""
    found = [
        (node.name, own_fields(node), {ast.unparse(base) for base in node.bases})
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    ]

    def fields(own: set[str], bases: set[str]) -> set[str]:
        above = [fields(more, over - {name}) for name, more, over in found if name in bases]
        return own.union(*above)

    many = [name for name, own, bases in found if len(fields(own, bases - {name})) > MOST_FIELDS]
    assert not many


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_nothing_is_executed_that_was_read(path: Path) -> None:
    """Neither `eval` and `exec` nor unpickling: text and saved state come from anywhere."""
    called = {
        node.func.id
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec", "__import__"}
    if path in CARRIES_TASKS:
        return
    imported = {name.split(".")[0] for _, name in imports(path)}
    assert not imported & {"pickle", "cloudpickle", "marshal", "shelve", "dill"}


def test_no_file_names_a_place_that_only_one_machine_has() -> None:
    """Package registries come from the user's own settings, and paths from where the clone is."""
    # Put together here, so that this file does not itself hold what it looks for.
    hosts = [
        ".".join(words)
        for words in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("maven", "org"),
            ("npmjs", "org"),
            ("crates", "io"),
        )
    ]
    homes = [rf"(?<![\w.]){'/' + folder}/\w" for folder in ("home", "root", "Users", "work")]
    places = re.compile("|".join([*map(re.escape, hosts), *homes]))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in files_of_the_project()
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if places.search(line)
    ]
    assert not found


def test_words_that_only_we_used_are_gone() -> None:
    """Names in the code are words of the field; the glossary has them."""
    ours = re.compile(r"\b_?(?:makings?|beside|judged|gates?|wanted)\b")
    names = [
        f"{path.name}: {node.id if isinstance(node, ast.Name) else node.arg}"
        for path in SOURCES
        if "demo" not in path.parts
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Name) and ours.fullmatch(node.id))
        or (isinstance(node, ast.arg) and ours.fullmatch(node.arg))
    ]
    assert not names


SAME_JOB = {
    "__init__", "body", "build", "errors", "events", "explain", "facts", "files", "frames",
    "heads", "lower", "moments", "names", "program", "progress", "pushdown", "reactions", "schema",
    "scope",
    "stream", "syntax", "table_changes", "text", "trace", "types", "values", "windows",
}  # fmt: skip
"""File names that stand in several packages because each does there what its kin does."""


def test_a_file_name_stands_for_one_job() -> None:
    names = [path.stem for path in SOURCES]
    assert {name for name in names if names.count(name) > 1} <= SAME_JOB
