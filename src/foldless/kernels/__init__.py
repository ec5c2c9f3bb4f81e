"""Kernels: the verbs on scikit-learn's own, and the ones it lacks."""

from foldless.kernels import algebra, stationary  # noqa: F401  (they register the verbs)
from foldless.kernels.coordinate_products import Dirichlet, Sinc, TrigonometricPolynomial
from foldless.kernels.laplacian import Laplacian
from foldless.kernels.precomputed import Precomputed
from foldless.kernels.sigmoid import Sigmoid
from foldless.kernels.verbs import Pairs, gram, pullback

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
