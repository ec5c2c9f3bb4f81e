r"""Class separation in feature space.

References
----------
.. [1] Nguyen and Ho, *An efficient kernel matrix evaluation measure* (2008).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Gram, HasTargets, Matrix, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import check_labels
from foldless.criteria.base import Criterion, reads

# Below this ratio of the mean off-diagonal to the mean diagonal a Gram matrix is a multiple of I for all purposes.
IDENTITY_MAX_RATIO = 1e-3


@dataclass(frozen=True)
class FSM(Criterion):
    r"""Spread of the classes along the line between their means, over the squared distance of the means; no unit.

    With :math:`q_i = 1/n_+` or :math:`-1/n_-`, :math:`p = Kq` and the standard deviations (with :math:`n_c - 1`) of p within
    each class,

    .. math:: FSM = \frac{s_+ + s_-}{q'Kq}, \qquad
              \frac{dFSM}{dK} = \frac{h q' + q h'}{2\, q'Kq} - FSM \frac{q q'}{q'Kq}, \qquad
              h_i = \frac{p_i - \bar p_{c(i)}}{(n_{c(i)} - 1)\, s_{c(i)}}.  \tag{1}

    Its global minimum is the identity: a narrow enough kernel always wins. Several columns give the mean of their values.
    """

    name: ClassVar[str] = "fsm"
    title: ClassVar[str] = "Spread of the classes over their distance"
    unit: ClassVar[str] = "no unit"
    ignores_machine: ClassVar[bool] = True

    @reads(HasTargets)
    def _read_targets(self, solution: HasTargets) -> Reading:
        q, h, gap, each = _separate(solution.gram, solution.Y)
        value = float(np.mean(each))

        def derive() -> tuple[Adjoint, Vector]:
            adjoint = solution.gram.adjoint((h - each * q) / (gap * len(each)), q)  # eq. (1)
            return adjoint, np.zeros_like(solution.machine.theta)

        return Reading.lazy(value, derive, {"mmd2": float(np.mean(gap))})

    def warning_for(self, solution: Any) -> str:
        """Return a warning if the Gram matrix is nearly a multiple of the identity."""
        gram = solution.gram
        n, trace = gram.n, gram.diag().sum()
        ratio = (gram.matmul(np.ones(n)).sum() - trace) / (n - 1) / trace
        if abs(ratio) >= IDENTITY_MAX_RATIO:
            return ""
        return (
            f"fsm chose a kernel whose Gram matrix is the identity up to {abs(ratio):.0e}: its global minimum, where "
            "nothing can be learnt. Leave out very narrow kernels, or use spectral or loo."
        )


def _separate(gram: Gram, Y: Matrix) -> tuple[Matrix, Matrix, Vector, Vector]:
    """Return q and h of eq. (1), :math:`q'Kq` and FSM of every column."""
    check_labels(Y, "fsm")
    positive = Y > 0
    counts = np.where(positive, positive.sum(axis=0), (~positive).sum(axis=0))
    if np.any(counts < 2):
        raise ValueError("fsm needs at least two points of each class, for their standard deviation.")
    q = np.where(positive, 1, -1) / counts
    p = gram.matmul(q)
    gap = np.einsum("ik,ik->k", q, p)
    if not np.all(gap > gram.n * np.finfo(float).eps * np.mean(gram.diag())):
        raise Undefined("fsm does not exist: the class means coincide under this kernel.")
    h, each = np.zeros_like(q), np.zeros(len(gap))
    for side in (positive, ~positive):
        dev = np.where(side, p - np.sum(p * side, axis=0) / side.sum(axis=0), 0)
        sd = np.sqrt(np.sum(dev**2, axis=0) / (side.sum(axis=0) - 1))
        each += sd
        h += np.divide(dev, (counts - 1) * sd, out=np.zeros_like(dev), where=sd > 0)
    return q, h, gap, each / gap
