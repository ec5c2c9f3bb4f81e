"""Criteria: a solution in, a reading out. Every value is a cost."""

from foldless.criteria.abic import ABIC
from foldless.criteria.evidence import Evidence
from foldless.criteria.gcv import GCV
from foldless.criteria.kfold import KFold
from foldless.criteria.loo import LOO, loo_outputs
from foldless.criteria.mallows import Mallows
from foldless.criteria.sic import SIC
from foldless.criterion import BY_NAME, Criterion

__all__ = [
    "ABIC",
    "BY_NAME",
    "GCV",
    "LOO",
    "SIC",
    "Criterion",
    "Evidence",
    "KFold",
    "Mallows",
    "loo_outputs",
]
