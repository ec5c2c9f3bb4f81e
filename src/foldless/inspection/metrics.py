r"""Errors of predictions, and the information that probabilities carry about classes.

References
----------
.. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic regression*,
   table 3.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def prediction_error(y: NDArray[Any], predicted: NDArray[Any], is_classification: bool) -> float:
    """Return the fraction of wrong classes, or the root mean squared error of numbers.

    Examples
    --------
    >>> prediction_error(np.array(["a", "b"]), np.array(["a", "a"]), is_classification=True)
    0.5
    """
    return float(np.mean(predicted != y) if is_classification else np.sqrt(np.mean((predicted - y) ** 2)))


def target_information(
    y: ArrayLike, proba: ArrayLike, classes: ArrayLike | None = None, baseline: str = "classes"
) -> float:
    r"""Return the bits per row that probabilities carry about the class, beyond those of a baseline.

    .. math:: \frac1n \sum_i \log_2 p_{i y_i} + H, \qquad H = -\sum_c r_c \log_2 r_c,

    with :math:`r_c` the frequencies of the classes in ``y``: predicting these for every row scores 0, predicting the true
    class with certainty scores H. The paper [1]_ takes H = 1 bit, right only for two balanced classes:
    ``baseline="uniform"``, which is :math:`\log_2 k` for k classes.

    Parameters
    ----------
    y : array-like of shape (n,)
    proba : array-like of shape (n, k), or (n,) for the second of two classes
        For instance ``model.predict_proba(X)``, or ``model.loo_proba_`` for the training rows.
    classes : array-like of shape (k,), optional
        The labels of the columns, as in ``model.classes_``; by default the sorted labels of ``y``.
    baseline : {"classes", "uniform"}, default="classes"

    Returns
    -------
    bits : float
        Minus infinity if a class that occurs was given probability zero.

    Examples
    --------
    >>> round(target_information([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25]), 3)
    0.0
    """
    if baseline not in ("classes", "uniform"):
        raise ValueError(f"baseline must be 'classes' or 'uniform', got {baseline!r}.")
    y, proba = np.asarray(y), np.asarray(proba, dtype=float)
    proba = np.column_stack([1 - proba, proba]) if proba.ndim == 1 else proba
    classes = np.unique(y) if classes is None else np.asarray(classes)
    if proba.shape != (len(y), len(classes)):
        raise ValueError(
            f"proba must have shape {(len(y), len(classes))} for y and classes, got {proba.shape}."
        )
    T = y[:, None] == classes
    if not np.all(T.any(axis=1)):
        raise ValueError(f"y holds {y[~T.any(axis=1)][0]!r}, which is not among classes.")
    with np.errstate(divide="ignore"):
        known = np.mean(np.log2(proba[T]))
    r = T.mean(axis=0)
    entropy = np.log2(len(classes)) if baseline == "uniform" else -np.sum(r[r > 0] * np.log2(r[r > 0]))
    return float(known + entropy)
