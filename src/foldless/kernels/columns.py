"""A kernel on some of the columns; sums and products of such kernels make additive models and mixed tables."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs

# A number or a name, a list of them, a slice, a boolean mask, or a callable that takes a data frame and returns names.
Selector: TypeAlias = Any
SHOWN_NAMES = 8


class Columns(Kernel):
    """Another kernel, applied to some of the columns.

    Parameters
    ----------
    kernel : Kernel
        Sees only the chosen columns, in the order in which they are named.
    columns : int, str, slice, list of int, list of str, boolean mask, or callable
        Which columns. Names, and callables such as ``sklearn.compose.make_column_selector(dtype_include="number")``,
        need a data frame: an estimator turns them into column numbers when it is fitted with one.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> kernel = Columns(RBF(1.0), [0]) + Columns(RBF(1.0), [1])
    >>> kernel([[0.0, 0.0], [0.0, 9.0]]).round(4)
    array([[2., 1.],
           [1., 2.]])
    """

    def __init__(self, kernel: Kernel, columns: Selector) -> None:
        self.kernel = kernel
        self.columns = columns

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the kernel, the columns and, if ``deep``, the parameters of the kernel after ``kernel__``."""
        params = {"kernel": self.kernel, "columns": self.columns}
        nested = self.kernel.get_params().items() if deep else ()
        return params | {f"kernel__{name}": value for name, value in nested}

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the kernel."""
        return [
            Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Vector:
        """The theta of the kernel."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Vector) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Matrix:
        """The bounds of the kernel."""
        return self.kernel.bounds

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return self.kernel == other.kernel and np.array_equal(self.columns, other.columns)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = self.columns.tolist() if isinstance(self.columns, np.ndarray) else self.columns
        return f"Columns({self.kernel!r}, {shown!r})"

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Matrix | tuple[Matrix, Matrix]:
        """Return the kernel matrix, and its derivative in theta."""
        return self.kernel(self._chosen(X), None if Y is None else self._chosen(Y), eval_gradient)

    def _chosen(self, X: ArrayLike) -> Matrix:
        points = np.atleast_2d(X)
        return points[:, self.indices(points.shape[1])]

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal of the kernel matrix."""
        return self.kernel.diag(self._chosen(X))

    def is_stationary(self) -> bool:
        """Return True if the kernel is stationary."""
        return self.kernel.is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        """True: columns are chosen from numbers."""
        return True

    def indices(self, n_columns: int) -> list[int]:
        """Return the numbers of the chosen columns out of ``n_columns``."""
        return column_indices(self.columns, range(n_columns))


def column_indices(columns: Selector, names: Sequence[Any], frame: Any = None) -> list[int]:
    """Return the numbers of the columns that a selector stands for.

    Parameters
    ----------
    columns : selector
    names : sequence
        All columns in order; numbers if they have no names.
    frame : data frame, optional
        What a callable is applied to.

    Examples
    --------
    >>> column_indices(["bmi", "age"], ["age", "sex", "bmi"])
    [2, 0]
    >>> column_indices(slice(1, None), range(3)), column_indices([True, False, True], range(3))
    ([1, 2], [0, 2])
    """
    if callable(columns):
        columns = columns(_needed_frame(frame, "a callable"))
    if isinstance(columns, slice):
        chosen = list(range(len(names)))[columns]
    else:
        listed = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
        chosen = _from_list(listed, names)
    if not chosen:
        raise ValueError(f"columns={columns!r} selects none of the {len(names)} columns.")
    return chosen


def _from_list(listed: list[Any], names: Sequence[Any]) -> list[int]:
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        if len(listed) != len(names):
            raise ValueError(f"columns is a mask of {len(listed)} columns, but X has {len(names)} columns.")
        return np.flatnonzero(listed).tolist()
    return [_index(one, names) for one in listed]


def _index(column: Any, names: Sequence[Any]) -> int:
    """Return the number of one column, given by number or name."""
    n = len(names)
    if isinstance(column, int | np.integer) and not isinstance(column, bool | np.bool_):
        if not -n <= column < n:
            raise ValueError(f"columns names column {column}, but X has {n} columns, numbered from 0.")
        return int(column) % n
    if not isinstance(column, str):
        raise TypeError(f"columns must hold column numbers, names or a mask, got {column!r}.")
    if isinstance(names, range):
        _needed_frame(None, f"the name {column!r}")
    found = list(names)
    if column not in found:
        near = get_close_matches(column, [str(name) for name in found], n=1)
        more = ", ..." if n > SHOWN_NAMES else ""
        cure = f"Did you mean {near[0]!r}?" if near else f"It has {str(found[:SHOWN_NAMES])[1:-1]}{more}."
        raise ValueError(f"columns names {column!r}, but X has no such column. {cure}")
    return found.index(column)


def _needed_frame(frame: Any, what: str) -> Any:
    if frame is None:
        raise ValueError(
            f"columns holds {what}, which needs a data frame: fit the estimator with one, or give column numbers."
        )
    return frame


def bind_columns(kernel: Kernel, frame: Any) -> Kernel:
    """Return ``kernel`` with every :class:`Columns` in it reduced to column numbers of a data frame (or an array).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> frame = pd.DataFrame({"age": [30.0], "bmi": [24.0]})
    >>> bind_columns(1.0 * Columns(RBF(2.0), "bmi"), frame).k2
    Columns(RBF(length_scale=2), [1])
    """
    params = {"": kernel} | kernel.get_params()
    owners = {name: part for name, part in params.items() if isinstance(part, Columns)}
    if not owners:
        return kernel
    has_names = hasattr(frame, "columns")
    shape = np.shape(frame)
    if len(shape) != 2:  # no table; whoever reads it will say so
        return kernel
    names = list(frame.columns) if has_names else range(shape[1])
    found = {
        f"{name}__columns".lstrip("_"): column_indices(part.columns, names, frame if has_names else None)
        for name, part in owners.items()
    }
    return clone(kernel).set_params(**found)


@gram.register
def _(kernel: Columns, pairs: Pairs) -> Matrix:
    return gram(kernel.kernel, pairs.on_columns(kernel.indices(pairs.X.shape[1])))


@pullback.register
def _(kernel: Columns, pairs: Pairs, adjoint: Matrix) -> Vector:
    return pullback(kernel.kernel, pairs.on_columns(kernel.indices(pairs.X.shape[1])), adjoint)


@is_semidefinite.register
def _(kernel: Columns) -> bool:
    return is_semidefinite(kernel.kernel)
