"""Points at which searches begin."""

from collections.abc import Sequence

import numpy as np

from foldless.core.contracts import Box, Vector
from foldless.searches.run import SearchRun

# Scrambles the Sobol sequence, so that every run begins at the same points.
SOBOL_SEED = 20040407


def sobol_starts(box: Box, n: int) -> list[Vector]:
    """Return n points of a scrambled Sobol sequence in ``box``; the first ones stay when n grows.

    Examples
    --------
    >>> from foldless.core.contracts import Box
    >>> points = sobol_starts(Box(np.zeros(2), np.ones(2)), 4)
    >>> sorted(int(4 * x) for x, _ in points)  # one in each quarter
    [0, 1, 2, 3]
    """
    # Imported here because it is slow and seldom needed.
    from scipy.stats import qmc

    if n <= 0:
        return []
    sequence = qmc.Sobol(box.size, scramble=True, rng=np.random.default_rng(SOBOL_SEED))
    points = sequence.random_base2(int(np.ceil(np.log2(n))))[:n]
    return list(box.low + points * (box.high - box.low))


def best_starts(run: SearchRun, starts: Sequence[Vector], n: int) -> list[Vector]:
    """Return the best n of the starts; they are evaluated only if there are more than n."""
    if n < 1:
        raise ValueError(f"n_starts must be at least 1, got {n}.")
    if len(starts) <= n:
        return list(starts)
    steps = []
    for theta in starts:
        steps.append(run.evaluate(theta, "start", gradient=False))
    return [step.theta for step in sorted(steps, key=lambda step: step.value)[:n]]
