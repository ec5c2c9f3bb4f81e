r"""Tables 2 and 3 of Sugiyama and Müller (2002): the ridge parameter chosen by SIC, leave-one-out and ABIC.

The setting is the paper's: Gaussian kernel of width 1, ridge regression with the penalty I and no intercept, SIC by (22)
with the noise variance (12) of the same ridge parameter. Table 2: the learning target of section 6.1.1, test error at
1000 new points, :math:`\lambda = 10^{-3}, 10^{-2.5}, \dots, 10^3`. Table 3: inputs and output scaled to [0, 1] over all
rows, 100 rows to train, the others to test, :math:`\lambda = 10^{-3}, 10^{-2}, \dots, 10^3`; ``wide`` adds the same with
:math:`10^{-9}, \dots, 10^3`.

Beside the paper's methods stand SIC with one noise variance for all ridge parameters, the stabilised SIC, and C_L.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import ttest_ind, wilcoxon
from sklearn.gaussian_process.kernels import RBF

from foldless.cli.papers.split import Split, Watch
from foldless.cli.papers.table import Cell, PaperTable
from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.criteria import ABIC, LOO, SIC, Mallows
from foldless.criteria.base import Criterion
from foldless.datasets import make_sinc, sinc_target
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import Ridge
from foldless.machines.ridge import RidgeSolution

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
TESTS = ("t SIC-CV", "W SIC-CV", "t SIC-ABIC", "W SIC-ABIC")
# The paper's methods orange, the best on the grid grey, ours blue.
COLOURS = {"SIC": "tab:orange", "CV": "tab:orange", "ABIC": "tab:orange", "best": "0.6"}
NAN = np.nan  # an exponent that our copy of the paper has lost
# p-values in the order of TESTS
PAPER = {
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


# case, random numbers -> training and test rows
Draw = Callable[[str, np.random.RandomState], Split]
# method -> one value per trial
Trials = Mapping[str, Vector]


def table_2(
    data: Path | None = None,
    splits: int = 100,
    cases: Sequence[str] | None = None,
    grid: str = "half decades",
    seed: int = 0,
    watch: Watch | None = None,
    target: Callable[[Vector], Vector] = sinc_target,
) -> PaperTable:
    """Return the tables for the sinc: four combinations of sample size and noise.

    Parameters
    ----------
    data : path, optional
        Not used: the data are simulated.
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
        By default that of section 6.1.1, the sinc projected into the Gaussian space; ``numpy.sinc`` is the sinc itself.
    """

    def draw(case: str, rng: np.random.RandomState) -> Split:
        n, variance = CASES[case]
        X, y = make_sinc(n, noise_variance=variance, target=target, random_state=rng)
        new = rng.uniform(-np.pi, np.pi, size=(TEST_POINTS, 1))
        return Split(X, y, new, target(new[:, 0]))

    return _tables(
        "sugiyama-2", f"sinc, {grid}", draw, cases or list(CASES), splits, GRIDS[grid], seed, watch
    )


def table_3(
    data: Path,
    splits: int = 100,
    cases: Sequence[str] | None = None,
    grids: Sequence[str] = ("decades", "wide"),
    seed: int = 0,
    watch: Watch | None = None,
) -> PaperTable:
    """Return the tables for real data sets, 100 rows to train: the paper's grid, and beside it a wide one.

    Parameters
    ----------
    data : path
        Directory with the ``.npz`` files.
    splits : int
        Trials.
    cases : list of str, optional
        Some of ``SETS``.
    grids : sequence of str
        Names in ``GRIDS``; the tables of all but the first are ``beside`` the first.
    seed, watch
        As in :func:`table_2`.
    """
    whole = {case: load(data, case) for case in cases or SETS}

    def draw(case: str, rng: np.random.RandomState) -> Split:
        X, y = whole[case]
        order = rng.permutation(len(y))
        return Split.of_rows(X, y, order[:TRAINING_ROWS], order[TRAINING_ROWS:])

    first, *others = (
        _tables("sugiyama-3", f"real data, {grid}", draw, list(whole), splits, GRIDS[grid], seed, watch)
        for grid in grids
    )
    return replace(first, beside=(*first.beside, *others))


def load(data: Path, case: str) -> tuple[Matrix, Vector]:
    """Return inputs and output of a set, every one scaled to [0, 1]."""
    path = Path(data) / f"{SETS[case]}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; {case} needs it. Name the directory of the data sets.")
    file = np.load(path)
    X, y = file["X"], file["y"].astype(float)
    # The first three columns of Abalone code the sex, which the paper leaves out.
    X = X[:, 3:] if case == "Abalone" else X
    return (X - X.min(0)) / np.ptp(X, axis=0), (y - y.min()) / np.ptp(y)


def _tables(
    name: str,
    what: str,
    draw: Draw,
    cases: Sequence[str],
    trials: int,
    grid: Vector,
    seed: int,
    watch: Watch | None,
) -> PaperTable:
    """Return the table of mean errors, with those of the p-values and of choices at the edge of the grid beside it."""
    errors: dict[str, Trials] = {}
    edges: dict[tuple[str, str], Cell] = {}
    for case in cases:
        found, at_edge = [], []
        for trial in range(trials):
            chosen, test = _choose_lambda(draw(case, np.random.RandomState(seed + trial)), grid)
            found.append([test[i] for i in chosen] + [test.min()])
            at_edge.append(np.array(chosen) == 0)
            if watch is not None:
                watch(case, trial)
        errors[case] = dict(zip([*METHODS, "best"], np.array(found).T, strict=True))
        share = 100 * np.mean(at_edge, axis=0)
        edges |= {(case, m): Cell(float(e), count=trials) for m, e in zip(METHODS, share, strict=True)}
    beside = (
        PaperTable(name, f"p-values, ours (the paper's), {what}", _p_values(errors), ".3g"),
        PaperTable(name, f"trials at the smallest lambda of the grid (%), {what}", edges, ".0f"),
    )
    means = {(case, m): Cell(1e3 * e.mean(), count=trials) for case in cases for m, e in errors[case].items()}
    title = f"mean test error x 1000, {what}"
    return PaperTable(name, title, means, ".3g", samples=errors, colours=COLOURS, beside=beside)


def _choose_lambda(split: Split, grid: Vector) -> tuple[list[int], Vector]:
    """Return the index that each method chooses, and the test error of every ridge parameter."""
    K, cross, Y = DenseGram(gram(KERNEL, split.X)), gram(KERNEL, split.X_test, split.X), split.y[:, None]
    solutions = [Ridge(float(lam), penalty="I").solve(K, Y) for lam in grid]
    test = np.array([np.mean((cross @ s.alpha[:, 0] - split.y_test) ** 2) for s in solutions])
    return [int(np.argmin([_value(c, s) for s in solutions])) for c in METHODS.values()], test


def _value(criterion: Criterion, solution: RidgeSolution) -> float:
    try:
        return criterion(solution).value
    except Undefined:
        return np.inf


def _p_values(errors: Mapping[str, Trials]) -> dict[tuple[str, str], Cell]:
    """Return the p-values of t and Wilcoxon tests of SIC against the other two methods of the paper."""
    cells = {}
    for case, found in errors.items():
        ours: list[float] = []
        for other in ("CV", "ABIC"):
            a, b = found["SIC"], found[other]
            ours += [float(ttest_ind(a, b).pvalue), float(wilcoxon(a, b).pvalue) if np.any(a != b) else 1.0]
        for test, p, paper in zip(TESTS, ours, PAPER[case], strict=True):
            cells[case, test] = Cell(p, count=len(found["SIC"]), paper=paper)
    return cells
