"""Kernels of points that are changed first: another kernel sees some of the columns, or columns on another scale."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs


class InputMap(Kernel):
    """Another kernel, applied to changed points; its parameters, ``theta`` and bounds are those of that kernel.

    A subclass stores ``kernel`` and what it needs itself, and defines ``changed`` for points and for their pairs.
    """

    kernel: Kernel

    @abstractmethod
    def changed(self, X: Matrix) -> Matrix:
        """Return the points that the kernel sees."""

    @abstractmethod
    def changed_pairs(self, pairs: Pairs) -> Pairs:
        """Return the pairs that the kernel sees."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the kernel, what else was given and, if ``deep``, the parameters of the kernel after ``kernel__``."""
        params = super().get_params(deep=False)
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
        own, others = self.get_params(deep=False), other.get_params(deep=False)
        same = all(np.array_equal(own[name], others[name]) for name in own if name != "kernel")
        return same and self.kernel == others["kernel"]

    __hash__ = None  # type: ignore[assignment]

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Matrix | tuple[Matrix, Matrix]:
        """Return the kernel matrix, and its derivative in theta."""
        others = None if Y is None else self.changed(np.atleast_2d(Y))
        return self.kernel(self.changed(np.atleast_2d(X)), others, eval_gradient)

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal of the kernel matrix."""
        return self.kernel.diag(self.changed(np.atleast_2d(X)))

    @property
    def requires_vector_input(self) -> bool:
        """True: points are rows of numbers."""
        return True


@gram.register
def _(kernel: InputMap, pairs: Pairs) -> Matrix:
    return gram(kernel.kernel, kernel.changed_pairs(pairs))


@pullback.register
def _(kernel: InputMap, pairs: Pairs, adjoint: Matrix) -> Vector:
    return pullback(kernel.kernel, kernel.changed_pairs(pairs), adjoint)


@is_semidefinite.register
def _(kernel: InputMap) -> bool:
    return is_semidefinite(kernel.kernel)
