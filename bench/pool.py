"""Rows of a stored set, pooled and drawn anew, so that training sets of any size have the same source."""

from pathlib import Path

import numpy as np

TEST = 3000  # rows to test on, at most
FEWEST = 100  # rows to test on, at least


def generated(make, n, split):
    """Return n training and ``TEST`` test rows of a generator."""
    X, y = make(n + TEST, random_state=split)
    return X[:n], y[:n], X[n:], y[n:]


def stored(name, n, split, data):
    """Return n training rows and the rest, or ``None`` if the set is too small or there are no data."""
    if data is None:
        return None
    with np.load(Path(data) / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    if len(y) < n + FEWEST:
        return None
    order = np.random.default_rng(split).permutation(len(y))
    train, test = order[:n], order[n : n + TEST]
    return X[train], y[train], X[test], y[test]


def archived(name, split, data):
    """Return the split that comes with the set."""
    with np.load(Path(data) / f"{name}.npz") as file:
        train, test = file["train"][split], file["test"][split]
        return file["X"][train], file["y"][train], file["X"][test], file["y"][test]
