r"""Draws of the parameters from their posterior, in place of one optimum.

References
----------
.. [1] Murray, Adams and MacKay, *Elliptical slice sampling*, 2010: the step for a normal prior. Any normal density may
   take its place if the target is divided by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from foldless.core.contracts import Box, HasPrior, ObjectiveFunction, Step, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.run import SearchRun
from foldless.searches.starts import best_starts

# The normal density that stands in for a prior that is flat in the box: its deviation, as a fraction of the box.
FLAT_PRIOR_DEVIATION_FRACTION = 0.25
# The interval of angles, in radians, below which a step is given up.
MIN_ANGLE_INTERVAL = 1e-12


class _Target(NamedTuple):
    """The posterior divided by a normal density, which decides whether a point of an ellipse is taken.

    Attributes
    ----------
    nats_per_unit : float
        Minus the log posterior per unit of the criterion.
    centre, deviation : arrays of shape (p,)
        Of the normal density.
    """

    nats_per_unit: float
    centre: Vector
    deviation: Vector

    def log_ratio(self, step: Step) -> float:
        """Return the log of the posterior divided by the normal density, up to a constant."""
        moving = self.deviation > 0
        away = (step.theta - self.centre)[moving] / self.deviation[moving]
        return float(-self.nats_per_unit * step.value + away @ away / 2)


@dataclass(frozen=True)
class EllipticalSlice(Search):
    r"""Draw the parameters from :math:`p(\theta \mid y) \propto e^{-\nu c(\theta)}` inside the box, c the criterion.

    A length scale per input can be fitted too well; a mean over the length scales that explain the data does not commit
    itself to one of them. The criterion must be an evidence (:math:`\nu` is the number of nats in one unit of it, the
    number of rows, for an evidence is a mean over them), best with normal priors on the logarithms of the
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
        Steps of a chain before the first draw.
    thin : int, default=4
        Steps between two draws.
    chains : int, default=1
        Number of chains, from the best of the starts.
    seed : int, default=0
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.

    Examples
    --------
    >>> from foldless.core.contracts import Box, Evaluation
    >>> bowl = lambda theta, warm_start=None: Evaluation(float(theta @ theta) / 2)
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

    def __post_init__(self) -> None:
        limits = {"draws": (self.draws, 1), "burn_in": (self.burn_in, 0), "thin": (self.thin, 1)}
        for name, (value, least) in (limits | {"chains": (self.chains, 1)}).items():
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value!r}.")

    @property
    def samples(self) -> bool:
        """True: it draws from the posterior."""
        return True

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Evaluate the starts, then draw from the best."""
        target, chosen = _target(run.objective, box), best_starts(run, starts, self.chains)
        counts = [len(part) for part in np.array_split(np.arange(self.draws), len(chosen))]
        tasks = [
            partial(self._chain, target=target, start=start, number=i, draws=count)
            for i, (start, count) in enumerate(zip(chosen, counts, strict=True))
        ]
        return Stop.SAMPLED if Stop.SAMPLED in run.run_parts(tasks) else Stop.STALLED

    def _chain(self, run: SearchRun, target: _Target, start: Vector, number: int, draws: int) -> Stop:
        rng, here = np.random.default_rng([self.seed, number]), run.evaluate(start, "slice", gradient=False)
        if not np.isfinite(here.value):
            return Stop.STALLED
        for step in range(1, self.burn_in + self.thin * draws + 1):
            here = _next_point(run, target, here, rng)
            if step > self.burn_in and (step - self.burn_in) % self.thin == 0:
                run.draws.append(here)
        return Stop.SAMPLED


def _next_point(run: SearchRun, target: _Target, here: Step, rng: np.random.Generator) -> Step:
    """Return the next point of a chain."""
    z = target.deviation * rng.normal(size=len(here.theta))
    level = target.log_ratio(here) + np.log(rng.uniform())
    angle = rng.uniform(0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    while high - low > MIN_ANGLE_INTERVAL:
        theta = target.centre + (here.theta - target.centre) * np.cos(angle) + z * np.sin(angle)
        if np.all((theta >= run.box.low) & (theta <= run.box.high)):
            there = run.evaluate(theta, "slice", gradient=False)
            if target.log_ratio(there) > level:
                return there
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = rng.uniform(low, high)
    return here


def _target(objective: ObjectiveFunction, box: Box) -> _Target:
    """Return the target of an objective that declares its prior, or of a plain function as minus a log posterior."""
    centre, deviation, nats_per_unit = np.zeros(box.size), np.full(box.size, np.inf), 1.0
    if isinstance(objective, HasPrior):
        (centre, deviation), nats_per_unit = objective.prior(), objective.nats_per_unit
    is_flat, width = np.isinf(deviation), box.high - box.low
    centre = np.where(is_flat | (width == 0), (box.low + box.high) / 2, centre)
    deviation = np.where(is_flat, FLAT_PRIOR_DEVIATION_FRACTION * width, deviation)
    return _Target(nats_per_unit, centre, np.where(width == 0, 0.0, deviation))
