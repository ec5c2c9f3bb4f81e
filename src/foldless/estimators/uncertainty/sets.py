r"""Sets of classes by leave-one-out cross-conformal prediction.

A score :math:`s(z, c)` is large if class c is unlikely under the outputs z. With the scores of the rows under the models
without them, :math:`s_i = s(f_{-i}(x_i), y_i)`, the set of a new point is [1]_ [2]_

.. math:: \Bigl\{ c : \frac{1 + \#\{i : s_i \ge s(f_{-i}(x), c)\}}{n + 1} > \alpha \Bigr\}.  \tag{1}

=============  =======================================================================================================
score          :math:`s(z, c)`
=============  =======================================================================================================
probability    :math:`1 - p_c`
adaptive       the sum of all probabilities that are at least :math:`p_c`: sets that grow where classes overlap [3]_
margin         :math:`\max_{c' \ne c} z_{c'} - z_c`, for outputs that are no probabilities
=============  =======================================================================================================

References
----------
.. [1] Vovk, *Cross-conformal predictors*, Annals of Mathematics and Artificial Intelligence 74 (2015).
.. [2] Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021).
.. [3] Romano, Sesia and Candès, *Classification with valid and adaptive coverage* (2020).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import UnknownName

Score = Callable[[Matrix], Matrix]


def probability_score(probabilities: Matrix) -> Matrix:
    """Return one minus the probabilities (..., n_classes)."""
    return 1 - probabilities


def adaptive_score(probabilities: Matrix) -> Matrix:
    """Return for every class the sum of the probabilities that are at least its own (..., n_classes).

    Examples
    --------
    >>> adaptive_score(np.array([[0.5, 0.125, 0.375]])).tolist()
    [[0.5, 1.0, 0.875]]
    """
    # Sorting, rather than comparing all pairs of classes, keeps the memory at one array.
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    sums = np.cumsum(np.take_along_axis(probabilities, order, axis=-1), axis=-1)
    found = np.empty_like(probabilities)
    np.put_along_axis(found, order, sums, axis=-1)
    return found


def margin_score(outputs: Matrix) -> Matrix:
    """Return by how much another class is ahead (..., n_classes); one column of outputs stands for two classes.

    Examples
    --------
    >>> margin_score(np.array([[1.0, 3.0, 0.0]])).tolist()
    [[2.0, -2.0, 3.0]]
    """
    if outputs.shape[-1] == 1:
        return np.concatenate([outputs, -outputs], axis=-1)
    top = np.sort(outputs, axis=-1)[..., -2:]
    leads = outputs == top[..., 1:]
    return np.where(leads, top[..., :1], top[..., 1:]) - outputs


def scorer(name: str, probabilities: Callable[[Matrix], Matrix] | None) -> Score:
    """Return the score called ``name`` as a function of outputs; ``probabilities`` turns outputs (m, k) into such, if it can."""
    table: dict[str, Score] = {"margin": margin_score}
    if probabilities is not None:
        table |= {
            "probability": lambda z: probability_score(_on_last_axis(probabilities, z)),
            "adaptive": lambda z: adaptive_score(_on_last_axis(probabilities, z)),
        }
    if name not in table:
        raise UnknownName("score", name, table)
    return table[name]


def _on_last_axis(function: Callable[[Matrix], Matrix], z: Matrix) -> Matrix:
    """Apply a function of outputs (m, k) to an array (..., k)."""
    return function(z.reshape(-1, z.shape[-1])).reshape(*z.shape[:-1], -1)


def p_values(scores: Matrix, own: Vector, counts: Vector) -> Matrix:
    """Return the left side of eq. (1), (p, n_classes).

    Parameters
    ----------
    scores : array of shape (p, n, n_classes)
        Scores of the new points under the left-out models.
    own : array of shape (n,)
        Scores of the rows under the models without them.
    counts : array of shape (n,)
        Number of equal rows that each row stands for.
    """
    at_least = np.einsum("pnc,n->pc", own[:, None] >= scores, counts)
    return (1 + at_least) / (1 + counts.sum())


def filled(members: NDArray[np.bool_], likely: NDArray[np.intp]) -> tuple[NDArray[np.bool_], int]:
    """Return the sets with empty ones filled by the most likely class, and how many were empty."""
    empty = np.flatnonzero(~members.any(axis=1))
    members = members.copy()
    members[empty, likely[empty]] = True
    return members, len(empty)
