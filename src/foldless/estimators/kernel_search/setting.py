"""The task of tuning one setting of listed values, and what came of it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from foldless.core.contracts import Outcome, Step, Vector
from foldless.core.errors import SearchWarning
from foldless.criteria import CV
from foldless.criteria.base import Criterion
from foldless.searches.base import Search
from foldless.tuning.result import Selection


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What is asked of every setting.

    Attributes
    ----------
    X, y : arrays
    fit_params : dict
        Passed on to ``fit``; criteria use ``sample_weight`` (``svc__sample_weight``) too.
    criterion, search
        As in :class:`foldless.KernelSearch`.
    options : dict
        Budgets and other arguments of ``select``.
    """

    X: Any
    y: np.ndarray
    fit_params: dict[str, Any]
    criterion: str | Criterion
    search: str | Search
    options: dict[str, Any]

    @property
    def automatic(self) -> bool:
        """Whether the criterion is left to the estimator."""
        return isinstance(self.criterion, str) and self.criterion == "auto"

    @property
    def cross_validates(self) -> bool:
        """Whether the criterion is cross-validation."""
        return isinstance(self.criterion, CV) or self.criterion == CV.name

    def max_settings(self, n_settings: int) -> int:
        """Return how many settings can have an evaluation; warn if these are not all."""
        evaluations = self.options["max_evaluations"]
        if evaluations is None or evaluations >= n_settings:
            return n_settings
        message = (
            f"max_evaluations={evaluations} is fewer than the {n_settings} settings of param_space: the last ones were not "
            "tried. Raise it."
        )
        warnings.warn(SearchWarning(message), stacklevel=5)
        return max(1, evaluations)

    def shared_among(self, n_settings: int) -> Self:
        """Return the task of one of several settings, which share the budgets and run side by side."""
        evaluations, seconds = self.options["max_evaluations"], self.options["time_budget"]
        shared = {
            "max_evaluations": None if evaluations is None else max(1, evaluations // n_settings),
            "time_budget": None if seconds is None else seconds / n_settings,
            "n_jobs": self.options["n_jobs"] if n_settings == 1 else None,
        }
        return replace(self, options=self.options | shared)


@dataclass(frozen=True, eq=False)
class SettingResult:
    """What was found for one setting.

    Attributes
    ----------
    value : float
        The criterion at the best point.
    outcome : Outcome
        The whole search.
    steps : tuple of Step
        Evaluations whose values can be compared.
    params : callable
        From a step's theta to all parameters there, the listed ones among them.
    extra_params : dict
        Parameters that are known at the best point only.
    selection : Selection or None
        Where foldless's own search found it.
    fitted : estimator or None
        The fitted estimator, if tuning has fitted it.
    """

    value: float
    outcome: Outcome
    steps: tuple[Step, ...]
    params: Callable[[Vector], dict[str, Any]]
    extra_params: dict[str, Any] = field(default_factory=dict)
    selection: Selection | None = None
    fitted: BaseEstimator | None = None

    @classmethod
    def of_selection(cls, selection: Selection, **others: Any) -> Self:
        """Return the result of a search by ``select``."""
        value = float(selection.reading.value)
        return cls(value, selection.outcome, selection.steps_on_last_rows, selection=selection, **others)

    @property
    def best_params(self) -> dict[str, Any]:
        """All parameters at the best point."""
        return self.params(self.outcome.best.theta) | self.extra_params
