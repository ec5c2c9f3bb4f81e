r"""What may be better than the best family of kernels: softened columns, a width per feature, and a learned metric.

Challengers change one thing about the champion and begin where its search ended. With :math:`d_i` the left-out loss of row i
by the champion less that by the challenger, the challenger takes the place if

.. math:: \bar d > \max\bigl(c \sqrt{\operatorname{var}(d) / n},\; 10^{-3} L\bigr),  \tag{1}

where L is the mean left-out loss of the champion and c = 1. The champion is the simpler one, left-out losses are lower than
they should be after a choice of many parameters, and two searches for the same optimum end a little apart. A learned
metric is judged on halves of the rows, each with the metric of the other half, and has c = 2, because it is the best of
several rounds on these halves: on three of ten parts of a table of 442 rows one passed with c = 1, and all three were
worse on the other rows. Columns are softened (:class:`foldless.kernels.Softened`) by 1, and by 2 and 4 as long as the criterion
falls. Nothing is fitted to all rows before the choice is made.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, Product

from foldless.core.contracts import Matrix, Stop
from foldless.core.errors import FoldlessError
from foldless.criteria.left_out import LeftOutLosses
from foldless.criteria.tied import Tied
from foldless.kernels import Columns, Laplacian, Metric, Softened
from foldless.kernels.by_name import METRIC_ROUNDS
from foldless.kernels.families import METRIC, SOFTENED, WIDTHS
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.metric_rounds import METRIC_MAX_ROWS, MetricRounds
from foldless.tuning.one_width import tied_after
from foldless.tuning.result import Selection, Trial, Trials
from foldless.tuning.row_blocks import BlockObjective
from foldless.tuning.runner import Runner

# The champion is challenged up to so many columns, by a learned metric also up to so many rows.
CHALLENGE_MAX_COLUMNS, METRIC_CHALLENGE_MAX_ROWS = 50, 5000
# A challenger must lower the left-out loss by this fraction: two searches for the same optimum differ by their tolerances.
MIN_GAIN_FRACTION = 1e-3
# Losses that differ by no more than this fraction are the same but for rounding.
SAME_FRACTION = 1e-9
# c of eq. (1) for a learned metric.
METRIC_STANDARD_ERRORS = 2.0
# A metric is learned from so many rows first, and from more if it is ahead there.
METRIC_FIRST_ROWS = 500
# Evaluations of a challenger, in units of those of the champion.
CHALLENGER_EVALUATIONS_FACTOR = 4
# Strengths of softened columns, in the order in which they are tried.
STRENGTHS = (1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False)
class Champion:
    """What is best so far.

    Attributes
    ----------
    runner : Runner
    family : Runner
        The best of the families.
    families : tuple of Runner
        All that raced.
    challenges : tuple of Trial
        The challengers that were tried.
    rounds : MetricRounds or None
        Those of a learned metric, if that is the champion.
    explanation : str
        Both values, if widths per feature are the champion.
    value : float
        The criterion of the best family, less what the challengers gained that took its place.
    """

    runner: Runner
    family: Runner
    families: tuple[Runner, ...]
    challenges: tuple[Trial, ...] = ()
    rounds: MetricRounds | None = None
    explanation: str = ""
    value: float = np.inf

    @classmethod
    def of(cls, best: Runner, families: Sequence[Runner]) -> "Champion":
        """Return the best family as the first champion."""
        return cls(best, best, tuple(families), value=best.value)

    def fit(self) -> Selection:
        """Fit all rows; the trials list families and challengers."""
        runner = self.runner
        assert runner.stage is not None
        families = [family.trial() for family in self.families]
        if self.rounds is None:
            found = runner.tuner.fit_after(runner.stage, runner.kernel, runner.number)
            trials = Trials([*families, *self.challenges])
        else:
            found = self.rounds.fit()
            *others, metric = self.challenges
            trials = Trials([*families, *others, replace(metric, kernel=found.kernel)])
        return replace(found, trials=trials, explanation=self.explanation)

    def after(self, challenge: "Challenge") -> "Champion":
        """Return the champion after a challenge: the challenger if eq. (1) holds."""
        mean, error, better = compared(challenge.losses, challenge.others, challenge.standard_errors)
        verdict = "chosen: better" if better else "not clearly better:" if mean > 0 else "worse"
        note = f"{verdict} by {abs(mean):.3g} ± {error:.2g} per row"
        if abs(mean) <= SAME_FRACTION * challenge.losses.mean:
            note = "no different"
        # Challengers are judged on other rows or by other costs than families: in the table they differ by the gain.
        trial = replace(challenge.runner.trial(), value=self.value - mean, note=note)
        if not better:
            return replace(self, challenges=(*self.challenges, trial))
        self.family.note = "the best family"
        beaten = [replace(one, note=one.note.replace("chosen: better", "better")) for one in self.challenges]
        return replace(
            self,
            runner=challenge.runner,
            challenges=(*beaten, trial),
            rounds=challenge.rounds,
            explanation=challenge.explanation,
            value=trial.value,
        )

    def interrupted(self) -> "Champion":
        """Return the champion as one that an interrupt left without further challenges."""
        assert self.runner.stage is not None
        self.runner.stage = self.runner.stage.ended_by(Stop.INTERRUPTED)
        return self


@dataclass(frozen=True, eq=False)
class Challenge:
    """A challenger and the left-out losses of the same rows, by the champion and by the challenger."""

    runner: Runner
    losses: LeftOutLosses
    others: LeftOutLosses
    standard_errors: float = 1.0
    rounds: MetricRounds | None = None
    explanation: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether the challenger is not even ahead, or was cut short, so that more rows need not be tried."""
        return self.losses.mean <= self.others.mean or self.runner.is_cut_short

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        assert self.runner.stage is not None
        return self.runner.stage.outcome.stop == Stop.INTERRUPTED


def challenged(champion: Champion, challengers: Sequence[str], until: float | None = None) -> Champion:
    """Return the champion after the challenges by name; those that would begin after ``until`` are left out."""
    assert champion.runner.stage is not None
    if champion.runner.stage.outcome.stop.cut_short or not _takes_part(champion.runner.tuner):
        return champion
    evaluations = CHALLENGER_EVALUATIONS_FACTOR * len(champion.runner.stage.outcome.trace)
    for name in challengers:
        seconds = None if until is None else until - time.perf_counter()
        if seconds is not None and seconds <= 0:
            break
        options = replace(champion.runner.tuner.options, max_evaluations=evaluations, time_budget=seconds)
        try:
            challenge = ATTEMPTS[name](champion, replace(champion.runner.tuner, options=options))
        except FoldlessError as failure:
            trial = Trial(champion.runner.kernel, np.inf, None, str(failure), name)
            champion = replace(champion, challenges=(*champion.challenges, trial))
            continue
        if challenge is None:
            continue
        champion = champion.after(challenge)
        if challenge.was_interrupted:
            return champion.interrupted()
    return champion


def _takes_part(tuner: CandidateTuner) -> bool:
    """Return whether challengers may pay, and can be judged, for these rows."""
    return not sp.issparse(tuner.X) and not tuner.criterion.ignores_machine


def _softened(champion: Champion, tuner: CandidateTuner) -> Challenge | None:
    """Return the challenge of softened columns, each strength from the optimum of the one before."""
    runner = champion.runner
    if not has_inner_values(tuner.X):
        return None
    best = runner
    for strength in STRENGTHS:
        kernel = softened(runner.tuner.problem.at(runner.kernel, runner.theta)[0], tuner.X.shape[1], strength)
        if kernel is None:
            return None
        other = _searched(kernel, best, tuner, len(champion.families))
        if not other.value < best.value:
            break
        best = other
        if best.is_cut_short:
            break
    if best is runner:
        return Challenge(other, runner.losses(), other.losses())
    best.finish()
    return Challenge(best, runner.losses(), best.losses())


def _searched(kernel: Kernel, before: Runner, tuner: CandidateTuner, number: int) -> Runner:
    """Return a rough search with another kernel on all rows of the search, from where another one ended."""
    own = replace(tuner, starts=[before.theta], roughly=True)
    *_, objective = own.objectives(kernel)
    section = f"{own.section(kernel, number)}.softened"
    stage = own.staged.on(objective, own.staged.space(kernel), None, time.perf_counter(), section)
    return Runner(SOFTENED, kernel, own, number, stage)


def _widths(champion: Champion, tuner: CandidateTuner) -> Challenge | None:
    """Return the challenge of a width per feature, by a few steps from one width."""
    runner = champion.runner
    kernel = with_widths(runner.tuner.problem.at(runner.kernel, runner.theta)[0], tuner.X.shape[1])
    if kernel is None:
        return None
    criterion = Tied(tuner.criterion).with_data_estimates(tuner.machine, (), tuner.Y)
    own = replace(tuner, criterion=criterion, starts=None, roughly=False)
    number = len(champion.families)
    assert runner.stage is not None
    stage, explanation = tied_after(own, kernel, runner.stage, number)
    other = Runner(WIDTHS, kernel, own, number, stage, is_finished=True)
    return Challenge(other, runner.losses(), other.losses(), explanation=explanation)


def _metric(champion: Champion, tuner: CandidateTuner) -> Challenge | None:
    """Return the challenge of a learned metric, of the best family if that is radial, and else of the first one."""
    family = next((one for one in (champion.family, *champion.families) if _radial(one) is not None), None)
    plain = None if family is None else _radial(family)
    few = len(tuner.Y) <= METRIC_CHALLENGE_MAX_ROWS and 1 < tuner.X.shape[1] <= CHALLENGE_MAX_COLUMNS
    if family is None or plain is None or not few:
        return None
    own = replace(tuner, criterion=family.tuner.criterion, starts=None, roughly=False)
    sizes = [METRIC_FIRST_ROWS, METRIC_MAX_ROWS] if len(tuner.Y) > METRIC_FIRST_ROWS else [METRIC_MAX_ROWS]
    challenge = None
    for rows in sizes:
        number = len(champion.families) + rows
        rounds = MetricRounds.learn(own, plain, family.theta, number, max_rows=rows)
        challenge = _judged(champion.runner, rounds) if rounds.rounds else None
        if challenge is None or challenge.is_lost:
            break
    return challenge


def _judged(runner: Runner, rounds: MetricRounds) -> Challenge:
    """Return the challenge of the best round; without a gain over the plain distance it has no advantage."""
    stage = rounds.stage
    assert isinstance(stage.objective, BlockObjective)
    kernel = stage.objective.objectives[0].kernel
    other = Runner(METRIC, kernel, rounds.tuner, rounds.number, stage, is_finished=True)
    others = rounds.rounds[rounds.best].losses
    # The plain distance was tuned on the halves, the champion was not.
    references = [runner.losses_on(rounds.halves), rounds.rounds[0].losses]
    losses = min(references, key=lambda one: one.mean) if rounds.gains else others
    return Challenge(other, losses, others, METRIC_STANDARD_ERRORS, rounds)


def _radial(runner: Runner) -> Metric | None:
    """Return the kernel of a family as one whose metric can be learned; ``None`` if it is no function of the distance."""
    kernel = runner.kernel
    if runner.stage is None or not isinstance(kernel, RBF | Matern | Laplacian):
        return None
    if isinstance(kernel, Laplacian):
        nu = 0.5 if kernel.norm == 2 else None
    else:
        nu = kernel.nu if isinstance(kernel, Matern) else np.inf
    if nu is None or np.ndim(kernel.length_scale):
        return None
    return Metric(
        float(kernel.length_scale),
        nu=nu,
        rounds=METRIC_ROUNDS,
        length_scale_bounds=kernel.length_scale_bounds,
    )


def compared(
    losses: LeftOutLosses, others: LeftOutLosses, standard_errors: float = 1.0
) -> tuple[float, float, bool]:
    """Return by how much the losses of a challenger are lower, the standard error, and whether eq. (1) holds.

    Parameters
    ----------
    losses, others : LeftOutLosses
        Those of the winner and of the challenger.
    standard_errors : float, default=1.0
        c of eq. (1).

    Examples
    --------
    >>> losses = np.array([1.0, 2.0, 3.0, 4.0])
    >>> is_better = lambda gains: compared(LeftOutLosses(losses), LeftOutLosses(losses - gains))[2]
    >>> is_better([0.1, 0.3, 0.1, 0.3])
    True
    >>> is_better([1.0, -0.6, 0.0, 0.0])  # a gain of 0.1 with a standard error of 0.29
    False
    >>> is_better(1e-12)  # the same optimum, found twice
    False
    """
    mean, error = losses.excess(others)
    return mean, error, mean > max(standard_errors * error, MIN_GAIN_FRACTION * losses.mean)


# What is tried under each name.
ATTEMPTS = {SOFTENED: _softened, WIDTHS: _widths, METRIC: _metric}


def has_inner_values(X: Matrix) -> bool:
    """Return whether some column has more than two values: softening two only changes their distance.

    Examples
    --------
    >>> has_inner_values(np.array([[0.0, 5.0], [1.0, 7.0], [1.0, 5.0]]))
    False
    """
    return bool(np.any((np.min(X, axis=0) < X) & (np.max(X, axis=0) > X)))


def softened(kernel: Kernel, n_columns: int, strength: float) -> Kernel | None:
    """Return a kernel with softened columns of numbers; ``None`` if it sees only categories.

    Examples
    --------
    >>> softened(RBF(2.0), 3, 1.0)
    Softened(RBF(length_scale=2), strength=1)
    """
    return _with_numbers(kernel, n_columns, lambda part, _: Softened(part, strength))


def with_widths(kernel: Kernel, n_columns: int) -> Kernel | None:
    """Return a kernel with a width for every column of numbers; ``None`` if it has no width, or there are too many columns.

    Examples
    --------
    >>> with_widths(RBF(2.0), 3)
    RBF(length_scale=[2, 2, 2])
    """
    return _with_numbers(kernel, n_columns, _spread)


def _with_numbers(
    kernel: Kernel, n_columns: int, change: Callable[[Kernel, int], Kernel | None]
) -> Kernel | None:
    """Return a kernel in which the part for columns of numbers is changed; ``None`` if there is no such part."""
    if isinstance(kernel, Columns):
        return None
    if not (isinstance(kernel, Product) and isinstance(kernel.k1, Columns)):
        return change(kernel, n_columns)
    inner = change(kernel.k1.kernel, len(kernel.k1.indices(n_columns)))
    return None if inner is None else Columns(inner, kernel.k1.columns) * kernel.k2


def _spread(kernel: Kernel, n_columns: int) -> Kernel | None:
    """Return a kernel with its width repeated for every column."""
    if isinstance(kernel, Softened):
        inner = _spread(kernel.kernel, n_columns)
        return None if inner is None else Softened(inner, kernel.strength)
    if "length_scale" not in kernel.get_params() or not 1 < n_columns <= CHALLENGE_MAX_COLUMNS:
        return None
    widths = np.full(n_columns, float(kernel.length_scale))
    return kernel.__class__(**{**kernel.get_params(), "length_scale": widths})
