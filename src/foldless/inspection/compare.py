"""Machines and criteria side by side on one data set.

Every pair tunes and fits on the same random splits and is judged on the rows held out. The pairs of a split share what
they have in common: distances, and the Grams and fits that every search over one machine begins with.
"""

import time
import warnings
from functools import partial

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import type_of_target

from foldless import criteria as known_criteria
from foldless.core.errors import FoldlessError, FoldlessWarning, UnknownName
from foldless.core.parallel import side_by_side
from foldless.estimators import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.inspection.comparison import Comparison, Row
from foldless.tuning.shared_cache import sharing

MACHINES = {  # short names, in the order of the table
    "logistic": KernelLogisticRegression,
    "svc": KernelSVC,
    "lssvc": KernelLSSVC,
    "ridge": KernelRidgeRegressor,
    "subset": KernelSubsetRegressor,
}
# What "all" leaves out: refits and samples, for their time, and a count that is no cost. Named, they are done.
APART = ("cv", "evidence-hmc", "effective-parameters")
FEWEST = 4  # rows of a class: two to train on, in the trial of the criteria as well
TRIAL = 40  # rows that tell which criteria a machine can read


def compare(
    X,
    y,
    machines="auto",
    criteria="all",
    *,
    holdout=0.3,
    repeats=10,
    scale=True,
    task="auto",
    random_state=0,
    n_jobs=None,
    **options,
):
    """Tune every machine by every criterion and judge them on rows held out.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Class labels or numbers; which, is recognised.
    machines : "auto", str, list of str, or dict from names to estimators, default="auto"
        ``"auto"`` is every machine for the task: ``"logistic"``, ``"svc"``, ``"lssvc"`` or ``"ridge"``, ``"subset"``.
    criteria : "all", or one or a list of names or criteria, default="all"
        ``"all"`` is every criterion that a machine can be tuned by, without ``"cv"`` and ``"evidence-hmc"``, which
        take their time, and ``"effective-parameters"``, which is no cost. Those a machine cannot read are left out.
    holdout : float, default=0.3
        Share of the rows held out in each repeat.
    repeats : int, default=10
        Number of random splits, the same for all pairs; stratified for classes.
    scale : bool, default=True
        Whether features are brought to mean 0 and variance 1 on the training rows.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether ``y`` holds classes or numbers, where it cannot be recognised: whole numbers look like classes.
    random_state : int, default=0
        Seed of the splits.
    n_jobs : int, optional
        Repeats side by side with one BLAS thread each; the times then include waiting for each other.
    **options
        Passed to all estimators: ``kernel``, ``search``, ``gram``, ``max_evaluations``, ...

    Returns
    -------
    comparison : Comparison
        It prints itself; ``to_frame()`` gives a data frame.

    Examples
    --------
    >>> from foldless import compare
    >>> from foldless.datasets import make_ripley
    >>> result = compare(*make_ripley(60, random_state=0), ["logistic"], ["loo", "evidence"], repeats=2)
    >>> [row.name for row in result.rows]
    ['logistic loo', 'logistic evidence']
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    classes = task == "classification" if task != "auto" else not type_of_target(y).startswith("continuous")
    if classes and np.min(np.unique(y, return_counts=True)[1]) < FEWEST:
        raise ValueError(
            f"y holds a class of fewer than {FEWEST} rows: every split needs some of it. If y holds numbers, not classes, "
            "give task='regression'."
        )
    pairs = [
        (name, as_name(criterion), _configured(machine, criterion, scale))
        for name, machine in _machines(machines, classes, options).items()
        for criterion in readable(machine, X, y, criteria, classes)
    ]
    if not pairs:
        raise ValueError("none of the machines can be tuned by any of the criteria that were named.")
    splits = [_split(X, y, holdout, random_state + r, classes) for r in range(repeats)]
    found = side_by_side(
        [partial(_judge_all, [pair[-1] for pair in pairs], *split) for split in splits], n_jobs
    )
    rows = tuple(_row(*pair[:2], [one[i] for one in found]) for i, pair in enumerate(pairs))
    return Comparison(rows, len(splits[0][1]) / len(splits[0][0]))


def as_name(criterion):
    """Return the name of a criterion or of a name."""
    return getattr(criterion, "name", criterion)


def _several(given):
    """Return a list of what was given as one or as several."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _machines(machines, classes, options):
    if isinstance(machines, dict):
        return machines
    fitting = {name: kind for name, kind in MACHINES.items() if is_classifier(kind()) == classes}
    names = list(fitting) if isinstance(machines, str) and machines == "auto" else _several(machines)
    for name in names:
        if name not in fitting:
            task = "classification" if classes else "regression"
            raise UnknownName(f"machines (for {task})", name, fitting)
    return {name: fitting[name](**options) for name in names}


def readable(machine, X, y, criteria, classes):
    """Return those of the criteria that can tune ``machine``, found out on a few rows."""
    named = not (isinstance(criteria, str) and criteria == "all")
    wanted = _several(criteria) if named else [n for n in known_criteria.BY_NAME if n not in APART]
    for criterion in wanted:
        if isinstance(criterion, str) and criterion not in known_criteria.BY_NAME:
            raise UnknownName("criterion", criterion, known_criteria.BY_NAME)
    small = train_test_split(
        X, y, train_size=min(len(y) // 2, TRIAL), random_state=0, stratify=y if classes else None
    )
    return [criterion for criterion in wanted if _tunes(criterion, machine, small[0], small[2])]


def _tunes(criterion, machine, X, y):
    estimator = clone(machine).set_params(criterion=criterion, max_evaluations=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            estimator.fit(X, y)
    except (ArithmeticError, np.linalg.LinAlgError):
        return True  # undefined on these few rows: no reason to leave it out
    except (TypeError, ValueError):
        return False
    return True


def _configured(machine, criterion, scale):
    estimator = clone(machine).set_params(criterion=criterion)
    return make_pipeline(StandardScaler() if scale else "passthrough", estimator)


def _split(X, y, holdout, seed, classes):
    parts = train_test_split(
        np.arange(len(y)), test_size=holdout, random_state=seed, stratify=y if classes else None
    )
    return X, y, *parts


def _judge_all(estimators, X, y, train, test):
    """Judge every estimator on one split."""
    with sharing() as pool:
        return [_judge(pool, estimator, X, y, train, test) for estimator in estimators]


def _judge(pool, estimator, X, y, train, test):
    """Return error, criterion, seconds, chosen parameters and a note of one fit; what others did for it counts."""
    begun = time.perf_counter() + pool.saved
    model = clone(estimator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            model.fit(X[train], y[train])
    except FoldlessError as error:
        return np.nan, np.nan, pool.saved + time.perf_counter() - begun, {}, str(error)
    seconds = pool.saved + time.perf_counter() - begun
    wrong = model.predict(X[test])
    error = np.mean(wrong != y[test]) if is_classifier(model) else np.sqrt(np.mean((wrong - y[test]) ** 2))
    return float(error), model[-1].criterion_value_, seconds, _chosen(model[-1]), ""


def _chosen(estimator):
    """Return the regularisation and, of an isotropic kernel, the length scale."""
    letter = "C" if hasattr(estimator, "C_") else "alpha"
    found = {letter: getattr(estimator, f"{letter}_", np.nan)}
    scales = [
        v for n, v in estimator.kernel_.get_params().items() if n.endswith("length_scale") and np.ndim(v) == 0
    ]
    return found | ({"length_scale": float(scales[0])} if scales else {})


def _row(machine, criterion, found):
    errors, values, seconds, chosen, notes = zip(*found, strict=True)
    names = sorted({name for one in chosen for name in one})
    columns = {name: np.array([one.get(name, np.nan) for one in chosen], dtype=float) for name in names}
    note = next((note for note in notes if note), "")
    return Row(machine, criterion, np.array(errors), np.array(values), np.array(seconds), columns, note)
