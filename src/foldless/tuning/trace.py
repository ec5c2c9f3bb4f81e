"""The evaluations of a search as a table."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from foldless.core.contracts import SCAN, Machine, Matrix, Step, Vector
from foldless.core.optional_imports import import_extra
from foldless.core.printed import html_table, text_table

# Rows that are shown at the beginning and at the end of a long table.
SHOWN_ROWS_PER_END = 3


class Trace(Sequence[Step]):
    """Every evaluation of a search, in order: a sequence of :class:`Step`, stored as columns.

    Parameters
    ----------
    steps : iterable of Step
    names : sequence of str
        A name for every entry of ``theta``.

    Examples
    --------
    >>> steps = [
    ...     Step(np.log([2.0, 10.0]), 0.5, 0.1, "start"),
    ...     Step(np.log([1.0, 10.0]), 0.25, 0.1, "descent"),
    ... ]
    >>> trace = Trace(steps, ["length_scale", "C"])
    >>> trace
    2 evaluations, best value 0.25
    length_scale  C   value  seconds  why
    2             10  0.5    0.1      start
    1             10  0.25   0.1      descent
    >>> trace[1].value
    0.25
    """

    def __init__(self, steps: Iterable[Step], names: Sequence[str] = ()) -> None:
        steps = tuple(steps)
        size = max([len(names), *(len(step.theta) for step in steps)])
        self.names = [*names, *(f"theta[{i}]" for i in range(len(names), size))]
        self._theta = _padded([step.theta for step in steps], size)
        self._gradient = _padded([step.gradient for step in steps], size)
        self._error = _padded([step.error for step in steps], size)
        self._value = np.array([step.value for step in steps], dtype=float)
        self._seconds = np.array([step.seconds for step in steps], dtype=float)
        self._n_rows = np.array([-1 if step.n_rows is None else step.n_rows for step in steps], dtype=int)
        self._why = np.array([step.why for step in steps], dtype=str)
        self._note = np.array([step.note for step in steps], dtype=str)

    def __len__(self) -> int:
        return len(self._value)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> list[Step]: ...
    def __getitem__(self, place: int | slice) -> Step | list[Step]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        theta = self._theta[place]
        size = int(np.count_nonzero(~np.isnan(theta)))
        return Step(
            theta[:size],
            float(self._value[place]),
            float(self._seconds[place]),
            str(self._why[place]),
            _present(self._gradient[place], size),
            str(self._note[place]),
            _present(self._error[place], size),
            None if self._n_rows[place] < 0 else int(self._n_rows[place]),
        )

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name; parameters have their natural values, not logarithms."""
        columns: dict[str, NDArray[Any]] = dict(zip(self.names, np.exp(self._theta).T, strict=True))
        columns |= {"value": self._value, "seconds": self._seconds, "why": self._why}
        if np.any(self._n_rows >= 0):
            columns["n_rows"] = self._n_rows
        return columns | ({"note": self._note} if np.any(self._note != "") else {})

    def to_frame(self) -> Any:
        """Return a ``pandas.DataFrame``, one row per evaluation, with natural values of the parameters."""
        return import_extra("pandas").DataFrame(self.to_dict())

    @property
    def _summary(self) -> str:
        own = self._value[self._why != SCAN]
        best = f", best value {np.min(own):.6g}" if len(own) else ""
        return f"{len(self)} evaluations{best}"

    def _shown_rows(self) -> tuple[list[str], list[list[object]]]:
        """Return names and rows of the table, without the middle of a long one."""
        columns = self.to_dict()
        rows: list[list[object]] = [
            list(row) for row in zip(*(column.tolist() for column in columns.values()))
        ]
        if len(rows) > 2 * SHOWN_ROWS_PER_END + 1:
            rows[SHOWN_ROWS_PER_END:-SHOWN_ROWS_PER_END] = [["..."] * len(columns)]
        return list(columns), rows

    def __repr__(self) -> str:
        return f"{self._summary}\n{text_table(*self._shown_rows())}"

    def _repr_html_(self) -> str:
        return html_table(self._summary, *self._shown_rows())


def parameter_names(kernel: Kernel, machine: Machine | None = None) -> list[str]:
    """Return a name for every entry of ``theta``: the free parameters of the kernel, then those of a tuned machine.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> parameter_names(RBF([1.0, 2.0]))
    ['length_scale[0]', 'length_scale[1]']
    """
    free = [h for h in kernel.hyperparameters if not h.fixed]
    own = [name for h in free for name in _names(h)]
    return own if machine is None else own + [regularisation_name(machine)] * len(machine.theta)


def regularisation_name(machine: Machine) -> str:
    """Return the name of a machine's own parameter: C if the fit gets closer as it grows, else alpha."""
    return "C" if machine.sign > 0 else "alpha"


def _names(hyperparameter: Hyperparameter) -> list[str]:
    name = hyperparameter.name.rpartition("__")[2]
    count = hyperparameter.n_elements
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


def _padded(rows: Sequence[Vector | None], size: int) -> Matrix:
    """Return vectors as the rows of a matrix, with NaN in place of what is missing."""
    found = np.full((len(rows), size), np.nan)
    for line, row in zip(found, rows, strict=True):
        if row is not None:
            line[: len(row)] = row
    return found


def _present(row: Vector, size: int) -> Vector | None:
    """Return the first ``size`` entries; ``None`` if all of them are missing."""
    return None if np.all(np.isnan(row[:size])) else row[:size]
