"""Places to begin: points that fill a box evenly."""

import numpy as np

SEED = 20040407  # the same points in every run


def sobol_starts(box, n):
    """Return n points of a scrambled Sobol sequence in ``box``; the first ones stay when n grows.

    Examples
    --------
    >>> from foldless.core.contracts import Box
    >>> points = sobol_starts(Box(np.zeros(2), np.ones(2)), 4)
    >>> sorted(int(4 * x) for x, _ in points)  # one in each quarter
    [0, 1, 2, 3]
    """
    from scipy.stats import qmc  # slow to import, seldom needed

    if n <= 0:
        return []
    sequence = qmc.Sobol(box.size, scramble=True, rng=np.random.default_rng(SEED))
    points = sequence.random_base2(int(np.ceil(np.log2(n))))[:n]
    return list(box.low + points * (box.high - box.low))


def best_starts(walk, starts, n):
    """Return the best n of the starts; they are glanced at only if there are more."""
    if n < 1:
        raise ValueError(f"n_starts must be at least 1, got {n}.")
    if len(starts) <= n:
        return list(starts)
    evaluate_rows = [walk.evaluate_value(theta, "start") for theta in starts]
    return [step.theta for step in sorted(evaluate_rows, key=lambda step: step.value)[:n]]
