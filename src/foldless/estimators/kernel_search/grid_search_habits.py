"""Habits of ``GridSearchCV`` that need a word of explanation in :class:`foldless.KernelSearch`."""

import warnings
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.utils import get_tags

from foldless.core.errors import CriterionWarning
from foldless.estimators.kernel_search.pipeline import split_pipeline

EXPLANATIONS = {
    "cv": "It needs no folds; criterion='cv' refits on ten folds if you want them.",
    "scoring": "A criterion such as criterion='loo' chooses, and loo_score(metric) gives any metric of scikit-learn for the "
    "left-out rows afterwards.",
    "param_grid": "It is called param_space here: lists of values are tried one by one, and a range (low, high) is searched.",
    "param_distributions": "It is called param_space here: a distribution stands for its range.",
    "n_iter": "It is called max_evaluations here.",
}


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
