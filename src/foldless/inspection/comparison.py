r"""The table of a comparison: its tests, its text, its figures.

The t test is corrected for the overlap of the splits [1]_: with d the differences over R repeats, of n rows m held out,

.. math:: t = \frac{\bar d}{\sqrt{(1/R + m / (n - m))\, s_d^2}}, \qquad R - 1 \text{ degrees of freedom}.  \tag{1}

The critical difference of mean ranks over k pairs is Nemenyi's [2]_, :math:`q_{0.05} \sqrt{k (k + 1) / (6 R)}`.

References
----------
.. [1] Nadeau and Bengio (2003), *Inference for the generalization error*, Machine Learning 52, (12).
.. [2] Demšar (2006), *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, section 3.2.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from foldless.core.contracts import Matrix, Vector
from foldless.core.memo import cached_property
from foldless.core.optional_imports import import_extra
from foldless.inspection.axes import get_axes

SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Row:
    """One machine tuned by one criterion.

    Attributes
    ----------
    machine, criterion : str
    errors, values, seconds : arrays of shape (repeats,)
        Held-out error (fraction of wrong classes, or root mean squared error), criterion, and time to tune and fit;
        ``nan`` where a repeat failed.
    chosen : dict from str to array
        The parameters chosen in each repeat.
    note : str
        Why repeats failed.
    title, unit : str
        Title of the criterion, and the unit of its values.
    """

    machine: str
    criterion: str
    errors: Vector
    values: Vector
    seconds: Vector
    chosen: Mapping[str, Vector]
    note: str = ""
    title: str = ""
    unit: str = ""

    @property
    def name(self) -> str:
        """Machine and criterion, with a space between."""
        return f"{self.machine} {self.criterion}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; ``print`` it for a table.

    Attributes
    ----------
    rows : tuple of Row
    ratio : float
        Rows held out over rows trained on, for the corrected t test.
    """

    rows: tuple[Row, ...]
    ratio: float

    @cached_property
    def errors(self) -> Matrix:
        """Held-out errors, (repeats, rows)."""
        return np.column_stack([row.errors for row in self.rows])

    @cached_property
    def ranks(self) -> Vector:
        """Mean rank of each row over the repeats; 1 is best, a failed repeat is last."""
        return np.mean([stats.rankdata(np.where(np.isnan(e), np.inf, e)) for e in self.errors], axis=0)

    @property
    def best(self) -> int:
        """Number of the row with the lowest mean error."""
        means = np.mean(self.errors, axis=0)
        return int(np.nanargmin(means)) if np.any(np.isfinite(means)) else 0

    @property
    def critical_difference(self) -> float:
        """Smallest difference of mean ranks that is significant at the level 0.05."""
        k, repeats = len(self.rows), len(self.errors)
        q = stats.studentized_range.ppf(1 - SIGNIFICANCE_LEVEL, max(k, 2), np.inf) / np.sqrt(2)
        return float(q * np.sqrt(k * (k + 1) / (6 * repeats)))

    def against(self, reference: int | None = None) -> tuple[Vector, Vector]:
        """Return p values of the corrected t test (1) and of Wilcoxon's test against one row, by default the best."""
        d = self.errors - self.errors[:, [self.best if reference is None else reference]]
        return np.array([corrected_t(x, self.ratio) for x in d.T]), np.array([wilcoxon(x) for x in d.T])

    def to_frame(self) -> Any:
        """Return a ``pandas.DataFrame``, one line per row, best first."""
        return import_extra("pandas").DataFrame(self.sorted_lines())

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary per row, in the order of the rows."""
        t, w = self.against()
        for i, row in enumerate(self.rows):
            yield {
                "machine": row.machine,
                "criterion": row.criterion,
                "title": row.title,
                **{name: _median(column) for name, column in row.chosen.items()},
                "value": _mean(row.values),
                "unit": row.unit,
                "error": float(np.mean(row.errors)),
                "sd": float(np.std(row.errors, ddof=1)) if len(row.errors) > 1 else np.nan,
                "rank": float(self.ranks[i]),
                "p_t": float(t[i]),
                "p_wilcoxon": float(w[i]),
                "seconds": _mean(row.seconds),
                "note": row.note,
            }

    def sorted_lines(self) -> list[dict[str, Any]]:
        """Return the dictionaries of :meth:`lines`, lowest error first, failures last."""
        return sorted(self.lines(), key=lambda line: (np.isnan(line["error"]), line["error"]))

    def __str__(self) -> str:
        lines = self.sorted_lines()
        names = dict.fromkeys(name for line in lines for name in line)
        columns = [name for name in names if name not in ("note", "title")]
        cells = [columns, *([_cell(line.get(name, np.nan)) for name in columns] for line in lines)]
        foot = (
            f"{len(self.errors)} repeats; p values against the first line; "
            f"critical difference of ranks {self.critical_difference:.2f}"
        )
        failed = [f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"]]
        return "\n".join([_aligned(cells), foot, *failed])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(index=False, float_format="%.4g")

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean errors with their standard deviations; return the axes."""
        ax = get_axes(ax, self._figsize)
        order = np.argsort(np.nan_to_num(self.errors.mean(axis=0), nan=np.inf))[::-1]
        means, deviations = self.errors.mean(axis=0)[order], self.errors.std(axis=0, ddof=1)[order]
        ax.errorbar(means, range(len(order)), xerr=deviations, fmt="o", capsize=3)
        ax.set_yticks(range(len(order)), [self.rows[i].name for i in order])
        ax.set_xlabel("held-out error (mean and standard deviation)")
        return ax

    def plot_ranks(self, ax: Any = None) -> Any:
        """Draw mean ranks with bars that join rows within the critical difference; return the axes."""
        ax = get_axes(ax, self._figsize)
        order = np.argsort(self.ranks, kind="stable")
        ranks, rows = self.ranks[order], np.arange(len(order))
        ax.plot(ranks, rows, "o")
        for k, (i, j) in enumerate(cliques(ranks, self.critical_difference)):
            x = ranks[-1] + 0.06 * (k + 1) * max(np.ptp(ranks), 1.0)
            ax.plot([x, x], [i - 0.25, j + 0.25], lw=4, color="0.5", solid_capstyle="butt")
        ax.errorbar(ranks[0], -0.8, xerr=[[0], [self.critical_difference]], color="k", capsize=3)
        ax.set_yticks(rows, [self.rows[i].name for i in order])
        ax.set_ylim(len(order) - 0.5, -1.3)
        ax.set_xlabel("mean rank (black: critical difference)")
        return ax

    @property
    def _figsize(self) -> tuple[float, float]:
        return 7, 1.2 + 0.32 * len(self.rows)


def corrected_t(d: Vector, ratio: float) -> float:
    """Return the two-sided p value of (1) for differences ``d``; 1 if all of them are zero."""
    if np.any(np.isnan(d)) or len(d) < 2:
        return np.nan
    scale = np.std(d, ddof=1) * np.sqrt(1 / len(d) + ratio)
    if scale == 0:
        return 1.0 if np.mean(d) == 0 else 0.0
    return float(2 * stats.t.sf(abs(np.mean(d) / scale), len(d) - 1))


def wilcoxon(d: Vector) -> float:
    """Return the p value of Wilcoxon's signed-rank test; 1 if all differences are zero."""
    if np.any(np.isnan(d)):
        return np.nan
    return 1.0 if np.all(d == 0) else float(stats.wilcoxon(d).pvalue)


def cliques(ranks: ArrayLike, difference: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of increasing ``ranks`` that lie within ``difference``.

    Examples
    --------
    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    ranks, found, covered = np.asarray(ranks), [], -1
    for i, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + difference, side="right")) - 1
        if last > max(i, covered):
            found.append((i, last))
            covered = last
    return found


def _median(column: Vector) -> float:
    return float(np.nanmedian(column)) if np.any(np.isfinite(column)) else np.nan


def _mean(column: Vector) -> float:
    return float(np.nanmean(column)) if np.any(np.isfinite(column)) else np.nan


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.4g}"


def _aligned(cells: Sequence[Sequence[str]]) -> str:
    """Return lines of text whose columns end below each other."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in cells)
