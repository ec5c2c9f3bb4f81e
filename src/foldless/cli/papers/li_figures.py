"""Figure 1 of Li et al. (2017): the test error of the width that the spectral measure chooses, against its power r."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foldless.cli.papers import li
from foldless.cli.papers.figure import Curve, Panel, PaperFigure
from foldless.cli.papers.split import Split
from foldless.core.contracts import Vector
from foldless.core.targets import error_fraction, index_of_plateau_centre
from foldless.criteria import Spectral
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.kernels.pairs import Pairs
from foldless.machines import LSSVM, NoMachine
from foldless.tuning.validation_split import split_rows

POWERS = (1, 2, 3, 4, 5, 6, 8, 10)


def errors_by_power(split: Split, powers: Sequence[int] = POWERS) -> Vector:
    """Return the test error in percent of the width chosen with each power."""
    own, cross, Y = Pairs(split.X), Pairs(split.X_test, split.X), split.y[:, None]
    values, errors = [], []
    for kernel in li.KERNELS:
        K = DenseGram(gram(kernel, own))
        solution = LSSVM(1.0).solve(K, Y)
        values.append([Spectral("trace", r)(NoMachine().solve(K, Y)).value for r in powers])
        outputs = gram(kernel, cross) @ solution.alpha + solution.b
        errors.append(100 * error_fraction(split.y_test[:, None], outputs))
    return np.array([errors[index_of_plateau_centre(list(column))] for column in np.array(values).T])


def figure_1(
    data: Path,
    splits: int = 50,
    sets: Sequence[str] = ("heart", "ionosphere"),
    powers: Sequence[int] = POWERS,
) -> PaperFigure:
    """Return the mean test error against r, with its standard error.

    Parameters
    ----------
    data : path
        Directory with the ``.npz`` files.
    splits : int
    sets : sequence of str
        Names in the paper's spelling.
    powers : sequence of int
        Values of r.
    """
    panels = []
    for name in sets:
        X, y = li.load(data, name)
        parts = [
            Split.of_rows(X, y, *split_rows(len(y), li.TEST_FRACTION, seed, y)) for seed in range(splits)
        ]
        errors = np.array([errors_by_power(part, powers) for part in parts])
        bars = errors.std(axis=0, ddof=1) / np.sqrt(splits) if splits > 1 else None
        curve = Curve(np.array(powers), errors.mean(axis=0), style="o-", bars=bars)
        panels.append(Panel(name, (curve,), "r", "test error (%)"))
    paper = (
        "the test error of the width chosen by the spectral measure against its power r on two sets chosen at random. The best "
        "r lies between 2 and 5 on most sets, and 2, 3 and 4 serve equally well."
    )
    remarks = (f"Mean and standard error. Splits: {splits}. The paper does not name its two sets.",)
    return PaperFigure("li-fig1", "test error against r", paper, tuple(panels), 2, remarks)
