"""Criteria: a solution in, a reading out. Every value is a cost per row."""

from foldless.criteria.abic import ABIC
from foldless.criteria.alignment import Alignment, CenteredAlignment
from foldless.criteria.base import BY_NAME, Criterion, reads
from foldless.criteria.calibrated_loo import CalibratedLOO
from foldless.criteria.cv import CV
from foldless.criteria.effective_parameters import AICd, EffectiveParameters
from foldless.criteria.eigenvalue_ratio import EigenvalueRatio
from foldless.criteria.evidence import Evidence
from foldless.criteria.evidence_ep import EvidenceEP
from foldless.criteria.evidence_hmc import EvidenceHMC
from foldless.criteria.fsm import FSM
from foldless.criteria.gacv import GACV
from foldless.criteria.gcv import GCV
from foldless.criteria.hyper_prior import HyperPrior
from foldless.criteria.jaakkola_haussler import JaakkolaHaussler
from foldless.criteria.kfold import KFold
from foldless.criteria.kric import KRIC, KRICSollich
from foldless.criteria.loo import LOO, loo_outputs
from foldless.criteria.mallows import Mallows
from foldless.criteria.radius_margin import RadiusMargin
from foldless.criteria.sic import SIC
from foldless.criteria.span import SmoothedSpan, Span
from foldless.criteria.spectral import Spectral
from foldless.criteria.tied import Tied
from foldless.criteria.xi_alpha import XiAlpha

__all__ = [
    "ABIC",
    "AICd",
    "Alignment",
    "BY_NAME",
    "CalibratedLOO",
    "CenteredAlignment",
    "Criterion",
    "CV",
    "EffectiveParameters",
    "EigenvalueRatio",
    "Evidence",
    "EvidenceEP",
    "EvidenceHMC",
    "FSM",
    "GACV",
    "GCV",
    "HyperPrior",
    "JaakkolaHaussler",
    "KFold",
    "KRIC",
    "KRICSollich",
    "LOO",
    "Mallows",
    "SIC",
    "RadiusMargin",
    "SmoothedSpan",
    "Span",
    "Spectral",
    "Tied",
    "XiAlpha",
    "loo_outputs",
    "reads",
]
