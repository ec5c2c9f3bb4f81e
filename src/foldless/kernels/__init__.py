"""Kernels: the verbs on scikit-learn's own, and the ones it lacks."""

from foldless.kernels import algebra, stationary  # noqa: F401  (they register the verbs)
from foldless.kernels.precomputed import Precomputed
from foldless.kernels.sigmoid import Sigmoid
from foldless.verbs import Pairs, gram, pullback

__all__ = ["Pairs", "Precomputed", "Sigmoid", "gram", "pullback"]
