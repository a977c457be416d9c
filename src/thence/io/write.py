"""Results into files: each appears whole under its name, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from thence.io.filenames import file_names
from thence.io.files import FORMATS, format_of
from thence.io.ours import refuse_others
from thence.io.render import Formulas
from thence.io.result_file import ResultFile, as_input_error, in_the_making
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


class Writer:
    """Files of results that are being written, as :func:`writing` opens them."""

    def __init__(self, files: Mapping[str, ResultFile]) -> None:
        self._files = files
        self._several = len(files) > 1 and len(set(files.values())) == 1
        self.counts = dict.fromkeys(files, 0)
        """How many rows each event has so far."""

    @property
    def paths(self) -> list[Path]:
        """The files, once they have appeared."""
        return list(dict.fromkeys(file.target for file in self._files.values()))

    def add(self, event: str, rows: pa.Table | pa.RecordBatch) -> None:
        """Add results of an event."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        self._files[event].add(table, event if self._several else None)
        self.counts[event] += table.num_rows


@contextmanager
def writing(
    schemas: Mapping[str, pa.Schema],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    formulas: Formulas = "keep",
) -> Iterator[Writer]:
    """Files for results of some events, to which these are added as they come.

    They appear under their names when the block ends, all that belongs to them written; if it ends
    with an error none does, and what was there before is as it was.

    A path that ends with a known extension is one file. It holds one event's results, or, in JSON
    lines, those of several with a field ``type``. A path without an extension, or a directory that
    is there, gets a file per event, whatever the event is called. Results of an earlier run are
    replaced; any other file that is in the way is refused.
    """
    targets, kind = _targets(schemas, Path(path), format)
    with ExitStack() as stack:
        made: dict[Path, ResultFile] = {}
        for event, target in targets.items():
            if target not in made:
                file = in_the_making(target, kind, schemas[event], formulas)
                made[target] = stack.enter_context(file)
        yield Writer({event: made[target] for event, target in targets.items()})
        for each in made.values():
            each.finish()
        for each in made.values():
            each.appear()


def _targets(
    events: Iterable[str],
    path: Path,
    format: str | None,  # noqa: A002
) -> tuple[dict[str, Path], str]:
    """The file of each event, and the format of all of them."""
    names = list(events)
    with as_input_error(path):
        refuse_ending(path)
    if is_folder(path):
        kind = "parquet" if format is None else known_format(format)
        make_folder(path)
        files = paths_in(path, names, kind)
    else:
        kind = _format_for(path, format)
        if len(names) > 1 and kind != "jsonl":
            raise InputError(
                f"'{path}' is one file, and there are results of {len(names)} events. Give a "
                "directory (a name without extension), a .jsonl file, or choose one event."
            )
        files = dict.fromkeys(names, path)
    for file in dict.fromkeys(files.values()):
        with as_input_error(file):
            refuse_others(file)
    return files, kind


def write_results(
    results: Mapping[str, Any],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    formulas: Formulas = "keep",
) -> list[Path]:
    """Write the results of a run, as :func:`writing` does; the answer is the files written."""
    tables = {event: results[event] for event in results}
    schemas = {event: table.schema for event, table in tables.items()}
    with writing(schemas, path, format, formulas) as writer:
        for event, table in tables.items():
            writer.add(event, table)
    return writer.paths


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
    with in_the_making(target, kind, table.schema, formulas) as file:
        file.add(table)
        file.finish()
        file.appear()
    return target


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
    with as_input_error(path):
        return path.suffix.lower() not in FORMATS or path.is_dir()


def make_folder(path: Path) -> None:
    """See to it that a directory is there."""
    with as_input_error(path):
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
