"""Results into files: each appears whole under its name, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from thence.io.filenames import file_names
from thence.io.files import FORMATS, format_of
from thence.io.ours import refuse_others
from thence.io.render import Formulas, csv_text, json_text
from thence.io.temporary import temporary
from thence.model.errors import InputError

EXTENSIONS = {"parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl"}
_NAMES = {**{name: name for name in EXTENSIONS}, "json": "jsonl", "ndjson": "jsonl"}


def refuse_ending(path: Path) -> None:
    """Refuse a name that ends like a file's, in a format that cannot be written.

    >>> refuse_ending(Path("found")), refuse_ending(Path("found.csv")), refuse_ending(Path("v1.2"))
    (None, None, None)
    >>> refuse_ending(Path("found.xlsx"))
    Traceback (most recent call last):
    ...
    thence.model.errors.InputError: 'found.xlsx' ends with '.xlsx', which is none of the formats \
that can be written. The endings are .parquet, .csv, .jsonl, .ndjson, .json; a name without one \
is a directory with a file per event.
    """
    ending = path.suffix.lower()
    if ending in FORMATS or not ending[1:2].isalpha() or path.is_dir():
        return
    raise InputError(
        f"'{path}' ends with '{path.suffix}', which is none of the formats that can be written. "
        f"The endings are {', '.join(FORMATS)}; a name without one is a directory with a file per "
        "event."
    )


def write_table(
    table: pa.Table,
    path: str | Path,
    format: str | None = None,  # noqa: A002
    formulas: Formulas = "keep",
) -> Path:
    """Write one table as ``parquet``, ``csv`` or ``json`` lines, by default as the name says.

    ``formulas`` says what becomes of texts that a spreadsheet would compute: in CSV, ``escape``
    puts an apostrophe before them.
    """
    target = Path(path)
    kind = _format_for(target, format)

    def fill(file: BinaryIO) -> None:
        if kind == "parquet":
            pq.write_table(table, file)
        elif kind == "csv":
            file.writelines(csv_text(table, formulas=formulas))
        else:
            file.writelines(json_text(table))

    _write(target, fill)
    return target


def write_results(
    results: Mapping[str, Any],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    formulas: Formulas = "keep",
) -> list[Path]:
    """Write the results of a run; the answer is the files written.

    A path that ends with a known extension is one file. It holds one event's results, or, in JSON
    lines, those of several with a field ``type``. A path without an extension, or a directory that
    is there, gets a file per event, whatever the event is called. Results of an earlier run are
    replaced; any other file that is in the way is refused.
    """
    target = Path(path)
    with _as_input_error(target):
        refuse_ending(target)
    if is_folder(target):
        kind = "parquet" if format is None else known_format(format)
        make_folder(target)
        files = paths_in(target, results, kind)
        for file in files.values():
            refuse_others(file)
        return [write_table(results[event], file, kind, formulas) for event, file in files.items()]
    kind = _format_for(target, format)
    with _as_input_error(target):
        refuse_others(target)
    if len(results) == 1:
        return [write_table(next(iter(results.values())), target, kind, formulas)]
    if kind != "jsonl":
        raise InputError(
            f"'{target}' is one file, and there are results of {len(results)} events. Give a "
            "directory (a name without extension), a .jsonl file, or choose one event."
        )

    def fill(file: BinaryIO) -> None:
        for event, table in results.items():
            file.writelines(json_text(table, event))

    _write(target, fill)
    return [target]


def paths_in(folder: Path, events: Iterable[str], kind: str) -> dict[str, Path]:
    """The file of each event's results in a folder.

    >>> paths_in(Path("found"), ["a/b"], "csv")["a/b"].as_posix()
    'found/a%2Fb.csv'
    """
    return {
        event: folder / f"{name}{EXTENSIONS[kind]}" for event, name in file_names(events).items()
    }


def is_folder(path: Path) -> bool:
    """Whether results that are written to a path are a directory with files of each event."""
    with _as_input_error(path):
        return path.suffix.lower() not in FORMATS or path.is_dir()


def make_folder(path: Path) -> None:
    """See to it that a directory is there."""
    with _as_input_error(path):
        path.mkdir(parents=True, exist_ok=True)


def known_format(name: str) -> str:
    """A format by one of its names."""
    if name.lower() not in _NAMES:
        raise InputError(f"Unknown format '{name}'. The formats are parquet, csv and json.")
    return _NAMES[name.lower()]


def _format_for(path: Path, name: str | None) -> str:
    by_name = format_of(path) if name is None or path.suffix.lower() in FORMATS else None
    kind = known_format(name) if name is not None else by_name
    assert kind is not None
    if by_name is not None and kind != by_name:
        raise InputError(f"'{path}' has the name of another format than {name}.")
    return kind


def _write(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Fill a file beside the target, then give it the target's name in one step."""
    with _as_input_error(path):
        if path.is_dir():
            raise InputError(f"'{path}' is a directory; it cannot be written as a file.")
        # Named by a token alone: the target's own name may be as long as a name can be.
        with temporary(path.with_name(f".thence-{secrets.token_hex(8)}.tmp")) as fresh:
            with fresh.open("xb") as file:
                fill(file)
            fresh.replace(path)


@contextmanager
def _as_input_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise InputError(f"'{path}' cannot be written: {problem.strerror or problem}") from problem
    except ValueError as problem:  # a NUL, or half a character
        raise InputError(f"{str(path)!r} cannot be written: {problem}") from problem
