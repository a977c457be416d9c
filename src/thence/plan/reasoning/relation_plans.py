"""How the relations of a plan will be derived: what ``explain`` and the plan's JSON show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from thence.model.schema import EventSchema
from thence.plan.reasoning.asks import Ask, asks_of
from thence.plan.reasoning.reasoning import Closure, Reasoning, reasoning

if TYPE_CHECKING:
    from thence.plan.tree import Plan


@dataclass(frozen=True, slots=True)
class RelationPlan:
    """One relation: how it is derived, what from, and what the plan's stages ask of it. ``asked``
    has the columns by which each really is asked."""

    schema: EventSchema
    how: Literal["closure", "aggregates", "joins", "facts"]
    recursive: bool
    closure: Closure | None
    rests_on: tuple[str, ...]
    facts: int
    asked: tuple[tuple[int, Ask, tuple[str, ...]], ...]
    used: bool

    def to_json(self) -> dict[str, Any]:
        closure = self.closure
        return {
            "relation": self.schema.name,
            "attributes": [{"name": a.name, "type": str(a.type)} for a in self.schema.attributes],
            "how": self.how,
            "recursive": self.recursive,
            "stays": [] if closure is None else list(closure.fixed),
            "moves": [] if closure is None else list(closure.moving),
            "rests_on": list(self.rests_on),
            "facts": self.facts,
            "used": self.used,
            "asked": [
                {"stage": stage, "by": list(by), "values_of": ask.source}
                for stage, ask, by in self.asked
            ],
        }

    def lines(self) -> Iterator[str]:
        """The same in words."""
        yield f"  {self.schema}   -- {self._in_words()}"
        for stage, ask, by in self.asked:
            where = f" with what '{ask.source}' holds" if ask.source is not None else ""
            said = f"by {', '.join(by)}{where}" if by else "as a whole"
            yield f"    stage {stage} asks for it {said}"

    def _in_words(self) -> str:
        if not self.used:
            return "not used"
        facts = f"{self.facts} fact{'s' if self.facts != 1 else ''}"
        if self.how == "facts":
            return facts
        words = {"joins": "derived by joins", "aggregates": "aggregated"}.get(self.how, "")
        if self.closure is not None:
            stays = ", ".join(self.closure.fixed)
            words = f"closure, searched as a graph: {', '.join(self.closure.moving)} moves on" + (
                f", {stays} stays" if stays else ""
            )
        elif self.recursive:
            words += ", to a fixpoint"
        words += f"; from {', '.join(self.rests_on)}" if self.rests_on else ""
        return f"{words}; and {facts}" if self.facts else words


def relation_plans(plan: Plan) -> tuple[RelationPlan, ...]:
    """The relations of a program, in the order of its rules, and how they will be derived."""
    knowledge = plan.checked.knowledge
    known: Reasoning = reasoning(knowledge, plan.off)
    asks: list[tuple[int, Ask]] = []
    for number, stage in enumerate(plan.stages, 1):
        rules = [alternative for rule in stage.rules for alternative in rule]
        asks += [(number, a) for a in asks_of(rules, known.relations, plan.schemas, stage.events)]
    read = {use.event for rule in plan.prepared for use in rule.uses}
    used = knowledge.needed(name for name in read if name in knowledge.schemas)
    declared = {schema.name for schema in plan.checked.program.tables}
    facts = {fact.relation: 0 for fact in plan.checked.program.facts}
    for fact in plan.checked.program.facts:
        facts[fact.relation] += 1
    found = []
    for name, schema in knowledge.schemas.items():
        if schema.hidden or name in declared:
            continue
        closure = known.closures.get(name)
        how: Literal["closure", "aggregates", "joins", "facts"] = "joins"
        if name not in knowledge.rules_of:
            how = "facts"
        elif closure is not None:
            how = "closure"
        elif name in known.foldings:
            how = "aggregates"
        below = knowledge.needed([name]) - {name}
        found.append(
            RelationPlan(
                schema,
                how,
                name in knowledge.recursive,
                closure,
                tuple(sorted(each for each in below if not knowledge.schemas[each].hidden)),
                facts.get(name, 0),
                tuple(
                    (n, ask, known.bound(name, ask.bound))
                    for n, ask in asks
                    if ask.relation == name
                ),
                name in used,
            )
        )
    return tuple(found)
