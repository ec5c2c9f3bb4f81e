"""Sets of classes and suspicious labels, for every classifier; the formulas are in the other files of this folder."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import class_index
from foldless.estimators.uncertainty.guarantee import SETS, sentence
from foldless.estimators.uncertainty.intervals import check_level, warn_of_resolution
from foldless.estimators.uncertainty.label_quality import second_look
from foldless.estimators.uncertainty.left_out_mixin import LeftOutMixin, Rows
from foldless.estimators.uncertainty.score import LooScore, left_out_classifier, loo_score
from foldless.estimators.uncertainty.sets import filled, p_values, scorer


class SetMixin(LeftOutMixin):
    """Sets of classes and what belongs to them, for classifiers."""

    classes_: np.ndarray
    loo_proba_: Matrix | None
    loo_decision_: np.ndarray
    loo_predict_: np.ndarray
    n_filled_sets_: int

    _score: str = "margin"

    @abstractmethod
    def _one_or_all(self, columns: Matrix) -> np.ndarray:
        """Return outputs as scikit-learn shapes them."""

    @abstractmethod
    def _probabilities(self, outputs: Matrix) -> Matrix:
        """Return class probabilities (n, n_classes) of outputs (n, k)."""

    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        return y

    def _keep_left_out(self, outputs: Matrix) -> None:
        self._left_out, outputs = outputs, self._of_rows(outputs)
        self.loo_decision_ = self._one_or_all(outputs)
        self.loo_predict_ = self.classes_[class_index(outputs)]
        self.loo_proba_ = self._probabilities(outputs)

    def predict_set(self, X: ArrayLike, level: float = 0.9, score: str | None = None) -> NDArray[np.bool_]:
        """Sets of classes that hold the class of a new row with a given probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new rows whose class should be in their set. With fewer than level / (1 - level) rows the only
            honest set has all classes, and a warning says so.
        score : {"probability", "adaptive", "margin"}, default=None
            By what classes are ranked: one minus their probability, the sum of the probabilities that are at least as
            large, or the lead of another class in the outputs. ``None`` is ``"probability"`` for logistic regression,
            else ``"margin"``.

        Returns
        -------
        members : boolean array of shape (n, n_classes)
            True for the classes in the set; columns in the order of ``classes_``. An empty set gets the most likely
            class; ``n_filled_sets_`` counts them.
        """
        level, points = check_level(level), self._check_points(X)
        scores = scorer(self._score if score is None else score, self._probabilities)
        training, own = self._rows_of_fit(), self._own_outputs()
        warn_of_resolution(level, training.counts.sum(), "every set has all classes")
        self._warn_of_parameters(SETS, "sets")
        self._warn_of_leverage()
        labels = class_index(training.Y)
        own_scores = scores(own)[np.arange(len(own)), labels]
        members = np.zeros((points.shape[0], len(self.classes_)), dtype=bool)
        likely = np.zeros(points.shape[0], dtype=np.intp)
        for block in self._left_out_models().blocks(points):
            found = p_values(scores(block.left_out), own_scores, training.counts)
            members[block.rows] = found > (1 - level) * (1 + 1e-9)
            likely[block.rows] = class_index(block.outputs)
        members, self.n_filled_sets_ = filled(members, likely)
        return members

    def guarantee(self, level: float = 0.9) -> str:
        """Return one sentence: what the sets of :meth:`predict_set` promise for this fit.

        Parameters
        ----------
        level : float, default=0.9
        """
        return sentence(SETS, check_level(level), self._conditions())

    @property
    def guarantee_(self) -> str:
        """What the 90 % sets of ``predict_set`` promise, in one sentence."""
        return self.guarantee()

    @property
    def loo_own_proba_(self) -> Vector:
        """Probability of every training row's own class when it is left out (n,)."""
        return self._of_rows(self._own_proba())

    def _own_proba(self) -> Vector:
        return self._of_own_class(self._own_outputs())

    def _of_own_class(self, outputs: Matrix) -> Vector:
        labels = class_index(self._rows_of_fit().Y)
        return self._probabilities(outputs)[np.arange(len(outputs)), labels]

    @property
    def label_quality_(self) -> Vector:
        """Probability of every training row's own class without it, where rows with doubtful labels count less (n,)."""
        return self._of_rows(self._once("label_quality", self._look_twice))

    def _look_twice(self) -> Vector:
        own = self._own_proba()
        training, selection = self._rows_of_fit(), getattr(self, "selection_", None)
        first = None if selection is None or training.cells is not None else selection.solution
        outputs = second_look(training, self.kernel_, own, len(self.classes_), first)
        return own if outputs is None else self._of_own_class(outputs)

    @property
    def suspicious_(self) -> Rows:
        """Numbers of the training rows, the one with the smallest ``label_quality_`` first."""
        return self._every_row[np.argsort(self.label_quality_, kind="stable")]

    def loo_score(self, metric: str | Callable[..., float] = "accuracy") -> LooScore:
        """Score of the left-out predictions of all training rows together.

        Parameters
        ----------
        metric : str or callable, default="accuracy"
            A name of ``sklearn.metrics.get_scorer_names()`` such as ``"roc_auc"`` or ``"neg_log_loss"``, a scorer, or a
            function of labels and predicted labels.

        Returns
        -------
        score : LooScore
            ``value``, and ``standard_error`` if the metric is a mean over rows (else NaN).
        """
        own = self._own_outputs()
        self._warn_of_leverage()
        training = self._rows_of_fit()
        proba = None if self.loo_proba_ is None else self._probabilities(own)
        model = left_out_classifier(self.classes_, self._one_or_all(own), proba)
        labels = self.classes_[class_index(training.Y)]
        return loo_score(metric, model, labels, *self._score_weights)
