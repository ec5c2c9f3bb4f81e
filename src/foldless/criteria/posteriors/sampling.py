r"""The exact posterior of a support vector machine, by Markov chains that run as columns of one matrix.

The posterior :math:`\pi \propto N(0, K)\, e^{-V(\theta)}`, :math:`V = \sum_i C_i \ell(y_i\theta_i)`, is written about a Gaussian
reference :math:`N(\mu, \Sigma) \propto N(0, K)\, e^{\nu'\theta - \theta'T\theta/2}`, best that of expectation propagation:

.. math:: \pi \propto N(\mu, \Sigma)\, e^{-U}, \qquad U = V + \nu'\theta - \tfrac12 \theta'T\theta, \qquad
          \rho = -\nabla U = g - \nu + \tau \circ \theta, \quad g = -\nabla V.  \tag{1}

No step needs :math:`K^{-1}`; a singular K is fine. *Elliptical slice sampling* about :math:`\mu` burns in: nothing to
tune, kinks are harmless. *Hamiltonian Monte Carlo* with exact rotations of the Gaussian then draws:

.. math:: v \mathrel{+}= \tfrac h2 \Sigma\rho, \quad (x, v) \to (x\cos h + v \sin h,\; v\cos h - x \sin h), \quad
          v \mathrel{+}= \tfrac h2 \Sigma\rho, \qquad x = \theta - \mu,  \tag{2}

with the energy change :math:`\Delta U + \sum_{kicks} (k\rho'v + \tfrac12 k^2 \rho'\Sigma\rho)`, :math:`k = h/2`. With
:math:`\mu = \nu = \tau = 0` it is Gold and Sollich's sampler in stable form; their own is :func:`gold_sollich_draws`.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (18)-(22).
.. [2] Murray, Adams and MacKay (2010), *Elliptical slice sampling*.
.. [3] Shahbaba, Lan, Johnson and Neal (2014), *Split Hamiltonian Monte Carlo*.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.core.contracts import Matrix, Vector

BURN = 100  # rounds of slice sampling from draws of the reference
TUNE = 60  # trajectories that adapt the step
STEP = 0.3


@dataclass(frozen=True, eq=False)
class Reference:
    """The Gaussian of eq. (1).

    Parameters
    ----------
    factor : Factor
        Of ``I + S K S`` with the weights tau.
    nu : array of shape (n,)
    """

    factor: Any
    nu: Vector

    @property
    def tau(self):
        """Precisions of the sites."""
        return self.factor.w

    @cached_property
    def mu(self):
        """Mean."""
        return self.factor.covariance(self.nu)

    @cached_property
    def root(self):
        """A root of the covariance, (n, r)."""
        return self.factor.covariance_root()

    @cached_property
    def _square(self):
        return self.root @ self.root.T if self.root.shape[0] == self.root.shape[1] else None

    def times(self, M):
        """Return ``Sigma M``."""
        return self._square @ M if self._square is not None else self.root @ (self.root.T @ M)

    def draw(self, rng, chains):
        """Return draws of ``N(0, Sigma)`` as columns."""
        return self.root @ rng.normal(size=(self.root.shape[1], chains))


@dataclass(frozen=True, eq=False)
class Target:
    """The energy U of eq. (1), times a temper between 0 (the reference) and 1 (the posterior)."""

    reference: Reference
    y: Vector
    C: Vector
    loss: Any
    temper: float = 1.0

    def losses(self, theta):
        """Return ``sum_i l(s_i)`` of every column."""
        return np.sum(self.loss.value(self.y[:, None] * theta), axis=0)

    def pull(self, theta):
        """Return ``g``, minus the gradient of V."""
        return (self.C * self.y)[:, None] * self.loss.pull(self.y[:, None] * theta)

    def force(self, theta):
        """Return ``rho``, minus the gradient of U."""
        return self.pull(theta) - self.reference.nu[:, None] + self.reference.tau[:, None] * theta

    def energy(self, theta):
        """Return ``U`` of every column."""
        V = self.C @ self.loss.value(self.y[:, None] * theta)
        return V + self.reference.nu @ theta - self.reference.tau @ theta**2 / 2


def stream(seed, *labels):
    """Return the generator of one labelled step: two runs with one seed use the same numbers at the same step."""
    return np.random.default_rng([seed, *labels])


def slice_round(target, theta, rng):
    """Return all chains after one round of elliptical slice sampling."""
    reference, t = target.reference, target.temper
    chains = theta.shape[1]
    mu = reference.mu[:, None]
    x, z, new = theta - mu, reference.draw(rng, chains), theta.copy()
    level = np.log(rng.uniform(size=chains)) - t * target.energy(theta)
    phi = rng.uniform(0, 2 * np.pi, chains)
    low, high, left = phi - 2 * np.pi, phi.copy(), np.arange(chains)
    while left.size:
        proposal = mu + x[:, left] * np.cos(phi[left]) + z[:, left] * np.sin(phi[left])
        good = -t * target.energy(proposal) > level[left]
        new[:, left[good]] = proposal[:, good]
        left = left[~good]
        back = phi[left] < 0
        low[left[back]], high[left[~back]] = phi[left[back]], phi[left[~back]]
        phi[left] = rng.uniform(low[left], high[left])
    return new


def trajectory(target, theta, h, steps, rng):
    """Return all chains after one trajectory of eq. (2), and which of them moved."""
    reference, t, k = target.reference, target.temper, h / 2
    mu = reference.mu[:, None]
    x, v = theta - mu, reference.draw(rng, theta.shape[1])
    rho = t * target.force(theta)
    turned, change = reference.times(rho), -t * target.energy(theta)
    for _ in range(steps):
        change = change + _kick(rho, v, turned, k)
        v = v + k * turned
        x, v = x * np.cos(h) + v * np.sin(h), v * np.cos(h) - x * np.sin(h)
        rho = t * target.force(x + mu)
        turned = reference.times(rho)
        change = change + _kick(rho, v, turned, k)
        v = v + k * turned
    new = x + mu
    moved = np.log(rng.uniform(size=theta.shape[1])) < -(change + t * target.energy(new))
    return np.where(moved, new, theta), moved


def _kick(rho, v, turned, k):
    """Return the kinetic energy that a kick of length k adds."""
    return k * np.einsum("ij,ij->j", rho, v) + k**2 / 2 * np.einsum("ij,ij->j", rho, turned)


def draws(target, seed, chains=32, number=200, theta=None) -> Iterator[Matrix]:
    """Yield ``number`` states of all chains, (n, chains) each.

    Parameters
    ----------
    target : Target
    seed : int
        Runs with one seed use the same random numbers step by step.
    chains, number : int
    theta : array of shape (n, chains), optional
        States to start from; by default draws of the reference, burnt in by slice sampling.
    """
    if chains < 2:
        raise ValueError(
            f"chains must be at least 2, got {chains!r}: one chain cannot tell whether it has converged."
        )
    if theta is None:
        theta = target.reference.mu[:, None] + target.reference.draw(stream(seed, 0), chains)
        for i in range(BURN):
            theta = slice_round(target, theta, stream(seed, 1, i))
    theta, h = _tune(target, theta, seed)
    for i in range(number):
        rng = stream(seed, 3, i)
        jittered = h * rng.uniform(0.7, 1.3)
        theta, _ = trajectory(target, theta, jittered, _steps(h), rng)
        yield theta


def _steps(h):
    return int(min(20, np.ceil(1.4 / h)))


def _tune(target, theta, seed):
    """Adapt the step to an acceptance of 0.7 in blocks of four trajectories."""
    log_h, block = np.log(STEP), []
    for i in range(TUNE):
        rng = stream(seed, 2, i)
        h = np.exp(log_h)
        theta, moved = trajectory(target, theta, h * rng.uniform(0.7, 1.3), _steps(h), rng)
        block.append(moved.mean())
        if len(block) == 4:
            log_h = min(log_h + 0.7 * (np.mean(block) - 0.7), np.log(1.4))
            block = []
    return theta, float(np.exp(log_h))


def gold_sollich_draws(K, y, C, loss, alpha, number, h, seed, steps=1, refresh="one"):
    r"""Yield states of the sampler of [1]_: one chain, :math:`H = \tfrac12 p'Kp + \tfrac12\theta'K^{-1}\theta + V`.

    The state is :math:`\tilde\theta = K^{-1}\theta`, started at :math:`y \circ \alpha`. After a rejection the momentum is
    negated, which the paper does not say and partial refreshment needs.

    Parameters
    ----------
    K : array of shape (n, n)
    y, C, alpha : arrays of shape (n,)
    loss : Hinge or SquaredHinge
    number : int
        Trajectories; the paper makes 40000 and drops the first half.
    h : float
        Step.
    seed : int
    steps : int
        Leapfrog steps of a trajectory.
    refresh : {"one", "all"}
        Draw one momentum per trajectory anew, as the paper does, or all of them.

    Yields
    ------
    theta, tilde : arrays of shape (n,)
        :math:`\theta` and :math:`K^{-1}\theta`.
    """
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(K)
    tilde, p = y * alpha, np.linalg.solve(root.T, rng.normal(size=len(y)))
    theta = K @ tilde
    pull = lambda theta: C * y * loss.pull(y * theta)
    energy = lambda p, theta, tilde: p @ K @ p / 2 + theta @ tilde / 2 + C @ loss.value(y * theta)
    for _ in range(number):
        p = _refreshed(K, root, p, refresh, rng)
        q, new, new_tilde = p, theta, tilde
        for _ in range(steps):
            q = q - h / 2 * (new_tilde - pull(new))
            new_tilde = new_tilde + h * q
            new = K @ new_tilde
            q = q - h / 2 * (new_tilde - pull(new))
        if np.log(rng.uniform()) < energy(p, theta, tilde) - energy(q, new, new_tilde):
            theta, tilde, p = new, new_tilde, q
        else:
            p = -p
        yield theta, tilde


def _refreshed(K, root, p, refresh, rng):
    if refresh == "all":
        return np.linalg.solve(root.T, rng.normal(size=len(p)))
    i = rng.integers(len(p))
    p = p.copy()
    p[i] = -(K[i] @ p - K[i, i] * p[i]) / K[i, i] + rng.normal() / np.sqrt(K[i, i])
    return p
