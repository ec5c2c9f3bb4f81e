"""Tables -> the columns that kernels see: categories coded, gaps filled, numbers scaled; also as a step of a pipeline."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from foldless.core.magnitude import SMALLEST, check_magnitude
from foldless.core.text_columns import naming_text_columns
from foldless.estimators.columns import ColumnCodes, dense_columns, learn_codes
from foldless.estimators.preparation import Preparation
from foldless.kernels.columns import Selector

# The name of the column that tells where values of another are missing.
GAP_NAME = "{} is missing"
# What a fitted estimator that prepares columns knows about them.
FITTED_ATTRIBUTES = ("column_codes_", "preparation_", "n_features_in_", "feature_names_in_")


def read_rows(estimator: BaseEstimator, codes: ColumnCodes | None, X: Any, *y: Any, **checks: Any) -> Any:
    """Return the rows of a table as numbers, with missing ones unless the matrix is sparse; and the targets, if given.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose input this is: scikit-learn keeps the number and the names of the columns there.
    codes : ColumnCodes or None
    X : data frame, array-like or sparse matrix
    *y : array-like
        Targets, at most one.
    **checks
        Passed to scikit-learn's ``validate_data``.
    """
    frame = dense_columns(X if codes is None else codes.encode(X))
    # scikit-learn has a name for a sparse matrix that may hold missing values, but kernels have none.
    finite = True if sp.issparse(X) else "allow-nan"
    numbers = y if checks.get("y_numeric") else ()
    with naming_text_columns(frame, *numbers):
        for one in numbers:
            if np.asarray(one).dtype.kind in "US":  # scikit-learn leaves texts to whoever computes
                np.asarray(one, dtype=float)
        rows = validate_data(
            estimator,
            frame,
            *y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",  # the digits of sums depend on it
            ensure_all_finite=finite,
            **checks,
        )
    points = rows[0] if y else rows
    check_magnitude(points, "X", smallest=SMALLEST if y else 0.0)
    return rows


class PreparedColumns(TransformerMixin, BaseEstimator):
    """Columns as :class:`foldless.KernelClassifier` and :class:`foldless.KernelRegressor` prepare them, for pipelines.

    Categories become codes, numbers are standardised (those of two values by half their distance), a missing number becomes the
    mean of its column, and a further column tells where it was missing. Columns that never change are left out.

    Parameters
    ----------
    scale : bool, default=True
        Whether columns of numbers are standardised, and those that never change left out.
    categorical_features : list of int or str, mask, slice or callable, default=None
        Columns that hold categories although their type does not tell.
    keep : list of str, default=None
        Names of prepared columns, from ``get_feature_names_out`` of another fit, which this one is to give as well. ``None`` keeps
        those that change.

    Attributes
    ----------
    column_codes_ : ColumnCodes or None
        The categories.
    preparation_ : Preparation
        How columns are filled and scaled.
    n_features_in_ : int
        Number of columns of ``X``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30.0, None, 50.0], "ward": ["A", "B", "A"]})
    >>> step = PreparedColumns().fit(frame)
    >>> step.transform(frame).tolist()
    [[-1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    >>> step.get_feature_names_out().tolist()
    ['age', 'ward', 'age is missing']
    """

    column_codes_: ColumnCodes | None
    preparation_: Preparation

    def __init__(
        self, scale: bool = True, categorical_features: Selector = None, keep: list[str] | None = None
    ) -> None:
        self.scale = scale
        self.categorical_features = categorical_features
        self.keep = keep

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Return the step that prepares columns as a fitted ``KernelClassifier`` or ``KernelRegressor`` does."""
        check_is_fitted(fitted)
        step = cls(fitted.scale, fitted.categorical_features)
        for name in FITTED_ATTRIBUTES:
            if hasattr(fitted, name):
                setattr(step, name, getattr(fitted, name))
        return step

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn categories, means and scales.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        self : PreparedColumns
        """
        self.column_codes_ = learn_codes(X, self.categorical_features)
        points = read_rows(self, self.column_codes_, X)
        categorical = [] if self.column_codes_ is None else self.column_codes_.categorical
        weights = np.ones(points.shape[0])
        self.preparation_ = Preparation.learn(points, weights, categorical, bool(self.scale))
        if self.keep is not None:
            kept, gaps = self._kept_places(self.keep)
            self.preparation_ = replace(self.preparation_, kept=kept, gaps=gaps)
        return self

    def _kept_places(self, keep: list[str]) -> list[NDArray[np.intp]]:
        """Return the places of columns to keep, and of columns whose gaps are told."""
        names = [str(name) for name in _check_feature_names_in(self)]
        known = {name: ("kept", place) for place, name in enumerate(names)}
        known |= {GAP_NAME.format(name): ("gaps", place) for place, name in enumerate(names)}
        strange = [name for name in keep if name not in known]
        if strange:
            raise ValueError(
                f"keep names {strange[0]!r}, but X has no such column. It has {', '.join(names)}."
            )
        found = [known[name] for name in keep]
        return [
            np.array([at for what, at in found if what == kind], dtype=np.intp) for kind in ("kept", "gaps")
        ]

    def transform(self, X: ArrayLike) -> Any:
        """Return the prepared columns, those that tell where values are missing last.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)

        Returns
        -------
        prepared : array or sparse matrix of shape (n, k)
        """
        check_is_fitted(self)
        return self.preparation_(read_rows(self, self.column_codes_, X, reset=False))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the prepared columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of ``X``, if it had none.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        gaps = [GAP_NAME.format(name) for name in names[self.preparation_.gaps]]
        return np.array([*names[self.preparation_.kept], *gaps], dtype=object)
