"""A window beside tables in FROM: ``FROM quote [RANGE BY '5 min'] q, company c WHERE q.id = c.id``.

The rows of tables are true at all times, so they are looked up first: for each event, those that
WHERE asks for. The window is then over what that finds, whose columns are those of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from thence.lang import syntax as s
from thence.lang.sql import syntax as q
from thence.lang.sql.catalog import column_names, column_of
from thence.lang.sql.names import Alias, Names, rewritten

_TIMES = ("start", "end")


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """A query over a window beside tables, on its way to one that looks the rows up and one over
    the window."""

    select: q.Select
    aliases: Mapping[str, Alias]
    stream: Alias

    @property
    def columns(self) -> dict[tuple[str, str], str]:
        """How each column of each alias is called in what is found: as it is called, unless one of
        the stream or of an earlier table has that name."""
        found: dict[tuple[str, str], str] = {}
        for alias in sorted(self.aliases.values(), key=lambda alias: alias.table):
            for column in alias.columns:
                name = column
                while name in found.values():
                    name = f"{alias.name}.{name}"
                found[alias.name, column] = name
        return found

    def lookup(self) -> q.Select:
        """The query for each event of the stream with the rows that belong to it."""
        start, end = self.stream.span.start, self.stream.span.end
        items = tuple(
            s.Term(s.Dotted(alias, column, start, start, end), name, start, end)
            for (alias, column), name in self.columns.items()
        )
        sources = tuple(
            q.SourceItem(
                s.Name(alias.event, alias.span.start, alias.span.end),
                (s.Name(alias.name, alias.span.start, alias.span.end),),
                alias.span.start,
                alias.span.end,
                1,
            )
            for alias in self.aliases.values()
        )
        return replace(
            self.select,
            items=items, sources=sources, partition=(), group=(), having=None,
        )  # fmt: skip

    def over(self, event: str) -> tuple[q.Select, Alias]:
        """The query over the window, in which all columns are those of one alias."""
        names = Names(self.aliases)
        given = {item.alias for item in self.select.items if isinstance(item, s.Term)}

        def leaf(name: s.Name | s.Dotted) -> s.Node:
            if isinstance(name, s.Name) and not names.is_column(name.text):
                if name.text in given or name.text in self.aliases:
                    return name
            found = names.column(name)
            if isinstance(found, s.Dotted) and found.attribute in _TIMES:
                return replace(found, label=self.stream.name)
            assert isinstance(found, s.Dotted)
            return replace(
                found,
                label=self.stream.name,
                attribute=self.columns[found.label, found.attribute],
            )

        terms = [item for item in self.select.items if isinstance(item, s.Term)]
        called = iter(column_names([column_of(term) for term in terms]))
        items = tuple(
            replace(item, value=rewritten(item.value, leaf), alias=next(called))
            if isinstance(item, s.Term)
            else item
            for item in self.select.items
        )
        group = tuple(
            found
            for column in (*self.select.partition, *self.select.group)
            if isinstance(found := leaf(column), s.Name | s.Dotted)
        )
        having = None if self.select.having is None else rewritten(self.select.having, leaf)
        outside = replace(
            self.select, items=items, partition=(), group=group, having=having, conditions=()
        )
        columns = tuple(self.columns.values())
        return outside, replace(self.stream, event=event, columns=columns)


def beside_tables(select: q.Select, aliases: Mapping[str, Alias]) -> SemiJoin | None:
    """A query over the window of one stream beside tables alone, if it is one."""
    windowed = [source for source in select.sources if source.window is not None]
    streams = [alias for alias in aliases.values() if not alias.table]
    if len(windowed) != 1 or len(streams) != 1 or len(aliases) == 1:
        return None
    if streams[0].name not in [alias.text for alias in windowed[0].aliases]:
        return None
    return SemiJoin(select, aliases, streams[0])
