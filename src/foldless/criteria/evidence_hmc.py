r"""Minus the logarithm of the exact evidence per point, by sampling.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (18)-(20), where the gradient is
   sampled directly and the value is called out of reach.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Reading
from foldless.core.errors import UnsuitableBias
from foldless.core.linalg import symmetric
from foldless.criteria.base import Criterion, reads
from foldless.criteria.posteriors.diagnostics import effective_draws, rhat
from foldless.criteria.posteriors.ep import HingeSite, SquaredHingeSite, expectation_propagation
from foldless.criteria.posteriors.sampling import Reference, Target, draws
from foldless.grams.adjoints import symmetric_operator
from foldless.machines import SquaredHingeSolution, SVMSolution
from foldless.machines.svm import SupportProblem

SITES = {1: HingeSite, 2: SquaredHingeSite}
JITTER = 1e-10  # of the mean diagonal, where K is inverted once at the end


@dataclass(frozen=True)
class EvidenceHMC(Criterion):
    r"""Minus E, without approximation but with noise; its gradient is that of EP plus a small sampled correction.

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
        Of eq. (3). With 0 the value is that of EP (the gradient is exact all the same): enough for an ascent, which
        follows the gradient alone.
    seed : int, default=0
        The same numbers at every point of a search.
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
    unit: ClassVar[str] = "nats a row"
    needs_fit: ClassVar[bool] = False
    needs_proper_offset: ClassVar[bool] = True

    def __post_init__(self):
        if self.chains < 2:
            raise ValueError(f"chains must be at least 2, got {self.chains!r}.")
        if not 2 <= self.batches <= self.chains:
            raise ValueError(f"batches must be between 2 and chains={self.chains}, got {self.batches!r}.")

    def nats_per_unit(self, machine, n, k):
        """Return n k: it is the mean over rows and columns."""
        return float(n * k)

    @reads(SupportProblem, SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution) -> Reading:
        if solution.bias:
            raise UnsuitableBias(self.name, "the evidence needs a proper prior on the offset")
        n, C = solution.n, solution.C
        site = SITES[solution.loss.power](C)
        posterior = expectation_propagation(solution.gram, solution.y, site, tolerance=1e-6)
        target = Target(Reference(posterior.factor, posterior.nu), solution.y, C, solution.loss)
        kappa, dkappa = solution.loss.log_kappa(C)
        correction, error, theta = self._integral(target, posterior)
        E = (posterior.log_z + kappa.sum() - correction) / n
        averages, parts = self._averages(target, solution.gram, theta)
        groups = tuple(self._derivatives(solution, posterior, average, dkappa) for average in averages)
        adjoint = _mean([G for G, _ in groups])
        slope = np.mean([slope for _, slope in groups], axis=0)
        parts |= {"log_evidence": float(E), "log_evidence_error": float(error / n)}
        return Reading(-float(E), adjoint, slope, parts, batches=groups, posteriors=(lambda: posterior,))

    def _integral(self, target, posterior):
        """Eq. (3): the correction, its standard error and the last states."""
        if not self.nodes:
            return 0.0, 0.0, None
        x, w = np.polynomial.legendre.leggauss(self.nodes)
        constant, theta = posterior.constants.sum(), None
        total = variance = 0.0
        for i, (t, weight) in enumerate(zip((x + 1) / 2, w / 2, strict=True)):
            tempered, seen = replace(target, temper=t), []
            for theta in draws(tempered, self.seed + 1 + i, self.chains, self.number, theta):  # noqa: B020
                seen.append(target.energy(theta))
            means = np.mean(seen, axis=0)
            total += weight * (means.mean() + constant)
            variance += weight**2 * means.var(ddof=1) / self.chains
        return total, np.sqrt(variance), theta

    def _averages(self, target, gram, theta):
        """Averages over the draws of each group of chains, and diagnostics of the run."""
        groups = np.array_split(np.arange(self.chains), self.batches)
        averages = [_Average(target, gram) for _ in groups]
        losses, energies = [], []
        for theta in draws(target, self.seed, self.chains, self.number, theta):  # noqa: B020
            losses.append(target.losses(theta))
            energies.append(target.energy(theta))
            for columns, average in zip(groups, averages, strict=True):
                average.add(theta[:, columns])
        losses, energies = np.array(losses), np.array(energies)
        parts = {
            "loss": float(losses.mean()),
            "rhat_loss": rhat(losses),
            "rhat_energy": rhat(energies),
            "ess_loss": effective_draws(losses),
            "ess_energy": effective_draws(energies),
        }
        return averages, parts

    def _derivatives(self, solution, posterior, average, dkappa):
        """Derivatives of -E from one group of averages."""
        n, gram, factor, b = solution.n, solution.gram, posterior.factor, posterior.b
        R = factor.resolvent() @ np.eye(n)
        P = np.eye(n) - gram.matmul(R).T
        if average.dense:
            jitter = JITTER * np.mean(gram.diag())
            inverse = gram.factor(np.full(n, 1 / jitter))
            moved = symmetric(P @ inverse.solve(average.cross.T).T)  # eq. (1)
        else:
            middle = average.square + np.diag(average.h + posterior.tau)
            moved = 2 * symmetric(np.outer(P @ average.force, b)) + P @ middle @ P.T  # eq. (2)
        G = (np.outer(b, b) - R + moved) / (-2 * n)
        slope = -np.array([solution.C @ (dkappa - average.loss)]) / n
        return (G if average.dense else symmetric_operator(n, lambda M: G @ M)), slope


class _Average:
    """Running means over draws: of what eq. (1) needs on a dense Gram, of what eq. (2) needs on others."""

    def __init__(self, target, gram):
        self.target, self.gram, self.dense = target, gram, gram.dense
        self.count, self._sums = 0, {}

    def add(self, theta):
        """Take in one state of some chains."""
        target = self.target
        rho = target.force(theta)
        s = target.y[:, None] * theta
        self._sum("loss", target.loss.value(s).sum(axis=1))
        if self.dense:
            self._sum("cross", rho @ (theta + target.reference.mu[:, None]).T)
        else:
            g = target.pull(theta)
            self._sum("force", rho.sum(axis=1))
            self._sum("square", rho @ rho.T)
            bend = -target.C * np.sum(s < 1, axis=1) if target.loss.power == 2 else self._bend(theta, g)
            self._sum("h", bend)
        self.count += theta.shape[1]

    def _bend(self, theta, g):
        return np.sum(g * (theta - self.gram.matmul(g)), axis=1) / self.gram.diag()

    def _sum(self, name, value):
        self._sums[name] = self._sums.get(name, 0.0) + value

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._sums:
            raise AttributeError(name)
        return self._sums[name] / self.count


def _mean(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total * (1 / len(parts))
