"""The documentation is true: what it shows is run, and what it lists is compared with the code."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_pages import (
    PAGES,
    ROOT,
    TAGS,
    Block,
    agrees,
    blocks,
    code,
    commands,
    drawings,
    prose,
    rows,
    section,
)

import thence
from thence.cli.main import app, main
from thence.lang.sql.clause import OPERATORS
from thence.lang.timers import TIMERS
from thence.lang.words import (
    AGGREGATES,
    FUNCTIONS,
    INFIX,
    PATTERN_OPERATORS,
    RESERVED,
    TYPE_ALIASES,
)
from thence.model.schema import RESERVED_ATTRIBUTES
from thence.model.time import UNITS

LANGUAGE = ROOT / "docs" / "language.md"
SQL = ROOT / "docs" / "sql.md"
PYTHON = ROOT / "docs" / "python.md"
CLI = ROOT / "docs" / "cli.md"
SPARK = ROOT / "docs" / "spark.md"
EXAMPLES = sorted((ROOT / "examples").glob("*/*.thence"))
ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]
NOT_RUN = {"pip", "git", "cd", "source", "python"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def of_tag(*tags: str) -> Any:
    found = [block for block in ALL_BLOCKS if block.tag in tags]
    return pytest.mark.parametrize("block", found, ids=lambda block: block.place)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, beside the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- what is shown


def on_spark(page: Path) -> Any:
    """A page, marked if its Python starts Spark."""
    python = (block.text for block in blocks(page) if block.tag == "python")
    marks = pytest.mark.spark if any("spark" in text for text in python) else ()
    return pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", [on_spark(page) for page in PAGES])
def test_the_python_of_a_page_prints_what_the_page_says(page: Path, desk: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.tag == "python":
            # Blank lines in front, so that a traceback names the line of the page.
            text = "\n" * (block.line - 1) + block.text
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(text, page, "exec"), names)  # noqa: S102 (our own documentation)
            assert agrees(printed.getvalue(), block.shows or ""), told(block, printed.getvalue())


def told(block: Block, shown: str) -> str:
    return f"{block.place} shows\n{shown}"


@pytest.mark.spark
@of_tag("console")
def test_commands_show_what_the_page_says(block: Block, desk: Path) -> None:
    status = 0
    for command, shows in commands(block):
        program, *arguments = shlex.split(command)
        if program == "make":
            assert set(arguments) <= make_targets(), command
        elif program not in NOT_RUN:
            status, shown = run(program, arguments, status)
            assert agrees(shown, shows), f"{block.place}: {command} shows\n{shown}"


def run(program: str, arguments: list[str], status: int) -> tuple[int, str]:
    """The exit code of a command, and what it shows."""
    if program == "cat":
        return 0, Path(arguments[0]).read_text(encoding="utf-8")
    if (program, *arguments) == ("echo", "$?"):
        return 0, f"{status}\n"
    assert program == "thence", f"the tests know no command '{program}'"
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),
        pytest.raises(SystemExit) as ended,
    ):
        main(arguments)
    return int(ended.value.code or 0), shown.buffer.getvalue().decode()


def make_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


@of_tag("thence", "thence events")
def test_programs_compile(block: Block) -> None:
    thence.compile(block.text + missing_events(block))


@of_tag("thence error")
def test_refusals_say_what_the_page_says(block: Block) -> None:
    with pytest.raises(thence.ProgramError) as refused:
        thence.compile(block.text + missing_events(block))
    assert agrees(f"{refused.value}\n", block.shows or ""), told(block, str(refused.value))


def missing_events(block: Block) -> str:
    """Declarations of the page's events, except those that the block declares itself."""
    shared = "".join(b.text for b in blocks(block.page) if b.tag == "thence events")
    own = set(re.findall(r"\bevent (\w+)", block.text))
    return "".join(
        declaration + "\n"
        for declaration in re.findall(r"^event [^;]*;", shared, re.MULTILINE)
        if not set(re.findall(r"^event (\w+)", declaration)) & own and block.tag != "thence events"
    )


@of_tag("timeline")
def test_drawings_show_where_patterns_occur(block: Block) -> None:
    second = 1_000_000
    for drawing in drawings(block):
        declared = "".join(f"event {name}();\n" for name in {*"abc", *drawing.events})
        program = thence.compile(f"{declared}r() <- {drawing.pattern};")
        events = {
            name: [{"start": s * second, "end": e * second} for s, e in drawn]
            for name, drawn in drawing.events.items()
        }
        found = program.run(events, until=drawing.horizon * second)["r"].to_pylist()
        shown = [(in_seconds(row["start"]), in_seconds(row["end"])) for row in found]
        assert shown == sorted(drawing.occurs), f"{block.place}: {drawing.pattern}"


def in_seconds(time: Any) -> int:
    return int(time.timestamp())


# -- what is listed


def test_every_operator_between_patterns_is_drawn() -> None:
    drawn = {
        word
        for block in blocks(LANGUAGE)
        if block.tag == "timeline"
        for drawing in drawings(block)
        for word in re.findall(r"\w+", drawing.pattern)
    }
    named = {name.rstrip("*+") for name in PATTERN_OPERATORS}
    assert INFIX | named | {"within", "not", "collect", "at"} <= drawn


def test_every_operator_of_event_sql_is_listed() -> None:
    listed = {
        name.lower()
        for row in rows(section(SQL, "EVENT"))
        for usage in code(row[0])
        for name in re.findall(r"\b[A-Z_]+[*+]?(?=\()", usage)
    }
    assert listed - {"not"} == OPERATORS


def test_the_timers_are_listed_as_they_are() -> None:
    listed = {row[0].strip("`"): code(row[1])[0] for row in rows(section(LANGUAGE, "Timers"))}
    described = {
        f"{name}(o, d)": f"[{_shifted(*shape[:2])}, {_shifted(*shape[2:])}]"
        for name, shape in TIMERS.items()
    }
    assert listed == described


def _shifted(anchor: str, factor: int) -> str:
    return f"o.{anchor}" + {0: "", 1: " + d", -1: " - d"}[factor]


def test_the_reserved_words_are_listed() -> None:
    assert set(code(section(LANGUAGE, "Reserved words"))) == RESERVED


def test_the_reserved_attributes_are_listed() -> None:
    assert set(code(section(LANGUAGE, "Reserved attributes"))) == RESERVED_ATTRIBUTES


def test_the_types_are_listed_with_their_other_names() -> None:
    listed: dict[str, str] = {}
    for name, others, *_ in rows(section(LANGUAGE, "Types")):
        kind = re.match(r"`(\w+)", name)
        assert kind is not None
        listed |= dict.fromkeys([kind[1], *code(others)], kind[1])
    assert listed == TYPE_ALIASES


def test_the_units_of_time_are_listed() -> None:
    listed = [unit for row in rows(section(LANGUAGE, "Durations")) for unit in code(row[0])]
    assert set(listed) | {"μs"} == set(UNITS)


def test_the_aggregates_are_listed() -> None:
    listed = {re.match(r"`(\w+)", row[0])[1] for row in rows(section(LANGUAGE, "Aggregates"))}  # type: ignore[index]
    assert listed == AGGREGATES


def function_examples() -> list[tuple[str, str]]:
    """(expression, value) of every example in the table of functions."""
    found = []
    for _, _, examples in rows(section(LANGUAGE, "Functions")):
        for example in code(examples):
            expression, arrow, value = example.partition(" → ")
            assert arrow, f"'{example}' does not say what it gives"
            found.append((expression, value))
    return found


def test_the_functions_are_listed() -> None:
    listed = [name for row in rows(section(LANGUAGE, "Functions")) for name in code(row[0])]
    names = [re.match(r"\w+", usage)[0] for usage in listed]  # type: ignore[index]
    assert sorted(set(names)) == sorted(FUNCTIONS)


def test_the_functions_give_what_the_examples_say() -> None:
    examples = function_examples()
    program = "event e(t timestamp, xs list<int>, missing int);\n" + "".join(
        f"f{number}({expression} as v) <- l: e(t, xs, missing);\n"
        for number, (expression, _) in enumerate(examples)
    )
    event = {
        "t": "2026-03-05T14:30:15Z", "xs": [10, 20, 30], "missing": None,
        "start": "2026-03-05T14:00:00Z", "end": "2026-03-05T14:30:15Z",
    }  # fmt: skip
    results = thence.compile(program).run({"e": [event]})
    wrong = [
        f"{expression} is {found}, not {value}"
        for number, (expression, value) in enumerate(examples)
        if (found := written(results[f"f{number}"].column("v"))) != value
    ]
    assert not wrong


def written(column: Any) -> str:
    """The only value of a column, as the language writes it."""
    from thence.model.time import format_duration, format_timestamp

    value = column[0].as_py()
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"'{value}'"
    if str(column.type).startswith("timestamp"):
        return format_timestamp(column[0].value)
    if str(column.type).startswith("duration"):
        return format_duration(column[0].value)
    return str(value)


def public(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls) if not name.startswith("_")}


def test_everything_public_in_python_is_described() -> None:
    text = PYTHON.read_text(encoding="utf-8")
    described = set(re.findall(r"\w+", " ".join(code(text))))
    names = set(thence.__all__).union(*map(public, (thence.Program, thence.Session)))
    assert names - described == set()


def test_everything_public_on_spark_is_described() -> None:
    from thence import spark as ts

    described = set(re.findall(r"\w+", SPARK.read_text(encoding="utf-8")))
    options = set(inspect.signature(ts.detect).parameters)
    assert (set(ts.__all__) | options) - described == set()


def test_every_command_and_option_is_described() -> None:
    text = CLI.read_text(encoding="utf-8")
    command_line: Any = typer.main.get_command(app)
    for name, command in command_line.commands.items():
        described = set(code(section(CLI, f"thence {name}")))
        options = {option for p in command.params for option in p.opts if option.startswith("--")}
        missing = {o for o in options - {"--help"} if not any(o in part for part in described)}
        assert not missing, name
    assert "--version" in text


def test_the_exit_codes_are_described() -> None:
    from thence.cli import exits

    listed = {int(row[0]) for row in rows(section(CLI, "Exit codes"))}
    assert listed == {value for name, value in vars(exits).items() if name.isupper()}


# -- the pages themselves


@pytest.mark.parametrize("block", ALL_BLOCKS, ids=lambda block: block.place)
def test_every_block_says_what_it_is(block: Block) -> None:
    older = block.page.name in ("contributing.md", "dependencies.md")  # plain blocks, not run
    assert block.tag in TAGS or older
    if block.shows is not None:
        assert block.tag in ("python", "thence error")


def test_the_readme_shows_a_first_program_on_its_first_screen() -> None:
    first = next(block for block in blocks(ROOT / "README.md") if block.tag == "python")
    assert first.shows
    assert first.line + (first.text + first.shows).count("\n") <= 50


def links(page: Path) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, link


def slug(heading: str) -> str:
    """The anchor that a heading gets.

    >>> slug("`not`, and while")
    'not-and-while'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(links(ROOT / "README.md"))
    assert {name_of(page) for page in PAGES[1:]} <= {link.partition("#")[0] for link in linked}


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_examples_compile_and_can_be_streamed(path: Path) -> None:
    program = thence.load(path)
    program.session(tables={schema.name: [] for schema in program.tables})


def test_every_example_is_described() -> None:
    described = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert [name_of(path) for path in EXAMPLES if name_of(path) not in described] == []


# --- for those who change Thence itself -----------------------------------------------------------

ARCHITECTURE = ROOT / "docs" / "architecture.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
NAMED = re.compile(r"(?:[a-z_]+/)*[a-z_<>*]+\.(?:py|lark|yaml|txt|md)|(?:[a-z_]+/)+[a-z_]+")
HOMES = ("", "src/thence", "src/thence/spark")


def test_the_files_that_the_architecture_names_are_there() -> None:
    named = {
        name
        for span in code(ARCHITECTURE.read_text(encoding="utf-8"))
        for name in NAMED.findall(span)
    }
    patterns = {re.sub(r"<.*?>", "*", name) for name in named}
    missing = [
        name for name in patterns if not any(list((ROOT / home).glob(name)) for home in HOMES)
    ]
    assert named and not missing


def test_the_glossary_is_in_order_and_has_each_word_once() -> None:
    words = [row[0] for row in rows(GLOSSARY.read_text(encoding="utf-8"))]
    assert words == sorted(set(words)) and len(words) > 40
