"""Where kernel, machine and criterion meet: theta in, value and gradient out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Evaluation, Gram, HasPrior, HasScale, Machine, Matrix, Reading, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.magnitude import check_kernel_values
from foldless.core.memo import cached_property
from foldless.core.parallel import in_order
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.grams.builders import Builder
from foldless.kernels.evaluate import with_theta

# A loss below this fraction of the variance of the targets is compared with that: what is left is nearly rounding.
EXACT_FIT_FRACTION = 1e-3
# A fit or a criterion that does not exist at some theta raises one of these.
UNDEFINED_ERRORS = (Undefined, NotPositiveDefinite, np.linalg.LinAlgError)


def with_parameters(
    kernel: Kernel, machine: Machine, theta: Vector, tune_machine: bool
) -> tuple[Kernel, Machine]:
    """Return kernel and machine with the parameters ``theta``: the kernel's first, then the machine's if they are tuned."""
    p = len(theta) - len(machine.theta) * tune_machine
    kernel = with_theta(kernel, theta[:p]) if p else kernel
    return kernel, machine.with_theta(theta[p:]) if tune_machine else machine


@dataclass(frozen=True, eq=False)
class Objective(HasPrior, HasScale):
    """The criterion as a function of ``theta``.

    Parameters
    ----------
    kernel, machine, criterion
        ``theta`` holds the kernel's parameters, followed by the machine's if ``tune_machine``.
    builder : Builder
        Turns a kernel into a Gram.
    Y : array of shape (n, k)
    tune_machine : bool
        Whether the machine's hyper-parameter is part of ``theta``.
    """

    kernel: Kernel
    machine: Machine
    criterion: Criterion
    builder: Builder
    Y: Matrix
    tune_machine: bool = True

    @property
    def theta(self) -> Vector:
        """The parameters of the kernel and the machine as they were given."""
        machine = self.machine.theta if self.tune_machine else np.zeros(0)
        return np.r_[self.kernel.theta, machine]

    @property
    def value_scale(self) -> float | None:
        """Size of a large change of the criterion; ``None`` if that is the size of the value itself."""
        return self.criterion.value_scale

    @property
    def in_nats(self) -> bool:
        """Whether the criterion is in nats per row."""
        return self.criterion.in_nats(self.machine)

    @cached_property
    def smallest_scale(self) -> float:
        """The size below which values differ by rounding alone: a small fraction of the variance of the targets."""
        weights = self.machine.loss_weights
        away = self.Y - np.average(self.Y, axis=0, weights=weights)
        return EXACT_FIT_FRACTION * float(np.mean(np.average(away**2, axis=0, weights=weights)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.Y)

    @property
    def rows_at_once(self) -> int:
        """Number of rows: all are fitted at once."""
        return len(self.Y)

    @property
    def n_separate_fits(self) -> int:
        """Number of fits that an evaluation takes."""
        return self.machine.n_separate_fits(self.Y.shape[1])

    @property
    def nats_per_unit(self) -> float:
        """Nats of the log likelihood in one unit of the criterion."""
        return self.criterion.nats_per_unit(self.machine, *self.Y.shape)

    def prior(self) -> tuple[Vector, Vector]:
        """Return means and deviations of the criterion's normal prior of ``theta``; see :meth:`Criterion.prior`."""
        return self.criterion.prior(self.kernel, self._tuned(self.machine))

    def corrected(self, theta: Vector, start: Any = None) -> "Objective":
        """Return the objective with its criterion corrected if that misleads at ``theta``; itself if it holds."""
        if not self.criterion.approximates(self.machine):
            return self
        criterion = self.criterion.corrected(self.solve(theta, start)[2])
        return self if criterion == self.criterion else replace(self, criterion=criterion)

    def with_machine(self, machine: Machine) -> "Objective":
        """Return the objective for another machine; the latest Gram is kept."""
        other = replace(self, machine=machine)
        other._latest.update(self._latest)
        return other

    def at(self, theta: Vector) -> tuple[Kernel, Machine]:
        """Return kernel and machine with the parameters ``theta``."""
        return with_parameters(self.kernel, self.machine, theta, self.tune_machine)

    def solve(self, theta: Vector, start: Any = None) -> tuple[Kernel, Machine, Any]:
        """Return kernel, machine and solution at ``theta``."""
        kernel, machine = self.at(theta)
        return kernel, machine, machine.solve(self.gram(kernel, theta), self.Y, start)

    def gram(self, kernel: Kernel, theta: Vector) -> Gram:
        """Return the Gram of the kernel at ``theta``; the latest one is kept, with everything computed from it."""
        key = theta[: self._n_kernel_parameters].tobytes()
        latest = self._latest.get("gram")
        # Key and Gram are one tuple, so that concurrent descents never see a mismatched pair.
        if latest is None or latest[0] != key:
            # Free the old Gram before the next is built: two may not fit in memory.
            latest = None
            self._latest.clear()
            built = self.builder.gram(kernel)
            if built.dense:
                check_kernel_values(built.diag())
            latest = self._latest["gram"] = (key, built)
        return latest[1]

    @cached_property
    def _n_kernel_parameters(self) -> int:
        return len(self.kernel.theta)

    @cached_property
    def _latest(self) -> dict[str, tuple[bytes, Gram]]:
        return {}

    def read(self, kernel: Kernel, machine: Machine, solution: Any) -> tuple[Reading, Vector]:
        """Return the criterion at a solution, the cost of the parameters included, and the gradient of that cost."""
        return self.criterion.with_penalty(self.criterion(solution), kernel, self._tuned(machine))

    def __call__(self, theta: Vector, warm_start: Any = None, /) -> Evaluation:
        """Evaluate the criterion; where it or the fit does not exist the value is ``inf`` and the note is the reason."""
        kernel, machine = self.at(theta)
        try:
            gram, needs_fit = self.gram(kernel, theta), self.criterion.needs_fit
            solution = (
                machine.solve(gram, self.Y, warm_start) if needs_fit else machine.unsolved(gram, self.Y)
            )
            reading, penalty_gradient = self.read(kernel, machine, solution)
        except UNDEFINED_ERRORS as error:
            return Evaluation(np.inf, note=str(error))
        if not np.isfinite(reading.value):
            return Evaluation(np.inf, note=f"{self.criterion.name} is {reading.value}")
        return Evaluation(
            reading.value,
            derive=partial(self._gradient, kernel, solution, reading, penalty_gradient),
            warm_start=solution.start,
            parts=reading.parts,
            gradient_error=partial(self._error, kernel, solution, reading) if reading.batches else None,
            n_rows=len(self.Y),
        )

    def _tuned(self, machine: Machine) -> Machine | None:
        return machine if self.tune_machine else None

    def _error(self, kernel: Kernel, solution: Any, reading: Reading) -> Vector:
        """Return the standard error of the mean gradient over the independent batches of a reading."""
        gradients = [self._gradient(kernel, solution, Reading(0.0, *batch)) for batch in reading.batches]
        return np.std(np.array(gradients), axis=0, ddof=1) / np.sqrt(len(gradients))

    def _gradient(
        self, kernel: Kernel, solution: Any, reading: Reading, penalty_gradient: Vector | float = 0.0
    ) -> Vector | None:
        """Return the gradient in ``theta``; ``None`` if the criterion has no derivative."""
        if self.tune_machine and reading.slope is None:
            return None
        gradient = np.zeros(0)
        if self._n_kernel_parameters:
            if reading.adjoint is None:
                return None
            gradient = self.builder.pullback(kernel, solution.gram, reading.adjoint)
        return (np.r_[gradient, reading.slope] if self.tune_machine else gradient) + penalty_gradient


def left_out_losses(
    objectives: Iterable[Objective], theta: Vector, starts: Iterable[Any] | None = None
) -> LeftOutLosses:
    """Return the losses of the rows of some objectives when they are left out of the fits at ``theta``.

    Parameters
    ----------
    objectives : iterable of Objective
    theta : array of shape (p,)
    starts : iterable, optional
        Warm starts of the fits.
    """

    def of(objective: Objective, start: Any) -> LeftOutLosses:
        _, machine, solution = objective.solve(theta, start)
        return LeftOutLosses.of(machine, objective.Y, left_out_outputs(solution))

    pairs = zip(objectives, repeat(None) if starts is None else starts, strict=starts is not None)
    return LeftOutLosses.joined(list(in_order(partial(of, *pair) for pair in pairs)))
