"""Two halves of the rows: one tunes, and the other is fitted, so that no row was seen by the parameters of its left-out model."""

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split

from foldless.core.errors import UnknownName
from foldless.core.targets import MIN_ROWS

CALIBRATIONS = ("same", "split")

Rows = NDArray[np.intp]


def splits(calibration: str) -> bool:
    """Return whether half of the rows are set aside for tuning; raise for an unknown name.

    Examples
    --------
    >>> splits("split"), splits("same")
    (True, False)
    """
    if calibration not in CALIBRATIONS:
        raise UnknownName("calibration", calibration, CALIBRATIONS)
    return calibration == "split"


def check_points_are_given(pairwise: bool) -> None:
    """Raise if there is a matrix of kernel values in place of points."""
    if pairwise:
        raise ValueError("calibration='split' needs points to cut apart, and kernel='precomputed' has none.")


def halves(n: int, labels: ArrayLike | None, random_state: Any) -> tuple[Rows, Rows]:
    """Return the numbers of the rows that tune and of those that are fitted, in order.

    Parameters
    ----------
    n : int
        Number of rows.
    labels : array-like of shape (n,) or None
        Classes, of which both halves get equal shares.
    random_state : int, RandomState or None
        ``None`` gives the same halves every time.
    """
    if n < 2 * MIN_ROWS:
        raise ValueError(
            f"calibration='split' needs at least {2 * MIN_ROWS} rows, {MIN_ROWS} for each half; got {n}. Add rows, or use "
            "calibration='same'."
        )
    # A copy, so that a generator gives the same halves whenever it is asked for these rows.
    seed = 0 if random_state is None else copy.deepcopy(random_state)
    if labels is not None and np.min(np.unique(labels, return_counts=True)[1]) < 2:
        raise ValueError(
            "calibration='split' needs two rows of every class, one for each half; a class has one. Add rows of it, or "
            "use calibration='same'."
        )
    tuning, fitted = train_test_split(np.arange(n), test_size=0.5, stratify=labels, random_state=seed)
    return np.sort(tuning), np.sort(fitted)
