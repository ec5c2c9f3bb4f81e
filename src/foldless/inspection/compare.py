"""Machines and criteria compared on one data set.

Every pair is tuned and fitted on the same random splits, and its error is measured on the rows held out. The pairs of a
split share distances, and the Grams and fits that every search over one machine begins with.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import type_of_target

from foldless import criteria as known_criteria
from foldless.core.contracts import Matrix
from foldless.core.errors import FoldlessError, FoldlessWarning, UnknownName
from foldless.core.magnitude import check_magnitude
from foldless.core.parallel import in_background
from foldless.core.text_columns import naming_text_columns
from foldless.criteria.base import Criterion
from foldless.estimators.registry import MACHINES
from foldless.inspection.comparison import Comparison, Row
from foldless.inspection.metrics import prediction_error
from foldless.inspection.relevance import length_scales
from foldless.tuning.shared_cache import GramCache, SharedGrams
from foldless.tuning.validation_split import split_rows

# Skipped by criteria="all": "cv" and "evidence-hmc" are slow, "effective-parameters" is not a cost. They run if named.
SKIPPED_BY_ALL = ("cv", "evidence-hmc", "effective-parameters")
# Two rows of each class to train on, and as many in the probe that finds which criteria a machine can read.
CLASS_MIN_ROWS = 4
PROBE_MAX_ROWS = 40


def compare(
    X: ArrayLike,
    y: ArrayLike,
    machines: str | Sequence[str] | Mapping[str, BaseEstimator] = "auto",
    criteria: str | Criterion | Sequence[str | Criterion] = "all",
    *,
    holdout: float = 0.3,
    repeats: int = 10,
    scale: bool = True,
    task: str = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    watch: Callable[[int, int], None] | None = None,
    on_interrupt: str = "raise",
    **options: Any,
) -> Comparison:
    """Tune every machine by every criterion and measure their errors on rows held out.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Class labels or numbers; see ``task``.
    machines : "auto", str, list of str, or dict from names to estimators, default="auto"
        ``"auto"`` is every machine for the task that accepts ``y``: ``"logistic"``, ``"svc"``, ``"lssvc"``; or
        ``"ridge"``, ``"subset"``, and for counts ``"poisson"``.
    criteria : "all", or one or a list of names or criteria, default="all"
        ``"all"`` is every criterion that a machine can be tuned by, except ``"cv"`` and ``"evidence-hmc"``, which are
        slow, and ``"effective-parameters"``, which is not a cost. Criteria that a machine cannot read, or that are undefined on all
        splits, are left out.
    holdout : float, default=0.3
        Fraction of the rows held out in each repeat.
    repeats : int, default=10
        Number of random splits, the same for all pairs; stratified for classes.
    scale : bool, default=True
        Whether to scale the features to mean 0 and variance 1 on the training rows.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether ``y`` holds classes or numbers. ``"auto"`` takes whole numbers for classes.
    random_state : int, default=0
        Seed of the splits.
    n_jobs : int, optional
        Number of repeats in parallel, with one BLAS thread each; the times then include waiting for each other.
    watch : callable, optional
        Called as ``watch(done, total)`` before the first fit and after each.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: ``"keep"`` returns the repeats that are complete, or the pairs that are done in the first one.
    **options
        Passed to all estimators: ``kernel``, ``search``, ``gram``, ``max_evaluations``, ...

    Returns
    -------
    comparison : Comparison
        ``print`` it for a table; ``to_frame()`` gives a data frame.

    Examples
    --------
    >>> from foldless import compare
    >>> from foldless.datasets import make_ripley
    >>> result = compare(*make_ripley(60, random_state=0), ["logistic"], ["loo", "evidence"], repeats=2)
    >>> [row.name for row in result.rows]
    ['logistic loo', 'logistic evidence']
    """
    with naming_text_columns(X):
        X, y = np.asarray(X, dtype=float), np.asarray(y)
    check_magnitude(X, "X")
    classes = task == "classification" if task != "auto" else not type_of_target(y).startswith("continuous")
    if classes and np.min(np.unique(y, return_counts=True)[1]) < CLASS_MIN_ROWS:
        raise ValueError(
            f"y holds a class of fewer than {CLASS_MIN_ROWS} rows: every split needs some of it. If y holds numbers, "
            "not classes, give task='regression'."
        )
    estimators = _estimators(machines, classes, options)
    pairs = _pairs(estimators, _criteria(criteria), X, y, classes, scale)
    labels = y if classes else None
    splits = [split_rows(len(y), holdout, random_state + r, labels) for r in range(repeats)]
    models = [pair.model for pair in pairs]
    repeated: list[list[_Measurement]] = [[] for _ in splits]

    def measure(found: list[_Measurement], train: NDArray[np.intp], test: NDArray[np.intp]) -> None:
        for one in _measurements(models, X, y, train, test):
            found.append(one)
            if watch is not None:
                watch(sum(map(len, repeated)), len(models) * len(splits))

    try:
        if watch is not None:
            watch(0, len(models) * len(splits))
        in_background([partial(measure, found, *split) for found, split in zip(repeated, splits)], n_jobs)
    except KeyboardInterrupt:
        if on_interrupt != "keep" or not any(repeated):
            raise
    whole = [found for found in repeated if len(found) == len(pairs)] or [max(repeated, key=len)]
    rows = tuple(_row(pair, [found[i] for found in whole]) for i, pair in enumerate(pairs[: len(whole[0])]))
    if isinstance(criteria, str) and criteria == "all":
        rows = tuple(row for row in rows if np.isfinite(row.errors).any()) or rows
    train, test = splits[0]
    return Comparison(rows, len(test) / len(train))


@dataclass(frozen=True)
class _Pair:
    """A machine by name, a criterion, and the unfitted pipeline that tunes one by the other."""

    machine: str
    criterion: type[Criterion] | Criterion
    model: Pipeline


def _as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _estimators(
    machines: str | Sequence[str] | Mapping[str, BaseEstimator], classes: bool, options: dict[str, Any]
) -> Mapping[str, BaseEstimator]:
    if isinstance(machines, Mapping):
        return machines
    task = "classification" if classes else "regression"
    fitting = {name: entry.estimator for name, entry in MACHINES.items() if entry.task == task}
    names = list(fitting) if isinstance(machines, str) and machines == "auto" else _as_list(machines)
    for name in names:
        if name not in fitting:
            raise UnknownName(f"machines (for {task})", name, fitting)
    return {name: fitting[name](**options) for name in names}


def _criteria(criteria: str | Criterion | Sequence[str | Criterion]) -> list[str | Criterion]:
    if isinstance(criteria, str) and criteria == "all":
        return [name for name in known_criteria.BY_NAME if name not in SKIPPED_BY_ALL]
    named = _as_list(criteria)
    for criterion in named:
        if isinstance(criterion, str) and criterion not in known_criteria.BY_NAME:
            raise UnknownName("criterion", criterion, known_criteria.BY_NAME)
    return named


def _pairs(
    estimators: Mapping[str, BaseEstimator],
    criteria: list[str | Criterion],
    X: Matrix,
    y: NDArray[Any],
    classes: bool,
    scale: bool,
) -> list[_Pair]:
    """Return every pair that can be tuned, found by one evaluation of each on a few rows."""
    size, labels = min(len(y) // 2, PROBE_MAX_ROWS), y if classes else None
    X_few, _, y_few, _ = train_test_split(X, y, train_size=size, random_state=0, stratify=labels)
    pairs, refused = [], []
    for name, estimator in estimators.items():
        for criterion in criteria:
            tuned = clone(estimator).set_params(criterion=criterion)
            known = known_criteria.BY_NAME[criterion] if isinstance(criterion, str) else criterion
            reason = _reason_against(tuned, X_few, y_few)
            if reason:
                refused.append(f"{name} by {known.name}: {reason}")
            else:
                pairs.append(_Pair(name, known, _pipeline(tuned, scale)))
    if not pairs:
        raise ValueError(f"none of the machines can be tuned by any of the criteria. {refused[0]}")
    return pairs


def _pipeline(estimator: BaseEstimator, scale: bool) -> Pipeline:
    return make_pipeline(StandardScaler() if scale else "passthrough", estimator)


def _reason_against(estimator: BaseEstimator, X: Matrix, y: NDArray[Any]) -> str:
    """Return why an estimator cannot be fitted with its criterion; empty if it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            clone(estimator).set_params(max_evaluations=1).fit(X, y)
    except (ArithmeticError, np.linalg.LinAlgError):
        return ""  # undefined on these few rows, which does not rule it out on all of them
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class _Measurement:
    """One pair on one split."""

    error: float
    value: float
    seconds: float
    chosen: dict[str, float]
    note: str = ""


def _measurements(
    models: list[Pipeline], X: Matrix, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp]
) -> Iterator[_Measurement]:
    """Fit every model on one split and yield its error on the rows held out."""
    cache = GramCache()
    for model in models:
        yield _measure(cache, _sharing(clone(model), cache), X, y, train, test)


def _sharing(model: Pipeline, cache: GramCache) -> Pipeline:
    """Let the estimator share its Grams with the others, if it can."""
    estimator = model[-1]
    if "gram" in estimator.get_params():
        estimator.set_params(gram=SharedGrams(estimator.gram, cache))
    return model


def _measure(
    cache: GramCache,
    model: Pipeline,
    X: Matrix,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> _Measurement:
    """Fit and measure; the seconds include those of shared results that another fit computed."""
    begun = time.perf_counter() + cache.saved_seconds
    note = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            model.fit(X[train], y[train])
    except FoldlessError as error:
        note = str(error)
    seconds = cache.saved_seconds + time.perf_counter() - begun
    if note:
        return _Measurement(np.nan, np.nan, seconds, {}, note)
    wrong = prediction_error(y[test], model.predict(X[test]), is_classifier(model))
    return _Measurement(wrong, model[-1].criterion_value_, seconds, _chosen(model[-1]))


def _chosen(estimator: Any) -> dict[str, float]:
    """Return the regularisation and, if the kernel has a single one, the length scale."""
    letter = "C" if hasattr(estimator, "C_") else "alpha"
    found = {letter: getattr(estimator, f"{letter}_", np.nan)}
    scales = length_scales(estimator.kernel_)
    return found | ({"length_scale": float(scales[0])} if len(scales) == 1 else {})


def _row(pair: _Pair, found: list[_Measurement]) -> Row:
    names = sorted({name for one in found for name in one.chosen})
    chosen = {name: np.array([one.chosen.get(name, np.nan) for one in found], dtype=float) for name in names}
    errors, values, seconds = (
        np.array([getattr(one, what) for one in found]) for what in ("error", "value", "seconds")
    )
    note = next((one.note for one in found if one.note), "")
    name, title, unit = pair.criterion.name, pair.criterion.title, pair.criterion.unit
    return Row(pair.machine, name, errors, values, seconds, chosen, note, title, unit)
