"""Where kernel, machine and criterion meet: theta in, value and gradient out."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from foldless.core.contracts import Evaluation, HasPrior, Matrix, Reading
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.tuning.shared_cache import shared


@dataclass(frozen=True, eq=False)
class Objective(HasPrior):
    """Everything but ``theta``: calling it evaluates the criterion.

    Parameters
    ----------
    kernel, machine, criterion
        ``theta`` is the kernel's, followed by the machine's if ``tune_machine``.
    representation : DenseBuilder or NystromBuilder
        Where the Gram comes from.
    Y : array of shape (n, k)
    tune_machine : bool
        Whether the machine's hyper-parameter is part of ``theta``.
    """

    kernel: Any
    machine: Any
    criterion: Any
    builder: Any
    Y: Matrix
    tune_machine: bool = True

    @property
    def theta(self):
        """The parameters of the kernel and machine as they stand."""
        machine = self.machine.theta if self.tune_machine else np.zeros(0)
        return np.r_[self.kernel.theta, machine]

    @property
    def nats_per_unit(self):
        """What one unit of the criterion is worth in nats of the log likelihood."""
        return self.criterion.nats_per_unit(self.machine, *self.Y.shape)

    def prior(self):
        """Return centres and deviations of the criterion's normal prior on ``theta``; see :meth:`Criterion.prior`."""
        return self.criterion.prior(self.kernel, self.machine if self.tune_machine else None)

    def with_machine(self, machine):
        """Return the problem for another machine; the latest Gram goes along."""
        other = replace(self, machine=machine)
        other._latest.update(self._latest)
        return other

    def at(self, theta):
        """Return kernel and machine with the parameters ``theta``."""
        p = len(self.kernel.theta)
        kernel = self.kernel.clone_with_theta(theta[:p]) if p else self.kernel
        return kernel, self.machine.with_theta(theta[p:]) if self.tune_machine else self.machine

    def solve(self, theta, start=None):
        """Return kernel, machine and solution at ``theta``."""
        kernel, machine = self.at(theta)
        parts = (self.builder, kernel, machine, self.Y, start)
        return kernel, machine, shared(parts, lambda: machine.solve(self.gram(kernel), self.Y, start))

    def gram(self, kernel):
        """Return the Gram of ``kernel``; the latest is kept, with what was computed from it."""
        key = kernel.theta.tobytes()
        latest = self._latest.get("gram")
        if latest is None or latest[0] != key:  # one tuple: descents run side by side
            latest = None
            self._latest.clear()  # the next is made when this one is gone: they are large
            found = shared((self.builder, kernel), lambda: self.builder.gram(kernel))
            latest = self._latest["gram"] = (key, found)
        return latest[1]

    @cached_property
    def _latest(self):
        return {}

    def __call__(self, theta, warm_start=None):
        """Evaluate; a point where fit or criterion does not exist is ``inf``, with the reason."""
        try:
            kernel, machine, solution = self.solve(theta, warm_start)
            reading = self.criterion(solution)
        except (Undefined, NotPositiveDefinite, np.linalg.LinAlgError) as error:
            return Evaluation(np.inf, note=str(error))
        if not np.isfinite(reading.value):
            return Evaluation(np.inf, note=f"{self.criterion.name} is {reading.value}")
        penalty, pull = self.criterion.penalty(kernel, machine if self.tune_machine else None)
        derive = partial(self._gradient, kernel, solution, reading, pull)
        gradient_error = partial(self._error, kernel, solution, reading.batches) if reading.batches else None
        value = reading.value + penalty
        return Evaluation(
            value, derive, warm_start=solution.start, parts=reading.parts, gradient_error=gradient_error
        )

    def _error(self, kernel, solution, batches):
        """Standard error of the mean gradient over independent batches."""
        gradients = [self._gradient(kernel, solution, Reading(0.0, *batch)) for batch in batches]
        return np.std(gradients, axis=0, ddof=1) / np.sqrt(len(gradients))

    def _gradient(self, kernel, solution, reading, pull=0.0):
        if self.tune_machine and reading.slope is None:
            return None
        gradient = np.zeros(0)
        if len(self.kernel.theta):
            if reading.adjoint is None:
                return None
            gradient = self.builder.pullback(kernel, solution.gram, reading.adjoint)
        return (np.r_[gradient, reading.slope] if self.tune_machine else gradient) + pull
