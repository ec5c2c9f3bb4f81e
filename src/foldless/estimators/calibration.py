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

from foldless.core.targets import class_index

STEEP = (1e-6, 1e6)  # bounds of the slope, in units of one over the spread of the outputs


@dataclass(frozen=True)
class Sigmoid:
    """A map from outputs (n, k) to probabilities."""

    slope: float

    def __call__(self, outputs):
        """Return probabilities (n, 2) or (n, k) that sum to one."""
        return softmax(self.slope * _logits(outputs), axis=1)


def calibrate(outputs, Y, row_counts=None):
    """Fit the sigmoid to outputs (n, k) of labels ``Y`` (n, k); ``row_counts`` counts the samples behind each row."""
    row_counts = np.ones(len(Y)) if row_counts is None else row_counts
    label, f = class_index(Y), _logits(outputs)
    spread = max(float(np.sqrt(np.average(f**2, weights=row_counts, axis=0).mean())), np.finfo(float).tiny)
    own = (np.bincount(label, row_counts)[label] + 1) / (np.bincount(label, row_counts)[label] + 2)
    target = np.where(
        label[:, None] == np.arange(f.shape[1]), own[:, None], (1 - own[:, None]) / (f.shape[1] - 1)
    )
    f = f / spread

    def cost(s):
        error = softmax(s[0] * f, axis=1) - target
        value = -row_counts @ np.sum(target * log_softmax(s[0] * f, axis=1), axis=1)
        return value, np.array([row_counts @ np.sum(error * f, axis=1)])

    fit = minimize(
        cost, [1.0], jac=True, method="L-BFGS-B", bounds=[STEEP], options={"ftol": 1e-14, "gtol": 1e-10}
    )
    return Sigmoid(float(fit.x[0]) / spread)


def _logits(outputs):
    return np.hstack([-outputs / 2, outputs / 2]) if outputs.shape[1] == 1 else outputs
