r"""The table of a comparison: its tests, its text, its pictures.

The t test is the one corrected for splits that overlap [1]_: with d the differences of R repeats, of n rows m held out,

.. math:: t = \frac{\bar d}{\sqrt{(1/R + m / (n - m))\, s_d^2}}, \qquad R - 1 \text{ degrees of freedom}.  \tag{1}

The critical difference of mean ranks over k pairs is Nemenyi's [2]_, :math:`q_{0.05} \sqrt{k (k + 1) / (6 R)}`.

References
----------
.. [1] Nadeau and Bengio (2003), *Inference for the generalization error*, Machine Learning 52, (12).
.. [2] Demšar (2006), *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, section 3.2.2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from foldless.core.optional_imports import import_extra

LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Row:
    """One machine tuned by one criterion.

    Attributes
    ----------
    machine, criterion : str
    errors, values, seconds : arrays of shape (repeats,)
        Held-out error (share of wrong classes, or root mean squared error), criterion, and time to tune and fit;
        ``nan`` where a repeat failed.
    chosen : dict from str to array
        The parameters chosen in each repeat.
    note : str
        Why repeats failed.
    """

    machine: str
    criterion: str
    errors: np.ndarray
    values: np.ndarray
    seconds: np.ndarray
    chosen: dict
    note: str = ""

    @property
    def name(self):
        """Machine and criterion in a word."""
        return f"{self.machine} {self.criterion}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`compare` found; ``print`` it.

    Attributes
    ----------
    rows : tuple of Row
    ratio : float
        Rows held out over rows trained on, for the corrected t test.
    """

    rows: tuple[Row, ...]
    ratio: float

    @cached_property
    def errors(self):
        """Held-out errors, (repeats, rows)."""
        return np.column_stack([row.errors for row in self.rows])

    @cached_property
    def ranks(self):
        """Mean rank of each row over the repeats; 1 is best, a failed repeat is last."""
        return np.mean([stats.rankdata(np.where(np.isnan(e), np.inf, e)) for e in self.errors], axis=0)

    @property
    def best(self):
        """Number of the row with the lowest mean error."""
        means = np.mean(self.errors, axis=0)
        return int(np.nanargmin(means)) if np.any(np.isfinite(means)) else 0

    @property
    def critical_difference(self):
        """Difference of mean ranks that matters at the level 0.05."""
        k, repeats = len(self.rows), len(self.errors)
        q = stats.studentized_range.ppf(1 - LEVEL, max(k, 2), np.inf) / np.sqrt(2)
        return float(q * np.sqrt(k * (k + 1) / (6 * repeats)))

    def against(self, reference=None):
        """Return p values of the corrected t test (1) and of Wilcoxon's test against one row, by default the best."""
        d = self.errors - self.errors[:, [self.best if reference is None else reference]]
        return np.array([corrected_t(x, self.ratio) for x in d.T]), np.array([wilcoxon(x) for x in d.T])

    def to_frame(self):
        """Return a ``pandas.DataFrame``, one line per row, best first."""
        return (
            import_extra("pandas", "test")
            .DataFrame(self.lines())
            .sort_values("error", kind="stable", ignore_index=True)
        )

    def lines(self):
        """Yield one dictionary per row, in the order of the rows."""
        t, w = self.against()
        for i, row in enumerate(self.rows):
            yield {
                "machine": row.machine,
                "criterion": row.criterion,
                **{name: _median(column) for name, column in row.chosen.items()},
                "value": _mean(row.values),
                "error": float(np.mean(row.errors)),
                "sd": float(np.std(row.errors, ddof=1)) if len(row.errors) > 1 else np.nan,
                "rank": float(self.ranks[i]),
                "p_t": float(t[i]),
                "p_wilcoxon": float(w[i]),
                "seconds": _mean(row.seconds),
                "note": row.note,
            }

    def __str__(self):
        lines = sorted(self.lines(), key=lambda line: (np.isnan(line["error"]), line["error"]))
        columns = [name for name in dict.fromkeys(n for line in lines for n in line) if name != "note"]
        table = [columns, *[[_cell(line.get(name, np.nan)) for name in columns] for line in lines]]
        widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
        text = "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in table)
        failed = [f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"]]
        foot = f"{len(self.errors)} repeats; p values against the first line; critical difference of ranks "
        return "\n".join([text, foot + f"{self.critical_difference:.2f}", *failed])

    __repr__ = __str__

    def _repr_html_(self):
        return self.to_frame().to_html(index=False, float_format="%.4g")

    def plot(self, ax=None):
        """Draw the mean errors with their standard deviations; return the axes."""
        ax = _axes(ax, len(self.rows))
        order = np.argsort(np.nan_to_num(self.errors.mean(axis=0), nan=np.inf))[::-1]
        means, spread = self.errors.mean(axis=0)[order], self.errors.std(axis=0, ddof=1)[order]
        ax.errorbar(means, range(len(order)), xerr=spread, fmt="o", capsize=3)
        ax.set_yticks(range(len(order)), [self.rows[i].name for i in order])
        ax.set_xlabel("held-out error (mean and standard deviation)")
        return ax

    def plot_ranks(self, ax=None):
        """Draw the critical-difference picture: mean ranks, rows that do not differ joined by bars; return the axes."""
        ax = _axes(ax, len(self.rows))
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


def corrected_t(d, ratio):
    """Return the two-sided p value of (1) for differences ``d``; 1 where they are all equal to zero."""
    if np.any(np.isnan(d)) or len(d) < 2:
        return np.nan
    spread = np.std(d, ddof=1) * np.sqrt(1 / len(d) + ratio)
    if spread == 0:
        return 1.0 if np.mean(d) == 0 else 0.0
    return float(2 * stats.t.sf(abs(np.mean(d) / spread), len(d) - 1))


def wilcoxon(d):
    """Return the p value of Wilcoxon's signed-rank test; 1 where all differences are zero."""
    if np.any(np.isnan(d)):
        return np.nan
    return 1.0 if np.all(d == 0) else float(stats.wilcoxon(d).pvalue)


def cliques(ranks, difference):
    """Return pairs (first, last) of increasing ``ranks`` that lie within ``difference``, each as long as can be.

    Examples
    --------
    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found, reach = [], -1
    for i, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + difference, side="right")) - 1
        if last > max(i, reach):
            found.append((i, last))
            reach = last
    return found


def _axes(ax, rows):
    if ax is not None:
        return ax
    plt = import_extra("matplotlib.pyplot", "report")
    return plt.subplots(figsize=(7, 1.2 + 0.32 * rows), layout="constrained")[1]


def _median(column):
    return float(np.nanmedian(column)) if np.any(np.isfinite(column)) else np.nan


def _mean(column):
    return float(np.nanmean(column)) if np.any(np.isfinite(column)) else np.nan


def _cell(value):
    return value if isinstance(value, str) else "" if np.isnan(value) else f"{value:.4g}"
