"""Landmarks: the rows whose columns of the kernel matrix stand for all others."""

import numpy as np
from sklearn.cluster import kmeans_plusplus

POOL = 30  # rows looked at per landmark when landmarks are spread out


def uniform_landmarks(X, m, rng):
    """Return m distinct rows, drawn uniformly, in increasing order."""
    return np.sort(rng.choice(X.shape[0], size=m, replace=False))


def spread_landmarks(X, m, rng):
    """Return m rows by k-means++ seeding: far apart, but where the points are."""
    n = X.shape[0]
    pool = uniform_landmarks(X, POOL * m, rng) if n > POOL * m else np.arange(n)
    _, rows = kmeans_plusplus(X[pool], m, random_state=rng.integers(2**31))
    return np.unique(pool[rows])
