"""Three ways to tune an estimator: by a criterion, by its own ``fit``, or by cross-validation.

Each is a class with one method, ``tune(estimator, setting, ranges)``: ``setting`` holds the listed values that
``estimator`` already has, ``ranges`` the parameters that remain to be chosen (``None``: the default ones).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from foldless.core.contracts import Box, Vector
from foldless.core.errors import SearchWarning, did_you_mean
from foldless.criteria import CV
from foldless.estimators.base import BaseKernelEstimator
from foldless.estimators.copies import without_copies
from foldless.estimators.kernel_search.cross_validation import (
    CrossValidatedScore,
    check_points,
    default_ranges,
)
from foldless.estimators.kernel_search.param_space import Choices, ParamSpace, Range, settings
from foldless.estimators.kernel_search.pipeline import PipelineParts, join_pipeline, split_pipeline
from foldless.estimators.kernel_search.setting import SearchTask, SettingResult
from foldless.estimators.kernel_search.sklearn_models import (
    EquivalentModel,
    has_equivalent,
    to_foldless,
    with_numbers,
)
from foldless.searches import LBFGS, Grid
from foldless.searches.base import Search
from foldless.tuning.lookup import as_search
from foldless.tuning.select import select

SURROGATE_TOLERANCE = 1e-4
GRID_PARAMETERS = ("C", "alpha", "gamma", "coef0")
TUNABLE_ESTIMATORS = (
    "SVC, NuSVC, KernelRidge, GaussianProcessClassifier, GaussianProcessRegressor, foldless's own estimators, "
    "and pipelines that end in one of them"
)


class Strategy(Protocol):
    """One way to tune."""

    def __init__(self, task: SearchTask) -> None: ...

    def tune(
        self, estimator: BaseEstimator, setting: dict[str, Any], ranges: ParamSpace | None
    ) -> SettingResult:
        """Choose the parameters named by ``ranges``; those of ``setting`` have been set."""


def build_runs(
    estimator: BaseEstimator, spaces: list[ParamSpace], task: SearchTask
) -> list[Callable[[], SettingResult]]:
    """Return functions without arguments, one per setting."""
    strategy = _choose_strategy(estimator, spaces, task)
    points = []
    for space in spaces:
        _check_names(estimator, space)
        on_grid = _grid_names(estimator, space) if strategy is TuneByCriterion else ()
        ranges = {name: part for name, part in space.items() if isinstance(part, Range) or name in on_grid}
        points += [(setting, ranges if space else None) for setting in settings(space, on_grid)]
    points = points[: task.max_settings(len(points))]
    tune = strategy(task.shared_among(len(points))).tune
    return [partial(tune, clone(estimator).set_params(**setting), setting, part) for setting, part in points]


def _choose_strategy(estimator: BaseEstimator, spaces: list[ParamSpace], task: SearchTask) -> type[Strategy]:
    parts = split_pipeline(estimator)
    if task.cross_validates or (task.automatic and _needs_folds(parts, spaces)):
        return TuneByCrossValidation
    if isinstance(parts.machine, BaseKernelEstimator):
        return TuneOwnEstimator
    if has_equivalent(parts.machine):
        return TuneByCriterion
    raise TypeError(
        f"there is no criterion without folds for {type(parts.machine).__name__}; there is for {TUNABLE_ESTIMATORS}. "
        "For any other estimator give criterion='cv' and a param_space: its parameters are then chosen by refits on folds."
    )


def _needs_folds(parts: PipelineParts, spaces: list[ParamSpace]) -> bool:
    """Return True for support vector regression and indefinite kernels, which have no criterion without folds."""
    listed = [part for space in spaces for name, part in space.items() if name == f"{parts.prefix}kernel"]
    choices = [kernel for part in listed if isinstance(part, Choices) for kernel in part.values]
    kernels = [parts.machine.get_params().get("kernel"), *choices]
    indefinite = any(isinstance(kernel, str) and kernel == "sigmoid" for kernel in kernels)
    return isinstance(parts.machine, (SVR, NuSVR)) or (
        indefinite and isinstance(parts.machine, (SVC, NuSVC, KernelRidge))
    )


def _check_names(estimator: BaseEstimator, space: ParamSpace) -> None:
    known = estimator.get_params()
    for name in space:
        if name not in known:
            raise ValueError(
                f"param_space names {name!r}, which {type(estimator).__name__} does not have. "
                f"Its parameters: {', '.join(sorted(known))}.{did_you_mean(name, known)}"
            )


def _grid_names(estimator: BaseEstimator, space: ParamSpace) -> tuple[str, ...]:
    """Return names whose listed numbers one grid search can try together; none if there is a range beside them."""
    lists = {name: part for name, part in space.items() if isinstance(part, Choices)}
    if len(lists) < len(space):
        return ()
    prefix = split_pipeline(estimator).prefix
    numbers = [name for name, part in lists.items() if part.are_positive_numbers]
    return tuple(name for name in numbers if name.removeprefix(prefix) in GRID_PARAMETERS)


@dataclass(frozen=True, eq=False)
class TuneByCriterion:
    """Tune the kernel machine that is equivalent to a scikit-learn estimator, or a surrogate of it."""

    task: SearchTask

    def tune(
        self, estimator: BaseEstimator, setting: dict[str, Any], ranges: ParamSpace | None
    ) -> SettingResult:
        """Choose parameters by a criterion that needs no folds."""
        parts = split_pipeline(estimator)
        ranges = None if ranges is None else parts.without_prefix(ranges)
        lists = {name: part for name, part in (ranges or {}).items() if isinstance(part, Choices)}
        X, y = parts.points(self.task.X, self.task.y), np.asarray(self.task.y)
        weight = self.task.fit_params.get(f"{parts.prefix}sample_weight")
        machine = with_numbers(parts.machine, X, y, weight)
        X, y, weight, _ = without_copies(X, y, weight, parts.pairwise)
        model = self._model(machine, X, y, ranges, weight)
        _check_ranges(model, ranges, parts.prefix)
        selection = select(
            X,
            model.Y,
            kernel=model.kernel,
            machine=model.machine,
            criterion=model.criterion,
            search=_grid(model, lists) if lists else self._search(model),
            tune_machine=model.tune_machine,
            regularisation=model.regularisation,
            fit_all_rows=not model.is_surrogate,
            **self.task.options,
        )

        def params(theta: Vector) -> dict[str, Any]:
            # A machine that was tuned after the kernel is not part of theta.
            found = model.params(np.r_[theta, selection.machine.theta][: len(model.axes) or len(theta)])
            found |= {name: lists[name].nearest(found[name]) for name in lists if name in found}
            return setting | parts.with_prefix(found)

        extra = parts.with_prefix(model.extra_params(selection))
        return SettingResult.of_selection(selection, params=params, extra_params=extra)

    def _model(
        self, machine: BaseEstimator, X: Any, y: np.ndarray, ranges: ParamSpace | None, weight: Vector | None
    ) -> EquivalentModel:
        """Return the model to tune: a surrogate only if no criterion was named."""
        spans = None if ranges is None else {name: part.span for name, part in ranges.items()}
        model = to_foldless(machine, X, y, spans, weight)
        if not self.task.automatic:
            return replace(model, criterion=self.task.criterion)
        return model.surrogate or model

    def _search(self, model: EquivalentModel) -> str | Search:
        """Return the search; a surrogate's optimum is not worth many digits."""
        by_default = isinstance(self.task.search, str) and self.task.search == LBFGS.name
        return LBFGS(tolerance=SURROGATE_TOLERANCE) if model.is_surrogate and by_default else self.task.search


def _grid(model: EquivalentModel, lists: dict[str, Choices]) -> Grid:
    """Return the grid of listed values, in theta."""
    values = [(axis, set(lists[axis.name].values)) for axis in model.axes]
    return Grid(axes=tuple(tuple(sorted(float(axis.theta(v)) for v in listed)) for axis, listed in values))


def _check_ranges(model: EquivalentModel, ranges: ParamSpace | None, prefix: str) -> None:
    tunable = {axis.name for axis in model.axes}
    for name, part in (ranges or {}).items():
        if isinstance(part, Range) and name not in tunable:
            names = ", ".join(sorted(prefix + other for other in tunable)) or "none"
            raise ValueError(
                f"param_space[{prefix + name!r}] is a range, but no criterion can follow that parameter here; "
                f"those it can: {names}. List the values to try, or give criterion='cv'."
            )


@dataclass(frozen=True, eq=False)
class TuneOwnEstimator:
    """Let an estimator of foldless tune itself."""

    task: SearchTask

    def tune(
        self, estimator: BaseEstimator, setting: dict[str, Any], ranges: ParamSpace | None
    ) -> SettingResult:
        """Fit the estimator with the task's criterion, search and budgets."""
        parts = split_pipeline(estimator)
        machine = clone(parts.machine)
        if ranges:
            raise ValueError(
                f"{type(machine).__name__} searches its own ranges; param_space may list values, got a range for "
                f"{', '.join(sorted(ranges))}."
            )
        transformers, X = parts.transformed(self.task.X, self.task.y)
        machine.set_params(**self._options(machine))
        machine.fit(X, self.task.y, **parts.without_prefix(self.task.fit_params))
        return SettingResult.of_selection(
            machine.selection_,
            params=lambda theta: setting | parts.with_prefix(machine.params_at(theta)),
            fitted=join_pipeline(estimator, transformers, machine),
        )

    def _options(self, machine: BaseKernelEstimator) -> dict[str, Any]:
        """Return the task's options that the machine has as parameters; None leaves the machine's own."""
        search, checkpoint = self.task.search, self.task.options["checkpoint"]
        asked = self.task.options | {"criterion": None if self.task.automatic else self.task.criterion}
        asked["search"] = search if checkpoint is None else replace(as_search(search), checkpoint=checkpoint)
        known = machine.get_params()
        return {name: value for name, value in asked.items() if name in known and value is not None}


@dataclass(frozen=True, eq=False)
class TuneByCrossValidation:
    """Refit on folds: for estimators that no criterion reads."""

    task: SearchTask

    def tune(
        self, estimator: BaseEstimator, setting: dict[str, Any], ranges: ParamSpace | None
    ) -> SettingResult:
        """Choose parameters by the mean score over folds."""
        task = self.task
        parts = split_pipeline(estimator)
        check_points(parts, task.X, task.y)
        ranges = default_ranges(parts, task.X, task.y) if ranges is None else ranges
        cv = task.criterion if isinstance(task.criterion, CV) else CV()
        objective = CrossValidatedScore(
            estimator, tuple(ranges), task.X, task.y, cv.folds, cv.seed, task.fit_params
        )
        bounds = np.log([[part.span.low, part.span.high] for part in ranges.values()]).reshape(-1, 2)
        # `random_state` draws landmarks, which folds do not have.
        options = {name: value for name, value in task.options.items() if name != "random_state"}
        search = as_search(task.search, options.pop("n_starts"))
        box = Box(bounds[:, 0], bounds[:, 1])
        outcome = search(objective, box, [bounds.mean(axis=1)], section=repr(setting), **options)
        if outcome.stop.cut_short:
            message = f"{search.name} ended after {len(outcome.trace)} evaluations. {outcome.stop.value}"
            warnings.warn(SearchWarning(message), stacklevel=2)
        return SettingResult(
            outcome.best.value, outcome, outcome.trace, lambda theta: setting | objective.params(theta)
        )
