"""Which rows belong to which fold: one rule for every criterion that leaves blocks out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Folds = int | Sequence[ArrayLike]


def assign(folds: Folds, n: int, seed: int = 0) -> list[NDArray[np.intp]]:
    """Return the folds as a list of index arrays.

    Parameters
    ----------
    folds : int or list of int arrays
        A number gives a seeded permutation cut into that many parts of nearly equal size; a list is checked and kept.
    n : int
        Number of rows.
    seed : int

    Examples
    --------
    >>> [len(rows) for rows in assign(3, 8)]
    [3, 3, 2]
    """
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= n:
            raise ValueError(f"folds must lie between 2 and the number of rows {n}, got {folds}.")
        return [np.sort(rows) for rows in np.array_split(np.random.default_rng(seed).permutation(n), folds)]
    blocks = [np.asarray(rows, dtype=np.intp) for rows in folds]
    if any(len(rows) == 0 for rows in blocks):
        raise ValueError("folds must not be empty, got an index array without rows.")
    together = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.intp)
    if len(together) != n or not np.array_equal(np.sort(together), np.arange(n)):
        raise ValueError(f"folds must be disjoint index arrays that hold each of the rows 0..{n - 1} once.")
    return blocks
