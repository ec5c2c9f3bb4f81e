r"""The noise variance of a regression, estimated once and then kept for all candidates.

With :math:`\rho = R y`, at a ridge parameter :math:`\lambda`,

.. math:: \hat\sigma^2_{12} = \frac{\|\rho\|^2}{\operatorname{tr} R}, \qquad
          \hat\sigma^2_{df2} = \frac{\|\rho\|^2}{\operatorname{tr} R^2}, \qquad
          \hat\sigma^2_{ml} = \frac{y'R y}{m}, \qquad
          \hat\sigma^2_{tail} = \frac{1}{n - r} \sum_{i > r} c_i^2.  \tag{1}

The first is [1], (12); the second is unbiased in its noise part; the third maximises the marginal likelihood; the last
uses the null space of K alone and is exactly unbiased when the target lies in the model. The first three need a
ridge parameter, and that must not be the candidate's own: with it, both terms of a criterion vanish together as
:math:`\lambda \to 0` and the smallest :math:`\lambda` on offer wins (``sigma2="per-model"`` reproduces that).

=============  ==========================================================
name           estimate
=============  ==========================================================
``ml``         :math:`\hat\sigma^2_{ml}` where ABIC is smallest
``df2-abic``   :math:`\hat\sigma^2_{df2}` where ABIC is smallest
``df2-loo``    :math:`\hat\sigma^2_{df2}` where leave-one-out is smallest
``residual``   :math:`\hat\sigma^2_{12}` where leave-one-out is smallest
``tail``       :math:`\hat\sigma^2_{tail}`; needs a singular K
=============  ==========================================================

References
----------
.. [1] Sugiyama and Müller, JMLR 3 (2002), (12).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from foldless.core.contracts import Gram, Machine, Matrix, Vector
from foldless.core.errors import Undefined, UnknownName
from foldless.machines import Ridge
from foldless.machines.least_squares.eigenbasis import EPS
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.solution import LinearSolution, without_mean
from foldless.machines.ridge import RidgeSolution

PER_MODEL = "per-model"
# Ridge parameters tried, relative to the largest eigenvalue: so many, between these powers of ten.
PATH_POINTS, PATH_DECADES = 49, (-13.0, 3.0)
# Directions outside the range of K that the tail estimate needs at least.
TAIL_MIN_DIRECTIONS = 5

# A noise variance: a number, one per output, or the name of an estimate.
Sigma2 = float | Sequence[float] | Vector | str


def residual_variance(solution: LinearSolution) -> Vector:
    r"""Return :math:`\|\rho\|^2 / \operatorname{tr} R` per output, [1] (12)."""
    return solution.rss / _residual_df(solution)


def _residual_df(solution: LinearSolution) -> float:
    """Return tr R; raise if it is zero."""
    if solution.residual_df <= solution.n * EPS:
        raise Undefined(
            "the noise variance is undefined (0/0): the fit has as many degrees of freedom as points."
        )
    return solution.residual_df


def residual_variance_slope(solution: LinearSolution) -> Vector:
    """Return the derivative of :func:`residual_variance` in ln lam, per output."""
    t = _residual_df(solution)
    return solution.rss_slope / t - solution.rss * solution.smoother.trace_slope() / t**2


def residual_variance_sensitivity(solution: LinearSolution, weights: Vector) -> Sensitivity:
    """Return the sensitivity of ``weights @ residual_variance(solution)``."""
    t, rho, Y = _residual_df(solution), solution.whitened_residuals, solution.targets.Y
    return Sensitivity(identity=float(weights @ solution.rss) / t**2, P=-rho * weights / t, Q=Y)


def df2_variance(solution: LinearSolution) -> Vector:
    r"""Return :math:`\|\rho\|^2 / \operatorname{tr} R^2` per output."""
    _residual_df(solution)
    return solution.rss / solution.trace_R2


def tail_variance(solution: LinearSolution) -> Vector:
    """Return the mean squared coordinate outside the range of K, per output."""
    basis = solution.metric()
    t = basis.targets(without_mean(solution.machine, solution.Y))
    null = basis.s <= solution.n * EPS * max(basis.s.max(initial=0.0), np.finfo(float).tiny)
    size = int(null.sum()) + basis.null + solution.n_extra_rows
    if size < TAIL_MIN_DIRECTIONS:
        raise Undefined(
            f"the tail estimate of the noise needs {TAIL_MIN_DIRECTIONS} directions outside the range of K, it has "
            f"{size:g}. Use sigma2='ml' or 'df2-loo'."
        )
    return ((t.c[null] ** 2).sum(0) + t.rest2) / size


def optimal(solution: RidgeSolution, cost: Callable[[RidgeSolution], float]) -> RidgeSolution:
    """Return the fit whose ridge parameter minimises ``cost(solution)``, from the shared eigenpairs."""
    top = np.log(max(solution.machine.basis(solution.gram).s.max(initial=0.0), np.finfo(float).tiny))
    logs = top + np.log(10) * np.linspace(*PATH_DECADES, PATH_POINTS)

    def at(log_alpha: float) -> float:
        try:
            return cost(solution.at(float(np.exp(log_alpha))))
        except Undefined:
            return np.inf

    values = [at(x) for x in logs]
    i = int(np.argmin(values))
    around = (logs[max(i - 1, 0)], logs[min(i + 1, PATH_POINTS - 1)])
    best = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-6})
    return solution.at(float(np.exp(best.x if best.fun < values[i] else logs[i])))


def _deviance(solution: RidgeSolution) -> float:
    return solution.deviance()[0]


def _press(solution: RidgeSolution) -> float:
    return solution.press()


ESTIMATORS: dict[str, Callable[[RidgeSolution], Vector]] = {
    "ml": lambda s: optimal(s, _deviance).variances(),
    "df2-abic": lambda s: df2_variance(optimal(s, _deviance)),
    "df2-loo": lambda s: df2_variance(optimal(s, _press)),
    "residual": lambda s: residual_variance(optimal(s, _press)),
    "tail": tail_variance,
}


def estimate(name: str, solution: LinearSolution) -> Vector:
    """Return the noise variance per output, (k,), from the path of ridge fits on the solution's Gram.

    For a machine without a ridge parameter the path is that of kernel ridge regression with its bias and weights.
    """
    if name not in ESTIMATORS:
        raise UnknownName("sigma2", name, [*ESTIMATORS, PER_MODEL])
    if not isinstance(solution, RidgeSolution):
        solution = _ridge_like(solution.machine).solve(solution.gram, solution.Y)
    arguments = (name, solution.Y.tobytes(), *solution.machine.all_but_alpha)
    return solution.gram.memo.get("noise", *arguments, compute=lambda: ESTIMATORS[name](solution))


def _ridge_like(machine: Any) -> Ridge:
    """Return kernel ridge regression with the bias, weights and counts of another machine."""
    return Ridge(
        bias=machine.bias,
        weights=machine.weights,
        row_counts=machine.row_counts,
        route="spectrum",
    )


def is_per_model(sigma2: Sigma2 | None) -> bool:
    """Return True if the noise variance is re-estimated for every candidate (``sigma2='per-model'``)."""
    return isinstance(sigma2, str) and sigma2 == PER_MODEL


def noise_of(sigma2: Sigma2, solution: LinearSolution) -> Vector:
    """Return the variances, (k,), that an option ``sigma2`` stands for: a number, a name, or ``"per-model"``."""
    if isinstance(sigma2, str):
        return residual_variance(solution) if is_per_model(sigma2) else estimate(sigma2, solution)
    given, k = np.asarray(sigma2, float), solution.Y.shape[1]
    if given.shape not in ((), (1,), (k,)):
        raise ValueError(f"sigma2 must be a number, or one for each of the {k} outputs; got {given.size}.")
    return np.broadcast_to(given, (k,))


def check_sigma2(sigma2: Sigma2 | None) -> None:
    """Raise unless ``sigma2`` is positive or the name of an estimator."""
    if sigma2 is None:
        return
    if isinstance(sigma2, str):
        if sigma2 not in (*ESTIMATORS, PER_MODEL):
            raise UnknownName("sigma2", sigma2, [*ESTIMATORS, PER_MODEL])
    elif not (np.all(np.asarray(sigma2, float) > 0) and np.all(np.isfinite(sigma2))):
        raise ValueError(f"sigma2 must be positive, got {sigma2!r}.")


def once(sigma2: Sigma2, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Sigma2:
    """Return ``sigma2`` as numbers: a named estimate is taken on the Gram with the best marginal likelihood."""
    if not isinstance(sigma2, str) or is_per_model(sigma2):
        return sigma2
    ridge = machine if isinstance(machine, Ridge) else _ridge_like(machine)
    fits = [ridge.solve(gram, Y) for gram in grams]
    if len(fits) > 1:
        fits = sorted(fits, key=lambda s: optimal(s, _deviance).deviance()[0])
    return tuple(float(v) for v in estimate(sigma2, fits[0]))
