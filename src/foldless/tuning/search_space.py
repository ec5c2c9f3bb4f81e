"""Bounds and starts of a search over a kernel's parameters and the regularisation.

The regularisation is searched in units of the kernel's mean diagonal, so that a kernel and its multiples are treated
alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Box, Machine, Vector
from foldless.kernels.evaluate import diagonal
from foldless.kernels.pairs import distinct_rows
from foldless.kernels.precomputed import is_precomputed
from foldless.searches.starts import sobol_starts

# The coarse grid of starts: values of log C for every step of the log length scale about the given kernel. A wide kernel is nearly
# 1 - d^2 / (2 length_scale^2), so that what matters is C / length_scale^2: the wider the kernel, the larger is C.
START_LOG_C_OF_STEPS = {-2.0: (1.5,), -1.0: (1.5,), 0.0: (0.0, 4.0), 1.0: (2.0, 6.0), 2.0: (5.0,)}
# The same for a kernel without parameters.
START_LOG_C = (0.0, 3.0)


@dataclass(frozen=True)
class SearchSpace:
    """Where a search may go and where it begins.

    Attributes
    ----------
    box : Box
    starts : list of arrays of shape (p,)
    n_kernel_parameters : int
        Parameters of the kernel, which come first.
    """

    box: Box
    starts: list[Vector]
    n_kernel_parameters: int = 0

    @classmethod
    def around(
        cls,
        kernel: Kernel,
        machine: Machine | None,
        X: Any,
        regularisation: tuple[float, float] | None = None,
        n_starts: int = 1,
    ) -> "SearchSpace":
        """Return the space of a kernel's parameters and, unless ``machine`` is None, of the regularisation.

        Parameters
        ----------
        kernel : Kernel
            Its bounds are used; the starts lie around its parameters.
        machine : Machine or None
            The machine whose regularisation is tuned.
        X : array or sparse matrix of shape (n, d)
        regularisation : pair of float, optional
            Lowest and highest value of C, or of alpha; by default a wide range.
        n_starts : int
            Number of starts that are needed; a Sobol sequence supplies those that the coarse grid lacks.
        """
        scale = _mean_diagonal(kernel, X)
        bounds, kernels = kernel.bounds.reshape(-1, 2), _shifted_kernels(kernel)
        starts = [theta for theta, _ in kernels]
        if machine is not None:
            bounds = np.vstack([bounds, regularisation_bounds(machine, scale, regularisation)])
            starts = [
                np.r_[theta, strength]
                for theta, log_C in kernels
                for strength in theta_of_log_C(machine, scale, log_C)
            ]
        box = Box(bounds[:, 0], bounds[:, 1])
        extra = sobol_starts(box, n_starts - len(starts)) if box.size else []
        return cls(box, starts + extra, len(kernel.theta))

    def with_kernel(self, theta: Vector, step: Vector | float = 0.0) -> "SearchSpace":
        """Return the space of the regularisation alone, with the kernel a step away from that of ``theta``, where it begins."""
        p = self.n_kernel_parameters
        start = theta.copy()
        start[:p] += step
        start = self.box.clip(start)
        low, high = (np.r_[start[:p], bound[p:]] for bound in (self.box.low, self.box.high))
        return replace(self, box=Box(low, high), starts=[start])

    def with_shifted_C(self, change: float) -> "SearchSpace":
        """Return the space with another log C of every start."""
        shift = np.r_[np.zeros(self.n_kernel_parameters), change]
        return replace(self, starts=[start + shift for start in self.starts])

    def with_start(self, kernel: Kernel, machine: Machine | None, log_C: float, X: Any) -> "SearchSpace":
        """Return the space with another first start: a kernel, and C in units of 1 / its mean diagonal."""
        strength = () if machine is None else theta_of_log_C(machine, _mean_diagonal(kernel, X), log_C)
        return replace(self, starts=[self.box.clip(np.r_[kernel.theta, strength]), *self.starts])

    def with_largest_C(self, kernel: Kernel, machine: Machine, log_C: float, X: Any) -> "SearchSpace":
        """Return the space without larger C than this one, in units of 1 / the kernel's mean diagonal."""
        limit = theta_of_log_C(machine, _mean_diagonal(kernel, X), log_C)
        low, high, p = self.box.low.copy(), self.box.high.copy(), self.n_kernel_parameters
        if machine.sign > 0:
            high[p:] = np.maximum(np.minimum(high[p:], limit), low[p:])
        else:
            low[p:] = np.minimum(np.maximum(low[p:], limit), high[p:])
        return replace(self, box=Box(low, high))

    def kernels_of(self, points: Sequence[Vector], theta: Vector) -> list[Vector]:
        """Return the kernels at some points, each once, with the regularisation of ``theta``."""
        p = self.n_kernel_parameters
        kernels = {point[:p].tobytes(): point[:p] for point in points} if p else {}
        return [np.r_[kernel, theta[p:]] for kernel in kernels.values()]


def starts_near(theta: Vector, kernel: Kernel, machine: Machine | None) -> list[Vector]:
    """Return starts for a kernel of whose sister ``theta`` is the optimum.

    They are the optimum itself, one with a wider kernel and less regularisation, as suits a rougher kernel, and two points of the
    coarse grid in case that nothing could be learned there.
    """
    wider = is_length_scale(kernel)
    if machine is None:
        return [theta, theta + wider, kernel.theta, kernel.theta + wider]
    grid = [np.r_[kernel.theta + step * wider, machine.sign * START_LOG_C[-1]] for step in (0.0, 1.0)]
    return [theta, theta + np.r_[wider, machine.sign], *grid]


def theta_of_log_C(machine: Machine, scale: float, log_C: ArrayLike) -> Vector:
    """Return the machine's theta (log C, or log alpha = -log C) for values of log C in units of 1 / ``scale``."""
    return machine.sign * (np.asarray(log_C, dtype=float) - np.log(scale))


def regularisation_bounds(
    machine: Machine, scale: float, regularisation: tuple[float, float] | None = None
) -> Vector:
    """Return the lowest and the highest value of the machine's theta: those given, or a wide range."""
    if regularisation is not None:
        return np.log(regularisation)
    return np.sort(theta_of_log_C(machine, scale, np.log(machine.scaled_C_range)))


def _mean_diagonal(kernel: Kernel, X: Any) -> float:
    # The diagonal of a stationary kernel is constant.
    points = X[:1] if kernel.is_stationary() else X if is_precomputed(kernel) else distinct_rows(X)
    mean = float(np.mean(diagonal(kernel, points)))
    return mean if np.isfinite(mean) and mean > 0 else 1.0


def _shifted_kernels(kernel: Kernel) -> list[tuple[Vector, tuple[float, ...]]]:
    """Return the kernel's theta with all length scales made shorter and longer together, and values of log C for each."""
    steps = START_LOG_C_OF_STEPS if len(kernel.theta) else {0.0: START_LOG_C}
    theta, wider = kernel.theta, is_length_scale(kernel)
    return [(theta + step * wider, log_C) for step, log_C in steps.items()]


def is_length_scale(kernel: Kernel) -> Vector:
    """Return 1 where theta is a length scale and 0 elsewhere; 1 everywhere if there is no length scale."""
    found = _length_scales(kernel)
    return found if np.any(found) else np.ones(len(kernel.theta))


def has_length_scale(kernel: Kernel) -> bool:
    """Return whether theta has a length scale."""
    return bool(np.any(_length_scales(kernel)))


def _length_scales(kernel: Kernel) -> Vector:
    free = [h for h in kernel.hyperparameters if not h.fixed]
    return np.array([float("length_scale" in h.name) for h in free for _ in range(h.n_elements)])
