r"""Scores of predictions on rows that a model has not seen, with their uncertainty.

Every score :math:`s` is a smooth function of means over rows, so that it has an influence :math:`u_i` of each row with mean 0
and

.. math:: \operatorname{se}(s) = \sqrt{\operatorname{var}(u) / n}.  \tag{1}

Two models on the same rows differ by :math:`s - s'` with the influences :math:`u_i - u'_i`: the comparison is paired. The
influences of the area under the ROC curve are those of DeLong, DeLong and Clarke-Pearson [1]_; the interval of an error is
Wilson's, which stays inside [0, 1].

References
----------
.. [1] DeLong, DeLong and Clarke-Pearson, *Comparing the areas under two or more correlated receiver operating characteristic
   curves: a nonparametric approach*, Biometrics 44 (1988).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from foldless.core.contracts import Matrix, Vector

# Two-sided 95 % of a normal distribution.
Z95 = 1.959964


@dataclass(frozen=True, eq=False)
class Unseen:
    """What a model answers for rows that it has not seen.

    Attributes
    ----------
    name : str
        The model, in words.
    y, predicted : arrays of shape (n,)
    probabilities : array of shape (n, classes) or None
    classes : array or None
        The labels of the columns; None for numbers.
    rows : str
        How it has not seen them, in words.
    """

    name: str
    y: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: Matrix | None
    classes: NDArray[Any] | None
    rows: str

    @property
    def codes(self) -> NDArray[np.intp]:
        """The class of each row as a column number."""
        return np.searchsorted(np.asarray(self.classes), self.y)


@dataclass(frozen=True, eq=False)
class Score:
    """One score: its name, value, influences of the rows, 95 % interval, and whether a large one is good."""

    name: str
    value: float
    influence: Vector
    low: float
    high: float
    larger_is_better: bool
    is_share: bool

    @property
    def standard_error(self) -> float:
        """Standard error by eq. (1)."""
        return _standard_error(self.influence)


def _standard_error(influence: Vector) -> float:
    return float(np.std(influence) / np.sqrt(max(1, len(influence) - 1)))


def scores(unseen: Unseen) -> list[Score]:
    """Return all scores that fit the task, the most telling first."""
    if unseen.classes is None:
        return [_score("R²", _r2, unseen, True), _score("MAE", _mae, unseen), _score("RMSE", _rmse, unseen)]
    found = [_error(unseen)]
    if unseen.probabilities is not None:
        found += [_score("log loss", _log_loss, unseen), _score("AUC", _auc, unseen, True)]
    return [*found, _score("balanced accuracy", _balanced, unseen, True, is_share=True)]


def decisive_name(unseen: list[Unseen]) -> str:
    """Return the score by which models are compared: R² of numbers, log loss of classes, or the error without probabilities."""
    if unseen[0].classes is None:
        return "R²"
    return "log loss" if all(one.probabilities is not None for one in unseen) else "error"


def find(name: str, unseen: Unseen) -> Score:
    """Return the score called ``name``."""
    return next(score for score in scores(unseen) if score.name == name)


def gain(ours: Score, theirs: Score) -> tuple[float, float]:
    """Return by how much ours is better on the same rows, and the standard error of the difference."""
    sign = 1.0 if ours.larger_is_better else -1.0
    return sign * (ours.value - theirs.value), _standard_error(ours.influence - theirs.influence)


Formula = Callable[[Unseen], tuple[float, Vector]]


def _score(
    name: str, formula: Formula, unseen: Unseen, larger_is_better: bool = False, is_share: bool = False
) -> Score:
    value, influence = formula(unseen)
    reach = Z95 * _standard_error(influence)
    low = value - reach if larger_is_better and not is_share else max(0.0, value - reach)
    high = min(1.0, value + reach) if larger_is_better else value + reach
    return Score(name, value, influence, low, high, larger_is_better, is_share)


def _error(unseen: Unseen) -> Score:
    wrong = np.asarray(unseen.predicted != unseen.y, dtype=float)
    value = float(wrong.mean())
    low, high = wilson(np.array([value]), np.array([len(wrong)]))
    return Score("error", value, wrong - value, float(low[0]), float(high[0]), False, True)


def wilson(frequency: Vector, n: NDArray[Any], z: float = Z95) -> tuple[Vector, Vector]:
    """Return Wilson's interval of a binomial frequency, which stays inside [0, 1]."""
    centre = (frequency + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(frequency * (1 - frequency) / n + z**2 / (4 * n**2))
    return np.clip(np.minimum(centre - half, frequency), 0, 1), np.clip(
        np.maximum(centre + half, frequency), 0, 1
    )


def row_log_losses(probabilities: Matrix, codes: NDArray[np.intp]) -> Vector:
    """Return minus the logarithm of the probability of each row's own class."""
    own = np.take_along_axis(probabilities, codes[:, None], axis=1)[:, 0]
    return -np.log(np.maximum(own, np.finfo(float).eps))


def _log_loss(unseen: Unseen) -> tuple[float, Vector]:
    losses = row_log_losses(np.asarray(unseen.probabilities), unseen.codes)
    return float(losses.mean()), losses - losses.mean()


def _auc(unseen: Unseen) -> tuple[float, Vector]:
    """Return the area under the ROC curve; with more than two classes the mean over each class against the rest."""
    p, codes = np.asarray(unseen.probabilities), unseen.codes
    columns = [1] if p.shape[1] == 2 else [c for c in range(p.shape[1]) if np.any(codes == c)]
    found = [_area(p[:, c], codes == c) for c in columns]
    return float(np.mean([area for area, _ in found])), np.mean([influence for _, influence in found], axis=0)


def _area(p: Vector, positive: NDArray[np.bool_]) -> tuple[float, Vector]:
    n, n_positive = len(p), int(positive.sum())
    if n_positive in (0, n):
        return 0.5, np.zeros(n)
    rank = rankdata(p)
    beaten = np.empty(n)
    # Share of the rows of the other side that each row is on the right side of; ties count one half.
    beaten[positive] = (rank[positive] - rankdata(p[positive])) / (n - n_positive)
    beaten[~positive] = 1 - (rank[~positive] - rankdata(p[~positive])) / n_positive
    area = float(beaten[positive].mean())
    share = np.where(positive, n_positive / n, 1 - n_positive / n)
    return area, (beaten - area) / share


def _balanced(unseen: Unseen) -> tuple[float, Vector]:
    right, codes = np.asarray(unseen.predicted == unseen.y, dtype=float), unseen.codes
    sizes = np.bincount(codes, minlength=len(np.asarray(unseen.classes)))
    recall = np.bincount(codes, right, minlength=len(sizes)) / np.maximum(sizes, 1)
    n_present = np.sum(sizes > 0)
    influence = (right - recall[codes]) * len(codes) / (sizes[codes] * n_present)
    return float(recall.sum() / n_present), influence


def _r2(unseen: Unseen) -> tuple[float, Vector]:
    squares, spread = _squares(unseen), (unseen.y - unseen.y.mean()) ** 2
    mse, variance = squares.mean(), max(spread.mean(), np.finfo(float).tiny)
    influence = -(squares - mse) / variance + mse / variance * (spread - spread.mean()) / variance
    return float(1 - mse / variance), influence


def _squares(unseen: Unseen) -> Vector:
    return np.asarray((unseen.y - unseen.predicted) ** 2, dtype=float)


def _mae(unseen: Unseen) -> tuple[float, Vector]:
    distance = np.abs(unseen.y - unseen.predicted)
    return float(distance.mean()), distance - distance.mean()


def _rmse(unseen: Unseen) -> tuple[float, Vector]:
    squares = _squares(unseen)
    root = float(np.sqrt(squares.mean()))
    # The root of a mean has half the relative error of the mean.
    return root, (squares - squares.mean()) / (2 * root) if root > 0 else np.zeros(len(squares))
