r"""Figures 4 to 11 of Sugiyama and Müller (2002): the target, SIC beside the true error, and test errors by method.

The true error is the paper's (29), :math:`\alpha'K\alpha - 2\alpha'z` with the noiseless values z at the training points,
which is the squared distance to the target in the function space but for a constant. Figures 7 to 11 are drawn from the
trials behind tables 2 and 3.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.cli.papers import sugiyama
from foldless.cli.papers.figure import Boxes, Curve, Panel, PaperFigure
from foldless.cli.papers.sugiyama import CASES, COLOURS, GRIDS, KERNEL, METHODS
from foldless.core.contracts import Matrix, Vector
from foldless.datasets import make_sinc
from foldless.grams import DenseGram
from foldless.kernels import Sinc, gram
from foldless.machines import Ridge

SINC_KERNEL = Sinc(2.5, "fixed")
TEMPLATE_POINTS, TEMPLATE_ALPHA = 100, 0.1
SIMULATED = "The data are simulated."


def target_in(kernel: Kernel, x: Vector) -> Vector:
    """Return the values of the sinc drawn into the space of a kernel by ridge regression, as in section 6.1.1."""
    s = np.linspace(-np.pi, np.pi, TEMPLATE_POINTS)[:, None]
    solution = Ridge(TEMPLATE_ALPHA, penalty="I").solve(DenseGram(gram(kernel, s)), np.sinc(s))
    return gram(kernel, np.asarray(x)[:, None], s) @ solution.alpha[:, 0]


def figure_4(data: Path | None = None, seed: int = 0) -> PaperFigure:
    """Return the target and fifty noisy samples of it."""
    X, y = make_sinc(50, noise_variance=0.09, target=lambda x: target_in(KERNEL, x), random_state=seed)
    x = np.linspace(-np.pi, np.pi, 200)
    layers = (Curve(x, target_in(KERNEL, x), "target"), Curve(X[:, 0], y, "training examples", "o"))
    paper = "the target and 50 training examples with noise variance 0.09."
    panel = Panel("target and samples", layers, "x", "y")
    return PaperFigure(
        "sugiyama-fig4", "the learning target", paper, (panel,), 1, (f"{SIMULATED[:-1]}, seed {seed}.",)
    )


def errors_and_sic(kernel: Kernel, case: str, splits: int, seed: int = 0) -> tuple[Matrix, Matrix]:
    """Return the true error (29) and SIC, each of shape (trials, ridge parameters)."""
    n, variance = CASES[case]
    true, estimated = [], []
    for trial in range(splits):
        X, y = make_sinc(
            n, noise_variance=variance, target=lambda x: target_in(kernel, x), random_state=seed + trial
        )
        K, z = gram(kernel, X), target_in(kernel, X[:, 0])
        solutions = [
            Ridge(float(a), penalty="I").solve(DenseGram(K), y[:, None]) for a in GRIDS["half decades"]
        ]
        alphas = [solution.alpha[:, 0] for solution in solutions]
        true.append([a @ K @ a - 2 * a @ z for a in alphas])
        estimated.append([METHODS["SIC"](solution).value for solution in solutions])
    return np.array(true), np.array(estimated)


def _estimation(name: str, title: str, kernel: Kernel, splits: int, cases: tuple[str, ...]) -> PaperFigure:
    """Return four plots per case, one below the other: both means with their deviations, and the differences."""
    found = {case: errors_and_sic(kernel, case, splits) for case in cases}
    grid = GRIDS["half decades"]
    means = {case: [(v.mean(axis=0), v.std(axis=0)) for v in pair] for case, pair in found.items()}
    lines: list[list[Panel]] = [[], [], [], []]
    for case, ((error, error_sd), (sic, sic_sd)) in means.items():
        curves = {
            f"mean error, {case}": Curve(grid, error, bars=error_sd, style="o-"),
            "mean SIC": Curve(grid, sic, bars=sic_sd, style="o-"),
            "|difference of the means|": Curve(grid, np.abs(error - sic)),
            "|difference of the deviations|": Curve(grid, np.abs(error_sd - sic_sd)),
        }
        for line, (what, curve) in zip(lines, curves.items(), strict=True):
            line.append(Panel(what, (curve,), "λ", log="x"))
    paper = (
        "mean true error and mean SIC with their deviations over 100 trials against λ, four combinations of sample size and "
        "noise; below them the absolute differences of the means and of the deviations. The mean of SIC follows that of the "
        "error; its deviation grows as λ gets small, most with much noise."
    )
    panels = tuple(panel for line in lines for panel in line)
    return PaperFigure(name, title, paper, panels, len(cases), (f"{SIMULATED} Trials: {splits}.",))


def figure_5(
    data: Path | None = None, splits: int = 100, cases: tuple[str, ...] = tuple(CASES)
) -> PaperFigure:
    """Return true error and SIC against the ridge parameter, Gaussian kernel."""
    return _estimation("sugiyama-fig5", "true error and SIC, Gaussian kernel", KERNEL, splits, cases)


def figure_6(
    data: Path | None = None, splits: int = 100, cases: tuple[str, ...] = tuple(CASES)
) -> PaperFigure:
    """Return true error and SIC against the ridge parameter, sinc kernel."""
    return _estimation("sugiyama-fig6", "true error and SIC, sinc kernel", SINC_KERNEL, splits, cases)


def _trials(
    name: str, title: str, samples: Mapping[str, Mapping[str, Vector]], paper: str, settings: str
) -> PaperFigure:
    """Return for every case the box plot of the methods, and the scatter plot of SIC against the other two."""
    panels = []
    for case, errors in samples.items():
        shown = {method: errors[method] for method in ("best", "SIC", "CV", "ABIC")}
        panels.append(Panel(case, (Boxes(shown, COLOURS),), y_label="test error × 1000"))
        panels.append(Panel(f"{case}, trial by trial", _scatter(errors), "SIC", "CV or ABIC"))
    return PaperFigure(name, title, paper, tuple(panels), 4 if len(samples) > 1 else 2, (settings,))


def _scatter(errors: Mapping[str, Vector]) -> tuple[Curve, ...]:
    thousandths = {method: 1e3 * errors[method] for method in ("SIC", "CV", "ABIC")}
    ends = np.array([f(list(thousandths.values())) for f in (np.min, np.max)])
    return (
        Curve(ends, ends, style=":", colour="0.5"),
        Curve(thousandths["SIC"], thousandths["CV"], "CV", "o"),
        Curve(thousandths["SIC"], thousandths["ABIC"], "ABIC", "x"),
    )


def figure_7(
    data: Path | None = None, splits: int = 100, cases: tuple[str, ...] = tuple(CASES)
) -> PaperFigure:
    """Return the test errors for the sinc."""
    samples = sugiyama.table_2(splits=splits, cases=cases).samples
    paper = (
        "test errors of SIC, CV, ABIC and the best λ as box plots, and SIC against the others trial by trial (above the "
        "diagonal SIC is better). SIC and CV are alike; ABIC is worse with much noise."
    )
    return _trials(
        "sugiyama-fig7", "test errors for the sinc", samples, paper, f"{SIMULATED} Trials: {splits}."
    )


def _real(name: str, data: Path, splits: int, cases: tuple[str, ...], paper: str) -> PaperFigure:
    samples = sugiyama.table_3(data, splits, cases, grids=("decades",)).samples
    settings = f"100 rows to train, the others to test. Trials: {splits}."
    return _trials(name, f"test errors, {', '.join(cases)}", samples, paper, settings)


def figure_8(data: Path, splits: int = 100, cases: tuple[str, ...] = ("Abalone",)) -> PaperFigure:
    """Return the test errors on Abalone."""
    paper = "SIC is slightly better than CV and ABIC at all percentiles; CV is better in 4 of 100 trials."
    return _real("sugiyama-fig8", data, splits, cases, paper)


def figure_9(data: Path, splits: int = 100, cases: tuple[str, ...] = ("Boston",)) -> PaperFigure:
    """Return the test errors on Boston."""
    paper = "SIC is close to the best λ, and never worse than CV or ABIC."
    return _real("sugiyama-fig9", data, splits, cases, paper)


def figure_10(
    data: Path, splits: int = 100, cases: tuple[str, ...] = ("Bank-8fm", "Bank-8fh")
) -> PaperFigure:
    """Return the test errors on the Bank sets we have."""
    paper = (
        "on Bank-8fm SIC is never worse than CV or ABIC; on Bank-8fh no method does well, and none differs. "
        "(Bank-8nm and Bank-8nh, also in the paper, are not among our data sets.)"
    )
    return _real("sugiyama-fig10", data, splits, cases, paper)


def figure_11(
    data: Path, splits: int = 100, cases: tuple[str, ...] = ("Kin-8fm", "Kin-8nm", "Kin-8fh")
) -> PaperFigure:
    """Return the test errors on the Kin sets we have."""
    paper = (
        "on Kin-8fm SIC and CV are alike in most trials, SIC is better in the others, and ABIC has large errors. "
        "(Kin-8nh, also in the paper, is not among our data sets.)"
    )
    return _real("sugiyama-fig11", data, splits, cases, paper)
