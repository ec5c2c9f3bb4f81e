"""Landmarks: the rows whose columns of the kernel matrix stand for all others."""

import numpy as np
from sklearn.cluster import kmeans_plusplus

from foldless.core.gram import Rows
from foldless.kernels.pairs import Points

LANDMARK_POOL_FACTOR = 30  # rows that k-means++ chooses from, per landmark


def uniform_landmarks(X: Points, m: int, rng: np.random.Generator) -> Rows:
    """Return m distinct rows, drawn uniformly, in increasing order."""
    return np.sort(rng.choice(X.shape[0], size=m, replace=False))


def spread_landmarks(X: Points, m: int, rng: np.random.Generator) -> Rows:
    """Return m rows by k-means++ seeding: far apart, but where the points are."""
    n, pool_size = X.shape[0], LANDMARK_POOL_FACTOR * m
    pool = uniform_landmarks(X, pool_size, rng) if n > pool_size else np.arange(n)
    _, rows = kmeans_plusplus(X[pool], m, random_state=rng.integers(2**31))
    return np.unique(pool[rows])
