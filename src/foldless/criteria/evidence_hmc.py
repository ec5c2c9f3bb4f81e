r"""Minus the logarithm of the exact evidence, by sampling.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (18)-(20), where the gradient is
   sampled directly and the value is called out of reach.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Gram, Machine, Matrix, Reading, Vector
from foldless.core.errors import UnsuitableBias
from foldless.core.linalg import symmetric
from foldless.criteria.base import Criterion, reads
from foldless.criteria.posteriors.diagnostics import effective_draws, rhat
from foldless.criteria.posteriors.ep import EPPosterior, expectation_propagation
from foldless.criteria.posteriors.sampling import Reference, Target, draws
from foldless.criteria.posteriors.sites import SITES
from foldless.grams.adjoints import symmetric_operator
from foldless.machines.svm import SquaredHingeSolution, SupportProblem, SVMSolution

# Added to the diagonal of K, in mean diagonals, where K is inverted at the end.
JITTER_FRACTION = 1e-10


@dataclass(frozen=True)
class EvidenceHMC(Criterion):
    r"""Minus E, in nats per row, without approximation but with noise; the gradient is that of EP plus a sampled correction.

    With :math:`\rho, \tau, \nu, \mu` of the reference (expectation propagation), :math:`b = K^{-1}\mu`,
    :math:`R = (K + T^{-1})^{-1}` and :math:`P = I - R K`,

    .. math:: 2n\,\frac{dE}{dK} = b b' - R + \operatorname{sym}\bigl(P \langle\rho(\theta + \mu)'\rangle K^{-1}\bigr)  \tag{1}

    .. math:: \phantom{2n\,\frac{dE}{dK}} = b b' - R + 2\operatorname{sym}(P\langle\rho\rangle b') +
              P\bigl[\langle\rho\rho'\rangle + \operatorname{diag}(h + \tau)\bigr]P', \qquad
              h_i = \langle g_i(\theta_i - (Kg)_i)\rangle / K_{ii},  \tag{2}

    exact for any :math:`\tau, \nu` (squared hinge: :math:`h_i = -C_i P(s_i < 1)`). Dense Grams use (1), low-rank ones (2),
    which needs no inverse and has two to three times the noise. The value is integrated along :math:`N(\mu, \Sigma)\,e^{-tU}`,

    .. math:: n E = n E_{EP} - \int_0^1 \langle U + \textstyle\sum_i c_i \rangle_t\, dt,  \tag{3}

    by Gauss and Legendre's rule; each node starts where the one before ended.

    Parameters
    ----------
    chains : int, default=32
    number : int, default=100
        Draws of each chain for the gradient.
    nodes : int, default=8
        Number of nodes of the integral (3). With 0 the value is that of EP, while the gradient stays exact: enough for an
        ascent, which follows the gradient alone.
    seed : int, default=0
        Seed of the random numbers, which are then the same at every point of a search.
    batches : int, default=8
        Groups of chains for standard errors.
    """

    chains: int = 32
    number: int = 100
    nodes: int = 8
    seed: int = 0
    batches: int = 8
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "evidence-hmc"
    title: ClassVar[str] = "Minus the log evidence by sampling"
    unit: ClassVar[str] = "nats per row"
    needs_fit: ClassVar[bool] = False
    needs_proper_offset: ClassVar[bool] = True
    needs_amplitude: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.chains < 2:
            raise ValueError(f"chains must be at least 2, got {self.chains!r}.")
        if not 2 <= self.batches <= self.chains:
            raise ValueError(f"batches must be between 2 and chains={self.chains}, got {self.batches!r}.")

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return n k: the value is the mean over rows and columns."""
        return float(n * k)

    @reads(SupportProblem, SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SupportProblem) -> Reading:
        if solution.bias:
            raise UnsuitableBias(self.name, "the evidence needs a proper prior on the offset")
        n, C = solution.n, solution.C
        site = SITES[solution.loss.power](C)
        posterior = expectation_propagation(solution.gram, solution.y, site, tolerance=1e-6)
        target = Target(Reference(posterior.factor, posterior.nu), solution.y, C, solution.loss)
        kappa, dkappa = solution.loss.log_kappa(C)
        correction, error, theta = self._integral(target, posterior)
        E = float(posterior.log_z + kappa.sum() - correction) / n
        averages, parts = self._averages(target, solution.gram, theta)
        groups = tuple(self._derivatives(solution, posterior, average, dkappa) for average in averages)
        sampled = Reading.mean([Reading(0.0, G, slope) for G, slope in groups])
        parts |= {"log_evidence": E, "log_evidence_error": error / n}
        return Reading(
            -E, sampled.adjoint, sampled.slope, parts, batches=groups, posteriors=(lambda: posterior,)
        )

    def _integral(self, target: Target, posterior: EPPosterior) -> tuple[float, float, Matrix | None]:
        """Return the integral in eq. (3), its standard error and the last states."""
        if not self.nodes:
            return 0.0, 0.0, None
        x, w = np.polynomial.legendre.leggauss(self.nodes)
        constant, theta = posterior.constants.sum(), None
        total = variance = 0.0
        for i, (t, weight) in enumerate(zip((x + 1) / 2, w / 2, strict=True)):
            states = self._draws(replace(target, temper=t), self.seed + 1 + i, theta)
            energies = []
            for theta in states:
                energies.append(target.energy(theta))
            means = np.mean(energies, axis=0)
            total += weight * (means.mean() + constant)
            variance += weight**2 * means.var(ddof=1) / self.chains
        return float(total), float(np.sqrt(variance)), theta

    def _draws(self, target: Target, seed: int, theta: Matrix | None) -> Iterator[Matrix]:
        return draws(target, seed, self.chains, self.number, theta)

    def _averages(
        self, target: Target, gram: Gram, theta: Matrix | None
    ) -> tuple[list["_Average"], dict[str, float]]:
        """Return averages over the draws of each group of chains, and diagnostics of the run."""
        groups = np.array_split(np.arange(self.chains), self.batches)
        averages = [_Average(target, gram) for _ in groups]
        losses, energies = [], []
        for state in self._draws(target, self.seed, theta):
            losses.append(target.losses(state))
            energies.append(target.energy(state))
            for columns, average in zip(groups, averages, strict=True):
                average.add(state[:, columns])
        loss, energy = np.array(losses), np.array(energies)
        parts = {
            "loss": float(loss.mean()),
            "rhat_loss": rhat(loss),
            "rhat_energy": rhat(energy),
            "ess_loss": effective_draws(loss),
            "ess_energy": effective_draws(energy),
        }
        return averages, parts

    def _derivatives(
        self, solution: SupportProblem, posterior: EPPosterior, average: "_Average", dkappa: Vector
    ) -> tuple[Adjoint, Vector]:
        """Return the derivatives of -E from one group of averages."""
        n, gram, factor, b = solution.n, solution.gram, posterior.factor, posterior.b
        R = factor.resolvent() @ np.eye(n)
        P = np.eye(n) - gram.matmul(R).T
        if gram.dense:
            jitter = JITTER_FRACTION * np.mean(gram.diag())
            inverse = gram.factor(np.full(n, 1 / jitter))
            sampled = symmetric(P @ inverse.solve(average.mean("cross").T).T)  # eq. (1)
        else:
            middle = average.mean("square") + np.diag(average.mean("h") + posterior.tau)
            sampled = 2 * symmetric(np.outer(P @ average.mean("force"), b)) + P @ middle @ P.T  # eq. (2)
        G = (np.outer(b, b) - R + sampled) / (-2 * n)
        slope = -np.array([solution.C @ (dkappa - average.mean("loss"))]) / n
        return (G if gram.dense else symmetric_operator(n, lambda M: G @ M)), slope


class _Average:
    """Running means over draws of the terms of eq. (1) on a dense Gram, of eq. (2) on others."""

    def __init__(self, target: Target, gram: Gram) -> None:
        self.target, self.gram = target, gram
        self._count, self._sums = 0, defaultdict[str, Any](float)

    def add(self, theta: Matrix) -> None:
        """Add one state of some chains."""
        target = self.target
        rho = target.force(theta)
        s = target.y[:, None] * theta
        self._sums["loss"] += target.loss.value(s).sum(axis=1)
        if self.gram.dense:
            self._sums["cross"] += rho @ (theta + target.reference.mu[:, None]).T
        else:
            self._sums["force"] += rho.sum(axis=1)
            self._sums["square"] += rho @ rho.T
            self._sums["h"] += self._curvature(theta, s)
        self._count += theta.shape[1]

    def _curvature(self, theta: Matrix, s: Matrix) -> Vector:
        """Return the sum of h of eq. (2) over the columns."""
        if self.target.loss.power == 2:
            return -self.target.C * np.sum(s < 1, axis=1)
        g = self.target.pull(theta)
        return np.sum(g * (theta - self.gram.matmul(g)), axis=1) / self.gram.diag()

    def mean(self, name: str) -> Any:
        """Return the mean of one term over all states."""
        return self._sums[name] / self._count
