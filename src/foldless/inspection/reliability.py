"""Calibration of probabilities, from the training rows alone."""

from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.calibration import CalibrationDisplay

from foldless.core.targets import class_index
from foldless.inspection.axes import predicting_estimator, tuned_estimator


class ReliabilityDisplay(CalibrationDisplay):
    """scikit-learn's ``CalibrationDisplay``, from leave-one-out probabilities: no rows need to be held out."""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        n_bins: int = 8,
        strategy: str = "quantile",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the reliability of a fitted binary classifier with ``loo_proba_``, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator
        n_bins : int, default=8
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins with equally many rows, or of equal width.
        ax : matplotlib axes, optional
        **options
            Passed to ``CalibrationDisplay.from_predictions``.
        """
        model, selection = predicting_estimator(estimator), tuned_estimator(estimator).selection_
        if getattr(model, "loo_proba_", None) is None or len(model.classes_) != 2:
            raise ValueError(
                f"{type(model).__name__} has no leave-one-out probabilities of two classes; "
                "a classifier of foldless has, fitted on two classes without a posterior."
            )
        labels = model._of_rows(class_index(selection.objective.Y))
        options = {"name": "leave-one-out", "n_bins": n_bins, "strategy": strategy, "ax": ax, **options}
        return cls.from_predictions(labels, model.loo_proba_[:, 1], **options)
