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
:math:`\mu = \nu = \tau = 0` it is Gold and Sollich's sampler in stable form; their own is :func:`gold_sollich_draws`, which
only the tests use, as a second opinion.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (18)-(22).
.. [2] Murray, Adams and MacKay (2010), *Elliptical slice sampling*.
.. [3] Shahbaba, Lan, Johnson and Neal (2014), *Split Hamiltonian Monte Carlo*.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector
from foldless.core.gram import Factor
from foldless.core.memo import cached_property
from foldless.machines.losses import MarginLoss

# Rounds of slice sampling that bring draws of the reference to the posterior.
BURN_IN_ROUNDS = 100
# Trajectories that adapt the step, and the step they begin with.
STEP_TRAJECTORIES = 60
FIRST_STEP = 0.3
# The step is adapted to this acceptance, after blocks of so many trajectories, up to this length.
TARGET_ACCEPTANCE, BLOCK_TRAJECTORIES, STEP_MAX = 0.7, 4, 1.4
# A trajectory turns by about this angle (radians), in at most so many steps.
TRAJECTORY_ANGLE, TRAJECTORY_MAX_STEPS = 1.4, 20
# The step of each trajectory is drawn between these multiples of the adapted one.
STEP_FACTORS = (0.7, 1.3)


@dataclass(frozen=True, eq=False)
class Reference:
    """The Gaussian of eq. (1).

    Parameters
    ----------
    factor : Factor
        The factor of ``I + S K S`` with the weights tau.
    nu : array of shape (n,)
        Shifts of the sites.
    """

    factor: Factor
    nu: Vector

    @property
    def tau(self) -> Vector:
        """Precisions of the sites."""
        return self.factor.w

    @cached_property
    def mu(self) -> Vector:
        """Mean."""
        return self.factor.covariance(self.nu)

    @cached_property
    def root(self) -> Matrix:
        """A root of the covariance, (n, r)."""
        return self.factor.covariance_root()

    @cached_property
    def _covariance(self) -> Matrix | None:
        """The covariance if its root is square, so that one product with it costs less than two with the root."""
        return self.root @ self.root.T if self.root.shape[0] == self.root.shape[1] else None

    def times(self, M: Matrix) -> Matrix:
        """Return ``Sigma M``."""
        return self.root @ (self.root.T @ M) if self._covariance is None else self._covariance @ M

    def draw(self, rng: np.random.Generator, chains: int) -> Matrix:
        """Return draws of ``N(0, Sigma)`` as columns."""
        return self.root @ rng.normal(size=(self.root.shape[1], chains))


@dataclass(frozen=True, eq=False)
class Target:
    """The density of eq. (1), with U times a temper between 0 (the reference) and 1 (the posterior)."""

    reference: Reference
    y: Vector
    C: Vector
    loss: MarginLoss
    temper: float = 1.0

    def losses(self, theta: Matrix) -> Vector:
        """Return ``sum_i l(s_i)`` of every column."""
        return np.sum(self.loss.value(self.y[:, None] * theta), axis=0)

    def pull(self, theta: Matrix) -> Matrix:
        """Return ``g``, minus the gradient of V."""
        return (self.C * self.y)[:, None] * self.loss.pull(self.y[:, None] * theta)

    def force(self, theta: Matrix) -> Matrix:
        """Return ``rho``, minus the gradient of U."""
        return self.pull(theta) - self.reference.nu[:, None] + self.reference.tau[:, None] * theta

    def energy(self, theta: Matrix) -> Vector:
        """Return ``U`` of every column."""
        V = self.C @ self.loss.value(self.y[:, None] * theta)
        return V + self.reference.nu @ theta - self.reference.tau @ theta**2 / 2


def stream(seed: int, *labels: int) -> np.random.Generator:
    """Return the random generator of one labelled step, so that two runs with one seed use the same numbers at it."""
    return np.random.default_rng([seed, *labels])


def slice_round(target: Target, theta: Matrix, rng: np.random.Generator) -> Matrix:
    """Return all chains after one round of elliptical slice sampling."""
    reference, t = target.reference, target.temper
    chains = theta.shape[1]
    mu = reference.mu[:, None]
    x, z, new = theta - mu, reference.draw(rng, chains), theta.copy()
    level = np.log(rng.uniform(size=chains)) - t * target.energy(theta)
    phi = np.asarray(rng.uniform(0, 2 * np.pi, chains))
    low, high, active = phi - 2 * np.pi, phi.copy(), np.arange(chains)
    while active.size:
        proposal = mu + x[:, active] * np.cos(phi[active]) + z[:, active] * np.sin(phi[active])
        accepted = -t * target.energy(proposal) > level[active]
        new[:, active[accepted]] = proposal[:, accepted]
        active = active[~accepted]
        below = phi[active] < 0
        low[active[below]], high[active[~below]] = phi[active[below]], phi[active[~below]]
        phi[active] = rng.uniform(low[active], high[active])
    return new


def trajectory(
    target: Target, theta: Matrix, h: float, steps: int, rng: np.random.Generator
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return all chains after one trajectory of eq. (2), and which of them moved."""
    reference, t, k = target.reference, target.temper, h / 2
    mu = reference.mu[:, None]
    x, v = theta - mu, reference.draw(rng, theta.shape[1])
    rho = t * target.force(theta)
    pushed, change = reference.times(rho), -t * target.energy(theta)
    for _ in range(steps):
        change = change + _kick(rho, v, pushed, k)
        v = v + k * pushed
        x, v = x * np.cos(h) + v * np.sin(h), v * np.cos(h) - x * np.sin(h)
        rho = t * target.force(x + mu)
        pushed = reference.times(rho)
        change = change + _kick(rho, v, pushed, k)
        v = v + k * pushed
    new = x + mu
    moved = np.log(rng.uniform(size=theta.shape[1])) < -(change + t * target.energy(new))
    return np.where(moved, new, theta), moved


def _kick(rho: Matrix, v: Matrix, pushed: Matrix, k: float) -> Vector:
    """Return the kinetic energy that a kick of length k adds."""
    return k * np.einsum("ij,ij->j", rho, v) + k**2 / 2 * np.einsum("ij,ij->j", rho, pushed)


def draws(
    target: Target, seed: int, chains: int = 32, number: int = 200, theta: Matrix | None = None
) -> Iterator[Matrix]:
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
            f"chains must be at least 2, got {chains!r}: one chain cannot show whether it has converged."
        )
    if theta is None:
        theta = target.reference.mu[:, None] + target.reference.draw(stream(seed, 0), chains)
        for i in range(BURN_IN_ROUNDS):
            theta = slice_round(target, theta, stream(seed, 1, i))
    theta, h = _adapt_step(target, theta, seed)
    for i in range(number):
        rng = stream(seed, 3, i)
        theta, _ = trajectory(target, theta, h * rng.uniform(*STEP_FACTORS), _steps(h), rng)
        yield theta


def _steps(h: float) -> int:
    return int(min(TRAJECTORY_MAX_STEPS, np.ceil(TRAJECTORY_ANGLE / h)))


def _adapt_step(target: Target, theta: Matrix, seed: int) -> tuple[Matrix, float]:
    """Return the chains after some trajectories, and the step adapted to the target acceptance on the way."""
    log_h, accepted = np.log(FIRST_STEP), []
    for i in range(STEP_TRAJECTORIES):
        rng = stream(seed, 2, i)
        h = float(np.exp(log_h))
        theta, moved = trajectory(target, theta, h * rng.uniform(*STEP_FACTORS), _steps(h), rng)
        accepted.append(moved.mean())
        if len(accepted) == BLOCK_TRAJECTORIES:
            log_h = min(log_h + 0.7 * (np.mean(accepted) - TARGET_ACCEPTANCE), np.log(STEP_MAX))
            accepted = []
    return theta, float(np.exp(log_h))


def gold_sollich_draws(
    K: Matrix,
    y: Vector,
    C: Vector,
    loss: MarginLoss,
    alpha: Vector,
    number: int,
    h: float,
    seed: int,
    steps: int = 1,
    refresh: str = "one",
) -> Iterator[tuple[Vector, Vector]]:
    r"""Yield states of the sampler of [1]_: one chain, :math:`H = \tfrac12 p'Kp + \tfrac12\theta'K^{-1}\theta + V`.

    Nothing in the library calls it: the tests compare it with :func:`draws`, which takes fewer steps and needs no inverse
    of K.

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
        Redraw one momentum per trajectory, as the paper does, or all of them.

    Yields
    ------
    theta, tilde : arrays of shape (n,)
        :math:`\theta` and :math:`K^{-1}\theta`.
    """
    rng = np.random.default_rng(seed)
    root = np.asarray(np.linalg.cholesky(K), dtype=np.float64)
    tilde, p = y * alpha, _momenta(root, rng)
    theta = K @ tilde

    def pull(theta: Vector) -> Vector:
        return C * y * loss.pull(y * theta)

    def energy(p: Vector, theta: Vector, tilde: Vector) -> float:
        return float(p @ K @ p / 2 + theta @ tilde / 2 + C @ loss.value(y * theta))

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


def _refreshed(K: Matrix, root: Matrix, p: Vector, refresh: str, rng: np.random.Generator) -> Vector:
    """Return the momenta after one of them, or all, were redrawn."""
    if refresh == "all":
        return _momenta(root, rng)
    i = rng.integers(len(p))
    p = p.copy()
    p[i] = -(K[i] @ p - K[i, i] * p[i]) / K[i, i] + rng.normal() / np.sqrt(K[i, i])
    return p


def _momenta(root: Matrix, rng: np.random.Generator) -> Vector:
    """Return a draw of ``N(0, K^{-1})`` for a lower triangular root of K."""
    return np.asarray(np.linalg.solve(root.T, rng.normal(size=len(root))), dtype=np.float64)
