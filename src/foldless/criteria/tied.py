r"""Length scales that are tied to each other, with the strength of the tie integrated out.

References
----------
.. [1] Cawley and Talbot, *Preventing over-fitting during model selection via Bayesian regularisation of the
   hyper-parameters*, JMLR 8 (2007).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Gram, Machine, Matrix, Reading, Vector
from foldless.criteria.evidence import rows_counted
from foldless.criteria.penalised import PenalisedCriterion, parameters, roles


@dataclass(frozen=True)
class Tied(PenalisedCriterion):
    r"""Another criterion, plus the cost of length scales that differ from each other.

    With a length scale per feature a criterion can be over-fitted. Give the logarithms of the d length scales a normal
    prior about their mean, its precision the prior 1 / precision, and integrate the precision out [1]_. With
    :math:`z_j = \log \ell_j - \tfrac1d \sum_i \log \ell_i` and the criterion J in nats, summed over the rows,

    .. math:: J(\theta) + \frac d2 \log \frac{\Omega}{\epsilon d}, \qquad
              \Omega = \tfrac12 \sum_j z_j^2 + \epsilon d, \qquad
              \frac{\partial}{\partial \log \ell_j} = \frac d2 \frac{z_j}{\Omega}  \tag{1}

    is minimised. Equal length scales cost nothing. A large difference that explains the data costs little more than a
    moderate one, so that a feature without influence can go. The number of rows is the strength: there is nothing to choose.

    Values are per row, as those of the criterion. A criterion that is no log likelihood, such as a mean squared error v of
    n rows, counts by :math:`\tfrac n2 \log v` nats, the likelihood of a normal distribution at its best variance: with the
    penalty P of (1) the value is :math:`v\, e^{2P/n}`. The parts ``criterion`` and ``penalty`` are the two terms of the value.

    Kernels whose name ends in ``-ard`` are tuned by this; see :func:`foldless.tuning.select.select`.

    Parameters
    ----------
    criterion : str or Criterion, default="loo"
        The criterion that the tie is added to.
    epsilon : float, default=0.01
        Variance of the logarithms up to which length scales count as equal.
    rows : float, optional
        Number of rows, times the columns of the targets; a search counts them.
    nats : bool, default=True
        Whether the values are nats; a search asks the criterion.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> tie = Tied("loo", rows=100)
    >>> tie.penalty(RBF([2.0, 2.0]))[0]
    0.0
    >>> float(round(tie.penalty(RBF([1.0, np.e]))[0], 4))
    2.6027
    """

    epsilon: float = 0.01
    rows: float | None = None
    nats: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be positive, got {self.epsilon!r}.")

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return the tie with the rows counted, and the data estimates of its criterion fixed."""
        inner = self.inner_criterion.with_data_estimates(machine, grams, Y)
        rows = Y.shape[1] * rows_counted(machine, len(Y))
        return replace(self, criterion=inner, rows=rows, nats=inner.in_nats(machine))

    def with_penalty(
        self, reading: Reading, kernel: Kernel, machine: Machine | None = None
    ) -> tuple[Reading, Vector]:
        """Return a reading with (1) added to it, both per row, and the gradient of what was added."""
        if self.rows is None:
            raise ValueError("Tied needs the number of rows, which select() counts: give rows=...")
        penalty, pull = self.penalty(kernel, machine)
        if self.nats:
            found, gradient = reading, pull / self.rows
            value = reading.value + penalty / self.rows
        else:
            factor = np.exp(2 * penalty / self.rows)
            found, value = reading.scaled(factor), reading.value * factor
            gradient = 2 * value / self.rows * pull
        added = value - reading.value
        terms = {"criterion": reading.value, "penalty": added}
        if "total" in reading.parts:
            terms["total"] = reading.parts["total"] + added * reading.divisor
        return found.plus(value - found.value, terms), gradient

    def gain_in_nats(self, before: float, after: float) -> float:
        """Return by how many nats of all rows a value of this criterion is below another one."""
        assert self.rows is not None
        if self.nats:
            return self.rows * (before - after)
        return self.rows / 2 * float(np.log(before) - np.log(after)) if after > 0 else np.inf

    def penalty(self, kernel: Kernel, machine: Machine | None = None) -> tuple[float, Vector]:
        """Return (1) without J and its gradient in ``kernel.theta`` followed by ``machine.theta``, in nats."""
        theta, value = parameters(kernel, machine), 0.0
        gradient = np.zeros(len(theta))
        for entries in self.tied_groups(kernel):
            z = theta[entries] - np.mean(theta[entries])
            least = self.epsilon * len(z)
            omega = z @ z / 2 + least
            value += len(z) / 2 * float(np.log(omega / least))
            gradient[entries] = len(z) / 2 * z / omega
        return value, gradient

    def tied_groups(self, kernel: Kernel) -> list[slice]:
        """Return the groups of several free length scales."""
        several = [entries for role, entries in roles(kernel) if role == "length_scale"]
        return [entries for entries in several if entries.stop - entries.start > 1]
