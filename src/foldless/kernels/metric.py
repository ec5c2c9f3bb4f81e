r"""Radial kernels with a metric that was learned from the gradients of a fit.

.. math:: k(x, x') = \varphi\bigl((x - x')' M (x - x') / \ell^2\bigr), \qquad M = \Bigl(\frac{d}{\operatorname{tr} G} G\Bigr)^s
          = U \operatorname{diag}(g^s)\, U', \qquad G = \frac1n \sum_i \nabla f(x_i) \nabla f(x_i)'.  \tag{1}

G is the average gradient outer product of an earlier fit f [1]_: directions along which f does not change get no weight.
The power s in (0, 1] says how far the metric goes from the plain distance; near 0 it is the plain distance. In the
coordinates :math:`U'x` the kernel has one length scale per direction, :math:`\ell_a = \ell\, g_a^{-s/2}`, so that with
:math:`v_a` the derivative in :math:`\log \ell_a`

.. math:: \frac{\partial}{\partial \log \ell} = \sum_a v_a, \qquad
          \frac{\partial}{\partial \log s} = -\frac s2 \sum_a v_a \log g_a.  \tag{2}

References
----------
.. [1] Radhakrishnan, Beaglehole, Pandit and Belkin, *Mechanism for feature learning in neural networks and
   backpropagation-free machine learning models*, Science 383 (2024).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import PairKernel
from foldless.kernels.columns import Columns
from foldless.kernels.evaluate import gram, is_semidefinite, pullback, shown
from foldless.kernels.pairs import Pairs

# Directions with less than this fraction of the mean eigenvalue count as if they had it.
MIN_EIGENVALUE = 1e-8


class Metric(StationaryKernelMixin, NormalizedKernelMixin, PairKernel):
    """RBF or Matérn kernel of a distance (1) that is learned.

    Parameters
    ----------
    length_scale : float, default=1.0
    power : float, default=0.5
        s, above 0 and at most 1.
    eigenvalues : array of shape (d,), default=None
        g, with mean 1; ``None`` is the plain distance.
    directions : array of shape (d, d), default=None
        U, a direction per column.
    nu : {0.5, 1.5, 2.5, inf}, default=inf
        Smoothness: a Laplacian, Matérn kernels, or the RBF; not tuned.
    rounds : int, default=0
        How often an estimator learns the metric from the gradients of its last fit and tunes again. It keeps the round
        with the lowest criterion, and the plain distance is round 0.
    length_scale_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
    power_bounds : pair of floats or "fixed", default=(0.05, 1.0)

    Examples
    --------
    >>> kernel = Metric(1.0, 1.0, [2.0, 0.0], np.eye(2))
    >>> kernel([[0.0, 0.0], [0.0, 9.0], [1.0, 0.0]]).round(4)
    array([[1.    , 1.    , 0.3679],
           [1.    , 1.    , 0.3679],
           [0.3679, 0.3679, 1.    ]])
    """

    def __init__(
        self,
        length_scale: float = 1.0,
        power: float = 0.5,
        eigenvalues: ArrayLike | None = None,
        directions: ArrayLike | None = None,
        nu: float = np.inf,
        rounds: int = 0,
        length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5),
        power_bounds: tuple[float, float] | str = (0.05, 1.0),
    ) -> None:
        self.length_scale = length_scale
        self.power = power
        self.eigenvalues = eigenvalues
        self.directions = directions
        self.nu = nu
        self.rounds = rounds
        self.length_scale_bounds = length_scale_bounds
        self.power_bounds = power_bounds

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The width, in logarithms."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    @property
    def hyperparameter_power(self) -> Hyperparameter:
        """The power s, in logarithms; fixed for the plain distance, which does not depend on it."""
        if not 0 < self.power <= 1:
            raise ValueError(f"power must be above 0 and at most 1, got {self.power!r}.")
        bounds = "fixed" if self.eigenvalues is None else self.power_bounds
        return Hyperparameter("power", "numeric", bounds)

    @property
    def scales(self) -> Vector:
        """Weights of the directions in the metric, with mean 1 before the power; ones for the plain distance."""
        if self.eigenvalues is None:
            return np.ones(1)
        g = np.asarray(self.eigenvalues, dtype=float)
        return np.maximum(g, MIN_EIGENVALUE * np.mean(g))

    def __repr__(self) -> str:
        numbers = f"length_scale={shown(self.length_scale)}"
        if self.eigenvalues is not None:
            top = np.sort(self.scales)[::-1]
            share = np.sum(top) ** 2 / np.sum(top**2)
            numbers += f", power={shown(self.power)}, {share:.1f} of {len(top)} directions"
        return f"Metric({numbers}, nu={self.nu})"

    def derivatives(self, pairs: Pairs) -> Iterator[Matrix]:
        """Yield the derivatives in width and power, if they are free."""
        free = [not self.hyperparameter_length_scale.fixed, not self.hyperparameter_power.fixed]
        in_scales = radial(self)(rotated(self, pairs).X, eval_gradient=True)[1]
        yield from np.moveaxis(in_scales @ _chain(self)[:, free], 2, 0)


def radial(kernel: Metric) -> Matern:
    """Return the kernel with a length scale per direction that it is in the rotated coordinates."""
    if kernel.eigenvalues is None:
        return Matern(float(kernel.length_scale), nu=kernel.nu)
    return Matern(kernel.length_scale * kernel.scales ** (-kernel.power / 2), nu=kernel.nu)


def _chain(kernel: Metric) -> Matrix:
    """Return the derivatives of the logarithms of the length scales in the logarithms of width and power; eq. (2)."""
    g = kernel.scales
    return np.column_stack([np.ones(len(g)), -kernel.power / 2 * np.log(g)])


def rotated(kernel: Metric, pairs: Pairs) -> Pairs:
    """Return the pairs in the coordinates of the metric."""
    if kernel.directions is None:
        return pairs
    return pairs.times(np.asarray(kernel.directions, dtype=float))


@gram.register
def _(kernel: Metric, pairs: Pairs) -> Matrix:
    return gram(radial(kernel), rotated(kernel, pairs))


@pullback.register
def _(kernel: Metric, pairs: Pairs, adjoint: Matrix) -> Vector:
    free = [not kernel.hyperparameter_length_scale.fixed, not kernel.hyperparameter_power.fixed]
    if not any(free):
        return np.zeros(0)
    return pullback(radial(kernel), rotated(kernel, pairs), adjoint) @ _chain(kernel)[:, free]


@is_semidefinite.register
def _(kernel: Metric) -> bool:
    return True


def learned_metric(kernel: Kernel) -> str | None:
    """Return where the first :class:`Metric` with rounds to learn is among the parameters; ``None`` if there is none."""
    parts = {"": kernel} | kernel.get_params()
    found = [name for name, part in parts.items() if isinstance(part, Metric) and part.rounds > 0]
    name = min(found, key=len, default=None)
    inside = [part for outer, part in parts.items() if name and name.startswith(f"{outer}__".lstrip("_"))]
    if any(isinstance(part, Columns) for part in inside):
        raise ValueError(
            "Metric learns its metric on all columns: use it outside of Columns, or with rounds=0."
        )
    return name


def with_metric(kernel: Kernel, G: Matrix) -> Kernel:
    """Return ``kernel`` with the metric (1) of the average gradient outer product ``G`` (d, d) in its :class:`Metric`."""
    g, U = np.linalg.eigh(G)
    mean = float(np.mean(g))
    # A function that never changes has no preferred direction.
    g = np.maximum(g, 0.0) / mean if mean > 0 else np.ones(len(g))
    name = learned_metric(kernel)
    changes: dict[str, Any] = {"eigenvalues": g, "directions": U}
    return clone(kernel).set_params(**{f"{name}__{key}".lstrip("_"): value for key, value in changes.items()})
