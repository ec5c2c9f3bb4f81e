"""What the kernels of this package share: scikit-learn's call from the two verbs, and length scales as a parameter."""

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.evaluate import gram, pullback, shown
from foldless.kernels.pairs import Pairs


class PairKernel(Kernel):
    """Base class of kernels whose values come from :func:`foldless.kernels.evaluate.gram`."""

    @abstractmethod
    def derivatives(self, pairs: Pairs) -> Iterable[Matrix]:
        """Return the derivatives in theta, one matrix (n, n) after the other."""

    def __repr__(self) -> str:
        params = self.get_params().items()
        values = [f"{name}={shown(value)}" for name, value in params if not name.endswith("_bounds")]
        return f"{type(self).__name__}({', '.join(values)})"

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Matrix | tuple[Matrix, Matrix]:
        """Return the kernel matrix, and its derivative in theta."""
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        pairs = Pairs(np.atleast_2d(X), None if Y is None else np.atleast_2d(Y))
        K = np.array(gram(self, pairs))
        if not eval_gradient:
            return K
        found = list(self.derivatives(pairs))
        return K, np.stack(found, axis=2) if found else np.zeros((*K.shape, 0))


@pullback.register
def _(kernel: PairKernel, pairs: Pairs, adjoint: Matrix) -> Vector:
    return np.array([np.vdot(adjoint, derivative) for derivative in kernel.derivatives(pairs)])


class LengthScales:
    """Mixin for kernels with one length scale, or one per column."""

    length_scale: float | Vector
    length_scale_bounds: tuple[float, float] | str

    @property
    def anisotropic(self) -> bool:
        """True if each column has its own length scale."""
        return np.size(self.length_scale) > 1

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The length scales, in logarithms."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, np.size(self.length_scale))
