"""Criteria: a solution in, a reading out. Every value is a cost."""

from foldless.criteria.evidence import Evidence
from foldless.criteria.gcv import GCV
from foldless.criteria.kfold import KFold
from foldless.criteria.loo import LOO, loo_outputs
from foldless.criterion import BY_NAME, Criterion

__all__ = ["BY_NAME", "Criterion", "Evidence", "GCV", "KFold", "LOO", "loo_outputs"]
