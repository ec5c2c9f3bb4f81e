"""What can go wrong, in words: every exception and warning of foldless."""

import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

REASON_MAX_CHARACTERS = 120
LISTED_MAX_VALUES = 3


def reason(error: object) -> str:
    """Return the beginning of the message of an error, on one line; its type if there is no message."""
    return " ".join(str(error)[:REASON_MAX_CHARACTERS].split()) or type(error).__name__


def _listed(found: Sequence[object]) -> str:
    """Return the first of some values in words.

    Examples
    --------
    >>> _listed(["a"]), _listed(["a", None]), _listed(["a", "b", "c", "d", "e"])
    ("'a'", "'a' and missing values", "'a', 'b', 'c' and 2 more")
    """
    named = ["missing values" if one is None else reprlib.repr(one) for one in found]
    if len(named) > LISTED_MAX_VALUES:
        named[LISTED_MAX_VALUES:] = [f"{len(named) - LISTED_MAX_VALUES} more"]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question about the most similar name, with a space in front; nothing if none is similar.

    Examples
    --------
    >>> did_you_mean("RBF", ["rbf", "matern"])
    " Did you mean 'rbf'?"
    >>> did_you_mean("cosine", ["rbf", "matern"])
    ''
    """
    by_lower_case = {one.lower().replace("_", "-"): one for one in known}
    close = get_close_matches(str(name).lower().replace("_", "-"), by_lower_case, n=1)
    return f" Did you mean {by_lower_case[close[0]]!r}?" if close else ""


class FoldlessError(Exception):
    """Base class of everything foldless raises on purpose."""


class NotPositiveDefinite(FoldlessError, ValueError):
    """A matrix that must be positive (semi-)definite is not."""

    def __init__(self, what: str, smallest: float, remedy: str):
        super().__init__(f"{what} has smallest eigenvalue {smallest:.1e}. {remedy}")


class UnreadableSolution(FoldlessError, TypeError):
    """A criterion was asked to read a solution it has no formula for."""

    def __init__(self, criterion: str, solution: str, reads: Iterable[str], alternatives: Iterable[str] = ()):
        message = f"{criterion} reads {' or '.join(sorted(reads)) or 'nothing'}, got {solution}."
        self.criterion, self.alternatives = criterion, sorted(alternatives)
        if self.alternatives:
            message += f" Criteria that read {solution}: {', '.join(self.alternatives)}."
        super().__init__(message)

    def for_estimator(self, estimator: str) -> "UnreadableSolution":
        """Return the error in a user's words: the name of the estimator in place of the solution's type."""
        error = UnreadableSolution(self.criterion, "", (), self.alternatives)
        error.args = (
            f"criterion={self.criterion!r} has no formula for {estimator} with these parameters. Criteria that have one: "
            f"{', '.join(self.alternatives)}.",
        )
        return error


class Undefined(FoldlessError, ArithmeticError):
    """A criterion or a fit does not exist at this point; a search steps over it."""


class MissingVerb(FoldlessError, TypeError):
    """A Gram was asked for something that its form of the matrix cannot do."""


class NotStored(MissingVerb):
    """A chunked Gram was asked for something that needs the whole matrix."""

    def __init__(self, verb: str):
        super().__init__(
            f"a chunked Gram multiplies a strip of rows at a time, but {verb}() needs the whole matrix, which is never "
            "stored. Use a dense or a low-rank Gram, or a criterion made of products (spectral with an integer r, "
            "alignment, centered-alignment, fsm)."
        )


class NeedsLocalFeatures(MissingVerb):
    """A Gram on a cluster was asked for something that needs all features in one place."""

    def __init__(self, verb: str):
        super().__init__(
            f"gram='dask' keeps the features with the workers, but {verb}(), which this machine or criterion calls, "
            "needs them in one place. Use gram='lowrank', or KernelLogisticRegression, KernelLSSVC or "
            "KernelPoissonRegressor with criterion='loo' or 'evidence'."
        )


class UnsuitableBias(FoldlessError, ValueError):
    """A criterion was asked to read a machine whose kind of bias it has no formula for."""

    def __init__(self, criterion: str, why: str):
        super().__init__(
            f"{criterion} needs bias='kernel' (an offset in the kernel), got a free bias: {why}. "
            "Change the bias or choose another criterion."
        )


class UnknownName(FoldlessError, ValueError):
    """A name that is not in the table it was looked up in."""

    def __init__(self, what: str, name: object, known: Iterable[str]):
        known = sorted(known)
        super().__init__(
            f"{what} must be one of {', '.join(known)}; got {name!r}.{did_you_mean(name, known)}"
        )


class MissingExtra(FoldlessError, ImportError):
    """A part of foldless that needs packages the core does without."""

    def __init__(self, module: str, extra: str):
        package = f"'foldless[{extra}]'" if extra else module
        super().__init__(f"{module} is not installed. Install it with: pip install {package}")


class DataError(FoldlessError, ValueError):
    """A file or a request that cannot be used as it is; the message is one line."""

    def __init__(self, message: str):
        super().__init__(re.sub(r"[\r\n]+", " ", message))


class ModelFileError(FoldlessError, ValueError):
    """A model file that cannot or must not be loaded."""


class FoldlessWarning(UserWarning):
    """Base class of foldless warnings."""


class JitterWarning(FoldlessWarning):
    """A diagonal was added to make a factorisation succeed."""

    def __init__(self, jitter: float):
        super().__init__(
            f"added {jitter:.1e} times the mean diagonal to factor the Gram matrix. "
            "It is numerically singular: remove duplicated rows or widen the regularisation."
        )


class SearchWarning(FoldlessWarning):
    """A search stopped before it converged."""


class CriterionWarning(FoldlessWarning):
    """A criterion was used where it is known to mislead."""


class LandmarkWarning(FoldlessWarning):
    """More landmarks were asked for than there are rows."""


class AdviceWarning(FoldlessWarning):
    """A fit that is likely to disappoint; the message says why and what to do."""


class BoundWarning(AdviceWarning):
    """The tuned regularisation is at an end of its range."""

    def __init__(self, name: str, closest: bool, criterion: str):
        fits = "as closely" if closest else "as loosely"
        cure = (
            "If the data are not free of noise, the criterion is misled: try another one, or fix"
            if closest
            else "The inputs may say nothing about the target: scale them, try another kernel, or fix"
        )
        super().__init__(
            f"{criterion} chose {name} at the end of its range that fits {fits} as possible. {cure} {name}."
        )


class ManyParametersWarning(AdviceWarning):
    """More parameters were tuned than the rows can determine."""

    def __init__(self, n_parameters: int, n_rows: int, rows_per_parameter: int):
        super().__init__(
            f"{n_parameters} parameters were tuned on {n_rows} rows; below {rows_per_parameter} rows per parameter the "
            "criterion is too optimistic and may choose noise. Tune fewer (kernel='rbf' has one length scale, a fixed C "
            "none), or check the result on rows held out."
        )


class ConstantPredictionWarning(AdviceWarning):
    """Every prediction is the same."""

    def __init__(self, what: str):
        rare = (
            " If the other classes are rare, the probabilities may still tell rows apart: compare predict_proba with a lower threshold, "
            "or give class_weight='balanced'. Otherwise"
        )
        super().__init__(
            f"the fit predicts the same {what} everywhere.{rare if what == 'class' else ' No relation to the inputs was found:'} scale "
            "the inputs, try another kernel or criterion, or look for informative columns."
        )


class NoGainWarning(AdviceWarning):
    """Left-out rows are predicted better than by a constant by no more than chance explains, or worse."""

    def __init__(self, loss: float, constant_loss: float, error: float, constant: str):
        super().__init__(
            f"rows left out of the fit are predicted no better than by {constant} for all of them, or so little better that it may be chance "
            f"(mean loss {loss:.3g} against {constant_loss:.3g}, the difference ± {error:.2g}). Scale the inputs, try another kernel, look for "
            "informative columns, or get more rows."
        )


class NeighbourWarning(AdviceWarning):
    """Left-out rows are predicted worse than by their nearest neighbours."""

    def __init__(self, error: float, neighbours_error: float, classes: bool):
        what = "wrong for a fraction of" if classes else "off by a mean squared error of"
        super().__init__(
            f"rows left out of the fit are predicted worse than by the rows nearest to them: {what} {error:.3g}, against "
            f"{neighbours_error:.3g}. The kernel misses something that neighbours show: try kernel='laplacian' or 'auto', another "
            "criterion, or sklearn.neighbors."
        )


class CopiesWarning(AdviceWarning):
    """Rows count as several equal ones, of which a criterion leaves out one at a time."""

    def __init__(self, share: float):
        super().__init__(
            f"{share:.0%} of the weight is of rows whose sample_weight is above 1. Such a row stands for several equal ones: one is left out "
            "while the others tell its target, and the criterion may choose a fit that repeats the targets, noise and all. If the weights "
            "are not numbers of equal rows, divide them by the largest."
        )


class InputScaleWarning(AdviceWarning):
    """Columns of very different scales share one length scale."""

    def __init__(self, small: object, small_scale: float, large: object, large_scale: float):
        super().__init__(
            f"the standard deviations of the columns range from {small_scale:.2g} (column {small!r}) to "
            f"{large_scale:.2g} (column {large!r}), and the kernel has one length scale for them, so that the small ones "
            "are ignored. Scale them: make_pipeline(StandardScaler(), ...); or use an estimator of foldless with kernel='rbf-ard'."
        )


class ManyLevelsWarning(AdviceWarning):
    """Columns were taken for categories although their texts hardly repeat."""

    def __init__(self, columns: Sequence[object], n_levels: int, n_rows: int):
        named = f"column {columns[0]!r} holds" if len(columns) == 1 else f"columns {_listed(columns)} hold"
        super().__init__(
            f"{named} texts that hardly repeat (up to {n_levels} different ones in {n_rows} rows), and categories that do not repeat "
            "say nothing about new rows. Leave them out; if they are amounts or dates, foldless.cli.ColumnReader reads them."
        )


class UnseenLevelWarning(FoldlessWarning):
    """New rows hold categories that did not occur in training.

    Examples
    --------
    >>> print(UnseenLevelWarning("ward", {"C": 2, None: 1}))
    column 'ward': 'C' and missing values did not occur in training; 3 rows are predicted from their other columns
    """

    def __init__(self, column: object, rows: Mapping[Any, int]):
        levels, n = _listed(list(rows)), sum(rows.values())
        whose = "1 row is predicted from its" if n == 1 else f"{n} rows are predicted from their"
        super().__init__(
            f"column {reprlib.repr(column)}: {levels} did not occur in training; {whose} other columns"
        )


class UncertaintyWarning(FoldlessWarning):
    """An interval or a set that promises less than it seems to."""


class ResolutionWarning(UncertaintyWarning):
    """Too few rows for a level: the only honest interval is everything."""

    def __init__(self, level: float, n_rows: float, what: str):
        needed = math.ceil(1 / (1 - level) - 1e-9) - 1
        super().__init__(
            f"level={level:g} needs at least {needed} rows, got {n_rows:g}: {what}. Lower the level or add rows."
        )


class FreeParametersWarning(UncertaintyWarning):
    """So many parameters were tuned on the rows that intervals and sets hold less than they say."""

    def __init__(self, n_parameters: int, n_rows: float, what: str, measured: str):
        super().__init__(
            f"{n_parameters} parameters were tuned on these {n_rows:g} rows, so that {what} hold less than they say ({measured}). Use one length "
            "scale or tied ones (kernel='rbf' or 'rbf-ard'), tune on other rows (calibration='split'), or add rows."
        )


class LeverageWarning(UncertaintyWarning):
    """Rows whose left-out outputs are a rough approximation.

    Attributes
    ----------
    share : float
        Of all rows.
    """

    def __init__(self, share: float, leverage: float, step: float):
        self.share = share
        super().__init__(
            f"{share:.1%} of the rows have a leverage above {leverage:g}, or an output that a second step would move by more than "
            f"{step:g}: one step is a rough approximation of the fit without them. Call refit_left_out() to refit just these."
        )
