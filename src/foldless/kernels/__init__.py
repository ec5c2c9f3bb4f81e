"""Kernels: the verbs on scikit-learn's own, and the ones it lacks."""

from foldless.kernels import algebra, stationary  # noqa: F401  (they register the verbs)
from foldless.kernels.coordinate_products import Dirichlet, Sinc, TrigonometricPolynomial
from foldless.kernels.evaluate import gram, pullback
from foldless.kernels.laplacian import Laplacian
from foldless.kernels.pairs import Pairs
from foldless.kernels.precomputed import Precomputed
from foldless.kernels.sigmoid import Sigmoid

__all__ = [
    "Dirichlet",
    "Laplacian",
    "Pairs",
    "Precomputed",
    "Sigmoid",
    "Sinc",
    "TrigonometricPolynomial",
    "gram",
    "pullback",
]
