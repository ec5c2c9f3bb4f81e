r"""One eigendecomposition for a whole path of regularisation values, bias and weights included.

Let :math:`D = \operatorname{diag}(\sqrt v)`, :math:`u = D1 / \|D1\|` and :math:`Q \operatorname{diag}(\nu) Q'` the
decomposition of :math:`D K D` (with a free bias: on the complement of u). For weights :math:`w = v / \lambda`

.. math::
    A = D \Bigl[ Q \operatorname{diag}\tfrac{1}{\nu + \lambda} Q' + \tfrac1\lambda (I - u u' - Q Q') \Bigr] D, \qquad
    V = \lambda D^{-1} \Bigl[ u u' + Q \operatorname{diag}\tfrac{\nu}{\nu + \lambda} Q' \Bigr] D^{-1},  \tag{1}

where :math:`u u'` is there with a bias only, and the middle term of A (pairs with :math:`\nu = 0` that a low-rank Gram
does not list) only where Q has fewer columns than the space has dimensions.
"""

from dataclasses import dataclass

import numpy as np

from foldless.core.gram import Adjoint, Eigenpairs, Factor, Matrix, Rows, Vector
from foldless.core.memo import cached_property
from foldless.grams.adjoints import symmetric_operator


def _scale_rows(x: Vector, M: Matrix) -> Matrix:
    return x * M if M.ndim == 1 else x[:, None] * M


@dataclass(frozen=True, eq=False)
class SpectralFactor(Factor):
    r"""The factor for ``w = v / lam``, from ``Gram.weighted_spectrum``.

    Parameters
    ----------
    pairs : Eigenpairs
        Those of ``gram.weighted_spectrum(v, bias)``.
    v : array of shape (n,)
    lam : float
    bias : bool
    """

    pairs: Eigenpairs
    v: Vector
    lam: float
    bias: bool

    @property
    def Q(self) -> Matrix:
        """Eigenvectors (n, r)."""
        return self.pairs.Q

    @property
    def nu(self) -> Vector:
        """Eigenvalues (r,)."""
        return self.pairs.nu

    @cached_property
    def w(self) -> Vector:
        """``v / lam``."""
        return self.v / self.lam

    @cached_property
    def _d(self) -> Vector:
        return np.sqrt(self.v)

    @cached_property
    def _u(self) -> Vector:
        return self._d / np.linalg.norm(self._d)

    @property
    def _complete(self) -> bool:
        return self.Q.shape[1] >= len(self.v) - self.bias

    def _resolve(self, M: Matrix) -> Matrix:
        """Return the bracket of A in eq. (1), times M."""
        QM = self.Q.T @ M
        out = self.Q @ _scale_rows(1 / (self.nu + self.lam), QM)
        if self._complete:
            return out
        rest = M - self.Q @ QM
        if self.bias:
            rest = rest - np.multiply.outer(self._u, self._u @ M)
        return out + rest / self.lam

    def solve(self, M: Matrix) -> Matrix:
        """Return ``A M``; eq. (1)."""
        return _scale_rows(self._d, self._resolve(_scale_rows(self._d, M)))

    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M``; eq. (1)."""
        M = _scale_rows(1 / self._d, M)
        out = self.Q @ _scale_rows(self.nu / (self.nu + self.lam), self.Q.T @ M)
        if self.bias:
            out = out + np.multiply.outer(self._u, self._u @ M)
        return self.lam * _scale_rows(1 / self._d, out)

    def logdet(self) -> float:
        """Return ``log det B`` , plus ``log s'B^{-1}s`` with a bias."""
        value = np.sum(np.log1p(self.nu / self.lam))
        return float(value + np.log(self.w.sum()) if self.bias else value)

    @cached_property
    def _inverse_diag(self) -> Vector:
        if self._complete:
            return self.pairs.squares @ (self.lam / (self.nu + self.lam))
        return 1 - self.w * self.covariance_diag()

    def inverse_diag(self) -> Vector:
        """Return ``1 - w * covariance_diag()``."""
        return self._inverse_diag

    @cached_property
    def _covariance_diag(self) -> Vector:
        h = self.pairs.squares @ (self.nu / (self.nu + self.lam))
        return (h + self._u**2 if self.bias else h) / self.w

    def covariance_diag(self) -> Vector:
        """Return the diagonal of ``V``."""
        return self._covariance_diag

    def covariance_root(self) -> Matrix:
        """Return a root ``R`` with ``R @ R.T = V``; eq. (1)."""
        h = self.nu / (self.nu + self.lam)
        B = np.column_stack([self.Q * np.sqrt(h), self._u]) if self.bias else self.Q * np.sqrt(h)
        return B / np.sqrt(self.w)[:, None]

    def sandwich(self, e: Vector) -> Vector:
        """Return the diagonal of ``V diag(e) V``."""
        R = self.covariance_root()
        return np.einsum("ij,ij->i", R @ ((R.T * e) @ R), R)

    @cached_property
    def _resolvent(self) -> Matrix:
        B = self._d[:, None] * self.Q
        return (B / (self.nu + self.lam)) @ B.T

    def resolvent(self) -> Adjoint:
        """Return ``A``, as an array where the spectrum is complete, else as an operator."""
        return self._resolvent if self._complete else symmetric_operator(len(self.v), self.solve)

    def block(self, rows: Rows) -> Matrix:
        """Return ``A[rows][:, rows]``."""
        Q, u, d = self.Q[rows], self._u[rows], self._d[rows]
        B = (Q / (self.nu + self.lam)) @ Q.T
        if not self._complete:
            B += (np.eye(len(u)) - Q @ Q.T - self.bias * np.multiply.outer(u, u)) / self.lam
        return d[:, None] * B * d

    def congruence(self, e: Vector) -> Adjoint:
        """Return ``H' diag(e) H`` with ``H = I - V W``, as an array where the spectrum is complete."""
        scale = e / self.w**2  # H = W^{-1} A
        if self._complete:
            A = self._resolvent
            return (A * scale) @ A
        return symmetric_operator(len(e), lambda M: self.solve(_scale_rows(scale, self.solve(M))))

    def covariance_block(self, rows: Rows) -> Matrix:
        """Return ``V[rows][:, rows]``."""
        Q, u, d = self.Q[rows], self._u[rows], self._d[rows]
        B = (Q * (self.nu / (self.nu + self.lam))) @ Q.T + self.bias * np.multiply.outer(u, u)
        return self.lam * B / np.multiply.outer(d, d)

    def inverse_block(self, rows: Rows) -> Matrix:
        """Return ``(I - S V S)[rows][:, rows]``."""
        d = self._d[rows]
        return self.lam * self.block(rows) / np.multiply.outer(d, d)
