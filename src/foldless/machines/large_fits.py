r"""Large fits of a smooth machine to a dense Gram: one factor in single precision, and conjugate gradients.

A factorisation takes as long as a hundred products with its factors. So the Newton steps of :mod:`foldless.machines.nearby_fits` go as
far as they can with a model of the first point. Its factor may be one in single precision, which takes half the time: what that errs
is made up for by :math:`z = C K \beta + b` in double precision after every step, the only product with K of a step.

From outputs z that stand for the solution of another problem, such as a fit through landmarks, the Newton step

.. math:: z^{+} = V (W z + a), \qquad \beta^{+} = W z + a - W z^{+}  \tag{1}

leads to a point of this one.
"""

from dataclasses import dataclass, replace

import numpy as np

from foldless.core.gram import Matrix, Vector
from foldless.grams import DenseGram
from foldless.machines.coefficients import loses_digits
from foldless.machines.losses.protocols import SmoothLoss
from foldless.machines.nearby_fits import TINY, Model, NearbyFits

# Smallest curvature of a model, in units of the precision of the prior. Less would change little, but lose digits.
MODEL_MIN_CURVATURE = 1e-4


@dataclass(frozen=True, eq=False)
class LargeFits:
    """Fits to one Gram.

    Parameters
    ----------
    gram : DenseGram
    loss : SmoothLoss
    C : float
    bias : bool
    v : array of shape (n,)
        Weights of the rows.
    decrement : float
        Largest decrement of a solution.
    """

    gram: DenseGram
    loss: SmoothLoss
    C: float
    bias: bool
    v: Vector
    decrement: float

    def outputs(self, Y: Matrix, constants: Vector, warm: Vector | None = None) -> list[Vector | None]:
        """Return the outputs of every column of the targets, None where they were not found.

        Columns share a model, which has the geometric means of their curvatures. A single column needs one in single precision to
        begin with: in double precision nothing would be gained. Where conjugate gradients take many steps, double precision follows.

        Parameters
        ----------
        Y : array of shape (n, k)
        constants : array of shape (k,)
            The best constants.
        warm : array of shape (n,), optional
            Outputs for a single column, of another problem.
        """
        points = self._at_constants(Y, constants)
        nothing: list[Vector | None] = [None] * Y.shape[1]
        if not self._variance > 0 or loses_digits(self.gram, self.C * float(np.max(points.w))):
            return nothing
        z = points.z if warm is None else warm[:, None]
        w = replace(points, z=z).w
        model = self._single_model(w)
        if model is None and Y.shape[1] == 1:
            return nothing
        points = replace(points, model=model or self._double_model(w))
        if warm is not None:
            points = self._after_warm_step(points, z)
        points, is_solved = points.solved(self.decrement, self._double_model)
        return [z if known else None for z, known in zip(points.z.T, is_solved, strict=True)]

    def _at_constants(self, Y: Matrix, constants: Vector) -> NearbyFits:
        z = np.tile(constants, (self.gram.n, 1))
        v = np.broadcast_to(self.v[:, None], Y.shape)
        unknown = Model(np.zeros_like, np.zeros(self.gram.n))
        return NearbyFits(self.loss, unknown, Y, v, z, np.zeros_like(z))

    def _after_warm_step(self, begin: NearbyFits, z: Matrix) -> NearbyFits:
        """Return the point of eq. (1), or the beginning if that is better."""
        warm, w = replace(begin, z=z), begin.model.w[:, None]
        r = w * z + warm.a
        z = begin.model.V(r)
        z, beta = self._belonging(z, r - w * z)
        found = replace(warm, z=z, beta=beta)
        return found if np.all(found.value < begin.value) else begin

    @property
    def _variance(self) -> float:
        return float(np.mean(self.gram.diag()))

    def _double_model(self, w: Matrix) -> Model:
        """Return the model of curvatures w (n, k) in double precision."""
        means = self._mean_curvature(w)
        V = self.gram.factor(self.C * means, self.bias).quick_covariance
        return Model(lambda M: self.C * V(M), means, self._belonging)

    def _single_model(self, w: Matrix) -> Model | None:
        """Return the model in single precision, or None if that does not suffice."""
        # Where no curvature matters nothing but rounding would be left.
        if self.C * float(np.max(w)) * self._variance < MODEL_MIN_CURVATURE:
            return None
        means = self._mean_curvature(w)
        factor = self.gram.single_factor(self.C * means, self.bias)
        if factor is None:
            return None
        V = factor.covariance
        return Model(lambda M: self.C * V(M), means, self._belonging)

    def _mean_curvature(self, w: Matrix) -> Vector:
        """Return the geometric means of the rows, or what matters at least."""
        least = MODEL_MIN_CURVATURE / (self.C * self._variance)
        return np.maximum(np.exp(np.mean(np.log(np.maximum(w, TINY)), axis=1)), least)

    def _belonging(self, z: Matrix, beta: Matrix) -> tuple[Matrix, Matrix]:
        """Return outputs and slopes of the penalty that belong together, from slopes and roughly known outputs."""
        if not self.bias:
            return self.C * self.gram.matmul(beta), beta
        beta = beta - np.mean(beta, axis=0)
        f = self.C * self.gram.matmul(beta)
        return f + np.mean(z - f, axis=0), beta
