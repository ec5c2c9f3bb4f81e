"""select(): tune every candidate kernel, keep the best, and choose the regularisation if the criterion does not."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Stop, Watch
from foldless.core.errors import CriterionWarning, SearchWarning, Undefined
from foldless.core.parallel import in_background, workers
from foldless.criteria.base import Criterion
from foldless.kernels.families import Families, families
from foldless.kernels.metric import learned_metric
from foldless.searches.base import Search
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.lookup import as_criterion, as_kernel, as_search, tied_for
from foldless.tuning.metric_rounds import tune_rounds
from foldless.tuning.one_width import tune_tied
from foldless.tuning.probe_grams import probe_grams
from foldless.tuning.race import race
from foldless.tuning.regularisation import with_tuned_regularisation
from foldless.tuning.result import Selection, Trial, Trials
from foldless.tuning.run_options import RunOptions
from foldless.tuning.shared_cache import SharedGrams
from foldless.tuning.validation_split import tune_with_early_stopping

# Evaluations set aside for the regularisation if a separate search chooses it: at most half of the budget, and none
# that a candidate kernel would lack.
REGULARISATION_EVALUATIONS = 30
# Share of a budget in seconds that belongs to the families if the best of them is challenged.
FAMILIES_TIME_SHARE = 0.6


def select(
    X: Any,
    Y: Matrix,
    *,
    kernel: str | Kernel | Sequence[str | Kernel] | Families,
    machine: Machine,
    criterion: str | Criterion,
    search: str | Search = "lbfgs",
    tune_machine: bool = True,
    regularisation: tuple[float, float] | None = None,
    gram: str | SharedGrams = "auto",
    n_components: int | None = None,
    landmarks: Any = None,
    cell_size: int | None = None,
    fit_all_rows: bool = True,
    n_starts: int | None = None,
    max_evaluations: int | None = None,
    time_budget: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    watch: Watch | None = None,
    checkpoint: str | Path | None = None,
    on_interrupt: str = "keep",
) -> Selection:
    """Choose the parameters of ``kernel`` and ``machine`` by ``criterion``, and fit.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    kernel : str, Kernel, list of them, or Families
        Of several, the one with the lowest criterion is chosen. ``"auto"`` stands for the families of
        :mod:`foldless.kernels.families`, of which those that are clearly worse are dropped early. If a name ends
        in ``-ard``, the length scales of all of them are tied by :class:`foldless.criteria.Tied`, so that the comparison counts
        them; with a name that ends in ``-ard-free``, or an object with several length scales, they are free.
    machine : Machine
    criterion, search : str or object
    tune_machine : bool
        Whether the regularisation is tuned too.
    regularisation : pair of float, optional
        Its lowest and highest value (of C, or alpha); by default a wide range in units of the kernel's diagonal.
    gram : {"auto", "dense", "lowrank", "nystrom", "cells", "dask"} or SharedGrams
        The form of the last fit; see :mod:`foldless.tuning.last_fit`.
    n_components : int, optional
        Number of landmarks of a low-rank Gram.
    landmarks : array or sparse matrix of shape (m, d), optional
        The landmarks themselves.
    cell_size : int, optional
        Largest number of rows of a cell.
    fit_all_rows : bool
        Whether the last fit is to all rows; a block of them is enough where only the parameters are needed.
    n_starts : int, optional
        Number of local searches.
    max_evaluations, time_budget : optional
        Budgets of evaluations and seconds, divided evenly among candidate kernels. Too few evaluations for all
        candidates leave the last ones out.
    random_state : int, RandomState or None
        Draws blocks of rows and landmarks, the same ones for every candidate; ``None`` draws as 0 does.
    n_jobs : int, optional
        Candidates, or the starts of one candidate, side by side; see :func:`foldless.core.parallel.in_background`.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        File to which steps are appended, and from which a killed run continues. One file may serve several calls:
        each has sections under a fingerprint of its data and settings.
    on_interrupt : {"keep", "raise"}
        Whether Ctrl-C keeps the best so far or raises KeyboardInterrupt.

    Returns
    -------
    selection : Selection
    """
    begun = time.perf_counter()
    with workers(n_jobs):
        if isinstance(kernel, str) and kernel == "auto":
            kernel = families(X)
        kernels = list(kernel.kernels) if isinstance(kernel, Families) else _kernels(kernel, X)
        seed, search = _seed(random_state), as_search(search, n_starts)
        criterion = tied_for(kernel, as_criterion(criterion))
        criterion.check_choice(kernels)
        criterion = criterion.with_data_estimates(machine, probe_grams(kernels, X, seed), Y)
        tunes_separately = tune_machine and criterion.ignores_machine
        tuner = CandidateTuner(
            X=X,
            Y=Y,
            machine=machine,
            criterion=criterion,
            search=search,
            gram=gram,
            n_components=n_components,
            landmarks=landmarks,
            cell_size=cell_size,
            tune_machine=tune_machine and not criterion.ignores_machine,
            regularisation=regularisation,
            fit_all_rows=fit_all_rows,
            seed=seed,
            options=RunOptions(
                max_evaluations=_without_reserve(max_evaluations, len(kernels))
                if tunes_separately
                else max_evaluations,
                time_budget=_seconds_of_candidate(time_budget, n_jobs, kernel, len(kernels)),
                n_jobs=n_jobs,
                watch=watch,
                checkpoint=search.checkpoint if checkpoint is None else checkpoint,
                on_interrupt=on_interrupt,
            ),
        )
        if isinstance(kernel, Families) and search.validation is None:
            budgets = _evaluations_of_candidates(tuner.options.max_evaluations, len(kernels))
            until = None if time_budget is None else begun + time_budget
            best = race(tuner, kernel, budgets, n_jobs, until)
        else:
            found = [_tune(tuner, kernels[0], 0)] if len(kernels) == 1 else _tune_all(tuner, kernels, n_jobs)
            best = _lowest(found, kernels)
        advise(criterion, best.solution)
        if not tunes_separately:
            return best
        options = replace(
            _options_left(best, max_evaluations, time_budget, begun, watch), on_interrupt=on_interrupt
        )
        return with_tuned_regularisation(best, Y, regularisation, options)


def _kernels(kernel: str | Kernel | Sequence[str | Kernel], X: Any) -> list[Kernel]:
    candidates = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    if not len(candidates):
        raise ValueError("kernel must name at least one candidate, got an empty list.")
    return [as_kernel(candidate, X) for candidate in candidates]


def _tune(tuner: CandidateTuner, kernel: Kernel, number: int) -> Selection:
    """Tune a kernel: with early stopping, in rounds of a learned metric, from one width to tied length scales, or plainly."""
    if tuner.search.validation is not None:
        return tune_with_early_stopping(tuner, kernel, number)
    if learned_metric(kernel) is not None:
        return tune_rounds(tuner, kernel, number)
    if tuner.criterion.tied_groups(kernel) and not tuner.search.samples:
        return tune_tied(tuner, kernel, number)
    return tuner.tune(kernel, number)


def _tune_all(
    tuner: CandidateTuner, kernels: Sequence[Kernel], n_jobs: int | None
) -> list[Selection | Undefined]:
    """Return a selection per kernel, or the error where there is none; an interrupt keeps those found so far."""
    found: list[Selection | Undefined] = [
        Undefined("the search was interrupted before this kernel's turn.") for _ in kernels
    ]
    budgets = _evaluations_of_candidates(tuner.options.max_evaluations, len(kernels))
    if 0 in budgets:
        message = (
            f"max_evaluations={tuner.options.max_evaluations} is fewer than the {len(kernels)} candidate kernels: the last "
            "ones were not tried. Raise it."
        )
        warnings.warn(SearchWarning(message), stacklevel=3)
    interrupted = Event()

    def attempt(i: int) -> None:
        if interrupted.is_set():
            return
        if budgets[i] == 0:
            found[i] = Undefined(
                f"max_evaluations={tuner.options.max_evaluations} left none for this kernel."
            )
            return
        options = replace(tuner.options, max_evaluations=budgets[i])
        try:
            selection = _tune(replace(tuner, options=options), kernels[i], i)
        except Undefined as error:
            found[i] = error
            return
        found[i] = selection
        if selection.outcome.stop == Stop.INTERRUPTED:
            interrupted.set()

    try:
        in_background([partial(attempt, i) for i in range(len(kernels))], n_jobs)
    except KeyboardInterrupt:
        # Threads learn of it through the event.
        interrupted.set()
        if tuner.options.raises_interrupt or not any(isinstance(one, Selection) for one in found):
            raise
        warnings.warn(SearchWarning(f"{tuner.search.name} ended. {Stop.INTERRUPTED.value}"), stacklevel=3)
    return found


def _lowest(found: Sequence[Selection | Undefined], kernels: Sequence[Kernel]) -> Selection:
    """Return the selection with the lowest criterion; its trials list all candidates."""
    chosen = [selection for selection in found if isinstance(selection, Selection)]
    if not chosen:
        raise next(error for error in found if isinstance(error, Undefined))
    trials = Trials(
        Trial(one.kernel, float(one.reading.value), one.outcome)
        if isinstance(one, Selection)
        else Trial(kernel, np.inf, None, str(one))
        for one, kernel in zip(found, kernels, strict=True)
    )
    return replace(min(chosen, key=lambda selection: selection.reading.value), trials=trials)


def advise(criterion: Criterion, solution: Any) -> None:
    """Warn if the solution that ``criterion`` chose is one of those by which it is known to be misled."""
    message = criterion.warning_for(solution)
    if message:
        warnings.warn(CriterionWarning(message), stacklevel=3)


def _without_reserve(max_evaluations: int | None, n: int) -> int | None:
    """Return the evaluations for n candidate kernels if another search chooses the regularisation."""
    if max_evaluations is None:
        return None
    reserve = min(REGULARISATION_EVALUATIONS, max_evaluations // 2, max(0, max_evaluations - n))
    return max_evaluations - reserve


def _evaluations_of_candidates(max_evaluations: int | None, n: int) -> list[int | None]:
    """Return the evaluations of each of n candidates, equal up to one; together they are the budget."""
    if max_evaluations is None:
        return [None] * n
    return [max_evaluations // n + (i < max_evaluations % n) for i in range(n)]


def _seconds_of_candidate(time_budget: float | None, n_jobs: int | None, kernel: Any, n: int) -> float | None:
    """Return the seconds of each of n candidates, of which some run side by side, and leave some for challengers."""
    if time_budget is None:
        return None
    at_a_time = 1 if n_jobs is None else min(n, effective_n_jobs(n_jobs))
    share = FAMILIES_TIME_SHARE if isinstance(kernel, Families) and kernel.challengers else 1.0
    return share * time_budget * at_a_time / n


def _options_left(
    best: Selection, max_evaluations: int | None, time_budget: float | None, begun: float, watch: Watch | None
) -> RunOptions:
    """Return the options for the regularisation, with the budgets that all candidates together left."""
    used = sum(len(trial.outcome.trace) for trial in best.trials if trial.outcome is not None)
    left = None if max_evaluations is None else max_evaluations - used
    seconds = None if time_budget is None else begun + time_budget - time.perf_counter()
    return RunOptions(max_evaluations=left, time_budget=seconds, watch=watch)


def _seed(random_state: int | np.random.RandomState | None) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return 0 if random_state is None else random_state
