"""Pictures in the style of scikit-learn: ``from_estimator`` computes and draws, ``plot`` draws again."""

from foldless.displays.histogram import HistogramDisplay
from foldless.displays.margins import MarginDisplay
from foldless.displays.relevance import RelevanceDisplay
from foldless.displays.reliability import ReliabilityDisplay
from foldless.displays.surface import SurfaceDisplay
from foldless.displays.trace import TraceDisplay

__all__ = [
    "HistogramDisplay",
    "MarginDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "SurfaceDisplay",
    "TraceDisplay",
]
