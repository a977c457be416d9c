"""Trees of causes for the eye: drawn with lines, and as nested lists for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from thence.io.render import plain
from thence.lang.values_text import quoted
from thence.model.safe_text import printable
from thence.model.time import format_duration

if TYPE_CHECKING:
    from thence.causes import Absence, Cause, Derivation

COLLECTED_SHOWN = 20
"""How many of a derivation's collected events are drawn; the tree has them all."""

Kind = Literal["derived", "base", "absent", "heading", "note"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a drawing: how deep it stands, what it says, and what kind of thing it is."""

    level: int
    text: str
    kind: Kind


def as_text(cause: Cause) -> str:
    """The tree, drawn with lines."""
    rows = list(rows_of(cause))
    return "\n".join(lead + row.text for lead, row in zip(leads(rows), rows, strict=True))


def as_html(cause: Cause) -> str:
    """The tree as nested lists; everything that comes from events or programs is escaped."""
    pieces = ['<div class="thence-causes" style="font-family: monospace">']
    level = -1
    for row in rows_of(cause):
        pieces += ["<ul>"] * (row.level - level) + ["</li></ul>"] * (level - row.level)
        pieces += ["</li>"] if row.level <= level else []
        pieces.append(f'<li class="thence-{row.kind}">{_styled(row)}')
        level = row.level
    pieces += ["</li></ul>"] * (level + 1)
    return "".join([*pieces, "</div>"])


def _styled(row: Row) -> str:
    text = escape(row.text)
    if row.kind == "derived":
        return f"<b>{text}</b>"
    return text if row.kind == "base" else f"<i>{text}</i>"


def rows_of(cause: Cause) -> Iterator[Row]:
    """The lines of a tree from top to bottom; what is behind an event is told once."""
    told: set[int] = set()
    stack: list[tuple[int, Cause | Row]] = [(0, cause)]
    while stack:
        level, item = stack.pop()
        if isinstance(item, Row):
            yield item
        elif not item.derivations:
            note = {"cycle": " (see above)", "depth": " …", None: ""}[item.cut]
            yield Row(level, described(item) + note, "base" if item.is_base else "derived")
        elif id(item.derivations) in told:
            yield Row(level, described(item) + " (as above)", "derived")
        else:
            told.add(id(item.derivations))
            yield Row(level, described(item), "derived")
            stack += reversed(_below(item, level + 1))


def _below(cause: Cause, level: int) -> list[tuple[int, Cause | Row]]:
    """The derivations of an event; with headings, if there are several."""
    count = len(cause.derivations) + cause.more
    if count == 1:
        return _parts(cause.derivations[0], level)
    found: list[tuple[int, Cause | Row]] = []
    for number, derivation in enumerate(cause.derivations, 1):
        where = "" if derivation.line is None else f", by the rule in line {derivation.line}"
        heading = Row(level, f"derivation {number} of {count:,}{where}", "heading")
        found += [(level, heading), *_parts(derivation, level + 1)]
    if cause.more:
        found.append((level, Row(level, f"… and {_counted(cause.more)}", "note")))
    return found


def _counted(more: int) -> str:
    return f"{more:,} more derivation{'' if more == 1 else 's'}"


def _parts(derivation: Derivation, level: int) -> list[tuple[int, Cause | Row]]:
    """What a derivation is made of; of many collected events, only the first."""
    found: list[tuple[int, Cause | Row]] = []
    collected = 0
    for cause in derivation.causes:
        collected += cause.collected
        if not cause.collected or collected <= COLLECTED_SHOWN:
            found.append((level, cause))
    if collected > COLLECTED_SHOWN:
        note = f"… and {collected - COLLECTED_SHOWN:,} more collected"
        found.append((level, Row(level, note, "note")))
    found += [(level, Row(level, absent(a), "absent")) for a in derivation.absences]
    return found or [(level, Row(level, "nothing but the passing of time", "note"))]


def leads(rows: Sequence[Row]) -> list[str]:
    """The lines drawn in front of each row.

    >>> rows = [Row(level, "", "base") for level in (0, 1, 2, 1)]
    >>> leads(rows)
    ['', '├─ ', '│  └─ ', '└─ ']
    """
    found = []
    following: list[bool] = []  # per level, whether a row of it comes further down
    for row in reversed(rows):
        following += [False] * (row.level + 1 - len(following))
        del following[row.level + 1 :]
        lines = ["│  " if more else "   " for more in following[1 : row.level]]
        turn = [] if row.level == 0 else ["├─ " if following[row.level] else "└─ "]
        found.append("".join(lines + turn))
        following[row.level] = True
    return found[::-1]


def described(cause: Cause) -> str:
    """An event in one line: how it was used, its label, name, attributes and times."""
    collected = "collected " if cause.collected else ""
    label = "" if cause.label is None else f"{printable(quoted(cause.label))}: "
    where = "in the table" if cause.is_fact else f"at {_interval(cause)}"
    return f"{collected}{label}{named(cause.event, cause.values)} {where}"


def absent(absence: Absence) -> str:
    """What did not come, and when."""
    what = named(absence.event, absence.values)
    where = f" where {' and '.join(absence.conditions)}" if absence.conditions else ""
    if absence.start is None:
        return printable(f"not {what}{where} in the table: there is no such row")
    begins = "(" if absence.open_start else "["
    ends = ")" if absence.open_end else "]"
    when = f"{begins}{plain(absence.start)}, {plain(absence.end)}{ends}"
    return printable(f"not {what}{where} in {when}: nothing came")


def named(event: str, values: Mapping[str, Any]) -> str:
    """An event's name with its attributes; a pattern inside a rule is in parentheses already."""
    name = event if event.startswith("(") else quoted(event)
    inner = ", ".join(f"{quoted(key)}={value(v)}" for key, v in values.items())
    return printable(f"{name}({inner})" if inner or not event.startswith("(") else name)


def _interval(cause: Cause) -> str:
    start, end = plain(cause.start), plain(cause.end)
    return str(start) if start == end else f"[{start}, {end}]"


def value(given: Any) -> str:
    """A value as the language writes it.

    >>> [value(v) for v in ("it's", None, True, 1.5, [1, None])]
    ["'it''s'", 'null', 'true', '1.5', '[1, null]']
    """
    match given:
        case None:
            return "null"
        case bool():
            return "true" if given else "false"
        case str():
            return "'" + given.replace("'", "''") + "'"
        case datetime():
            return str(plain(given))
        case timedelta():
            return format_duration(given // timedelta(microseconds=1))
        case list():
            return f"[{', '.join(map(value, given))}]"
    return str(given)
