"""Grams around the given kernels, from which a criterion makes its estimates before the search."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Gram
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.search_space import START_LOG_C_OF_STEPS

# Rows up to which the estimates are made on the whole matrix, and landmarks beyond.
PROBE_DENSE_MAX_ROWS, PROBE_LANDMARKS = 800, 400


def probe_grams(kernels: Sequence[Kernel], X: Any, seed: Any) -> Iterator[Gram]:
    """Yield Grams around the given kernels, from which a criterion makes its estimates before the search."""
    rng = np.random.default_rng(seed)
    for kernel in kernels:
        only_dense = has_noise(kernel) or is_precomputed(kernel)
        builder: Any = DenseBuilder(X)
        if X.shape[0] > PROBE_DENSE_MAX_ROWS and not only_dense:
            builder = NystromBuilder(X, spread_landmarks(X, PROBE_LANDMARKS, rng))
        low, high = kernel.bounds.reshape(-1, 2).T
        for step in START_LOG_C_OF_STEPS if len(kernel.theta) else (0.0,):
            theta = np.clip(kernel.theta + step, low, high)
            yield builder.gram(kernel.clone_with_theta(theta) if len(theta) else kernel)
