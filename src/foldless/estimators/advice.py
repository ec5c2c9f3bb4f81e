"""Warnings about fits that are likely to disappoint: the reason, in numbers, and a cure. At most one of a kind per fit."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix
from foldless.core.errors import (
    AdviceWarning,
    BoundWarning,
    ConstantPredictionWarning,
    CopiesWarning,
    InputScaleWarning,
    ManyLevelsWarning,
    ManyParametersWarning,
    NoGainWarning,
)
from foldless.core.targets import class_index, is_pm1
from foldless.criteria.left_out import gain_over_constant
from foldless.criteria.loo import LOO
from foldless.estimators.columns import ColumnCodes
from foldless.kernels import Categorical, Columns
from foldless.tuning.result import Selection
from foldless.tuning.search_space import SearchSpace

ROWS_PER_PARAMETER = 20
MAX_SCALE_RATIO = 30.0
# Above this many levels, texts with more levels than half the rows are not categories but names, amounts or sentences.
CATEGORY_MAX_LEVELS = 20
# C or alpha is at its bound if it is closer than this fraction of the range of its logarithm.
BOUND_FRACTION = 1e-3
# Predictions are constant if their standard deviation is below this fraction of that of the targets.
CONSTANT_FRACTION = 1e-6
# Share of the weight in copies of rows from which on they decide what is chosen.
COPIES_MAX_SHARE = 0.1


def warn_about(found: Iterable[AdviceWarning | None]) -> None:
    """Warn, as from the line that called ``fit``."""
    for warning in found:
        if warning is not None:
            warnings.warn(warning, stacklevel=4)


def bound_warning(selection: Selection, X: Any, name: str) -> BoundWarning | None:
    """Return a warning if the tuned regularisation called ``name`` (C or alpha) is at an end of its range."""
    machine = selection.machine
    box = SearchSpace.around(selection.objective.kernel, machine, X).box
    theta, low, high = machine.theta[-1], box.low[-1], box.high[-1]
    margin = BOUND_FRACTION * (high - low)
    if low + margin < theta < high - margin:
        return None
    closest = (theta >= high - margin) == (machine.sign > 0)
    return BoundWarning(name, closest, selection.criterion.name)


def parameters_warning(n_parameters: int, n_rows: int) -> ManyParametersWarning | None:
    """Return a warning if more than one parameter per twenty rows was tuned."""
    many = n_parameters * ROWS_PER_PARAMETER > n_rows
    return ManyParametersWarning(n_parameters, n_rows, ROWS_PER_PARAMETER) if many else None


def levels_warning(codes: ColumnCodes | None, n_rows: int) -> ManyLevelsWarning | None:
    """Return a warning if columns of a data frame hold categories that hardly repeat: prices as texts, identifiers, free text."""
    if codes is None or codes.of_array:
        return None
    counts = {
        name: len([level for level in levels if level is not None]) for name, levels in codes.levels.items()
    }
    many = {name: n for name, n in counts.items() if n > max(CATEGORY_MAX_LEVELS, n_rows / 2)}
    return ManyLevelsWarning(list(many), max(many.values()), n_rows) if many else None


def scale_warning(kernel: Kernel, X: Any, names: Sequence[Any]) -> InputScaleWarning | None:
    """Return a warning if a tuned kernel has one length scale for columns, called ``names``, of very different scales."""
    if issparse(X) or not _tunes_one_length_scale(kernel):
        return None
    deviations = np.std(X, axis=0)
    for group in _columns_of_one_width(kernel, list(range(X.shape[1]))):
        columns = [column for column in group if deviations[column] > 0]
        small, large = (pick(columns, key=deviations.__getitem__, default=0) for pick in (min, max))
        if deviations[large] > MAX_SCALE_RATIO * deviations[small]:
            return InputScaleWarning(
                names[small], float(deviations[small]), names[large], float(deviations[large])
            )
    return None


def _tunes_one_length_scale(kernel: Kernel) -> bool:
    widths = [h for h in kernel.hyperparameters if h.name.endswith("length_scale") and not h.fixed]
    return bool(widths) and all(h.n_elements == 1 for h in widths)


def _columns_of_one_width(kernel: Kernel, columns: list[int]) -> Iterator[list[int]]:
    """Yield groups of columns that share a length scale; codes of categories have no scale."""
    if isinstance(kernel, Categorical):
        return
    if isinstance(kernel, Columns):
        chosen = [columns[i] for i in kernel.indices(len(columns))]
        yield from _columns_of_one_width(kernel.kernel, chosen)
        return
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    for part in parts:
        yield from _columns_of_one_width(part, columns)
    if not parts and _tunes_one_length_scale(kernel):
        yield columns


def copies_warning(selection: Selection) -> CopiesWarning | None:
    """Return a warning if the criterion leaves out single copies of rows that have much of the weight."""
    counts = selection.machine.row_counts
    if counts is None or selection.criterion.name != LOO.name:
        return None
    share = float(np.sum(counts, where=counts > 1) / np.sum(counts))
    return CopiesWarning(share) if share > COPIES_MAX_SHARE else None


def constant_warning(outputs: Matrix, Y: Matrix) -> ConstantPredictionWarning | None:
    """Return a warning if all outputs (n, k) predict the same class or number, though the targets (n, k) differ."""
    if is_pm1(Y):
        one_class = len(np.unique(class_index(outputs))) == 1 < len(np.unique(class_index(Y)))
        return ConstantPredictionWarning("class") if one_class else None
    varies = np.std(Y, axis=0)
    constant = np.any(varies) and np.all(np.std(outputs, axis=0) <= CONSTANT_FRACTION * varies)
    return ConstantPredictionWarning("number") if constant else None


def no_gain_warning(machine: Machine, Y: Matrix, left_out: Matrix) -> NoGainWarning | None:
    """Return a warning if left-out outputs (n, k) are better than the best constant by no more than chance explains."""
    gain = gain_over_constant(machine, Y, left_out)
    constant = "the commonest class" if is_pm1(Y) else "the mean"
    return None if gain.is_no_chance else NoGainWarning(gain.loss, gain.constant_loss, gain.error, constant)
