r"""The methods of Gold and Sollich's tables: support vector machines with a length scale per input, tuned and measured.

A method is a machine, a criterion, a search and perhaps a prior. Simple criteria are minimised by a greedy random walk
from one start, whose seed is the trial; the others from random starts. :func:`score` runs one method on one split.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from foldless.cli.papers.split import Score, Split
from foldless.core.contracts import Box, Machine, Matrix, Step, Vector
from foldless.criteria import (
    GACV,
    Evidence,
    EvidenceEP,
    EvidenceHMC,
    HyperPrior,
    SmoothedSpan,
)
from foldless.criteria.base import Criterion
from foldless.criteria.evidence_ep import ep_posterior
from foldless.criteria.posteriors.ep import class_probability
from foldless.criteria.posteriors.sites import HingeSite
from foldless.estimators.kernel_search.ensemble import criterion_weights, members_and_weights
from foldless.grams.builders import DenseBuilder
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.searches import LBFGS, EarlyStopping, EllipticalSlice, HMCAscent, RandomWalk
from foldless.searches.base import Search
from foldless.tuning.objective import Objective
from foldless.tuning.validation_split import held_out_cost, improvements, set_aside

# Bounds; 8103 = e^9. Those of the length scales are multiples of the root of the number of inputs.
AMPLITUDE_BOUNDS, OFFSET_BOUNDS, C_BOUNDS = (0.05, 8103.0), (1e-3, 1e2), (0.02, 100.0)
LENGTH_BOUNDS = (0.05, 50.0)
# Standard deviation of the logarithms of the length scales under the priors.
LOG_LENGTH_DEVIATION = 0.5
TEST_BLOCK_ROWS = 2000
ENSEMBLE_DESCENTS = 5

# d inputs -> options of HyperPrior: centre and deviation by parameter
Prior = Callable[[int], dict[str, Any]]


def tied_prior(d: int) -> dict[str, Any]:
    """Return the prior that holds the length scales together, wherever they are."""
    return {"length_scale": (None, LOG_LENGTH_DEVIATION)}


def full_prior(d: int) -> dict[str, Any]:
    """Return the prior on the logarithms of all parameters but the offset, for d standardised inputs."""
    return {
        "length_scale": (np.sqrt(d), LOG_LENGTH_DEVIATION),
        "amplitude": (np.exp(4), 1.5),
        "C": (np.exp(1), 1.0),
    }


@dataclass(frozen=True)
class Method:
    """One column of the tables.

    Attributes
    ----------
    machine : Machine
    criterion : Criterion
    search : Search
    prior : callable, optional
        Options of HyperPrior for d inputs.
    descents : int
        Searches whose ends predict together.
    amplitude_bounds : tuple of float
    first_criterion : Criterion, optional
        The search begins at the optimum of this criterion.
    """

    machine: Machine
    criterion: Criterion
    search: Search
    prior: Prior | None = None
    descents: int = 1
    amplitude_bounds: tuple[float, float] = AMPLITUDE_BOUNDS
    first_criterion: Criterion | None = None

    @property
    def walks(self) -> bool:
        """Whether the search is a random walk, which starts at one point."""
        return isinstance(self.search, RandomWalk)

    @property
    def bayesian(self) -> bool:
        """Whether there is a posterior of the outputs."""
        return isinstance(self.criterion, (EvidenceEP, EvidenceHMC))

    @property
    def descends(self) -> bool:
        """Whether the search takes few steps, all of which can be measured on the test rows."""
        return self.bayesian and not isinstance(self.search, EllipticalSlice)

    def criterion_for(self, n: int, d: int) -> Criterion:
        """Return the criterion for n rows of d inputs."""
        return self.criterion if self.prior is None else HyperPrior(self.criterion, 1 / n, **self.prior(d))

    def search_of(self, trial: int) -> Search:
        """Return the search of one trial."""
        if isinstance(self.search, (RandomWalk, EllipticalSlice)):
            return replace(self.search, seed=trial)
        return self.search

    def starts(self, d: int, trial: int) -> list[Vector]:
        """Return the points at which a trial begins, one per descent."""
        pairs = [start(self, d, trial + 1000 * k) for k in range(self.descents)]
        return [np.r_[kernel.theta, machine.theta] for kernel, machine in pairs]


HINGE, SQUARED = HingeSVM(bias=False), SquaredHingeSVM(bias=False)
METHODS = {
    "LE1": Method(HINGE, Evidence(), RandomWalk()),
    "LE2": Method(SQUARED, Evidence(a=0.1), RandomWalk()),
    "GACV": Method(HINGE, GACV(), RandomWalk()),
    "Span": Method(SQUARED, SmoothedSpan(), RandomWalk()),
    "Evid grad": Method(HINGE, EvidenceHMC(nodes=0), HMCAscent(rounds=40), first_criterion=EvidenceEP()),
    "Span L-BFGS": Method(SQUARED, SmoothedSpan(), LBFGS()),
    "Span ensemble": Method(SQUARED, SmoothedSpan(), LBFGS(), descents=ENSEMBLE_DESCENTS),
    "LE1 L-BFGS": Method(HINGE, Evidence(), LBFGS(), amplitude_bounds=Evidence().amplitude_bounds(1)),
    "LE2 L-BFGS": Method(SQUARED, Evidence(a=1e-3), LBFGS(), amplitude_bounds=Evidence().amplitude_bounds(2)),
    "EP": Method(HINGE, EvidenceEP(), LBFGS()),
    "EP stopped": Method(HINGE, EvidenceEP(), EarlyStopping(LBFGS())),
    "EP ensemble": Method(HINGE, EvidenceEP(), LBFGS(), descents=ENSEMBLE_DESCENTS),
    "EP tied": Method(HINGE, EvidenceEP(), LBFGS(), tied_prior),
    "EP prior": Method(HINGE, EvidenceEP(), LBFGS(), full_prior),
    "EP averaged": Method(HINGE, EvidenceEP(), EllipticalSlice(), full_prior),
}


def start(method: Method, d: int, trial: int) -> tuple[Kernel, Machine]:
    """Return kernel and machine at which a trial begins: fixed for random walks, else random."""
    length, amplitude, offset, C = np.full(d, np.sqrt(d)), 1.0, 0.1, 1.0
    if not method.walks:
        rng = np.random.default_rng(trial)
        length = length * np.exp(rng.uniform(-0.5, 0.5, d))
        amplitude, offset = np.exp(rng.uniform(-1, 1)), np.exp(rng.uniform(-2, -1))
        C = rng.uniform(0.4, 0.8)
    bounds = tuple(np.sqrt(d) * np.array(LENGTH_BOUNDS))
    rbf = ConstantKernel(amplitude, method.amplitude_bounds) * RBF(length, bounds)
    return rbf + ConstantKernel(offset, OFFSET_BOUNDS), method.machine.with_theta(np.log([C]))


def problem_of(method: Method, split: Split, trial: int) -> tuple[Objective, Box]:
    """Return the objective of a method on one split, at its start, and the bounds of its parameters."""
    kernel, machine = start(method, split.X.shape[1], trial)
    criterion = method.criterion_for(*split.X.shape)
    problem = Objective(kernel, machine, criterion, DenseBuilder(split.X), split.y[:, None])
    return problem, Box(*np.vstack([kernel.bounds, np.log(C_BOUNDS)]).T)


def score(name: str, split: Split, trial: int) -> Score:
    """Tune by one method and measure it on the test rows.

    Beside the error of the machine stand, in percent, that of the posterior mean (``mean``) and the least along the search
    (``best``); the seconds of one cold fit (``fit``); the criterion (``value``) and the number of steps (``steps``).
    """
    method = METHODS[name]
    problem, box = problem_of(method, split, trial)
    fit = _fit_seconds(problem)
    begun = time.process_time()
    chosen, weights, trace = search_steps(method, problem, box, trial)
    seconds = time.process_time() - begun
    error, mean = errors(split, problem, chosen, weights, method.bayesian)
    best = _least_error(split, problem, trace, error) if method.descends else np.nan
    value = float(min(step.value for step in chosen))
    more = {"mean": mean, "best": best, "fit": fit, "value": value, "steps": len(trace)}
    return Score(error, seconds, more)


def search_steps(
    method: Method, problem: Objective, box: Box, trial: int
) -> tuple[Sequence[Step], Vector, Sequence[Step]]:
    """Return the steps that predict together, their weights, and all steps."""
    search = method.search_of(trial)
    if isinstance(search, EarlyStopping):
        return early_stopped(search, problem, box, trial)
    starts, first = method.starts(problem.builder.X.shape[1], trial), []
    if method.first_criterion is not None:
        easier = replace(problem, criterion=method.first_criterion)
        first = [LBFGS()(easier, box, [theta]) for theta in starts]
        starts = [outcome.best.theta for outcome in first]
    found = [search(problem, box, [theta]) for theta in starts]
    if found[0].draws:
        return *members_and_weights(found[0]), found[0].trace
    ends = [outcome.best for outcome in found]
    steps = [step for outcome in (*first, *found) for step in outcome.trace]
    return ends, criterion_weights([end.value for end in ends]), steps


def early_stopped(
    search: EarlyStopping, problem: Objective, box: Box, trial: int
) -> tuple[Sequence[Step], Vector, Sequence[Step]]:
    """Search on part of the rows and return the step that is best on the others, like :func:`search_steps`."""
    X, Y = problem.builder.X, problem.Y
    train, test = set_aside(Y, search.validation, trial)
    part = replace(problem, builder=DenseBuilder(X[train]), Y=Y[train])
    outcome = search.search(part, box, [problem.theta])
    best = min(improvements(outcome.trace), key=lambda s: held_out_cost(part, s.theta, X[test], Y[test]))
    return [best], np.ones(1), outcome.trace


def _fit_seconds(problem: Objective) -> float:
    begun = time.process_time()
    problem.solve(problem.theta)
    return time.process_time() - begun


def errors(
    split: Split, problem: Objective, steps: Sequence[Step], weights: Vector, bayesian: bool
) -> tuple[float, float]:
    """Return the test errors (%) of the machines at ``steps``, whose outputs are added by weight, and of the posteriors."""
    machines, beliefs = zip(*(outputs(split, problem, step.theta, bayesian) for step in steps), strict=True)
    mean = 100 * split.error(weights @ np.array(beliefs)) if bayesian else np.nan
    return 100 * split.error(weights @ np.array(machines)), mean


def outputs(split: Split, problem: Objective, theta: Vector, bayesian: bool) -> tuple[Vector, Vector | None]:
    """Return the outputs of the machine at the test rows, and the probabilities of the posterior minus one half."""
    kernel, machine, solutions = problem.solve(theta)
    solution, belief = solutions.columns[0], None
    if bayesian:
        belief = _probabilities(split, kernel, ep_posterior(solution), HingeSite(np.exp(machine.theta))) - 0.5
    return expansion_outputs(split, kernel, solution.beta, solution.b), belief


def _test_blocks(split: Split) -> Iterator[Matrix]:
    n = len(split.y_test)
    return (split.X_test[i : i + TEST_BLOCK_ROWS] for i in range(0, n, TEST_BLOCK_ROWS))


def expansion_outputs(split: Split, kernel: Kernel, beta: Vector, b: float = 0.0) -> Vector:
    """Return ``k beta + b`` at the test rows."""
    return np.concatenate([gram(kernel, rows, split.X) @ beta for rows in _test_blocks(split)]) + b


def _probabilities(split: Split, kernel: Kernel, posterior: Any, site: HingeSite) -> Vector:
    """Return the probabilities of the class 1 at the test rows."""
    moments = (
        posterior.predict(gram(kernel, rows, split.X), diagonal(kernel, rows)) for rows in _test_blocks(split)
    )
    return np.concatenate([class_probability(site, m, v) for m, v in moments])


def _least_error(split: Split, problem: Objective, trace: Sequence[Step], error: float) -> float:
    evaluated = [step for step in trace if np.isfinite(step.value)]
    return min([error, *(errors(split, problem, [step], np.ones(1), False)[0] for step in evaluated)])
