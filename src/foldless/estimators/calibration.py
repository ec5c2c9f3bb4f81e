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
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

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

    def cost(s: Vector) -> tuple[float, Vector]:
        error = softmax(s[0] * f, axis=1) - target
        value = -counts @ np.sum(target * log_softmax(s[0] * f, axis=1), axis=1)
        return value, np.array([counts @ np.sum(error * f, axis=1)])

    options = {"ftol": 1e-14, "gtol": 1e-10}
    fit = minimize(cost, [1.0], jac=True, method="L-BFGS-B", bounds=[SLOPE_BOUNDS], options=options)
    return Sigmoid(float(fit.x[0]) / scale)


def _softened(label: np.ndarray, counts: Vector, k: int) -> Matrix:
    """Return Platt's targets (n, k): a little less than one for the own class, the rest shared by the others."""
    size = np.bincount(label, counts)[label]
    own = ((size + 1) / (size + 2))[:, None]
    return np.where(label[:, None] == np.arange(k), own, (1 - own) / (k - 1))


def _logits(outputs: Matrix) -> Matrix:
    return np.hstack([-outputs / 2, outputs / 2]) if outputs.shape[1] == 1 else outputs
