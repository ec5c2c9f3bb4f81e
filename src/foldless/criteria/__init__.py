"""Criteria: a solution in, a reading out. Every value is a cost."""

from foldless.criteria.cv import CV
from foldless.criteria.evidence import Evidence
from foldless.criteria.evidence_ep import EvidenceEP, ep_posterior
from foldless.criteria.evidence_hmc import EvidenceHMC
from foldless.criteria.gacv import GACV
from foldless.criteria.jaakkola_haussler import JaakkolaHaussler
from foldless.criteria.loo import LOO, loo_outputs
from foldless.criteria.radius_margin import RadiusMargin
from foldless.criteria.span import SmoothedSpan, Span
from foldless.criteria.xi_alpha import XiAlpha
from foldless.criterion import BY_NAME, Criterion

__all__ = [
    "BY_NAME",
    "CV",
    "Criterion",
    "Evidence",
    "EvidenceEP",
    "EvidenceHMC",
    "GACV",
    "JaakkolaHaussler",
    "LOO",
    "RadiusMargin",
    "SmoothedSpan",
    "Span",
    "XiAlpha",
    "ep_posterior",
    "loo_outputs",
]
