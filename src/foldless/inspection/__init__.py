"""Comparisons, and figures in the style of scikit-learn: ``from_estimator`` computes and draws, ``plot`` draws again."""

from foldless.inspection.additive_terms import AdditiveTermsDisplay, additive_terms
from foldless.inspection.comparison import Comparison
from foldless.inspection.criterion_surface import Surface, evaluate_surface
from foldless.inspection.error_histogram import HistogramDisplay
from foldless.inspection.margins import MarginDisplay
from foldless.inspection.relevance import RelevanceDisplay
from foldless.inspection.reliability import ReliabilityDisplay
from foldless.inspection.surface import SurfaceDisplay
from foldless.inspection.trace import TraceDisplay
from foldless.inspection.uncertainty import (
    CalibrationDisplay,
    IntervalDisplay,
    LearningCurveDisplay,
    SuspiciousRowsDisplay,
)

__all__ = [
    "CalibrationDisplay",
    "AdditiveTermsDisplay",
    "Comparison",
    "HistogramDisplay",
    "IntervalDisplay",
    "LearningCurveDisplay",
    "MarginDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "Surface",
    "SurfaceDisplay",
    "SuspiciousRowsDisplay",
    "TraceDisplay",
    "additive_terms",
    "evaluate_surface",
]
