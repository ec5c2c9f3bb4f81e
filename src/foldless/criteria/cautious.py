r"""A criterion that must gain something for every factor by which C grows.

References
----------
.. [1] Gelman, *Prior distributions for variance parameters in hierarchical models*, Bayesian Analysis 1 (2006).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Vector
from foldless.criteria.penalised import PenalisedCriterion, parameters


@dataclass(frozen=True)
class Cautious(PenalisedCriterion):
    r"""Another criterion in nats, plus a price of confidence.

    If every row that is left out gets the right class, the log loss of left-out rows falls without end as C grows: outputs
    become larger and nothing contradicts them. But n rows without an error do not show that errors are rarer than 1 in n. With
    J the criterion in nats, summed over the rows,

    .. math:: J(\theta) + s \log C  \tag{1}

    is minimised. The outputs have the prior deviation :math:`\sqrt C`, and :math:`s = \tfrac12` is the tail of a half-Cauchy
    prior of that deviation [1]_. Where classes overlap J is curved in proportion to the number of rows, and (1) moves its
    minimum little; where they do not, C stops growing when the loss of all rows together falls by less than s as C grows by a factor
    of e.

    Parameters
    ----------
    criterion : str or Criterion, default="loo"
        The criterion that the price is added to; its values are nats a row.
    strength : float, default=0.5
        s, in nats of all rows together.

    Examples
    --------
    >>> from foldless.machines import SmoothMachine
    >>> from foldless.machines.losses import Logistic
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> Cautious("loo").penalty(RBF(), SmoothMachine(Logistic(), C=np.e**4))
    (2.0, array([0. , 0.5]))
    """

    strength: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.strength >= 0:
            raise ValueError(f"strength must not be negative, got {self.strength!r}.")

    def penalty(self, kernel: Kernel, machine: Machine | None = None) -> tuple[float, Vector]:
        """Return the price in (1) and its gradient in ``kernel.theta`` followed by ``machine.theta``; none without a machine."""
        theta = parameters(kernel, machine)
        pull = np.zeros(len(theta))
        if machine is not None:
            pull[len(kernel.theta) :] = self.strength * machine.sign
        return float(pull @ theta), pull
