"""Habits of ``GridSearchCV`` that need a word of explanation in :class:`foldless.KernelSearch`."""

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.utils import get_tags

from foldless.core.errors import CriterionWarning
from foldless.estimators.kernel_search.pipeline import split_pipeline

EXPLANATIONS = {
    "cv": "KernelSearch needs no folds, so there is no cv; criterion='cv' refits on ten folds if you want them.",
    "scoring": "KernelSearch has no scoring: a criterion such as criterion='loo' chooses, and loo_score(metric) gives any "
    "metric of scikit-learn for the left-out rows afterwards.",
    "param_grid": "KernelSearch calls its parameters param_space; lists of values are tried one by one, and a range "
    "(low, high) is searched.",
    "param_distributions": "KernelSearch calls its parameters param_space; a distribution stands for its range.",
    "n_iter": "KernelSearch calls it max_evaluations.",
}


def explains_grid_search(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor explain the arguments of ``GridSearchCV`` that it does not have."""

    @wraps(init)
    def explained(self: Any, *arguments: Any, **options: Any) -> None:
        found = [EXPLANATIONS[name] for name in options if name in EXPLANATIONS]
        if found:
            raise TypeError(found[0])
        init(self, *arguments, **options)

    return explained


def uses_targets(step: Any) -> bool:
    """Return whether a transformer learns from y: it requires it, or it selects features by more than their variance.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> uses_targets(SelectKBest()), uses_targets(VarianceThreshold())
    (True, False)
    """
    selects = isinstance(step, SelectorMixin) and not isinstance(step, VarianceThreshold)
    target = signature(step.fit).parameters.get("y")
    positional = target is not None and target.default is target.empty
    return bool(selects or positional or get_tags(step).target_tags.required)


def warn_about_steps_that_use_y(estimator: BaseEstimator) -> None:
    """Warn if a step before the machine learns from the targets: it is fitted once, on rows that the criterion leaves out."""
    transformers = split_pipeline(estimator).transformers
    if transformers is None:
        return
    steps = [step for step in transformers.get_params().values() if hasattr(step, "transform")]
    names = sorted({type(step).__name__ for step in steps if uses_targets(step)})
    if names:
        warnings.warn(
            CriterionWarning(
                f"{' and '.join(names)} learns from the targets of all rows, also of those that the criterion leaves out, so "
                "that best_score_ is too good. Use criterion='cv', which refits every step, or leave the step out: "
                "a kernel machine needs no selection of features."
            ),
            stacklevel=3,
        )
