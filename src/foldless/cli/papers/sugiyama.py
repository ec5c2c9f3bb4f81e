r"""Tables 2 and 3 of Sugiyama and Müller (2002): the ridge parameter chosen by SIC, leave-one-out and ABIC.

The setting is the paper's: Gaussian kernel of width 1, ridge regression with the penalty I and no intercept, SIC by (22)
with the noise variance (12) of the same ridge parameter. Table 2: the learning target of section 6.1.1, test error at
1000 new points, :math:`\lambda = 10^{-3}, 10^{-2.5}, \dots, 10^3`. Table 3: inputs and output scaled to [0, 1] over all
rows, 100 rows to train, the others to test, :math:`\lambda = 10^{-3}, 10^{-2}, \dots, 10^3`; ``wide`` adds the same with
:math:`10^{-9}, \dots, 10^3`.

Beside the paper's methods stand SIC with one noise variance for all ridge parameters, the stabilised SIC, and C_L.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.stats import ttest_ind, wilcoxon
from sklearn.gaussian_process.kernels import RBF

from foldless.core.errors import Undefined
from foldless.criteria import ABIC, LOO, SIC, Mallows
from foldless.datasets import make_sinc, sinc_target
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import Ridge

KERNEL = RBF(1.0, "fixed")
METHODS = {
    "SIC": SIC("e", "per-model"),
    "CV": LOO(),
    "ABIC": ABIC(),
    "SIC, fixed noise": SIC("e", "ml"),
    "SIC gamma": SIC("gamma", "ml"),
    "C_L": Mallows("ml"),
}
GRIDS = {
    "half decades": np.logspace(-3, 3, 13),
    "decades": np.logspace(-3, 3, 7),
    "wide": np.logspace(-9, 3, 13),
}
TEST_POINTS, TRAINING_ROWS = 1000, 100
CASES = {
    "n=100 s2=.01": (100, 0.01),
    "n=50 s2=.01": (50, 0.01),
    "n=100 s2=.09": (100, 0.09),
    "n=50 s2=.09": (50, 0.09),
}
SETS = {
    "Abalone": "abalone",
    "Boston": "boston_housing",
    "Bank-8fm": "delve_bank8fm",
    "Bank-8fh": "delve_bank8fh",
    "Kin-8fm": "delve_kin8fm",
    "Kin-8nm": "delve_kin8nm",
    "Kin-8fh": "delve_kin8fh",
}
COLUMNS = 4  # boxes side by side in a figure
PAIRS = ("t SIC-CV", "W SIC-CV", "t SIC-ABIC", "W SIC-ABIC")
NAN = np.nan  # an exponent that our copy of the paper has lost
PAPER = {  # p-values in the order of PAIRS
    "n=100 s2=.01": (7.45e-1, 2.74e-1, NAN, 5.78e-1),
    "n=50 s2=.01": (9.97e-1, 7.31e-1, 1.64e-1, 4.95e-4),
    "n=100 s2=.09": (8.04e-1, 1.66e-1, NAN, 6.96e-12),
    "n=50 s2=.09": (8.50e-1, 2.85e-1, NAN, NAN),
    "Abalone": (1.97e-1, 9.48e-6, 2.14e-4, 2.62e-16),
    "Boston": (NAN, 2.52e-8, 2.33e-3, NAN),
    "Bank-8fm": (NAN, 1.15e-11, 2.13e-23, 2.53e-14),
    "Bank-8fh": (4.34e-1, 1.07e-1, 2.29e-1, 2.98e-1),
    "Kin-8fm": (7.94e-3, 6.10e-5, NAN, NAN),
    "Kin-8nm": (NAN, 1.61e-8, NAN, 5.97e-17),
    "Kin-8fh": (4.26e-4, 4.87e-5, 5.53e-32, 2.63e-17),
}


@dataclass(frozen=True)
class Row:
    """One case and one quantity: ours and the paper's (NaN where it prints none)."""

    case: str
    quantity: str
    ours: float
    paper: float = NAN


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a paper, ours beside theirs; it prints itself. ``errors[case][method]`` has one entry per trial."""

    name: str
    title: str
    rows: tuple[Row, ...]
    errors: dict = field(default_factory=dict)
    edges: dict = field(default_factory=dict)  # case -> method -> fraction of trials at the smallest lambda
    beside: tuple = ()  # the same with other grids

    def __str__(self):
        own = [f"{self.name}: {self.title}", self._errors(), self._tests(), self._edges()]
        return "\n\n".join([*own, *map(str, self.beside)])

    def draw(self, path):
        """Save its box plots, and beside them as ``name-2`` those of the tables beside it; return the paths."""
        paths = [
            Path(path),
            *(Path(path).with_stem(f"{Path(path).stem}-{i}") for i in range(2, 2 + len(self.beside))),
        ]
        for table, each in zip((self, *self.beside), paths, strict=True):
            draw_boxes(table, each)
        return paths

    def _errors(self):
        methods = list(next(iter(self.errors.values())))
        lines = [
            f"| {case} | " + " | ".join(f"{1e3 * e[m].mean():.3g}" for m in methods) + " |"
            for case, e in self.errors.items()
        ]
        return "\n".join(["Mean test error x 1000", "", *_head(["case", *methods]), *lines])

    def _tests(self):
        cells = {(r.case, r.quantity): r for r in self.rows}
        lines = [
            f"| {case} | " + " | ".join(_pair(cells[case, q]) for q in PAIRS) + " |" for case in self.errors
        ]
        return "\n".join(["p-values, ours (the paper's)", "", *_head(["case", *PAIRS]), *lines])

    def _edges(self):
        methods = list(next(iter(self.edges.values())))
        lines = [
            f"| {case} | " + " | ".join(f"{100 * e[m]:.0f}" for m in methods) + " |"
            for case, e in self.edges.items()
        ]
        return "\n".join(
            ["Trials at the smallest lambda of the grid, %", "", *_head(["case", *methods]), *lines]
        )


def _head(names):
    return ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]


def _pair(row):
    return f"{row.ours:.2g}" + ("" if np.isnan(row.paper) else f" ({row.paper:.3g})")


def table_2(data=None, splits=100, cases=None, grid="half decades", seed=0, watch=None, target=sinc_target):
    """Sinc target: four combinations of sample size and noise.

    Parameters
    ----------
    data : path, optional
        Not used: the data are drawn.
    splits : int
        Trials.
    cases : list of str, optional
        Some of ``CASES``.
    grid : str
        One of ``GRIDS``.
    seed : int
    watch : callable, optional
        Called with (case, trial) as each trial is done.
    target : callable
        By default that of section 6.1.1, the sinc drawn into the Gaussian space; ``numpy.sinc`` is the sinc itself.

    Returns
    -------
    table : Table
    """

    def draw(case, rng):
        n, variance = CASES[case]
        X, y = make_sinc(n, noise_variance=variance, target=target, random_state=rng)
        new = rng.uniform(-np.pi, np.pi, size=(TEST_POINTS, 1))
        return X, y, new, target(new[:, 0])

    title = f"ridge parameter for the sinc, {grid}"
    return _table("sugiyama-2", title, draw, cases or list(CASES), splits, GRIDS[grid], seed, watch)


def table_3(data, splits=100, cases=None, grids=("decades", "wide"), seed=0, watch=None):
    """Real data sets, 100 rows to train; the paper's grid, and beside it a wide one.

    Parameters
    ----------
    data : path
        Directory with the ``.npz`` files.
    splits : int
        Trials.
    cases : list of str, optional
        Some of ``SETS``.
    grids : sequence of str
        Of ``GRIDS``; the tables of all but the first are ``beside`` the first.
    seed, watch
        As in :func:`table_2`.

    Returns
    -------
    table : Table
    """
    whole = {case: load(data, case) for case in cases or SETS}

    def draw(case, rng):
        X, y = whole[case]
        order = rng.permutation(len(y))
        train, test = order[:TRAINING_ROWS], order[TRAINING_ROWS:]
        return X[train], y[train], X[test], y[test]

    first, *others = (
        _table("sugiyama-3", f"real data, {grid}", draw, list(whole), splits, GRIDS[grid], seed, watch)
        for grid in grids
    )
    return replace(first, beside=tuple(others))


def load(data, case):
    """Return inputs and output of a set, every one scaled to [0, 1]."""
    path = Path(data) / f"{SETS[case]}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; {case} needs it. Name the directory of the data sets.")
    file = np.load(path)
    X, y = file["X"], file["y"].astype(float)
    X = X[:, 3:] if case == "Abalone" else X  # the sex is left out
    return (X - X.min(0)) / np.ptp(X, axis=0), (y - y.min()) / np.ptp(y)


def _table(name, title, draw, cases, trials, grid, seed, watch):
    errors, edges, rows = {}, {}, []
    for case in cases:
        found, places = [], []
        for trial in range(trials):
            rng = np.random.RandomState(seed + trial)
            chosen, test = _trial(*draw(case, rng), grid)
            found.append([test[i] for i in chosen] + [test.min()])
            places.append(np.array(chosen) == 0)
            if watch is not None:
                watch(case, trial)
        errors[case] = dict(zip([*METHODS, "best"], np.array(found).T, strict=True))
        edges[case] = dict(zip(METHODS, np.mean(places, axis=0), strict=True))
        rows += _compare(case, errors[case])
    return Table(name, title, tuple(rows), errors, edges)


def _trial(X, y, new, truth, grid):
    """Return the index each method chooses, and the test error of every ridge parameter."""
    K, cross, Y = DenseGram(gram(KERNEL, X)), gram(KERNEL, new, X), y[:, None]
    solutions = [Ridge(float(lam), penalty="I").solve(K, Y) for lam in grid]
    test = np.array([np.mean((cross @ s.alpha[:, 0] - truth) ** 2) for s in solutions])
    return [int(np.argmin([_value(c, s) for s in solutions])) for c in METHODS.values()], test


def _value(criterion, solution):
    try:
        return criterion(solution).value
    except Undefined:
        return np.inf


def _compare(case, errors):
    ours = []
    for other in ("CV", "ABIC"):
        a, b = errors["SIC"], errors[other]
        ours += [float(ttest_ind(a, b).pvalue), float(wilcoxon(a, b).pvalue) if np.any(a != b) else 1.0]
    for quantity, p, paper in zip(PAIRS, ours, PAPER[case], strict=True):
        yield Row(case, quantity, p, paper)
    for method, e in errors.items():
        yield Row(case, f"mean error {method}", float(e.mean()))


def draw_boxes(table, path=None):
    """Box plots of the test errors, marks at 5, 25, 50, 75 and 95 percent as in the paper's figures 7 to 9.

    Parameters
    ----------
    table : Table
    path : path, optional
        Where to save the figure.

    Returns
    -------
    figure : matplotlib Figure
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("box plots need matplotlib: pip install foldless[report].") from error
    cases = list(table.errors)
    columns = min(len(cases), COLUMNS)
    rows = -(-len(cases) // columns)
    figure = Figure(figsize=(2.6 * columns, 3.2 * rows), layout="constrained")
    figure.suptitle(f"{table.title}: test error x 1000", fontsize=10)
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for ax, case in zip(axes, cases, strict=False):
        _boxes(ax, case, table.errors[case])
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    if path is not None:
        figure.savefig(path, dpi=80)
    return figure


def _boxes(ax, case, errors):
    colours = (
        ["tab:orange"] * 3 + ["tab:blue"] * (len(errors) - 4) + ["0.6"]
    )  # the paper's, ours, the best there is
    drawn = ax.boxplot(
        [1e3 * e for e in errors.values()], whis=(5, 95), showfliers=False, patch_artist=True, widths=0.7
    )
    for box, median, colour in zip(drawn["boxes"], drawn["medians"], colours, strict=True):
        box.set(facecolor=colour, alpha=0.5, linewidth=0.8)
        median.set_color("black")
    ax.set_xticks(range(1, len(errors) + 1), list(errors), rotation=60, ha="right", fontsize=8)
    ax.set_title(case, fontsize=9)
    ax.tick_params(axis="y", labelsize=8)
