r"""Draws of the parameters from their posterior, in place of one optimum.

References
----------
.. [1] Murray, Adams and MacKay, *Elliptical slice sampling*, 2010: the step for a normal prior. Any normal density may
   take its place if the target is divided by it.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from foldless.core.contracts import Stop, Vector
from foldless.searches.base import Search
from foldless.searches.starts import best_starts


class _Target(NamedTuple):
    """The posterior over a normal density: what decides whether a point of an ellipse is taken."""

    nats_per_unit: float  # minus the log posterior per unit of the criterion
    centre: Vector
    deviation: Vector

    def over_reference(self, step):
        """Log of the posterior divided by the normal density, up to a constant."""
        moving = self.deviation > 0
        away = (step.theta - self.centre)[moving] / self.deviation[moving]
        return -self.nats_per_unit * step.value + away @ away / 2


@dataclass(frozen=True)
class EllipticalSlice(Search):
    r"""Draw the parameters from :math:`p(\theta \mid y) \propto e^{-\nu c(\theta)}` inside the box, c the criterion.

    A length scale per input can be fitted too well; a mean over the length scales that explain the data does not commit
    itself to one of them. The criterion must be an evidence (:math:`\nu` is what one unit of it is worth in nats: n
    for support vector machines, whose evidences are per point), best with normal priors on the logarithms of the
    parameters (:class:`foldless.criteria.HyperPrior`); without one they are uniform in the box. A step draws a direction
    z from the prior and an angle, and shrinks the angle until

    .. math:: \theta' = m + (\theta - m) \cos\varphi + z \sin\varphi

    is above a random level: nothing to adjust, nothing rejected, no gradient. It takes about five evaluations.

    ``outcome.draws`` are the draws, ``outcome.best`` the best point on the way. ``KernelSearch(..., ensemble=True)`` predicts
    with their mean.

    Parameters
    ----------
    draws : int, default=24
        Draws that are kept, of all chains together.
    burn_in : int, default=60
        Steps of a chain before the first.
    thin : int, default=4
        Steps between two of them.
    chains : int, default=1
        How many chains, from the best of the starts.
    seed : int, default=0
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.

    Examples
    --------
    >>> from foldless.core.contracts import Box, Evaluation
    >>> bowl = lambda theta, carry=None: Evaluation(float(theta @ theta) / 2)
    >>> outcome = EllipticalSlice(draws=5)(bowl, Box(np.array([-9.0]), np.array([9.0])), [np.zeros(1)])
    >>> len(outcome.draws)
    5
    """

    draws: int = 24
    burn_in: int = 60
    thin: int = 4
    chains: int = 1
    seed: int = 0
    name: ClassVar[str] = "elliptical-slice"

    def __post_init__(self):
        for name, least in (("draws", 1), ("burn_in", 0), ("thin", 1), ("chains", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}.")

    def run(self, walk, box, starts):
        """Glance at the starts, then draw from the best."""
        target, begin = _target(walk.objective, box), best_starts(walk, starts, self.chains)
        shares = [len(part) for part in np.array_split(np.arange(self.draws), len(begin))]
        tasks = [
            partial(self._chain, target=target, start=start, number=i, draws=share)
            for i, (start, share) in enumerate(zip(begin, shares, strict=True))
        ]
        return Stop.SAMPLED if Stop.SAMPLED in walk.run_parts(tasks) else Stop.STALLED

    def _chain(self, walk, target, start, number, draws):
        rng, here = np.random.default_rng([self.seed, number]), walk.evaluate_value(start, "slice")
        if not np.isfinite(here.value):
            return Stop.STALLED
        for step in range(1, self.burn_in + self.thin * draws + 1):
            here = _slice(walk, target, here, rng)
            if step > self.burn_in and (step - self.burn_in) % self.thin == 0:
                walk.draws.append(here)
        return Stop.SAMPLED


def _slice(walk, target, here, rng):
    """Return the next point of a chain."""
    z = target.deviation * rng.normal(size=len(here.theta))
    level = target.over_reference(here) + np.log(rng.uniform())
    angle = rng.uniform(0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    while high - low > 1e-12:
        theta = target.centre + (here.theta - target.centre) * np.cos(angle) + z * np.sin(angle)
        if np.all((theta >= walk.box.low) & (theta <= walk.box.high)):
            there = walk.evaluate_value(theta, "slice")
            if target.over_reference(there) > level:
                return there
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return here


def _target(evaluate, box):
    """Return the posterior: that of a problem, or of a plain function its exponential; flat priors are as wide as the box."""
    centre, deviation = np.zeros(box.size), np.full(box.size, np.inf)
    if hasattr(evaluate, "prior"):
        centre, deviation = evaluate.prior()
    flat, width = np.isinf(deviation), box.high - box.low
    centre = np.where(flat | (width == 0), (box.low + box.high) / 2, centre)
    deviation = np.where(width == 0, 0.0, np.where(flat, width / 4, deviation))
    return _Target(getattr(evaluate, "nats_per_unit", 1.0), centre, deviation)
