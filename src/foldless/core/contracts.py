r"""The protocols and the records they exchange. Read this first.

The library is one sentence, ``criterion(machine.solve(gram(kernel, X), Y))``, plus a search over ``theta``:

=============  ===========================================  =========================
stage          takes                                        gives
=============  ===========================================  =========================
kernel         points                                       :class:`Gram`
machine        :class:`Gram`, targets ``Y`` (n, k)          :class:`Solution`
criterion      :class:`Solution`                            :class:`Reading`
objective      ``theta``                                    :class:`Evaluation`
search         objective, :class:`Box`                      :class:`Outcome`
=============  ===========================================  =========================

Every criterion is a cost. ``theta`` holds natural logarithms of positive parameters; only kernels and machines
exponentiate. What a Gram can do is declared in ``core/gram.py``.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, partial, reduce
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from foldless.core.gram import Adjoint, Gram, Matrix, Vector
from foldless.core.memo import cached_property
from foldless.core.parallel import side_by_side


class Solution(Protocol):
    """Result of a machine's ``solve``. It owns its factor; quantities that several criteria need are cached on it."""

    @property
    def gram(self) -> Gram:
        """The Gram that was fitted."""

    @property
    def machine(self) -> Machine:
        """The machine that fitted it."""

    @property
    def precision(self) -> Vector:
        """Weights ``w`` (n,) of the points in ``(K + diag(1 / w))^{-1}``: how finely ``K`` must be known."""

    @property
    def alpha(self) -> Matrix:
        """Coefficients (n, k): ``f = K alpha``."""

    @property
    def b(self) -> Vector:
        """Biases (k,)."""

    @property
    def outputs(self) -> Matrix:
        """Outputs of the rows (n, k), biases included: predictions for the training rows."""

    @property
    def start(self) -> Any:
        """Start for a similar problem: pass it as ``solve(..., start=solution.start)``."""


class HasTargets(ABC):
    """Any solution that has a ``gram``, targets ``Y`` (n, k) and a ``machine``.

    A criterion that depends on kernel and targets alone needs no more, so that it reads every such solution. The solution
    need not inherit from this class.
    """

    gram: Gram
    Y: Matrix
    machine: Machine

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        """Return whether instances of ``kind`` have all three."""
        names = {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
        return {"gram", "Y", "machine"} <= names


class Machine(ABC):
    """A rule with hyper-parameters that turns a Gram and targets into a solution. It never changes.

    A subclass, usually a frozen dataclass, must define :meth:`solve`. Everything else has a default, which is right for
    a machine with nothing to tune, no weights and only one way to solve.
    """

    sign: ClassVar[float] = 1.0
    """1 if the machine fits more closely as ``theta`` grows (``C``), -1 if less closely (``alpha``)."""

    scaled_C_range: ClassVar[tuple[float, float]] = (1e-5, 1e7)
    """Range in which C is tuned by default, in units of 1 / the mean diagonal of the kernel matrix."""

    default_loo_criterion: ClassVar[str] = "loo"
    """Name of the criterion that chooses the regularisation on one Gram."""

    @property
    def exact_left_out(self) -> bool:
        """Whether left-out outputs, which need no refit, are those of refits up to rounding."""
        return False

    threaded_min_rows: ClassVar[int] = 0
    """Rows from which on threads gain anything: with fewer a fit holds the interpreter's lock most of the time."""

    loss_in_nats: ClassVar[bool] = False
    """Whether its loss is minus a log likelihood, so that sums of left-out losses are nats."""

    bias: bool = False
    """Whether an unpenalised constant is part of the model."""

    weights: Vector | str | None = None
    """Weights of the rows (n,); ``None`` stands for ones."""

    row_counts: Vector | None = None
    """Number of equal rows that each row stands for (n,); ``None`` stands for ones."""

    @property
    def loss_weights(self) -> Vector | None:
        """Weights of the rows (n,) when their left-out losses are averaged; ``None`` stands for ones."""
        return None if isinstance(self.weights, str) else self.weights

    @property
    def theta(self) -> Vector:
        """Logarithms of the tuned hyper-parameters (``C`` or ``alpha``); empty if nothing is tuned."""
        return np.zeros(0)

    def with_theta(self, theta: Vector) -> Self:
        """Return the machine with other hyper-parameters."""
        return self

    @abstractmethod
    def solve(self, gram: Gram, Y: Matrix, start: Any = None) -> Any:
        """Return the :class:`Solution` for the targets ``Y`` (n, k).

        The columns are k outputs, or k one-versus-rest problems with entries -1 and 1. ``start`` is
        ``solution.start`` of a similar problem.
        """

    def joined_start(self, starts: Sequence[Any], rows: Sequence[NDArray[np.intp]], n: int) -> Any:
        """Return the start of a fit to all n rows, given those of fits to parts of them; None if that helps nothing.

        Parameters
        ----------
        starts : sequence of objects
            ``solution.start`` of each part.
        rows : sequence of arrays
            The rows of each part.
        n : int
        """
        return None

    def unsolved(self, gram: Gram, Y: Matrix) -> Any:
        """Return the problem that ``solve`` would solve, for criteria that need no fit; by default it is solved."""
        return self.solve(gram, Y)

    @property
    def with_search_accuracy(self) -> Self:
        """The machine at the lower accuracy that suffices while searching."""
        return self

    @property
    def for_regularisation_path(self) -> Self:
        """The machine that solves fastest when many values of ``theta`` are tried on one Gram."""
        return self

    def n_joint_functions(self, columns: int) -> int:
        """Return how many functions one linear system holds when ``Y`` has so many columns."""
        return 1

    def n_separate_fits(self, columns: int) -> int:
        """Return how many fits of their own, one after the other, so many columns of ``Y`` take."""
        return 1

    @property
    def fits_columns_together(self) -> bool:
        """Whether large fits to several columns take steps for all of them, and need no start."""
        return False

    @property
    def fits_by_cells(self) -> bool:
        """Whether the machine can be fitted cell by cell; see :mod:`foldless.tuning.cellwise`."""
        return False

    @property
    def smooth_loss(self) -> tuple[Any, float] | None:
        """The loss of a row as a smooth function of its output, and its weight against half the squared norm.

        ``None`` for a machine that is not of this form, and so cannot be fitted as a sum over parts of the rows; see
        :mod:`foldless.tuning.partitioned_fit`.
        """
        return None

    @property
    def fits_on_blocks(self) -> bool:
        """Whether a search may fit the machine to parts of the rows; see :mod:`foldless.tuning.row_blocks`."""
        return True

    def one_class_output(self, n: int) -> float:
        """Return the size of the output for n rows of one class, where nothing else can be learned."""
        return 1.0

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the machine for some of the rows: it keeps their weights and counts, in the order of ``rows``."""
        return self._with_rows(rows, weights=self.weights, row_counts=self.row_counts)

    def _with_rows(self, rows: NDArray[np.intp], **arrays: Any) -> Self:
        """Return the machine with those of the named arrays that are given reduced to ``rows``."""
        given = {
            name: value for name, value in arrays.items() if not (value is None or isinstance(value, str))
        }
        kept = {name: np.asarray(value)[rows] for name, value in given.items()}
        return replace(cast(Any, self), **kept) if kept else self


class Reading:
    """What a criterion read off a solution: a cost, its derivatives, and what else was found on the way.

    Parameters
    ----------
    value : float
        The cost.
    adjoint : array, LinearOperator, callable or None
        Total derivative dvalue/dK, symmetric: an array, or on a low-rank Gram an operator; both understand ``@``, ``+``
        and a scalar ``*``. A function without arguments is called when the derivative is first needed. ``None`` means
        that there is no derivative (a count of errors).
    slope : array, callable or None
        Derivative dvalue/dtheta of the machine, given in one of the same forms.
    parts : mapping, optional
        Named quantities computed along with the value.
    divisor : float, default=1.0
        The cost of one row is the value divided by this: the number of rows for a sum over rows, twice that for minus
        twice a log likelihood, 1 for what is a mean already.
    batches : tuple of (adjoint, slope), optional
        Independent estimates of a sampled derivative; their spread is its standard error.
    posteriors : tuple of callables, optional
        One per column, if the criterion has a posterior: each returns it to all digits.
    """

    def __init__(
        self,
        value: float,
        adjoint: Adjoint | Callable[[], Adjoint | None] | None = None,
        slope: Vector | Callable[[], Vector | None] | None = None,
        parts: Mapping[str, float] | None = None,
        divisor: float = 1.0,
        batches: tuple[tuple[Adjoint, Vector], ...] = (),
        posteriors: tuple[Callable[[], Any], ...] = (),
    ) -> None:
        self.value, self.divisor = value, divisor
        self.posteriors = posteriors
        self.parts = dict(parts or {})
        self.batches = batches
        self._adjoint, self._slope = adjoint, slope

    @classmethod
    def lazy(
        cls,
        value: float,
        derive: Callable[[], tuple[Adjoint | None, Vector | None]],
        parts: Mapping[str, float] | None = None,
        divisor: float = 1.0,
        posteriors: tuple[Callable[[], Any], ...] = (),
    ) -> Reading:
        """Return a reading whose adjoint and slope come from one function, called when either is first needed."""
        both = cache(derive)
        return cls(value, lambda: both()[0], lambda: both()[1], parts, divisor, posteriors=posteriors)

    @cached_property
    def adjoint(self) -> Adjoint | None:
        """Total derivative dvalue/dK."""
        return _known(self._adjoint)

    @cached_property
    def slope(self) -> Vector | None:
        """Derivative in the machine's theta."""
        return _known(self._slope)

    def scaled(self, factor: float) -> Reading:
        """Return the reading of ``factor`` times the criterion; the parts stay as they are."""
        batches = tuple((_times(factor, G), _times(factor, slope)) for G, slope in self.batches)
        return Reading(
            factor * self.value,
            lambda: _times(factor, self.adjoint),
            lambda: _times(factor, self.slope),
            self.parts,
            self.divisor,
            batches,
            self.posteriors,
        )

    def plus(self, cost: float, parts: Mapping[str, float]) -> Reading:
        """Return the reading of the criterion plus a constant, with more parts."""
        return Reading(
            self.value + cost,
            lambda: self.adjoint,
            lambda: self.slope,
            self.parts | dict(parts),
            self.divisor,
            self.batches,
            self.posteriors,
        )

    def per_row(self) -> Reading:
        """Return the cost per row; its part ``total`` is the value before the division.

        A derivative that is computed for it is divided in place, to save memory: use this reading no more.
        """
        return Reading(
            self.value / self.divisor,
            lambda: _divided(self._adjoint, self.divisor),
            lambda: _times(1 / self.divisor, self.slope),
            self.parts | {"total": self.value},
            self.divisor,
            tuple(
                (_times(1 / self.divisor, G), _times(1 / self.divisor, slope)) for G, slope in self.batches
            ),
            self.posteriors,
        )

    @classmethod
    def mean(cls, readings: Sequence[Reading]) -> Reading:
        """Return the mean of several readings: of their values, derivatives and the parts that all of them have."""
        if len(readings) == 1:
            return readings[0]
        names = set.intersection(*(set(r.parts) for r in readings))
        parts = {name: float(np.mean([r.parts[name] for r in readings])) for name in sorted(names)}
        batches = tuple(
            (_mean([G for G, _ in batch]), _mean([slope for _, slope in batch]))
            for batch in zip(*(r.batches for r in readings), strict=True)
        )
        return cls(
            float(np.mean([r.value for r in readings])),
            lambda: _mean(side_by_side([partial(getattr, r, "adjoint") for r in readings])),
            lambda: _mean(side_by_side([partial(getattr, r, "slope") for r in readings])),
            parts,
            readings[0].divisor,
            batches,
            tuple(posterior for r in readings for posterior in r.posteriors),
        )


def _known(derivative: Any) -> Any:
    """Return a derivative that is given, or compute one that is given by a function."""
    given = derivative is None or isinstance(derivative, np.ndarray | LinearOperator)
    return derivative if given else derivative()


def _divided(derivative: Any, divisor: float) -> Any:
    """Return a derivative divided by a number: in place if a function has just computed its array."""
    known = _known(derivative)
    if known is not derivative and isinstance(known, np.ndarray):
        known /= divisor
        return known
    return _times(1 / divisor, known)


def _times(factor: float, derivative: Any) -> Any:
    return derivative if derivative is None or factor == 1 else derivative * factor


def _mean(derivatives: Sequence[Any]) -> Any:
    """Return the mean of arrays or operators; ``None`` if one of them is."""
    if any(each is None for each in derivatives):
        return None
    return reduce(operator.add, derivatives) * (1 / len(derivatives))


@dataclass(frozen=True)
class Evaluation:
    """The objective at one ``theta``; the gradient is computed when it is first read.

    Attributes
    ----------
    value : float
        ``inf`` where the objective is undefined.
    derive : callable, optional
        Returns the gradient, or ``None`` if there is none.
    note : str
        Why the objective is undefined.
    warm_start : object
        Passed to the next evaluation, which begins from it.
    parts : mapping
        Named quantities that the criterion read on the way.
    gradient_error : callable, optional
        Returns the standard errors of a sampled gradient.
    n_rows : int, optional
        Rows that were used.
    """

    value: float
    derive: Callable[[], Vector | None] | None = None
    note: str = ""
    warm_start: Any = None
    parts: Mapping[str, float] = field(default_factory=dict)
    gradient_error: Callable[[], Vector] | None = None
    n_rows: int | None = None

    @cached_property
    def error(self) -> Vector | None:
        """Standard errors of the gradient, or ``None`` where it is exact."""
        return None if self.gradient_error is None else self.gradient_error()

    @cached_property
    def gradient(self) -> Vector | None:
        """The gradient, or ``None`` where there is none."""
        return None if self.derive is None else self.derive()


@dataclass(frozen=True)
class Box:
    """Bounds on ``theta``, both of shape (p,)."""

    low: Vector
    high: Vector

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.low)

    def clip(self, theta: Vector) -> Vector:
        """Return the nearest point inside."""
        return np.clip(theta, self.low, self.high)

    def draw(self, rng: np.random.Generator) -> Vector:
        """Return a uniform draw; it is already a ``theta``."""
        return rng.uniform(self.low, self.high)


# What the steps of a scan are for.
SCAN = "scan"


@dataclass(frozen=True)
class Step:
    """One evaluation of a search.

    Attributes
    ----------
    theta : array of shape (p,)
    value : float
        The objective there; ``inf`` where it is undefined.
    seconds : float
        Time of the evaluation.
    why : str
        What the evaluation was for: ``"start"``, ``"descent"``, ``"grid"``, ... A ``"scan"`` is by another, cheaper machine.
    gradient : array of shape (p,), optional
    note : str
        Why the objective is undefined.
    error : array of shape (p,), optional
        Standard errors of a sampled gradient.
    n_rows : int, optional
        Rows that the evaluation used.
    """

    theta: Vector
    value: float
    seconds: float
    why: str
    gradient: Vector | None = None
    note: str = ""
    error: Vector | None = None
    n_rows: int | None = None

    @property
    def is_scan(self) -> bool:
        """Whether another machine made the evaluation to find starts: its value is not one of the criterion."""
        return self.why == SCAN


class Stop(Enum):
    """Why a search ended; the value is a sentence."""

    CONVERGED = "The search converged."
    EXHAUSTED = "Every candidate was evaluated."
    STALLED = "No step improved the criterion any further."
    BUDGET = "The evaluation budget was spent; the best step so far was kept."
    TIME = "The time budget was spent; the best step so far was kept."
    INTERRUPTED = "The search was interrupted; the best step so far was kept."
    NOISE = "No component of the gradient stands out from its noise."
    SAMPLED = "All draws were taken."
    STEPS = "All steps that the number of rows allows were taken."
    NOTHING = "Nothing was left to tune."

    @property
    def cut_short(self) -> bool:
        """Whether a budget or an interrupt ended the search."""
        return self in (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED)


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    best : Step
    trace : tuple of Step
        Every step, in order.
    stop : Stop
        Why the search ended.
    optima : tuple of Step
        Local optima, best first.
    draws : tuple of Step
        Draws of a search that samples.
    warm_start : object, optional
        Warm start of a fit at the best step. A search with a checkpoint has none: a killed one could not know it.
    """

    best: Step
    trace: tuple[Step, ...]
    stop: Stop
    optima: tuple[Step, ...] = ()
    draws: tuple[Step, ...] = ()
    warm_start: Any = None

    def __repr__(self) -> str:
        return f"Outcome({len(self.trace)} evaluations, best value {self.best.value:.6g}. {self.stop.value})"


Watch = Callable[[Step], None]


class ObjectiveFunction(Protocol):
    """A function from ``theta`` to an :class:`Evaluation`."""

    def __call__(self, theta: Vector, warm_start: Any = None, /) -> Evaluation:
        """Evaluate at ``theta``; ``warm_start`` is that of an evaluation nearby."""


class EvaluatesWithGradient(ABC):
    """An objective that is told when its gradient will be needed, so that it keeps nothing for it otherwise."""

    @abstractmethod
    def with_gradient(self, theta: Vector, warm_start: Any = None) -> Evaluation:
        """Evaluate at ``theta``, with the gradient computed at once."""


class HasScale(ABC):
    """An objective that declares the size with which a change of its value is compared."""

    @property
    @abstractmethod
    def value_scale(self) -> float | None:
        """The size of a large change, such as 1 for nats per row; ``None`` if that is the size of the value itself.

        A value with an arbitrary constant, such as a log density, which depends on the unit of the targets, must have a
        scale: the search would otherwise end too early where the value is large, and never where it is near zero.
        """

    @property
    def in_nats(self) -> bool:
        """Whether values are nats per row, so that a small fraction of a nat means nothing, however small the value is."""
        return False

    @property
    def smallest_scale(self) -> float:
        """The size below which values differ by rounding alone."""
        return 0.0


class HasPrior(ABC):
    """An objective that is minus the logarithm of a posterior density, with a known normal prior."""

    @property
    @abstractmethod
    def nats_per_unit(self) -> float:
        """Nats of the log posterior in one unit of the objective."""

    @abstractmethod
    def prior(self) -> tuple[Vector, Vector]:
        """Return means and standard deviations of the prior of ``theta``; infinite ones stand for no prior."""
