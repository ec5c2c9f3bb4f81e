r"""Damped Newton iteration for a smooth convex objective.

From a state at the point x the undamped step leads to :math:`x^+`. Its *decrement*, minus the gradient times
:math:`x^+ - x`, is twice the decrease of the objective that the quadratic model predicts. Steps are halved until the
objective falls. Close to the optimum rounding hides any decrease, the sooner the larger the regularisation constant:
full steps are then taken until the decrement no longer shrinks.

A factorisation of the Hessian costs far more than a solution with it. After a full step the same factors therefore serve for
further steps, *chords*, as long as each of them lowers the objective and shrinks the decrement tenfold [2]_. With one chord the order of convergence is
three in place of two. When chords no longer pay, the next Newton step is solved by conjugate gradients with the same factors, if that is
cheaper than others.

References
----------
.. [1] Boyd and Vandenberghe (2004), *Convex Optimization*, section 9.5.
.. [2] Shamanskii (1967), *On a modification of the Newton method*, Ukrainian Mathematical Journal 19, 118-122.
"""

from typing import Protocol, Self

import numpy as np

from foldless.core.contracts import Matrix
from foldless.core.errors import Undefined

FINAL_DECREMENT = 1e-20  # per row, of a final fit
SEARCH_DECREMENT = 1e-10  # per row, while searching: outputs are then right to about five digits
SEARCH_CHORD_DECREMENT = 1e-14  # per row, of a chord that ends a fit while searching: seven digits
FULL_STEP_DECREMENT = (
    1e-9  # relative to the objective; full steps are safe below, and rounding hides their decrease
)
STALLED_DECREMENT = 1e-6  # relative to the objective; above, an objective that no step lowers is an error
MAX_ITERATIONS = 200
PLANE_DECREMENT = 1e-4  # relative to the objective; longer steps look for the best point in their plane
SHORTEST_STEP = 1e-10  # as a fraction of the full step
CHORD_SHRINKAGE = 0.1  # of the decrement by one chord; a chord that gains less is the last with its factors
ROUNDED_DECREMENT = 1e-30  # relative to the objective; no step makes it smaller


class NewtonState(Protocol):
    """The objective around one point."""

    @property
    def point(self) -> Matrix:
        """Where the state is."""

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def is_curved(self) -> bool:
        """Whether the loss has any curvature here; without it there is no next step."""

    def at(self, point: Matrix) -> Self:
        """Return the state at another point."""

    def newton_point(self) -> Matrix:
        """Return where the undamped step leads."""

    def chord_point(self, other: Self) -> Matrix | None:
        """Return where a step from ``other`` leads with the curvature of this state; None if it costs a Newton step."""

    def conjugate_point(self, other: Self) -> Matrix | None:
        """Return where a Newton step from ``other`` leads, nearly, with the factors of this state; None if those do not help."""

    def plane_point(self, target: Matrix) -> Matrix | None:
        """Return where the objective is least, nearly, among multiples of the point and the step to ``target``; None if that takes long."""

    def decrement(self, target: Matrix) -> float:
        """Return minus the gradient times the step to ``target``."""


def minimise(
    state: NewtonState,
    tolerance: float,
    where: str,
    warm: NewtonState | None = None,
    chord_tolerance: float | None = None,
) -> tuple[Matrix, int]:
    """Return the minimiser and the number of iterations.

    Parameters
    ----------
    state : NewtonState
        Where to start.
    tolerance : float
        Largest decrement of a solution.
    where : str
        The regularisation, for error messages.
    warm : NewtonState, optional
        Stands for the solution of another problem, and need not be a point of this one. The Newton step from it leads to one; if
        that is better than ``state``, it is the start.
    chord_tolerance : float, optional
        Largest decrement of a chord that leads to a solution. A last Newton step squares the error and so leaves a decrement far
        below its tolerance; chords must arrive there themselves, by default at the square of the tolerance.
    """
    chord_tolerance = tolerance**2 if chord_tolerance is None else chord_tolerance
    if warm is not None:
        state, is_solved = _after_warm_step(state, warm, chord_tolerance)
        if is_solved:
            return state.point, 0
    model, last, warm = warm or state, np.inf, None
    for iteration in range(1, MAX_ITERATIONS + 1):
        target = None if model is state else model.conjugate_point(state)
        if target is None:
            # Factors are large: those of another state, which do not help any more, go before others come.
            model = state
            target = state.newton_point()
        decrement = state.decrement(target)
        if not np.isfinite(decrement):
            raise Undefined(f"the Newton step is not finite ({where}).")
        relative = decrement / max(1.0, state.value)
        if (model is state and decrement <= tolerance) or (
            relative <= STALLED_DECREMENT and decrement >= last
        ):
            return target, iteration
        following = None if relative <= FULL_STEP_DECREMENT else _damped(state, target)
        if following is None and relative > STALLED_DECREMENT:
            raise Undefined(f"no Newton step lowers the objective ({where}).")
        # Conjugate gradients lose digits, and a plane through what they find would multiply the loss.
        if following is not None and model is state and relative > PLANE_DECREMENT:
            following = _in_plane(state, target, following)
        last = decrement if following is None else np.inf
        state, is_solved = _after_chords(model, following or state.at(target), decrement, chord_tolerance)
        if is_solved:
            return state.point, iteration
    raise Undefined(f"the Newton iteration did not converge in {MAX_ITERATIONS} steps ({where}).")


def _after_warm_step(state: NewtonState, warm: NewtonState, tolerance: float) -> tuple[NewtonState, bool]:
    """Return the state to start from, and whether it is a solution."""
    first = state.at(warm.newton_point())
    return _after_chords(warm, first, np.inf, tolerance) if first.value < state.value else (state, False)


def _after_chords(
    model: NewtonState, state: NewtonState, last: float, tolerance: float
) -> tuple[NewtonState, bool]:
    """Return the state after the chords that pay, and whether it is a solution.

    Parameters
    ----------
    model : NewtonState
        Has the factors.
    state : NewtonState
        Where its step led.
    last : float
        Decrement of that step.
    tolerance : float
        Largest decrement of a solution.
    """
    before = state
    goal = max(tolerance, ROUNDED_DECREMENT * max(1.0, state.value))
    while (target := model.chord_point(state)) is not None:
        decrement, following = state.decrement(target), state.at(target)
        if not decrement <= CHORD_SHRINKAGE * last:
            return (state if decrement < last else before), False
        if _rises(following, state, decrement):
            return state, False
        before, state, last = state, following, decrement
        if decrement <= goal:
            return state, True
        if not state.is_curved:
            return before, False
    return state, False


def _rises(state: NewtonState, before: NewtonState, decrement: float) -> bool:
    """Return whether a step raised the objective; rounding may hide the effect of a small one."""
    return decrement > FULL_STEP_DECREMENT * max(1.0, before.value) and not state.value <= before.value


def _damped(state: NewtonState, target: Matrix) -> NewtonState | None:
    """Return the state after the longest of the halved steps that lowers the objective; None if there is none."""
    fraction, step = 1.0, target - state.point
    while fraction >= SHORTEST_STEP:
        new = state.at(target if fraction == 1.0 else state.point + fraction * step)
        if new.value < state.value and new.is_curved:
            return new
        fraction /= 2
    return None


def _in_plane(state: NewtonState, target: Matrix, following: NewtonState) -> NewtonState:
    """Return the best state in the plane of a step to ``target`` if that is better than ``following``."""
    best = state.plane_point(target)
    if best is None:
        return following
    found = state.at(best)
    return found if found.value < following.value and found.is_curved else following
