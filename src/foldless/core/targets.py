"""Targets: columns of numbers or of labels -1 and 1, their checks, and error rates."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import type_of_target

from foldless.core.contracts import Matrix, Vector
from foldless.core.magnitude import check_magnitude

# With fewer rows no criterion has anything to measure.
MIN_ROWS = 4


def check_numbers(y: ArrayLike) -> None:
    """Raise unless all targets are finite."""
    if not np.all(np.isfinite(y)):
        raise ValueError("y must hold finite numbers, got NaN or infinity.")


def check_targets(Y: Matrix) -> None:
    """Raise unless there are columns of targets (n, k), and squares of them are numbers."""
    if Y.shape[1] == 0:
        raise ValueError("y has no columns; a regressor needs at least one.")
    check_magnitude(Y, "y")


def check_signs(y: ArrayLike) -> None:
    """Raise unless all targets are -1 or 1."""
    y = np.asarray(y)
    bad = np.abs(y) != 1
    if np.any(bad):
        raise ValueError(f"y must hold class labels -1 and 1 for this loss, got {y[bad][0]:g}.")


def one_versus_rest(codes: NDArray[np.integer], k: int) -> Matrix:
    """Return columns of -1 and 1: one for two classes (1 is the second), else one per class."""
    if k == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(k), 1.0, -1.0)


def as_columns(y: ArrayLike) -> Matrix:
    """Return targets (n, k) for class labels (coded -1 and 1) or for numbers (as they are)."""
    y = np.asarray(y)
    if type_of_target(y).startswith("continuous"):
        return y.astype(float).reshape(len(y), -1)
    return encode_labels(y)[1]


def encode_labels(y: ArrayLike) -> tuple[np.ndarray, Matrix]:
    """Return the classes, sorted, and the labels as columns of -1 and 1."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got one class: {classes[0]}. Add rows of another class."
        )
    return classes, one_versus_rest(codes, len(classes))


def is_pm1(Y: Matrix) -> bool:
    """Return True if every entry is -1 or 1."""
    return bool(np.all(np.abs(Y) == 1))


def check_labels(Y: Matrix, who: str) -> None:
    """Raise unless ``Y`` (n, k) holds -1 and 1 with both signs in each column; ``who`` is named in the message."""
    if not is_pm1(Y):
        raise ValueError(
            f"{who} needs class labels coded -1 and 1, got other targets. Is this a regression problem?"
        )
    if np.any(np.abs(Y.sum(axis=0)) == len(Y)):
        raise ValueError(
            f"{who} needs points of at least two classes, got a class without any or one class only."
        )


def class_index(Y: Matrix) -> NDArray[np.intp]:
    """Return the class numbers 0, 1, ... of targets or outputs (n, k): by the sign of one column, else the largest."""
    return (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else np.argmax(Y, axis=1)


def balanced_weights(Y: Matrix) -> Vector:
    r"""Return weights :math:`v_i = n / (k\, n_{c(i)})` that give each of the k classes the same total weight."""
    check_labels(Y, "balancing classes")
    label = class_index(Y)
    counts = np.bincount(label)
    return len(Y) / (len(counts) * counts[label])


def weighted_mean(values: NDArray[Any], weights: Vector | None) -> float:
    """Return the mean of values (n,) with these weights; with equal ones exactly the plain mean, so that counts stay exact."""
    equal = weights is None or np.ptp(weights) == 0
    return float(np.average(values, weights=None if equal else weights))


def error_fraction(Y: Matrix, Z: Matrix, weights: Vector | None = None) -> float:
    """Return the fraction of samples whose outputs ``Z`` do not single out the class in ``Y``; a tie counts as an error."""
    return weighted_mean(is_wrong(Y, Z), weights)


def is_wrong(Y: Matrix, Z: Matrix) -> Vector:
    """Return 1 for samples whose outputs ``Z`` (n, k) do not single out the class in ``Y``, and 0 for others; a tie is wrong."""
    if Y.shape[1] == 1:
        return (Y[:, 0] * Z[:, 0] <= 0).astype(float)
    rows, own = np.arange(len(Y)), class_index(Y)
    others = Z.copy()
    others[rows, own] = -np.inf
    return np.asarray(Z[rows, own] <= others.max(axis=1), dtype=float)


def index_of_plateau_centre(values: ArrayLike) -> int:
    """Return the index of the smallest value; if several are equal, the middle of the first longest run of them.

    Counts of errors have plateaus over a grid, and the middle of one is the safest point on it.
    """
    values = np.asarray(values, float)
    best = np.flatnonzero(values == np.nanmin(values))
    runs = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
    run = max(runs, key=len)
    return int(run[(len(run) - 1) // 2])
