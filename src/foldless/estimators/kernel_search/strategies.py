"""One wrapped estimator with some of its parameters set: what a search makes of the others."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.utils import check_array, get_tags

from foldless.core.contracts import Box, Outcome, Step
from foldless.core.errors import SearchWarning
from foldless.estimators.base import BaseKernelEstimator
from foldless.estimators.kernel_search.cross_validation import Refits, usual_space
from foldless.estimators.kernel_search.param_space import Choices, Range, settings
from foldless.estimators.kernel_search.sklearn_models import translate
from foldless.searches import LBFGS, Grid
from foldless.tuning.candidate import CUT_SHORT
from foldless.tuning.lookup import as_search
from foldless.tuning.select import select

FOLDS = 10  # honest ones, if nobody says
ROUGHLY = 1e-4  # relative change of the criterion at which a search over a machine that stands in is over
MOVABLE = ("C", "alpha", "gamma", "coef0")  # numbers that a criterion can follow
KNOWN = (
    "SVC, NuSVC, KernelRidge, GaussianProcessClassifier, GaussianProcessRegressor, foldless's own estimators, "
    "and pipelines that end in one of them"
)


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What is asked of every attempt.

    Attributes
    ----------
    X, y : arrays
    fit_params : dict
        Passed on to ``fit``; ``sample_weight`` (``svc__sample_weight``) is heard by the criteria too.
    criterion, search
        As in :class:`foldless.KernelSearch`.
    options : dict
        Budgets and the like, for ``select`` or the search.
    """

    X: Any
    y: Any
    fit_params: dict
    criterion: Any
    search: Any
    options: dict

    @property
    def folds(self):
        """Number of honest folds, or ``None`` for a criterion that does without."""
        if getattr(self.criterion, "name", self.criterion) != "cv":
            return None
        return getattr(self.criterion, "folds", FOLDS)


@dataclass(frozen=True, eq=False)
class SettingResult:
    """What became of one setting.

    Attributes
    ----------
    setting : dict
        The parameters that were set.
    value : float
        The criterion at the best point.
    best : Step
    best_params : dict
        All parameters there, the set ones among them.
    steps : tuple of Step
    outcome : Outcome
    params : callable
        From a step's theta to all parameters there.
    selection : Selection or None
    fitted : estimator or None
        Where tuning is fitting.
    """

    setting: dict
    value: float
    best: Step
    best_params: dict
    steps: tuple[Step, ...]
    outcome: Outcome
    params: Callable[[np.ndarray], dict]
    selection: Any = None
    fitted: Any = None


def plan_attempts(estimator, spaces, task):
    """Return functions without arguments, one per setting; each gives an :class:`SettingResult`."""
    kind = _kind(estimator, spaces, task)
    found = []
    for space in spaces:
        _check_names(estimator, space)
        apart = _lattice_names(estimator, space) if kind is _foldless else ()
        for setting in settings(space, apart):
            moving = {n: part for n, part in space.items() if isinstance(part, Range) or n in apart}
            given = moving if space else None
            found.append(_bind(kind, clone(estimator).set_params(**setting), setting, given, task))
    return found


def _bind(kind, estimator, setting, moving, task):
    return lambda: kind(estimator, setting, moving, task)


def _kind(estimator, spaces, task):
    _, tail, prefix = take_apart(estimator)
    if task.folds is not None or (task.criterion == "auto" and _needs_folds(tail, prefix, spaces)):
        return _refits
    if isinstance(tail, BaseKernelEstimator):
        return _itself
    if translate.dispatch(type(tail)) is not translate.dispatch(object):
        return _foldless
    raise TypeError(
        f"there is no criterion without folds for {type(tail).__name__}; there is for {KNOWN}. "
        "For any other estimator give criterion='cv' and a param_space: its parameters are then chosen by refits on folds."
    )


def _needs_folds(tail, prefix, spaces):
    """Tell whether the machine is one of ours but for something that no criterion holds for: ``"auto"`` is then folds."""
    listed = [part.values for space in spaces for n, part in space.items() if n == f"{prefix}kernel"]
    kernels = [getattr(tail, "kernel", None), *(kernel for values in listed for kernel in values)]
    return isinstance(tail, (SVR, NuSVR)) or (
        isinstance(tail, (SVC, NuSVC, KernelRidge)) and "sigmoid" in kernels
    )


def _check_names(estimator, space):
    known = estimator.get_params()
    for name in space:
        if name not in known:
            raise ValueError(
                f"param_space names {name!r}, which {type(estimator).__name__} does not have. "
                f"Its parameters: {', '.join(sorted(known))}."
            )


def _lattice_names(estimator, space):
    """Names whose lists of numbers one search can look at together, as on a grid: none if something is a range."""
    prefix = take_apart(estimator)[2]
    if any(isinstance(part, Range) for part in space.values()):
        return ()
    return tuple(n for n, part in space.items() if n.removeprefix(prefix) in MOVABLE and _numbers(part))


def _numbers(part):
    values = part.values
    return len(set(values)) > 1 and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and v > 0 for v in values
    )


def take_apart(estimator):
    """Return what comes before the machine (a pipeline or ``None``), the machine, and the prefix of its parameters."""
    if not isinstance(estimator, Pipeline):
        return None, estimator, ""
    name, last = estimator.steps[-1]
    inner, tail, prefix = take_apart(last)  # a pipeline may end in a pipeline
    steps = [*estimator.steps[:-1], *([] if inner is None else [(name, inner)])]
    return Pipeline(steps) if steps else None, tail, f"{name}__{prefix}"


def _points(head, tail, task):
    """Return the points as the machine sees them."""
    X = task.X if head is None else clone(head).fit_transform(task.X, task.y)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=tail)
    if get_tags(tail).input_tags.pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs a square Gram matrix of the training points, got shape {X.shape}."
        )
    return X


# A criterion without folds.


def _foldless(estimator, setting, moving, task):
    head, tail, prefix = take_apart(estimator)
    X = _points(head, tail, task)
    ranges = None if moving is None else {n.removeprefix(prefix): _span(part) for n, part in moving.items()}
    X, y, weight = _weighing(tail, X, task, f"{prefix}sample_weight")
    words = translate(tail, X, y, ranges, weight)
    standing_in = task.criterion == "auto" and words.stand_in is not None
    words = words.stand_in if standing_in else words
    lists = {n.removeprefix(prefix): p for n, p in (moving or {}).items() if isinstance(p, Choices)}
    _check_moving(words, moving, prefix)
    selection = select(
        X,
        words.Y,
        kernel=words.kernel,
        machine=words.machine,
        criterion=words.criterion if task.criterion == "auto" else task.criterion,
        search=_lattice(words, lists) if lists else _search(task, standing_in),
        tune_machine=words.tune_machine,
        regularisation=words.regularisation,
        finer=not standing_in,
        **task.options,
    )

    def params(theta):
        whole = np.r_[theta, selection.machine.theta][: len(words.axes) or len(theta)]
        found = {name: _as_listed(value, lists.get(name)) for name, value in words.params(whole).items()}
        return setting | {prefix + name: value for name, value in found.items()}

    last = {prefix + name: value for name, value in words.last(selection).items()}
    return SettingResult(
        setting=setting,
        value=float(selection.reading.value),
        best=selection.outcome.best,
        best_params=params(selection.outcome.best.theta) | last,
        steps=selection.fine,
        outcome=selection.outcome,
        params=params,
        selection=selection,
    )


def _search(task, standing_in):
    """Return the search; the digits of an optimum of another machine mean nothing."""
    return LBFGS(tolerance=ROUGHLY) if standing_in and task.search == LBFGS.name else task.search


def _weighing(tail, X, task, name):
    """Return points, targets and weights without the rows that weigh nothing."""
    weight = task.fit_params.get(name)
    if weight is None or np.all(weight > 0):
        return X, task.y, weight
    rows = np.flatnonzero(weight > 0)
    columns = rows if get_tags(tail).input_tags.pairwise else slice(None)
    return X[rows][:, columns], task.y[rows], weight[rows]


def _span(part):
    return part if isinstance(part, Range) else Range(float(min(part.values)), float(max(part.values)))


def _as_listed(value, part):
    """Return the listed value that a rounded one stands for."""
    return value if part is None else min(part.values, key=lambda listed: abs(np.log(listed / value)))


def _lattice(words, lists):
    axes = tuple(tuple(sorted(float(a.theta(v)) for v in set(lists[a.name].values))) for a in words.axes)
    return Grid(axes=axes)


def _check_moving(words, moving, prefix):
    movable = {prefix + axis.name for axis in words.axes}
    for name, part in (moving or {}).items():
        if isinstance(part, Range) and name not in movable:
            raise ValueError(
                f"param_space[{name!r}] is a range, but no criterion can follow that parameter here "
                f"({', '.join(sorted(movable)) or 'none'} it can). List the values to try, or give criterion='cv'."
            )


# Our own estimators tune themselves.


def _itself(estimator, setting, moving, task):
    head, tail, prefix = take_apart(estimator)
    if moving:
        raise ValueError(
            f"{type(tail).__name__} searches its own ranges; param_space may list values, got a range for "
            f"{', '.join(sorted(moving))}."
        )
    search = replace(as_search(task.search), checkpoint=task.options.get("checkpoint"))
    asked = {
        "search": task.search if search.checkpoint is None else search,
        **{k: v for k, v in task.options.items() if v is not None},
    }
    if task.criterion != "auto":
        asked["criterion"] = task.criterion
    fitted = clone(tail).set_params(**{k: v for k, v in asked.items() if k in tail.get_params()})
    head = None if head is None else clone(head)
    X = task.X if head is None else head.fit_transform(task.X, task.y)
    fitted.fit(X, task.y, **{name.removeprefix(prefix): value for name, value in task.fit_params.items()})
    selection = fitted.selection_
    letter = "C" if hasattr(fitted, "C_") else "alpha"

    def params(theta):
        p = len(selection.kernel.theta)
        kernel = selection.kernel.clone_with_theta(theta[:p]) if p else selection.kernel
        strength = float(np.exp(np.r_[theta[p:], selection.machine.theta][0]))
        return setting | {f"{prefix}kernel": frozen(kernel), prefix + letter: strength}

    names = prefix.split(
        "__"
    )  # in a pipeline within a pipeline the steps would lose theirs: it is then fitted anew
    whole = {1: fitted, 2: Pipeline([*(head.steps if head else ()), (names[0], fitted)])}.get(len(names))
    return SettingResult(
        setting=setting,
        value=float(selection.reading.value),
        best=selection.outcome.best,
        best_params=params(selection.outcome.best.theta),
        steps=selection.fine,
        outcome=selection.outcome,
        params=params,
        selection=selection,
        fitted=whole,
    )


def frozen(kernel):
    """Return the kernel with every parameter fixed: an estimator that is given it only solves.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> frozen(RBF(2.0)).theta.size
    0
    """
    bounds = [name for name in kernel.get_params() if name.endswith("_bounds")]
    return clone(kernel).set_params(**dict.fromkeys(bounds, "fixed"))


# Honest folds.


def _refits(estimator, setting, moving, task):
    moving = _usual(estimator, task) if moving is None else moving
    folds = Refits(estimator, tuple(moving), task.X, task.y, task.folds or FOLDS, fit_params=task.fit_params)
    ends = np.log([[part.low, part.high] for part in moving.values()]).reshape(-1, 2)
    known = ("max_evaluations", "time_budget", "watch", "checkpoint", "n_jobs")
    search = as_search(task.search, task.options.get("n_starts"))
    outcome = search(
        folds,
        Box(ends[:, 0], ends[:, 1]),
        [ends.mean(axis=1)],
        section=repr(setting),
        **{name: task.options.get(name) for name in known},
    )

    if outcome.stop in CUT_SHORT:
        message = f"{search.name} ended after {len(outcome.trace)} evaluations. {outcome.stop.value}"
        warnings.warn(SearchWarning(message), stacklevel=2)

    def params(theta):
        return setting | folds.params(theta)

    return SettingResult(
        setting=setting,
        value=outcome.best.value,
        best=outcome.best,
        best_params=params(outcome.best.theta),
        steps=outcome.trace,
        outcome=outcome,
        params=params,
    )


def _usual(estimator, task):
    """Return the usual ranges of a kernel machine, under its names in a pipeline."""
    head, tail, prefix = take_apart(estimator)
    X = _points(head, tail, task)
    ranges = usual_space(tail, X, task.y) if isinstance(tail, (SVC, NuSVC, SVR, NuSVR, KernelRidge)) else {}
    if not ranges:
        raise ValueError(
            f"criterion='cv' needs a param_space for {type(tail).__name__}: there is no usual one."
        )
    return {prefix + name: part for name, part in ranges.items()}
