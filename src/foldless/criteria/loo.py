r"""Leave-one-out without refitting.

References
----------
.. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic regression*,
   (20).
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

from foldless.contracts import Reading
from foldless.criterion import Criterion
from foldless.inference import Bend, differentiate
from foldless.machines import SmoothSolution


@dataclass(frozen=True)
class LOO(Criterion):
    r"""Leave-one-out loss.

    *Smooth machines*: one Newton step of the problem without point i, started at the full solution,

    .. math:: \sum_i v_i \ell(y_i, u_i), \qquad u_i = z_i - \frac{a_i V_{ii}}{1 - w_i V_{ii}}.  \tag{1}

    With :math:`k_i = 1 - w_i V_{ii}`, :math:`g_i = v_i \ell'(y_i, u_i)` and :math:`e_i = -g_i a_i / k_i^2`,

    .. math:: \Phi_z = g / k + w' \circ e \circ V_{ii}^2, \qquad \Phi_V = \operatorname{diag}(e).  \tag{2}

    Parameters
    ----------
    mode : {"total", "frozen"}
        ``"frozen"`` gives the gradient of Cawley and Talbot's appendix B, which forgets that the curvatures
        move. It points the wrong way in C at many points and is here for comparison only.
    """

    mode: str = "total"
    name: ClassVar[str] = "loo"

    def __post_init__(self):
        if self.mode not in ("total", "frozen"):
            raise ValueError(f"mode must be 'total' or 'frozen', got {self.mode!r}.")

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: SmoothSolution) -> Reading:
        loss, y, v = solution.machine.loss, solution.y, solution.v
        a, V, k = solution.a, solution.V, solution.keep
        u = loo_outputs(solution)
        l1 = loss.derivatives(y, u)[0]
        g = v * l1
        e = -g * a / k**2
        value = float(v @ loss.value(y, u))
        frozen = self.mode == "frozen"
        phi_z = g / k if frozen else g / k + solution.dw * e * V**2
        adjoint, slope = differentiate(solution, phi_z, Bend(e), frozen)
        parts = {"loo": value, "loo_mean": value / v.sum(), **solution.mistakes(u)}
        return Reading(value, adjoint, slope, parts)


def loo_outputs(solution: SmoothSolution):
    """Outputs :math:`u_i` of the machines that did not see point i; eq. (1)."""
    return solution.z - solution.a * solution.V / solution.keep
