"""Relations that are joined: what is asked goes in as events, and what follows comes out.

The program that demand makes of deductive rules runs as any other does, semi-naive and set at a
time. It keeps what it has derived: what was asked before costs nothing when it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from thence.engine.arrays.rows import concat, select
from thence.engine.limits.growth import Limits
from thence.engine.run.step import Options, step
from thence.engine.state.relation import Relation
from thence.engine.state.state import State, empty_relation
from thence.logic.check import check_program
from thence.model.events import Events
from thence.plan.make import make
from thence.plan.reasoning.relation_demand import Asked, Demanded, answer_name, ask_name

_OWN = frozenset({"suppress"})
"""What is left out of plans that say themselves what is asked for."""


class Query(Protocol):
    """A relation, asked by some of its columns."""

    def ask(self, seeds: Events) -> Events:
        """The rows that are asked for and were not given before."""


class Join:
    """A relation that is derived by joins, as far as it is asked by some of its columns."""

    def __init__(
        self,
        demanded: Demanded,
        tables: Callable[[str], Relation],
        query: Callable[[Asked], Query],
        off: frozenset[str],
        limits: Limits,
    ) -> None:
        """``tables`` gives the rows of tables and of relations that are there as a whole, ``query``
        what answers where a closure is asked."""
        self._demanded = demanded
        self._searched = {ask_name(asked): (asked, query(asked)) for asked in demanded.searched}
        outputs = (demanded.answer, *self._searched)
        checked = check_program(demanded.program)
        self._plan = make(checked, outputs=outputs, off=off | _OWN)
        self._state = State()
        needed = self._plan.whole.tables
        self._options = Options(
            retention=self._plan.certain_needs.retention,
            tables={name: tables(name) for name in needed},
            limits=limits,
        )

    def ask(self, seeds: Events) -> Events:
        found: list[Events] = [empty_relation(self._plan.schemas[self._demanded.answer]).recent]
        coming: Mapping[str, Events] = {self._demanded.seed: seeds}
        while coming:
            self._state, results = step(self._plan.whole, self._state, coming, {}, self._options)
            found.append(results[self._demanded.answer])
            coming = self._further(results)
        return concat(found)

    def _further(self, results: Mapping[str, Events]) -> dict[str, Events]:
        """What closures find that were asked on the way."""
        coming: dict[str, Events] = {}
        for name, (asked, query) in self._searched.items():
            if len(results[name]):
                rows = query.ask(select(results[name], asked[1]))
                if len(rows):
                    coming[answer_name(asked)] = rows
        return coming
