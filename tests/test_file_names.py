"""A rule may be called anything: what is written stays in its folder; nothing else is touched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Command
from hypothesis import given
from hypothesis import strategies as st

import thence as package
from thence.io.filenames import LONGEST, event_name, file_name, file_names
from thence.io.write import write_results
from thence.model.errors import InputError

NAMES = [
    "x/../../victim", "../../escaped", "..", ".", "../", "/abs/path", "//host/share", "~", "~root",
    "a\\b", "..\\..\\escaped", "C:\\x", "C:x", "con", "NUL", "com1", "nul.txt", ".hidden",
    "_hidden", "-rf", "a b ", "a.", "x" * 300, "é" * 200, "/" * 200, "é", "e\u0301", "Order",
    "order", "ORDER", "%2F", "%", "%%", "a:b", "*?[]", "{a,b}", "$HOME", "`ls`", "a;b", "a|b",
    "\u202ea", "ß", "ss", "\u212b", "\u00c5", "found.00001", "batch=000001",
]  # fmt: skip
SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "json": ".jsonl"}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


PROGRAM = "event order_in(id string);\n" + "".join(
    f"{quoted(name)}(id) <- order_in(id);\n" for name in NAMES
)


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """A folder two levels down, with somebody's own files and folders all around it."""
    for place in (tmp_path, tmp_path / "a", tmp_path / "a" / "b"):
        for name in ("victim", "escaped", "_writing-x"):
            (place / name).mkdir(parents=True)
            (place / name / "precious.parquet").write_text("mine")
        for ending in SUFFIXES.values():
            (place / f"own{ending}").write_text("mine")
    (tmp_path / "p.thence").write_text(PROGRAM)
    (tmp_path / "e.csv").write_text("id,time\nx,1\n")
    return tmp_path


def contents(folder: Path, beside: Path) -> dict[str, bytes]:
    """Everything below a folder but what is in another one."""
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if beside != path and beside not in path.parents
    }


def check_written(out: Path, before: dict[str, bytes], around: Path, kind: str) -> None:
    """Every event has a file of its own in the folder, and nothing else anywhere has changed."""
    assert contents(around, out) == before
    files = [path for path in out.iterdir() if path.name.endswith(SUFFIXES[kind])]
    assert sorted(out.rglob("*")) == sorted(files)
    assert all(path.is_file() and not path.is_symlink() for path in files)
    assert len({path.name.casefold() for path in files}) == len(NAMES)


@pytest.mark.parametrize("kind", SUFFIXES)
def test_results_of_any_name_stay_in_their_folder(thence: Command, around: Path, kind: str) -> None:
    out = around / "a" / "b" / "found"
    before = contents(around, out)
    for _ in range(2):  # the second time replaces the first
        done = thence(
            "run", around / "p.thence", "--events", f"order_in={around}/e.csv", "--out", out,
            "--format", kind, "--engine", "embedded",
        )  # fmt: skip
        assert done.code == 0
        check_written(out, before, around, kind)


def test_results_of_any_name_stay_in_their_folder_on_spark(
    spark: Any, thence: Command, around: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "x/../../victim",
        "../../escaped",
        "/abs/path",
        "..",
        "Order",
        "order",
        "%2F",
        "x" * 300,
    ]
    text = "event order_in(id string);\n"
    text += "".join(f"{quoted(name)}(id) <- order_in(id);\n" for name in names)
    (around / "p.thence").write_text(text)
    monkeypatch.setattr(sys.modules[__name__], "NAMES", names)
    out = around / "a" / "b" / "found"
    before = contents(around, out)
    for _ in range(2):
        done = thence(
            "run", around / "p.thence", "--events", f"order_in={around}/e.csv", "--out", out,
            "--engine", "spark",
        )  # fmt: skip
        assert done.code == 0, done.err
        check_written(out, before, around, "parquet")


def test_a_stream_writes_and_keeps_nothing_outside_its_folders(
    spark: Any, thence: Command, around: Path
) -> None:
    """With results and latecomers of such names, and a checkpoint that is used twice."""
    name = "x/../../victim"
    (around / "p.thence").write_text(
        f"event {quoted('../in')}(id string);\n{quoted(name)}(id) <- {quoted('../in')}(id);"
    )
    incoming = around / "a" / "incoming"
    incoming.mkdir()
    place = around / "a" / "b" / "c"
    before = contents(around, place)
    before = {path: data for path, data in before.items() if "incoming" not in path}
    for number, time in enumerate(("9", "1")):
        (incoming / f"{number}.jsonl").write_text(
            f'{{"type": "../in", "id": "x{number}", "time": {time}000000}}\n'
        )
        done = thence(
            "stream", around / "p.thence", "--source", incoming, "--sink", place / "found",
            "--late", place / "late", "--format", "json", "--available-now",
        )  # fmt: skip
        assert done.code == 0, done.err
    after = contents(around, place)
    assert {path: data for path, data in after.items() if "incoming" not in path} == before
    assert {path.name for path in place.iterdir()} == {"found", "found.checkpoint", "late"}


@given(st.text(st.characters(codec=None), max_size=200))
def test_a_name_becomes_one_safe_part_of_a_path(name: str) -> None:
    made = file_name(name)
    assert 1 <= len(made.encode()) <= LONGEST
    assert not set(made) & set('/\\.:*?"<>|\0 \n\r\t')
    assert made[0] not in "._-~"
    assert made.isprintable()
    if len(name.encode("utf-8", "surrogatepass")) * 3 <= LONGEST:
        assert event_name(made) == name


@given(st.lists(st.text("aAßsSéÉe\u0301\u212bÅ%2F/.", max_size=4), unique=True))
def test_no_two_names_share_a_file_even_where_case_is_no_matter(names: list[str]) -> None:
    made = file_names(names)
    assert len({name.casefold() for name in made.values()}) == len(names)


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("overdue", "BookLifted", "r2_d2", "größe", "注文", "a-b"):
        assert file_name(name) == name


def test_a_file_of_results_says_which_event_it_holds(tmp_path: Path) -> None:
    """So results can be read again as events, from a folder, whatever they are called."""
    first = package.compile("event e(id string); `a/b.c`(id) <- e(id);")
    write_results(first.run({"e": [{"id": "x", "time": 1}]}), tmp_path / "found")
    second = package.compile("event `a/b.c`(id string); event z(); again(id) <- `a/b.c`(id);")
    assert second.run(tmp_path / "found")["again"]["id"].to_pylist() == ["x"]


# --- nothing is deleted that Thence did not write -------------------------------------------------

OWN: dict[str, Callable[[Path], object]] = {
    "parquet": lambda path: pq.write_table(pa.table({"id": ["mine"]}), path),
    "csv": lambda path: path.write_text("id,time\nmine,1\n"),
    "json": lambda path: path.write_text('{"id": "mine", "time": 1}\n'),
}


@pytest.mark.parametrize("kind", SUFFIXES)
@pytest.mark.parametrize("whole", [True, False])
def test_a_file_that_holds_no_results_is_not_written_over(
    tmp_path: Path, kind: str, whole: bool
) -> None:
    program = package.compile("event e(id string); found(id) <- e(id);")
    results = program.run({"e": [{"id": "x", "time": 1}]}, lineage=True)
    path = tmp_path / f"found{SUFFIXES[kind]}"
    OWN[kind](path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is there already, and holds no results of Thence"):
        write_results(results, path if whole else tmp_path, kind)
    assert path.read_bytes() == before
    path.write_bytes(b"")  # as mktemp makes them
    for _ in range(2):
        write_results(results, path if whole else tmp_path, kind)
    assert path.stat().st_size


@pytest.mark.parametrize("out", ["stay.csv", "."])
def test_a_file_that_is_read_is_not_written_over(
    thence: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """Even if it looks like results: events may have a start and an end too."""
    monkeypatch.chdir(tmp_path)
    Path("p.thence").write_text("event e(id string); stay(id) <- e(id);")
    Path("stay.csv").write_text("id,start,end\nx,1,2\n")
    asked = ("run", "p.thence", "--out", out, "--format", "csv", "--engine", "embedded")
    for events in ("e=stay.csv", "e=*.csv", f"e={tmp_path}/stay.csv"):
        done = thence(*asked, "--events", events)
        assert done.code == 2
        assert "stay.csv' is read here, and would be written over" in done.err
    assert Path("stay.csv").read_text() == "id,start,end\nx,1,2\n"


def test_spark_writes_over_nothing_but_results(
    spark: Any, thence: Command, around: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (around / "p.thence").write_text("event order_in(id string); found(id) <- order_in(id);")
    out = around / "out"
    out.mkdir()
    OWN["csv"](out / "found.00003.csv")
    asked = ("run", around / "p.thence", "--events", f"order_in={around}/e.csv", "--engine")
    done = thence(*asked, "spark", "--out", out, "--format", "csv")
    assert done.code == 2
    assert "found.00003.csv' is there already, and holds no results" in done.err
    assert [path.name for path in out.iterdir()] == ["found.00003.csv"]
    (out / "found.00003.csv").write_text("id,start,end\n")
    assert thence(*asked, "spark", "--out", out, "--format", "csv").code == 0
    assert [path.name for path in out.iterdir()] == ["found.csv"]


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_batch_replaces_its_own_results_and_nothing_else(
    spark: Any, tmp_path: Path, far: bool, kind: str
) -> None:
    from thence.spark.sinks import Folder

    frame = spark.createDataFrame([("x", 1, 2)], "id string, start long, end long")
    frame = frame.coalesce(1)
    folder = Folder(f"file://{tmp_path}/found" if far else str(tmp_path / "found"), kind, None)
    for _ in range(2):
        folder.write(frame, 7)
    target = tmp_path / "found" / "batch=000007"
    assert len(list(target.glob("part-*"))) == 1
    note = target / "part-of-my-notes.txt"
    note.write_text("precious\n")
    with pytest.raises(InputError, match=r"holds something else: 'part-of-my-notes\.txt'"):
        folder.write(frame, 7)
    assert note.read_text() == "precious\n"
    assert not list((tmp_path / "found").glob("_writing/*"))


def test_late_events_do_not_go_where_results_go(thence: Command, around: Path) -> None:
    done = thence(
        "stream", around / "p.thence", "--source", around, "--sink", around / "x",
        "--late", f"{around}/a/../x/",
    )  # fmt: skip
    assert done.code == 2
    assert "--late: late events need a folder of their own" in done.err
