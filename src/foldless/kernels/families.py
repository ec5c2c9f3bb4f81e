"""The families of kernels that ``kernel="auto"`` compares, for numbers, for categories, and for both.

A family is a guess about smoothness: the RBF has all derivatives, Matérn kernels two or one, Laplacians none; the affine
kernel spares a wide kernel the imitation of a straight line. The criterion compares them as it compares widths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import Kernel

from foldless.kernels.by_name import DISTANCE_SAMPLE_ROWS, named_kernel
from foldless.kernels.categorical import Categorical
from foldless.kernels.columns import Columns
from foldless.kernels.pairs import Points

FAMILIES = ("rbf", "matern52", "matern32", "laplacian", "product-laplacian", "affine")
# These need differences of columns one by one, which a sparse matrix does not give.
DENSE_FAMILIES = ("product-laplacian",)
# What may be better than the best family: columns whose large values are drawn in, a width per feature, a learned metric.
SOFTENED, WIDTHS, METRIC = "softened columns", "a width per feature", "a learned metric"
# The length scale of categories may move by this factor down and up from its start.
CATEGORICAL_RANGE_FACTOR = 30.0


@dataclass(frozen=True, eq=False)
class Families:
    """Candidate kernels that are compared stage by stage: those that are clearly worse are dropped early.

    Attributes
    ----------
    names : tuple of str
    kernels : tuple of Kernel
    challengers : tuple of str
        What challenges the winner, of ``SOFTENED``, ``WIDTHS`` and ``METRIC``.
    """

    names: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    challengers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Families({', '.join(self.names)})"

    def map(self, change: Callable[[Kernel], Kernel]) -> "Families":
        """Return the families with every kernel changed."""
        return replace(self, kernels=tuple(change(kernel) for kernel in self.kernels))


def families(X: Points, categorical: Sequence[int] = ()) -> Families:
    """Return the families for the points ``X``, of which some columns hold codes of categories.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    categorical : sequence of int
        Columns with codes. The kernel is then a product: a family for the other columns times
        :class:`~foldless.kernels.Categorical` for these, with one length scale.

    Examples
    --------
    >>> X = np.array([[0.0, 0], [1.0, 1], [3.0, 0]])
    >>> families(X).names
    ('rbf', 'matern52', 'matern32', 'laplacian', 'product-laplacian', 'affine')
    >>> families(X, categorical=[1]).kernels[0]
    Columns(RBF(length_scale=1.41), [0]) * Columns(Categorical(length_scale=1), [1])
    """
    names = [name for name in FAMILIES if not (sp.issparse(X) and name in DENSE_FAMILIES)]
    numeric = [column for column in range(X.shape[1]) if column not in set(categorical)]
    if not len(categorical):
        return Families(tuple(names), tuple(named_kernel(name, X) for name in names))
    codes = Columns(_categorical(X[:, categorical]), list(categorical))
    if not numeric:
        return Families(("categorical",), (codes,))
    numbers = [Columns(named_kernel(name, X[:, numeric]), numeric) for name in names]
    return Families(tuple(names), tuple(kernel * codes for kernel in numbers))


def _categorical(codes: Points) -> Kernel:
    """Return a kernel whose length scale starts at the median number of columns in which two rows differ."""
    n = codes.shape[0]
    sample = codes[np.linspace(0, n - 1, min(DISTANCE_SAMPLE_ROWS, n)).astype(int)]
    length = max(1.0, float(np.median(pdist(sample, "hamming"))) * codes.shape[1])
    return Categorical(length, (length / CATEGORICAL_RANGE_FACTOR, length * CATEGORICAL_RANGE_FACTOR))
