r"""Machines and criteria side by side on one data set.

Every pair tunes and fits on the same random splits and is judged on the rows held out. The t test is the one
corrected for splits that overlap [1]_: with d the differences of R repeats, of n rows m held out,

.. math:: t = \frac{\bar d}{\sqrt{(1/R + m / (n - m))\, s_d^2}}, \qquad R - 1 \text{ degrees of freedom}.  \tag{1}

The critical difference of mean ranks over k pairs is Nemenyi's [2]_, :math:`q_{0.05} \sqrt{k (k + 1) / (6 R)}`.

References
----------
.. [1] Nadeau and Bengio (2003), *Inference for the generalization error*, Machine Learning 52, (12).
.. [2] Demšar (2006), *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, section 3.2.2.
"""

import time
import warnings
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import type_of_target

from foldless import criteria as known_criteria
from foldless.errors import FoldlessError, FoldlessWarning, UnknownName
from foldless.estimators import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.extras import need
from foldless.jobs import side_by_side

MACHINES = {  # short names, in the order of the table
    "logistic": KernelLogisticRegression,
    "svc": KernelSVC,
    "lssvc": KernelLSSVC,
    "ridge": KernelRidgeRegressor,
    "subset": KernelSubsetRegressor,
}
# What "all" leaves out: refits and samples, for their time, and a count that is no cost. Named, they are done.
APART = ("cv", "evidence-hmc", "effective-parameters")
TRIAL = 40  # rows that tell which criteria a machine can read
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


def compare(
    X,
    y,
    machines="auto",
    criteria="all",
    *,
    holdout=0.3,
    repeats=10,
    scale=True,
    task="auto",
    random_state=0,
    n_jobs=None,
    **options,
):
    """Tune every machine by every criterion and judge them on rows held out.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Class labels or numbers; which, is recognised.
    machines : "auto", str, list of str, or dict from names to estimators, default="auto"
        ``"auto"`` is every machine for the task: ``"logistic"``, ``"svc"``, ``"lssvc"`` or ``"ridge"``, ``"subset"``.
    criteria : "all", or one or a list of names or criteria, default="all"
        ``"all"`` is every criterion that a machine can be tuned by, without ``"cv"`` and ``"evidence-hmc"``, which
        take their time, and ``"effective-parameters"``, which is no cost. Those a machine cannot read are left out.
    holdout : float, default=0.3
        Share of the rows held out in each repeat.
    repeats : int, default=10
        Number of random splits, the same for all pairs; stratified for classes.
    scale : bool, default=True
        Whether features are brought to mean 0 and variance 1 on the training rows.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether ``y`` holds classes or numbers, where it cannot be recognised: whole numbers look like classes.
    random_state : int, default=0
        Seed of the splits.
    n_jobs : int, optional
        Repeats side by side with one BLAS thread each; the times then include waiting for each other.
    **options
        Passed to all estimators: ``kernel``, ``search``, ``gram``, ``max_evaluations``, ...

    Returns
    -------
    comparison : Comparison
        It prints itself; ``to_frame()`` gives a data frame.

    Examples
    --------
    >>> from foldless import compare
    >>> from foldless.datasets import make_ripley
    >>> result = compare(*make_ripley(60, random_state=0), ["logistic"], ["loo", "evidence"], repeats=2)
    >>> [row.name for row in result.rows]
    ['logistic loo', 'logistic evidence']
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    classes = task == "classification" if task != "auto" else not type_of_target(y).startswith("continuous")
    pairs = [
        (name, as_name(criterion), _configured(machine, criterion, scale))
        for name, machine in _machines(machines, classes, options).items()
        for criterion in readable(machine, X, y, criteria, classes)
    ]
    if not pairs:
        raise ValueError("none of the machines can be tuned by any of the criteria that were named.")
    splits = [_split(X, y, holdout, random_state + r, classes) for r in range(repeats)]
    tasks = [partial(_judge, estimator, *split) for split in splits for *_, estimator in pairs]
    found = side_by_side(tasks, n_jobs)
    rows = tuple(_row(*pair[:2], found[i :: len(pairs)]) for i, pair in enumerate(pairs))
    return Comparison(rows, len(splits[0][1]) / len(splits[0][0]))


def as_name(criterion):
    """Return the name of a criterion or of a name."""
    return getattr(criterion, "name", criterion)


def _several(given):
    """Return a list of what was given as one or as several."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _machines(machines, classes, options):
    if isinstance(machines, dict):
        return machines
    fitting = {name: kind for name, kind in MACHINES.items() if is_classifier(kind()) == classes}
    names = list(fitting) if isinstance(machines, str) and machines == "auto" else _several(machines)
    for name in names:
        if name not in fitting:
            task = "classification" if classes else "regression"
            raise UnknownName(f"machines (for {task})", name, fitting)
    return {name: fitting[name](**options) for name in names}


def readable(machine, X, y, criteria, classes):
    """Return those of the criteria that can tune ``machine``, found out on a few rows."""
    named = not (isinstance(criteria, str) and criteria == "all")
    wanted = _several(criteria) if named else [n for n in known_criteria.BY_NAME if n not in APART]
    for criterion in wanted:
        if isinstance(criterion, str) and criterion not in known_criteria.BY_NAME:
            raise UnknownName("criterion", criterion, known_criteria.BY_NAME)
    small = train_test_split(
        X, y, train_size=min(len(y) // 2, TRIAL), random_state=0, stratify=y if classes else None
    )
    return [criterion for criterion in wanted if _tunes(criterion, machine, small[0], small[2])]


def _tunes(criterion, machine, X, y):
    estimator = clone(machine).set_params(criterion=criterion, max_evaluations=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            estimator.fit(X, y)
    except (ArithmeticError, np.linalg.LinAlgError):
        return True  # undefined on these few rows: no reason to leave it out
    except (TypeError, ValueError):
        return False
    return True


def _configured(machine, criterion, scale):
    estimator = clone(machine).set_params(criterion=criterion)
    return make_pipeline(StandardScaler() if scale else "passthrough", estimator)


def _split(X, y, holdout, seed, classes):
    parts = train_test_split(
        np.arange(len(y)), test_size=holdout, random_state=seed, stratify=y if classes else None
    )
    return X, y, *parts


def _judge(estimator, X, y, train, test):
    """Return error, criterion, seconds, chosen parameters and a note of one fit."""
    begun = time.perf_counter()
    model = clone(estimator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldlessWarning)
            model.fit(X[train], y[train])
    except FoldlessError as error:
        return np.nan, np.nan, time.perf_counter() - begun, {}, str(error)
    seconds = time.perf_counter() - begun
    wrong = model.predict(X[test])
    error = np.mean(wrong != y[test]) if is_classifier(model) else np.sqrt(np.mean((wrong - y[test]) ** 2))
    return float(error), model[-1].criterion_value_, seconds, _chosen(model[-1]), ""


def _chosen(estimator):
    """Return the regularisation and, of an isotropic kernel, the length scale."""
    letter = "C" if hasattr(estimator, "C_") else "alpha"
    found = {letter: getattr(estimator, f"{letter}_", np.nan)}
    scales = [
        v for n, v in estimator.kernel_.get_params().items() if n.endswith("length_scale") and np.ndim(v) == 0
    ]
    return found | ({"length_scale": float(scales[0])} if scales else {})


def _row(machine, criterion, found):
    errors, values, seconds, chosen, notes = zip(*found, strict=True)
    names = sorted({name for one in chosen for name in one})
    columns = {name: np.array([one.get(name, np.nan) for one in chosen], dtype=float) for name in names}
    note = next((note for note in notes if note), "")
    return Row(machine, criterion, np.array(errors), np.array(values), np.array(seconds), columns, note)


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
            need("pandas", "test")
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
    plt = need("matplotlib.pyplot", "report")
    return plt.subplots(figsize=(7, 1.2 + 0.32 * rows), layout="constrained")[1]


def _median(column):
    return float(np.nanmedian(column)) if np.any(np.isfinite(column)) else np.nan


def _mean(column):
    return float(np.nanmean(column)) if np.any(np.isfinite(column)) else np.nan


def _cell(value):
    return value if isinstance(value, str) else "" if np.isnan(value) else f"{value:.4g}"
