r"""A prior on the length scales, added to any criterion."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.criterion import BY_NAME, Criterion
from foldless.errors import UnknownName


@dataclass(frozen=True)
class HyperPrior(Criterion):
    r"""Another criterion, plus a penalty on length scales that differ from feature to feature.

    With a length scale per feature a criterion has many parameters to fit and can be over-fitted itself. This adds

    .. math:: \frac{s}{2} \sum_j (\log \ell_j - \overline{\log \ell})^2,  \tag{1}

    for each kernel with several length scales: minus the logarithm of a normal density that pulls them to a common
    one, wherever that is. As s grows the isotropic kernel is what remains. The reading of a solution, and so
    ``criterion_value_``, is that of the criterion alone; the trace of a search has the penalty in its values.

    Parameters
    ----------
    criterion : str or Criterion, default="loo"
        What to add it to.
    strength : float, default=1.0
        s in (1), in the units of the criterion: a sum over the points (``"loo"`` of a logistic regression, ``"evidence"``)
        takes about 1, a mean over n points about 1 / n.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> float(round(HyperPrior("loo", 2.0).penalty(RBF([1.0, np.e]))[0], 6))
    0.5
    """

    criterion: Any = "loo"
    strength: float = 1.0

    def __post_init__(self):
        if not isinstance(self.criterion, Criterion) and self.criterion not in BY_NAME:
            raise UnknownName("criterion", self.criterion, BY_NAME)
        if not self.strength >= 0:
            raise ValueError(f"strength must not be negative, got {self.strength!r}.")
        for name in ("name", "tunes_kernel", "why_not", "runs_away", "blind"):
            object.__setattr__(self, name, getattr(self.of, name))

    @property
    def of(self):
        """The criterion itself."""
        return self.criterion if isinstance(self.criterion, Criterion) else BY_NAME[self.criterion]()

    def __call__(self, solution):
        """Read the criterion."""
        return self.of(solution)

    def prepared(self, machine, grams, Y):
        """Return the prior on the criterion prepared."""
        return replace(self, criterion=self.of.prepared(machine, grams, Y))

    def caution(self, solution):
        """Return what the criterion warns about."""
        return self.of.caution(solution)

    def penalty(self, kernel):
        """Return (1) and its gradient in ``kernel.theta``."""
        gradient = np.zeros(len(kernel.theta))
        for part in length_scales(kernel):
            gradient[part] = self.strength * (kernel.theta[part] - np.mean(kernel.theta[part]))
        spread = gradient @ gradient / (2 * self.strength) if self.strength else 0.0
        return float(spread), gradient


def length_scales(kernel):
    """Return the slices of ``kernel.theta`` that hold the several length scales of one kernel."""
    parts, begin = [], 0
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        end = begin + parameter.n_elements
        if parameter.n_elements > 1 and parameter.name.endswith("length_scale"):
            parts.append(slice(begin, end))
        begin = end
    return parts
