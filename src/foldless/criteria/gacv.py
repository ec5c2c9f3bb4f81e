r"""Generalised approximate cross-validation.

References
----------
.. [1] Xiang and Wahba, *A generalized approximate cross validation for smoothing splines with non-Gaussian data*
   (1996).
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import LazyReading, Reading
from foldless.criterion import Criterion
from foldless.errors import Undefined
from foldless.inference import Bend, differentiate
from foldless.losses import Logistic
from foldless.machines import SmoothSolution


@dataclass(frozen=True)
class GACV(Criterion):
    r"""Generalised approximate cross-validation: leave-one-out with every leverage replaced by its mean.

    *Kernel logistic regression* [1]_, with :math:`t = (1 + y)/2` and n the total weight,

    .. math:: \frac1n \sum_i v_i \ell_i + \frac{v'\operatorname{diag} V}{n} \cdot \frac{t'a}{n - \operatorname{tr} W V}.
              \tag{1}

    With :math:`s = t'a`, :math:`\nu = v'\operatorname{diag} V`, :math:`r = n - \operatorname{tr} W V`,

    .. math:: \Phi_z = -\frac an - \frac{\nu}{n r}\, t \circ w + \frac{\nu s}{n r^2}\, w' \circ V_{ii}, \qquad
              \Phi_V = \frac{s}{n r} \operatorname{diag} v + \frac{\nu s}{n r^2} W.  \tag{2}

    It averages :math:`V_{ii}`: one remote point of which the machine is certain (w near 0, V huge) ruins it.
    """

    name: ClassVar[str] = "gacv"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: SmoothSolution) -> Reading:
        if not isinstance(solution.machine.loss, Logistic):
            kind = type(solution.machine.loss).__name__
            raise Undefined(f"gacv is defined for the logistic loss, got {kind}. Use criterion='loo'.")
        a, w, v, V = solution.a, solution.w, solution.v, solution.V
        t, n = (1 + solution.y) / 2, v.sum()
        s, nu, r = t @ a, v @ V, n - w @ V
        value = float(solution.loss / n + nu * s / (n * r))

        def derive():  # eq. (2)
            phi_z = -a / n - nu / (n * r) * t * w + nu * s / (n * r**2) * solution.dw * V
            return differentiate(solution, phi_z, Bend(s / (n * r) * v + nu * s / (n * r**2) * w))

        parts = {
            "loss": solution.loss / n,
            "penalty": float(nu * s / (n * r)),
            "leverage": float(np.max(w * V)),
        }
        return LazyReading(value, derive, parts)
