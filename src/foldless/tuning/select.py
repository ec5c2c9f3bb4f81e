"""select() = a plan for every candidate kernel, the best of them, and the regularisation where the criterion is blind to it."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.gaussian_process.kernels import ConstantKernel

from foldless import searches
from foldless.core.contracts import Stop
from foldless.core.errors import CriterionWarning, Undefined, UnreadableSolution
from foldless.core.parallel import one_blas_thread, side_by_side
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.candidate import REGULARISATION, WIDTHS, CandidateTuner
from foldless.tuning.lookup import as_criterion, as_kernel, as_search
from foldless.tuning.objective import Objective
from foldless.tuning.result import Selection, Trial

PREPARE = 800  # rows up to which a criterion prepares itself on the whole matrix
PATH = 15  # regularisation values looked at on one Gram before the descent: there may be several minima


def select(
    X,
    Y,
    *,
    kernel,
    machine,
    criterion,
    search="lbfgs",
    tune_machine=True,
    regularisation=None,
    gram="auto",
    n_components=None,
    refine_last_fit=True,
    n_starts=None,
    max_evaluations=None,
    time_budget=None,
    random_state=None,
    n_jobs=None,
    watch=None,
    checkpoint=None,
):
    """Choose the parameters of ``kernel`` and ``machine`` by ``criterion``, and fit.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    kernel : str, Kernel, or list of them
        Of several, the one with the lowest criterion is chosen.
    machine : Machine
    criterion, search : str or object
    tune_machine : bool
        Whether the regularisation is tuned along.
    regularisation : pair of float, optional
        Lowest and highest value of it (of C, or alpha); by default a wide range in units of the kernel's diagonal.
    gram : {"auto", "dense", "lowrank", "nystrom", "dask"}
    n_components : int, optional
        Landmarks of a low-rank Gram.
    refine_last_fit : bool
        Whether the last fit may be on a finer Gram than the search needed; not worth it where only the parameters
        are wanted.
    n_starts : int, optional
        Descents of the search.
    max_evaluations, time_budget : optional
        Budgets, shared evenly among candidate kernels.
    random_state : int, RandomState or None
        Draws the landmarks, the same ones for every candidate; ``None`` draws as 0 does.
    n_jobs : int, optional
        Candidates, or the starts of one candidate, side by side; see :func:`foldless.core.parallel.side_by_side`.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        File to which steps are appended, and from which a killed run continues. One file may serve several calls:
        each has sections under a fingerprint of its data and settings.

    Returns
    -------
    selection : Selection
    """
    candidates = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    if not len(candidates):
        raise ValueError("kernel must name at least one candidate, got an empty list.")
    kernels = [as_kernel(candidate, X) for candidate in candidates]
    several = len(kernels) > 1
    criterion = as_criterion(criterion)
    criterion.check_choice(kernels)
    seed = _seed(random_state)
    criterion = criterion.with_data_estimates(machine, probe_grams(kernels, X, seed), Y)
    retune = tune_machine and criterion.ignores_machine
    if time_budget is not None:
        time_budget *= _at_a_time(n_jobs, len(kernels)) / len(kernels)
    search = as_search(search, n_starts)
    plan = CandidateTuner(
        X=X,
        Y=Y,
        machine=machine,
        criterion=criterion,
        search=search,
        tune_machine=tune_machine and not criterion.ignores_machine,
        regularisation=regularisation,
        gram=gram,
        n_components=n_components,
        refine_last_fit=refine_last_fit,
        seed=seed,
        max_evaluations=_share(max_evaluations, len(kernels)),
        time_budget=time_budget,
        n_jobs=None if several else n_jobs,
        watch=watch,
        checkpoint=search.checkpoint if checkpoint is None else checkpoint,
    )
    with one_blas_thread():
        best = _lowest(_try_all(plan, kernels, n_jobs), kernels)
        advise(criterion, best.solution)
        return retuned(best, plan) if retune else best


def _try_all(plan, kernels, n_jobs):
    """Return a selection per kernel, or the error where there is none; an interrupt ends it with those found."""
    found = [Undefined("the search was interrupted before this kernel's turn.") for _ in kernels]
    interrupted = Event()

    def attempt(i):
        if interrupted.is_set():
            return
        try:
            found[i] = plan.run(kernels[i], i)
        except Undefined as error:
            found[i] = error
        else:
            if found[i].outcome.stop == Stop.INTERRUPTED:
                interrupted.set()

    if len(kernels) == 1:
        return [plan.run(kernels[0])]
    try:
        side_by_side([partial(attempt, i) for i in range(len(kernels))], n_jobs)
    except KeyboardInterrupt:  # it reaches the threads no other way
        interrupted.set()
        if not any(isinstance(selection, Selection) for selection in found):
            raise
        plan.warn_if_cut_short(Stop.INTERRUPTED)
    return found


def _lowest(found, kernels):
    """Return the selection of the lowest criterion, with the others listed."""
    chosen = [selection for selection in found if isinstance(selection, Selection)]
    if not chosen:
        raise found[0]
    trials = tuple(
        Trial(s.kernel, float(s.reading.value), s.outcome)
        if isinstance(s, Selection)
        else Trial(kernel, np.inf, None, str(s))
        for s, kernel in zip(found, kernels, strict=True)
    )
    return replace(min(chosen, key=lambda selection: selection.reading.value), trials=trials)


def advise(criterion, solution):
    """Warn if what ``criterion`` chose is one of its known traps."""
    message = criterion.warning_for(solution)
    if message:
        warnings.warn(CriterionWarning(message), stacklevel=3)


def regularise(machine, gram, Y, **options):
    """Choose the machine's regularisation on one Gram by leave-one-out; return the machine and the outcome.

    Criteria of kernel and targets alone do not change with the scale of the kernel, so they say nothing about C. A
    machine whose leave-one-out is dear names another criterion, ``default_loo_criterion``.
    ``options`` are fields of :class:`CandidateTuner`.
    """
    by, nothing = as_criterion(machine.default_loo_criterion), ConstantKernel(1.0, "fixed")
    machine = machine.for_regularisation_path
    search = searches.LBFGS(tolerance=1e-8)  # evaluations on one Gram are cheap
    plan = CandidateTuner(X=None, Y=Y, machine=machine, criterion=by, search=search, **options)
    problem = Objective(nothing, machine, by, FixedGram(gram), Y)
    scale = float(np.mean(gram.diag()))
    starts = plan.theta_of_log_C(scale, np.linspace(*np.log(REGULARISATION), PATH)).reshape(-1, 1)
    outcome = plan.walk(problem, scale, list(starts), None, plan.deadline(), 0)
    return problem.at(outcome.best.theta)[1], outcome


def retuned(selection, plan):
    """Return the selection with the regularisation chosen by leave-one-out: its own criterion is blind to it."""
    options = {name: getattr(plan, name) for name in ("time_budget", "watch", "regularisation")}
    try:
        machine, outcome = regularise(selection.machine, selection.solution.gram, plan.Y, **options)
    except UnreadableSolution:
        message = (
            f"{selection.criterion.name} says nothing about the regularisation; it was left as it is. Fix it."
        )
        warnings.warn(CriterionWarning(message), stacklevel=3)
        return selection
    solution = machine.solve(selection.solution.gram, plan.Y)
    whole = replace(selection.outcome, trace=selection.outcome.trace + outcome.trace)
    return replace(
        selection, machine=machine, solution=solution, reading=selection.criterion(solution), outcome=whole
    )


@dataclass(frozen=True, eq=False)
class FixedGram:
    """The representation of a Gram that stays as it is."""

    held: Any

    def gram(self, kernel):
        """Return the Gram."""
        return self.held


def probe_grams(kernels, X, seed):
    """Yield Grams around the kernels as given, for what a criterion estimates once before the search."""
    few, rng = X.shape[0] <= PREPARE, np.random.default_rng(seed)
    for kernel in kernels:
        plain = few or has_noise(kernel) or is_precomputed(kernel)
        builder = DenseBuilder(X) if plain else NystromBuilder(X, spread_landmarks(X, PREPARE // 2, rng))
        low, high = kernel.bounds.reshape(-1, 2).T
        for width in WIDTHS if len(kernel.theta) else (0.0,):
            theta = np.clip(kernel.theta + width, low, high)
            yield builder.gram(kernel.clone_with_theta(theta) if len(theta) else kernel)


def _share(budget, n):
    return None if budget is None else max(1, budget // n)


def _at_a_time(n_jobs, n):
    return 1 if n_jobs is None else min(n, effective_n_jobs(n_jobs))


def _seed(random_state):
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return 0 if random_state is None else random_state
