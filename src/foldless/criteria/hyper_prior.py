r"""Normal priors on the logarithms of a kernel's parameters and of C, added to any criterion."""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Reading, Vector
from foldless.criteria.penalised import PenalisedCriterion, parameters, roles

# Length scales have a normal prior about their own mean, of deviation 1 in the logarithm.
TIED_LENGTH_SCALES = (None, 1.0)


@dataclass(frozen=True)
class HyperPrior(PenalisedCriterion):
    r"""Another criterion, plus minus the logarithm of normal densities of the logarithms of the parameters.

    With a length scale per feature many parameters are chosen, and a criterion can be over-fitted by them. This adds

    .. math:: \frac{s}{2} \Bigl[ \sum_j \frac{(\log \ell_j - \log \ell_0)^2}{\sigma_\ell^2}
              + \sum_k \frac{(\log a_k - \log a_0)^2}{\sigma_a^2} + \frac{(\log C - \log C_0)^2}{\sigma_C^2} \Bigr]  \tag{1}

    over all length scales and all amplitudes (constants that multiply a kernel; not offsets, which are added to one).
    By default the length scales of each kernel are only tied to each other, :math:`\log \ell_0` being their mean, and
    amplitude and C are free: as s grows the isotropic kernel is what remains. The trace of a search and
    ``criterion_value_`` include it, divided by the same number as the criterion: the parts ``criterion`` and ``penalty``
    of ``selection_.reading`` are the two terms. Called on a solution alone, which does not know its kernel, it is the
    criterion without the prior.

    Parameters
    ----------
    criterion : str or Criterion, default="loo"
        The criterion that the prior is added to.
    strength : float, default=1.0
        s in (1), in the units of the criterion's formula, its part ``total``: a sum over the rows (``"loo"`` or
        ``"evidence"`` of a logistic regression) takes 1, a mean over n rows (every evidence of a support vector machine)
        takes 1 / n.
    length_scale : (centre, deviation) or None, default=(None, 1.0)
        The centre is a natural value, the deviation one of the logarithm: ``(2.0, 0.5)`` has :math:`\log 2 \pm \tfrac12`.
        ``None`` is no prior; a centre that is ``None`` is the mean of the length scales themselves.
    amplitude, C : (centre, deviation) or None, default=None
        Centre and deviation; ``None`` is no prior.

    Notes
    -----
    For the evidence of a support vector machine on d standardised inputs, ``length_scale=(sqrt(d), 0.5)``,
    ``amplitude=(exp(4), 1.5)``, ``C=(exp(1), 1.0)`` are broad: they prefer the scale of a typical distance,
    and keep the amplitude from running to its bound where the classes are separable.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> float(round(HyperPrior("loo", 2.0).penalty(RBF([1.0, np.e]))[0], 6))
    0.5
    >>> float(round(HyperPrior("loo", 2.0, length_scale=(1.0, 0.5)).penalty(RBF(np.e))[0], 6))
    4.0
    """

    strength: float = 1.0
    length_scale: tuple[float | None, float] | None = TIED_LENGTH_SCALES
    amplitude: tuple[float, float] | None = None
    C: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.strength >= 0:
            raise ValueError(f"strength must not be negative, got {self.strength!r}.")
        for name in ("length_scale", "amplitude", "C"):
            _check(name, getattr(self, name))

    def with_penalty(
        self, reading: Reading, kernel: Kernel, machine: Machine | None = None
    ) -> tuple[Reading, Vector]:
        """Return a reading with (1) added to it, both per row, and the gradient of (1) per row.

        The parts ``criterion`` and ``penalty`` are the two terms; the part ``total`` is their sum before the division.
        """
        penalty, pull = self.penalty(kernel, machine)
        per_row = penalty / reading.divisor
        terms = {"criterion": reading.value, "penalty": per_row}
        if "total" in reading.parts:
            terms["total"] = reading.parts["total"] + penalty
        return reading.plus(per_row, terms), pull / reading.divisor

    def penalty(self, kernel: Kernel, machine: Machine | None = None) -> tuple[float, Vector]:
        """Return (1) and its gradient in ``kernel.theta`` followed by ``machine.theta``; C counts with a machine only."""
        centre, deviation = self.prior(kernel, machine)
        away = parameters(kernel, machine) - centre
        pull = self.strength * away / deviation**2
        return float(pull @ away / 2), pull

    def prior(self, kernel: Kernel, machine: Machine | None = None) -> tuple[Vector, Vector]:
        """Return centres and deviations of the normal densities; the centre of tied length scales is their mean."""
        theta = parameters(kernel, machine)
        centre, deviation = np.zeros(len(theta)), np.full(len(theta), np.inf)
        priors = {"length_scale": self.length_scale, "amplitude": self.amplitude, "C": self.C}
        for role, entries in [*roles(kernel), ("C", slice(len(kernel.theta), len(theta)))]:
            prior = priors[role]
            if prior is not None and theta[entries].size:
                centre[entries] = np.mean(theta[entries]) if prior[0] is None else np.log(prior[0])
                deviation[entries] = prior[1]
        return centre, deviation


def _check(name: str, prior: tuple[float | None, float] | None) -> None:
    """Raise unless a prior is a centre and a positive deviation, or none."""
    if prior is None:
        return
    centre, deviation = prior
    centred = centre > 0 if centre is not None else name == "length_scale"
    if not (centred and deviation > 0):
        raise ValueError(
            f"{name} must be a pair of a positive natural value and a positive deviation of its logarithm, got {prior!r}."
        )
