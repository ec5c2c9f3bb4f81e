r"""The kernel matrix known by what it can do: :class:`Gram`, and :class:`Factor` of ``I + S K S``.

The forms of the matrix are in ``foldless.grams``; machines and criteria use the verbs declared here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foldless.core.errors import MissingVerb
from foldless.core.memo import Memo, cached_property

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Rows = NDArray[np.intp]  # row numbers
Adjoint: TypeAlias = Any  # dvalue/dK, symmetric: a Matrix, or on a low-rank Gram a LinearOperator
LandmarkRoot = tuple[Matrix, Rows]  # Cholesky factor of the matrix of the kept landmarks, and which were kept


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Orthonormal vectors ``Q`` (n, r) with their eigenvalues ``nu`` (r,)."""

    Q: Matrix
    nu: Vector

    @cached_property
    def squares(self) -> Matrix:
        """``Q**2``: diagonals of functions of the matrix are products with it."""
        return self.Q**2


class Factor(ABC):
    r"""A factorisation of :math:`B = I + S K S` with :math:`S = \operatorname{diag}(\sqrt w)`.

    Write :math:`V = (K^{-1} + W)^{-1}`, :math:`A = (K + W^{-1})^{-1}` and :math:`H = I - V W`. Neither ``K`` nor ``W`` is
    ever inverted, so zero weights and a singular ``K`` are fine. With a free bias ``K`` stands for the limit of
    ``K + k 11'`` as k grows.
    """

    w: Vector
    bias: bool

    @abstractmethod
    def solve(self, M: Matrix) -> Matrix:
        r"""Return :math:`A M = S B^{-1} S M`, that is ``(K + diag(1 / w))^{-1} M``."""

    @abstractmethod
    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M``."""

    @abstractmethod
    def logdet(self) -> float:
        """Return ``log det B``, plus ``log s'B^{-1}s`` with a bias."""

    @abstractmethod
    def inverse_diag(self) -> Vector:
        r"""Return the diagonal of :math:`I - S V S`, which is ``1 - w * covariance_diag()`` without cancellation."""

    @abstractmethod
    def covariance_diag(self) -> Vector:
        """Return the diagonal of ``V``."""

    @abstractmethod
    def covariance_root(self) -> Matrix:
        """Return an array ``R`` with ``R @ R.T = V``."""

    @abstractmethod
    def sandwich(self, e: Vector) -> Vector:
        """Return the diagonal of ``V diag(e) V``."""

    @abstractmethod
    def congruence(self, e: Vector) -> Adjoint:
        """Return ``H' diag(e) H``: an array, or an operator."""

    @abstractmethod
    def resolvent(self) -> Adjoint:
        """Return ``A``: an array, or an operator."""

    @abstractmethod
    def block(self, rows: Rows) -> Matrix:
        """Return ``A[rows][:, rows]``, which is needed to leave these rows out."""

    @abstractmethod
    def covariance_block(self, rows: Rows) -> Matrix:
        """Return ``V[rows][:, rows]``."""

    @abstractmethod
    def inverse_block(self, rows: Rows) -> Matrix:
        """Return ``(I - S V S)[rows][:, rows]``."""

    def covariance_columns(self, rows: Rows) -> Matrix:
        """Return ``V[:, rows]``."""
        units = np.zeros((len(self.w), len(rows)))
        units[rows, np.arange(len(rows))] = 1
        return self.covariance(units)

    def repeated_covariance(self, M: Matrix) -> Matrix:
        """Return ``V M`` by a way that pays if there are many such products."""
        return self.covariance(M)

    def trace_inverse(self) -> float:
        """Return the trace of ``A``."""
        return float(self.w @ self.inverse_diag())

    def covariance_slope(self, e: Vector) -> float:
        """Return ``<diag(e), V - V W V>``: the slope of ``e'diag(V)`` in the logarithm of a common factor of ``K``."""
        return float(e @ (self.covariance_diag() - self.sandwich(self.w)))


class Gram(ABC):
    """A symmetric positive semi-definite matrix ``K`` (n, n) known by what it can do.

    A form of the matrix must know ``n``, its products and its diagonal. Every other verb raises
    :class:`foldless.core.errors.MissingVerb` unless the form defines it.
    """

    dense: ClassVar[bool] = False
    """True if the matrix is an array ``K``; adjoints are arrays then, and operators otherwise."""

    semidefinite: bool = False
    """True if K is known to be positive semi-definite, so solvers may skip the check."""

    landmark_root: LandmarkRoot | None = None
    """How the features came from landmarks, for the way back to the kernel; None for other Grams."""

    def missing(self, verb: str) -> MissingVerb:
        """Return the error that says that this form of the matrix has no such verb."""
        return MissingVerb(f"{type(self).__name__} has no {verb}(). Use a dense or a low-rank Gram.")

    @cached_property
    def memo(self) -> Memo:
        """Results that were computed from this Gram and may be needed again."""
        return Memo()

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @abstractmethod
    def matmul(self, M: Matrix) -> Matrix:
        """Return ``K @ M``."""

    @abstractmethod
    def diag(self) -> Vector:
        """Return the diagonal of ``K``."""

    def subset(self, rows: Rows) -> Gram:
        """Return the Gram of some rows (for a refit without the others)."""
        raise self.missing("subset")

    def block(self, rows: Rows, cols: Rows) -> Matrix:
        """Return ``K[rows][:, cols]`` as an array."""
        raise self.missing("block")

    def combine(self, rows: Rows, v: Vector) -> Vector:
        """Return ``K[:, rows] @ v``, from these columns alone where that is cheaper."""
        raise self.missing("combine")

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest entry."""
        raise self.missing("extremes")

    def centred(self) -> Gram:
        """Return ``J K J`` with ``J = I - 11'/n``: what a machine with a free bias sees."""
        raise self.missing("centred")

    def shifted(self, constant: float) -> Gram:
        """Return ``K + constant 11'``: a bias with prior variance ``constant``."""
        raise self.missing("shifted")

    def factor(self, w: Vector, bias: bool = False) -> Factor:
        """Return the factor of ``I + S K S``, ``S = diag(sqrt(w))``, for weights ``w >= 0``, with or without a free bias."""
        raise self.missing("factor")

    def residual_maker(self, w: Vector, bias: bool = False) -> tuple[Matrix, float]:
        """Return ``I - S V S`` as an array, and ``logdet()`` of the factor, in the memory of that one array."""
        raise self.missing("residual_maker")

    def spectrum(self) -> tuple[Matrix, Vector]:
        """Return ``U`` (n, r) with orthonormal columns and ``mu`` (r,) decreasing, ``K = U diag(mu) U'``."""
        raise self.missing("spectrum")

    def weighted_spectrum(self, v: Vector, bias: bool = False) -> Eigenpairs:
        """Return the eigenpairs of ``D K D``, ``D = diag(sqrt(v))``, with a bias those orthogonal to ``D1``."""
        raise self.missing("weighted_spectrum")

    def image_beside(self, free: Matrix, s: Vector, B: Matrix | None = None) -> tuple[Matrix, Vector]:
        """Return left singular vectors of ``(I - free free') S K B``, ``S = diag(s)``, and squared singular values.

        ``free`` (n, p) has orthonormal columns; ``B`` is the identity by default.
        """
        raise self.missing("image_beside")

    def norm(self) -> float:
        """Return the Frobenius norm."""
        raise self.missing("norm")

    def centred_norm(self) -> float:
        """Return the Frobenius norm of ``J K J``."""
        raise self.missing("centred_norm")

    def diagonal(self, d: Vector) -> Adjoint:
        """Return ``diag(d)`` in the form of an adjoint: an array, or an operator."""
        raise self.missing("diagonal")

    def adjoint(self, P: Matrix, Q: Matrix, identity: float = 0.0, itself: float = 0.0) -> Adjoint:
        """Return ``(P Q' + Q P') / 2 + identity I + itself K`` for thin P and Q (n, p): an array, or an operator."""
        raise self.missing("adjoint")

    def inner(self, adjoint: Adjoint) -> float:
        """Return ``<adjoint, K>``: the derivative in the logarithm of a common factor of ``K``."""
        raise self.missing("inner")
