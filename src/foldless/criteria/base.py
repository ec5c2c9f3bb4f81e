"""What a criterion is: a frozen record of options that reads a solution."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Gram, Machine, Matrix, Reading, Vector
from foldless.core.errors import UnreadableSolution
from foldless.core.parallel import side_by_side
from foldless.machines.columnwise import ColumnwiseSolutions

Method = TypeVar("Method", bound=Callable[..., Reading])

AMPLITUDE_BOUNDS = (0.05, 8103.0)

# Every criterion with a name; filled as the classes are made.
BY_NAME: dict[str, type["Criterion"]] = {}


def reads(*kinds: type) -> Callable[[Method], Method]:
    """Mark a method of a criterion as its formula for some types of solution.

    Parameters
    ----------
    kinds : types
        Solutions of these types, and of types derived from them, are read by the method.
    """

    def mark(method: Method) -> Method:
        method.reads = kinds  # type: ignore[attr-defined]
        return method

    return mark


@dataclass(frozen=True)
class Criterion:
    """Base of all criteria.

    A subclass is a frozen dataclass of options. Its methods marked by ``@reads(SomeSolution)`` are its formulas; one with
    a ``name`` joins the table ``BY_NAME``, and can then be asked for by that name everywhere.

    Examples
    --------
    >>> from foldless.criteria import Criterion, reads
    >>> from foldless.machines import Ridge
    >>> from foldless.machines.ridge import RidgeSolution
    >>> @dataclass(frozen=True)
    ... class TrainingError(Criterion):
    ...     @reads(RidgeSolution)
    ...     def _read_ridge(self, solution):
    ...         return Reading(float(solution.rss.mean()) / solution.n)
    >>> from foldless.grams import DenseGram
    >>> round(TrainingError()(Ridge(1.0).solve(DenseGram(np.eye(2)), np.array([[2.0], [4.0]]))).value, 9)
    2.5
    """

    name: ClassVar[str] = ""
    """What it is asked for by, such as ``"loo"``."""

    title: ClassVar[str] = ""
    """What reports and plots call it, such as ``"Leave-one-out loss"``."""

    unit: ClassVar[str] = ""
    """What its value is measured in, such as ``"nats per row"``."""

    value_scale: ClassVar[float | None] = None
    """Size of a large change of the value, with which searches compare gains and gradients: 1 for nats per row.

    ``None`` stands for the size of the value itself: right for losses and fractions, wrong for a value with an arbitrary
    constant.
    """

    may_diverge_in_C: ClassVar[bool] = False
    """Whether its minimum over the regularisation may mean nothing: a minimum at a bound is then warned about."""

    ignores_machine: ClassVar[bool] = False
    """Whether it depends on kernel and targets alone, so that no machine is fitted for it."""

    needs_proper_offset: ClassVar[bool] = False
    """Whether the offset of a support vector machine must be part of the kernel, with a prior, and not free."""

    needs_amplitude: ClassVar[bool] = False
    """Whether C is more than a scale of the kernel for it, so that a kernel given by name gets an amplitude."""

    needs_fit: ClassVar[bool] = True
    """Whether it reads a solution; False if the problem (Gram, labels, C, loss) is enough, so that nothing is solved."""

    may_be_negative: ClassVar[bool] = False
    """Whether a cost that is not in nats can fall below zero, so that it has no logarithm."""

    # Type of solution -> name of the method that reads it.
    _readers: ClassVar[dict[type, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {kind: name for name, method in vars(cls).items() for kind in getattr(method, "reads", ())}
        cls._readers = {**cls._readers, **own}
        if isinstance(vars(cls).get("name"), str):
            BY_NAME[cls.name] = cls

    @property
    def label(self) -> str:
        """Title and unit for axes and tables, such as ``"Leave-one-out loss (loss per row)"``."""
        title = self.title or self.name or type(self).__name__
        return f"{title} ({self.unit})" if self.unit else title

    @property
    def tunes_kernel(self) -> bool:
        """Whether its values for two kernels can be compared, so that it may choose one."""
        return True

    @property
    def reason_against(self) -> str:
        """Why it must not choose a kernel, as part of a sentence; empty if it may."""
        return ""

    def __call__(self, solution: Any) -> Reading:
        """Return the cost of a solution per row; one with several columns gives the mean of their readings."""
        if isinstance(solution, ColumnwiseSolutions) and not self._reader(type(solution)):
            pairs = enumerate(solution.columns)
            return Reading.mean(side_by_side([partial(self.of_column(i), column) for i, column in pairs]))
        return self.read(solution).per_row()

    def of_column(self, i: int) -> Self:
        """Return the criterion for one of several columns of targets; by default itself."""
        return self

    def read(self, solution: Any) -> Reading:
        """Read a solution by the formula for its type, as its paper normalises it."""
        method = self._reader(type(solution))
        if not method:
            raise self.unreadable(solution)
        return getattr(self, method)(solution)

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return the criterion with whatever it estimates once (a noise variance) fixed; by default itself.

        Parameters
        ----------
        machine : Machine
        grams : iterable of Gram
            One per candidate kernel, or the one at the start of a search.
        Y : array of shape (n, k)
        """
        return self

    def in_nats(self, machine: Machine) -> bool:
        """Return whether its values for a machine are nats per row; otherwise only their ratios mean something."""
        return self.unit == "nats per row" or machine.loss_in_nats

    def approximates(self, machine: Machine) -> bool:
        """Return whether its formula for a machine is an approximation that :meth:`corrected` can check."""
        return False

    def corrected(self, solution: Any) -> Self:
        """Return the criterion to go on with where this one misleads at a solution that it chose; itself if it holds."""
        return self

    def with_penalty(
        self, reading: Reading, kernel: Kernel, machine: Machine | None = None
    ) -> tuple[Reading, Vector]:
        """Return a reading plus a cost of the parameters themselves, and the gradient of that cost: none here.

        Parameters
        ----------
        reading : Reading
            Of this criterion, per row.
        kernel : Kernel
            The one behind the reading.
        machine : Machine, optional
            The one behind it, if its own parameters are tuned too.

        Returns
        -------
        reading : Reading
            Its adjoint and slope are those of the criterion alone.
        gradient : array
            Of the cost of the parameters, in ``kernel.theta`` followed by ``machine.theta``.
        """
        # One zero adds to a gradient of any size.
        return reading, np.zeros(1)

    def tied_groups(self, kernel: Kernel) -> list[slice]:
        """Return the groups of parameters, as slices of ``kernel.theta``, whose differences it penalises: none here."""
        return []

    def prior(self, kernel: Kernel, machine: Machine | None = None) -> tuple[Vector, Vector]:
        """Return centres and deviations of normal densities of the parameters; infinite deviations are no density."""
        size = len(kernel.theta) + (0 if machine is None else len(machine.theta))
        return np.zeros(size), np.full(size, np.inf)

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return what one unit is worth in nats of the log likelihood of n rows and k columns; only evidences know."""
        likelihoods = [
            name for name, kind in BY_NAME.items() if kind.nats_per_unit is not Criterion.nats_per_unit
        ]
        raise ValueError(
            f"{self.name} is no likelihood, so that there is no posterior to draw from. "
            f"Use one of {', '.join(likelihoods)}."
        )

    def check_choice(self, kernels: Sequence[Kernel]) -> None:
        """Raise if this criterion would have to choose among kernels, or their parameters, and must not."""
        if not self.tunes_kernel and (len(kernels) > 1 or any(len(kernel.theta) for kernel in kernels)):
            raise ValueError(
                f"{self.name} must not choose a kernel: {self.reason_against}. Give one kernel with fixed parameters, for "
                "instance RBF(2.0, 'fixed'), or choose it by another criterion such as 'loo'."
            )

    def amplitude_bounds(self, loss_power: int) -> tuple[float, float]:
        """Return the range of an amplitude that is tuned by it.

        Parameters
        ----------
        loss_power : {1, 2}
            Of the support vector machine: 1 for the hinge loss, 2 for the squared hinge.
        """
        return AMPLITUDE_BOUNDS

    def warning_for(self, solution: Any) -> str:
        """Return what to warn about when the kernel behind ``solution`` was chosen by this criterion, or ''."""
        return ""

    @classmethod
    def readable(cls) -> tuple[type, ...]:
        """Return the types of solution that the criterion has a formula for."""
        return tuple(cls._readers)

    @classmethod
    def _reader(cls, kind: type) -> str:
        """Return the name of the method for a type: of its nearest base class, or of a type it looks like; else ''."""
        exact = (cls._readers[base] for base in kind.__mro__ if base in cls._readers)
        alike = (method for other, method in cls._readers.items() if issubclass(kind, other))
        return next(exact, None) or next(alike, "")

    def unreadable(self, solution: Any) -> UnreadableSolution:
        """Return the error that lists the alternatives."""
        kind = type(solution)
        alternatives = [name for name, other in BY_NAME.items() if other._reader(kind)]
        return UnreadableSolution(
            self.name, kind.__name__, [k.__name__ for k in self.readable()], alternatives
        )
