"""From checked logic to a :class:`Plan` that says everything that was decided."""

from thence.plan.make import REWRITES, make, optimisations
from thence.plan.tree import Part, Plan, Stage

__all__ = ["REWRITES", "Part", "Plan", "Stage", "make", "optimisations"]
