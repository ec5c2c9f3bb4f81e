"""Whether probabilities can be trusted, from the training rows alone."""

from sklearn.calibration import CalibrationDisplay

from foldless.inspection.axes import tuned


class ReliabilityDisplay(CalibrationDisplay):
    """scikit-learn's ``CalibrationDisplay``, from leave-one-out probabilities: no rows need to be held out."""

    @classmethod
    def from_estimator(cls, estimator, *, n_bins=8, strategy="quantile", ax=None, **options):
        """Draw the reliability of a fitted binary classifier with ``loo_proba_``, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator
        n_bins, strategy
            As in scikit-learn; by default as many points in each bin.
        ax : matplotlib axes, optional
        **options
            Passed to ``CalibrationDisplay.from_predictions``.
        """
        model = tuned(estimator)
        model = getattr(model, "best_estimator_", model)
        model = model[-1] if hasattr(model, "steps") else model
        if getattr(model, "loo_proba_", None) is None or len(model.classes_) != 2:
            raise ValueError(
                f"{type(model).__name__} has no leave-one-out probabilities of two classes; "
                "a classifier of foldless has, fitted on two classes without a posterior."
            )
        y = (tuned(estimator).selection_.problem.Y[:, 0] > 0).astype(int)
        options = {"name": "leave-one-out", **options}
        return cls.from_predictions(
            y, model.loo_proba_[:, 1], n_bins=n_bins, strategy=strategy, ax=ax, **options
        )
