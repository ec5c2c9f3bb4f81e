"""Criteria: a solution in, a reading out. Every value is a cost."""

from foldless.criteria.loo import LOO, loo_outputs
from foldless.criterion import BY_NAME, Criterion

__all__ = ["BY_NAME", "LOO", "Criterion", "loo_outputs"]
