"""Criteria: a solution in, a reading out. Every value is a cost."""

from foldless.criteria.alignment import Alignment, CenteredAlignment
from foldless.criteria.eigenvalue_ratio import EigenvalueRatio
from foldless.criteria.evidence import Evidence
from foldless.criteria.fsm import FSM
from foldless.criteria.gcv import GCV
from foldless.criteria.kfold import KFold
from foldless.criteria.loo import LOO, loo_outputs
from foldless.criteria.spectral import Spectral
from foldless.criterion import BY_NAME, Criterion

__all__ = [
    "Alignment",
    "BY_NAME",
    "CenteredAlignment",
    "Criterion",
    "EigenvalueRatio",
    "Evidence",
    "FSM",
    "GCV",
    "KFold",
    "LOO",
    "Spectral",
    "loo_outputs",
]
