r"""The terms of an additive model, one by one.

A kernel that is a sum, :math:`k = \sum_t k_t`, makes the fitted function a sum of terms,

.. math:: f(x) = b + \sum_t f_t(x), \qquad f_t(x) = \sum_j \beta_j\, k_t(x, x_j).  \tag{1}

A constant may be moved from one term to another; here every term but the constant has mean zero over the rows at which
it is evaluated. Functions of two columns contain functions of one: such a pair is shown as it was fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.pipeline import Pipeline

from foldless.core.contracts import Matrix
from foldless.core.errors import Undefined
from foldless.inspection.axes import get_axes, predicting_estimator
from foldless.kernels import gram
from foldless.kernels.additive import addends
from foldless.kernels.columns import Columns

PANELS_PER_ROW = 3
PANEL_INCHES = 2.6


@dataclass(frozen=True, eq=False)
class Term:
    """One term of an additive model.

    Attributes
    ----------
    columns : tuple of int
        The columns it depends on; empty for all of them, as in a kernel without :class:`~foldless.kernels.Columns`.
    name : str
        The names of these columns.
    kernel : Kernel
    values : array of shape (n, k)
        The term at the rows, with mean zero, for every output.
    """

    columns: tuple[int, ...]
    name: str
    kernel: Kernel
    values: Matrix


def additive_terms(estimator: BaseEstimator, X: ArrayLike) -> list[Term]:
    """Return the terms of a fitted additive model at the rows of ``X``.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        With a kernel that is a sum: ``"additive"``, ``"additive2"``, or a sum of kernels on some columns.
    X : array-like of shape (n, d)

    Returns
    -------
    terms : list of Term
        The largest variance first. Together with a constant they add up to the decision function (or prediction).

    Examples
    --------
    >>> from foldless import KernelRidgeRegressor
    >>> from foldless.inspection import additive_terms
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 3))
    >>> model = KernelRidgeRegressor("additive").fit(X, np.sin(2 * X[:, 0]) + X[:, 1])
    >>> [term.name for term in additive_terms(model, X)][:2]
    ['1', '0']
    """
    fitted = predicting_estimator(estimator)
    points = fitted._check_points(_before_last_step(estimator, X))
    if fitted.cells_ is not None or fitted._pairwise:
        raise Undefined(
            "the terms need one sum of kernel functions at points; this model has cells or a precomputed matrix."
        )
    names = [str(name) for name in getattr(fitted, "feature_names_in_", range(fitted.n_features_in_))]
    found = [_term(fitted, kernel, points, names) for kernel in addends(fitted.kernel_)]
    return sorted(found, key=lambda term: -float(np.var(term.values)))


def _before_last_step(estimator: BaseEstimator, X: ArrayLike) -> Any:
    return estimator[:-1].transform(X) if isinstance(estimator, Pipeline) else X


def _term(fitted: Any, kernel: Kernel, points: Any, names: Sequence[str]) -> Term:
    columns = columns_of(kernel, len(names))
    values = fitted._each_block(points, lambda rows: gram(kernel, rows, fitted.X_fit_) @ fitted.dual_coef_.T)
    name = ", ".join(names[i] for i in columns) or "all"
    return Term(columns, name, kernel, values - values.mean(axis=0))


def columns_of(kernel: Kernel, n_columns: int) -> tuple[int, ...]:
    """Return the columns on which a kernel depends, or nothing if it may depend on all."""
    parts = [kernel, *kernel.get_params().values()]
    found = [part.indices(n_columns) for part in parts if isinstance(part, Columns)]
    return tuple(sorted({column for indices in found for column in indices}))


class AdditiveTermsDisplay:
    """A curve for every term of an additive model that depends on one column.

    Parameters
    ----------
    terms : list of Term
    points : array of shape (n, d)
        The rows at which the terms were evaluated.

    Attributes
    ----------
    axes_, figure_
        Axes, one per curve, and figure of matplotlib, after ``plot``.
    """

    def __init__(self, terms: Sequence[Term], points: ArrayLike) -> None:
        self.terms, self.points = list(terms), np.asarray(points, dtype=float)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: ArrayLike, *, ax: Any = None) -> Self:
        """Evaluate the terms of a fitted additive model over the range of each column of ``X``, and draw them.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
        X : array-like of shape (n, d)
            As it goes into ``predict``; the marks on the axis are these rows.
        ax : matplotlib axes, optional
            For a model with a single curve.
        """
        fitted = predicting_estimator(estimator)
        points = np.asarray(fitted._check_points(_before_last_step(estimator, X)))
        return cls(additive_terms(estimator, X), points).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the first output of every term of one column over that column; return the display."""
        curves = [term for term in self.terms if len(term.columns) == 1]
        if not curves:
            raise ValueError(
                "no term depends on a single column; fit with kernel='additive' or a sum of Columns."
            )
        self.axes_ = [ax] if len(curves) == 1 and ax is not None else _panels(len(curves))
        self.figure_ = self.axes_[0].figure
        for panel, term in zip(self.axes_, curves, strict=True):
            x = self.points[:, term.columns[0]]
            order = np.argsort(x, kind="stable")
            panel.plot(x[order], term.values[order, 0])
            panel.plot(x, np.full(len(x), term.values[:, 0].min()), "|", color="black", ms=4, alpha=0.4)
            panel.set(xlabel=term.name, ylabel="term")
        return self


def _panels(count: int) -> list[Any]:
    """Return axes for so many curves, on one figure and one scale."""
    wide = min(count, PANELS_PER_ROW)
    high = -(-count // wide)
    first = get_axes(None, (PANEL_INCHES * wide, PANEL_INCHES * high))
    figure = first.figure
    first.remove()
    axes = np.ravel(figure.subplots(high, wide, sharey=True, squeeze=False))
    for spare in axes[count:]:
        spare.remove()
    return list(axes[:count])
