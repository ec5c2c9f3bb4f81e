r"""Alignment of a kernel with the ideal one, the product of the labels.

References
----------
.. [1] Cristianini et al., *On kernel-target alignment* (2001).
.. [2] Cortes, Mohri and Rostamizadeh, *Algorithms for learning kernels based on centered alignment* (2012).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, HasTargets, Reading, Vector
from foldless.core.errors import Undefined
from foldless.criteria.base import Criterion, reads


@dataclass(frozen=True)
class Alignment(Criterion):
    r"""Minus the kernel-target alignment, a number between -1 and 1 without a unit.

    .. math:: KTA = \frac{\langle K, YY' \rangle}{\|K\|_F \|YY'\|_F}, \qquad
              \frac{dKTA}{dK} = \frac{YY'}{\|K\|_F \|YY'\|_F} - KTA \frac{K}{\|K\|_F^2}.  \tag{1}

    One column of labels gives :math:`y'Ky / (n \|K\|_F)` [1]_.
    """

    name: ClassVar[str] = "alignment"
    title: ClassVar[str] = "Minus the kernel-target alignment"
    unit: ClassVar[str] = "no unit"
    ignores_machine: ClassVar[bool] = True

    @reads(HasTargets)
    def _read_targets(self, solution: HasTargets) -> Reading:
        gram, Y = solution.gram, solution.Y
        norm, target = gram.norm(), float(np.linalg.norm(Y.T @ Y))
        if not norm > 0:
            raise Undefined("alignment does not exist: the Gram matrix is zero.")
        if not target > 0:
            raise ValueError("alignment needs targets that are not all zero.")
        value = float(np.vdot(Y, gram.matmul(Y))) / (norm * target)

        def derive() -> tuple[Adjoint, Vector]:
            adjoint = gram.adjoint(-Y / (norm * target), Y, itself=value / norm**2)  # eq. (1)
            return adjoint, np.zeros_like(solution.machine.theta)

        return Reading.lazy(-value, derive, {"alignment": value})


@dataclass(frozen=True)
class CenteredAlignment(Criterion):
    r"""Minus the alignment of the centred kernel with the centred target, a number between -1 and 1 without a unit.

    With :math:`J = I - 11'/n`, :math:`K_c = JKJ` and :math:`Y_c = JY` [2]_,

    .. math:: CKTA = \frac{\langle K, Y_cY_c' \rangle}{\|K_c\|_F \|Y_cY_c'\|_F}, \qquad
              \frac{dCKTA}{dK} = \frac{Y_cY_c'}{\|K_c\|_F \|Y_cY_c'\|_F} - CKTA \frac{K_c}{\|K_c\|_F^2}.  \tag{1}
    """

    name: ClassVar[str] = "centered-alignment"
    title: ClassVar[str] = "Minus the centred kernel-target alignment"
    unit: ClassVar[str] = "no unit"
    ignores_machine: ClassVar[bool] = True

    @reads(HasTargets)
    def _read_targets(self, solution: HasTargets) -> Reading:
        gram, Y = solution.gram, solution.Y
        Yc = Y - Y.mean(axis=0)
        norm, target = gram.centred_norm(), float(np.linalg.norm(Yc.T @ Yc))
        if not target > 0:
            raise ValueError("centered-alignment needs targets that vary, got a constant (one class only?).")
        if not norm > gram.n * np.finfo(float).eps * np.max(np.abs(gram.diag())):
            raise Undefined(
                "centered-alignment does not exist: the centred Gram matrix is zero (a constant kernel)."
            )
        value = float(np.vdot(Yc, gram.matmul(Yc))) / (norm * target)

        def derive() -> tuple[Adjoint, Vector]:
            shrink, one = value / norm**2, np.ones(gram.n)
            m = gram.matmul(one) / gram.n
            # K_c = K - 1m' - m1' + mean(m) 11'
            P = np.column_stack([-Yc / (norm * target), 2 * shrink * one])
            adjoint = gram.adjoint(P, np.column_stack([Yc, m.mean() / 2 - m]), itself=shrink)  # eq. (1)
            return adjoint, np.zeros_like(solution.machine.theta)

        return Reading.lazy(-value, derive, {"centered_alignment": value})
