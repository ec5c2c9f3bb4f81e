r"""Outputs to probabilities, fitted on leave-one-out outputs: no folds, and no output has seen its own label.

One slope s for all outputs: :math:`p = 1 / (1 + e^{-s f})` for two classes, :math:`p_k \propto e^{s f_k}` for more. There is no
offset, so the most probable class is always the predicted one; outputs of a least-squares fit estimate
:math:`2p - 1` and vanish where the classes are equally likely. Targets are softened as by Platt [1]_,
:math:`(n_c + 1) / (n_c + 2)`, so that separable outputs do not ask for an infinite slope.

References
----------
.. [1] Platt, *Probabilistic outputs for support vector machines* (1999).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import class_index

# Bounds of the slope for outputs divided by their root mean square.
SLOPE_BOUNDS = (1e-6, 1e6)


@dataclass(frozen=True)
class Sigmoid:
    """A map from outputs (n, k) to probabilities."""

    slope: float

    def __call__(self, outputs: Matrix) -> Matrix:
        """Return probabilities (n, 2) or (n, k) that sum to one."""
        return softmax(self.slope * _logits(outputs), axis=1)


def calibrate(outputs: Matrix, Y: Matrix, row_counts: Vector | None = None) -> Sigmoid:
    """Fit the sigmoid to outputs (n, k) of labels ``Y`` (n, k); each row stands for ``row_counts`` equal ones."""
    counts = np.ones(len(Y)) if row_counts is None else row_counts
    label, f = class_index(Y), _logits(outputs)
    scale = max(float(np.sqrt(np.average(f**2, weights=counts, axis=0).mean())), np.finfo(float).tiny)
    f, target = f / scale, _softened(label, counts, f.shape[1])

    def derivative(log_slope: float) -> float:
        """Return the derivative of the cost, which is convex in the slope: it has one root, or none between the bounds."""
        error = softmax(np.exp(log_slope) * f, axis=1) - target
        return float(counts @ np.sum(error * f, axis=1))

    low, high = np.log(SLOPE_BOUNDS)
    if derivative(low) >= 0:
        slope = SLOPE_BOUNDS[0]
    elif derivative(high) <= 0:
        slope = SLOPE_BOUNDS[1]
    else:
        slope = float(np.exp(brentq(derivative, low, high, xtol=1e-14)))
    return Sigmoid(slope / scale)


def _softened(label: np.ndarray, counts: Vector, k: int) -> Matrix:
    """Return Platt's targets (n, k): a little less than one for the own class, the rest shared by the others."""
    size = np.bincount(label, counts)[label]
    own = ((size + 1) / (size + 2))[:, None]
    return np.where(label[:, None] == np.arange(k), own, (1 - own) / (k - 1))


def _logits(outputs: Matrix) -> Matrix:
    return np.hstack([-outputs / 2, outputs / 2]) if outputs.shape[1] == 1 else outputs
