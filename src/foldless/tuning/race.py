r"""A race of kernel families: all search on the first rows, and those that are clearly worse search no further.

With :math:`\ell_i` and :math:`\ell^*_i` the losses of row i, when it is left out, of a family and of the one with the lowest
criterion, a family is dropped after a stage of the search if its criterion is larger and

.. math:: \bar d > 2 \sqrt{\operatorname{var}(d) / n}, \qquad d_i = \ell_i - \ell^*_i.  \tag{1}

The differences are paired, so that rows that are hard for all families do not blur the comparison. Rows with weights count
as often as their weights say.

The first family searches a coarse grid, the others begin near its optimum: kernels of other smoothness have similar widths.
All searches are rough. After the last stage the family with the lowest criterion searches to full accuracy, with a
criterion that is checked by refits; if another one may then be lower, that one does too. The lowest is fitted to all rows,
or is challenged before (:mod:`foldless.tuning.challengers`).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Event

from foldless.core.contracts import Stop
from foldless.core.errors import Undefined
from foldless.core.parallel import in_background
from foldless.criteria.left_out import LeftOutLosses
from foldless.kernels.families import Families
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.challengers import Champion, challenged
from foldless.tuning.objective import UNDEFINED_ERRORS
from foldless.tuning.result import Selection
from foldless.tuning.runner import Runner

# A family is dropped if it is worse by more than so many standard errors of the mean difference.
DROP_STANDARD_ERRORS = 2.0


def race(
    tuner: CandidateTuner,
    candidates: Families,
    budgets: Sequence[int | None],
    n_jobs: int | None,
    until: float | None = None,
) -> Selection:
    """Return the selection of the family with the lowest criterion; its trials list all families.

    Parameters
    ----------
    tuner : CandidateTuner
    candidates : Families
    budgets : sequence of int or None
        Evaluations of every family; a family with none does not start.
    n_jobs : int, optional
        Families that search side by side.
    until : float, optional
        When challengers must be done, by ``time.perf_counter``.
    """
    runners = [_runner(tuner, candidates, i, budgets[i]) for i in range(len(budgets))]
    racing, interrupted = [runner for runner in runners if not runner.note], Event()
    while racing and _advance_all(racing, n_jobs, interrupted) and not interrupted.is_set():
        racing = _without_losers([runner for runner in racing if not runner.note])
    finished = [runner for runner in racing if runner.stage is not None and not runner.note]
    if not finished:
        raise Undefined(next((runner.note for runner in runners if runner.note), "no family was tried."))
    best = _lowest(finished, interrupted)
    if best.note:
        raise Undefined(best.note)
    best.note = "chosen"
    champion = Champion.of(best, runners)
    if not interrupted.is_set():
        champion = challenged(champion, candidates.challengers, until)
    return champion.fit()


def _runner(tuner: CandidateTuner, candidates: Families, i: int, budget: int | None) -> Runner:
    own = replace(tuner, roughly=True, options=replace(tuner.options, max_evaluations=budget))
    note = (
        f"max_evaluations={tuner.options.max_evaluations} left none for this kernel." if budget == 0 else ""
    )
    return Runner(candidates.names[i], candidates.kernels[i], own, i, note=note)


def _advance_all(racing: Sequence[Runner], n_jobs: int | None, interrupted: Event) -> bool:
    """Search on the next rows; return whether there were any. An interrupt keeps what was found, if anything was."""

    def advance(runner: Runner) -> bool:
        if interrupted.is_set():
            return False
        moved = runner.advance()
        if runner.stage is not None and runner.stage.outcome.stop == Stop.INTERRUPTED:
            interrupted.set()
        return moved

    begins, moved = racing[0].stage is None, []
    try:
        if begins:
            moved = [advance(racing[0])]
            for runner in racing[1:]:
                runner.begin_near(racing[0])
        moved += in_background([partial(advance, runner) for runner in racing[begins:]], n_jobs)
    except KeyboardInterrupt:
        # Threads learn of it through the event.
        interrupted.set()
        if all(runner.stage is None or runner.tuner.options.raises_interrupt for runner in racing):
            raise
        return False
    return any(moved)


def _without_losers(racing: list[Runner]) -> list[Runner]:
    """Return the families that stay after a stage; eq. (1)."""
    best = min(racing, key=lambda runner: runner.value)
    if len(racing) == 1 or best.tuner.criterion.ignores_machine:
        return racing
    try:
        reference = best.losses()
    except UNDEFINED_ERRORS:
        return racing
    for runner in racing:
        if runner is not best:
            runner.note = _reason_to_drop(runner, best, reference)
    return [runner for runner in racing if not runner.note]


def _reason_to_drop(runner: Runner, best: Runner, reference: LeftOutLosses) -> str:
    """Return a sentence, or nothing if the family stays."""
    try:
        losses = runner.losses()
    except UNDEFINED_ERRORS:
        return ""
    # A family whose time ran out is a stage behind, and knows the losses of fewer rows.
    if len(losses) != len(reference):
        return ""
    mean, error = losses.excess(reference)
    if not mean > DROP_STANDARD_ERRORS * error:
        return ""
    return f"dropped after {len(reference)} rows: worse than {best.name} by {mean:.3g} ± {error:.2g} per row"


def _lowest(racing: Sequence[Runner], interrupted: Event) -> Runner:
    """Return the family with the lowest criterion, after those that may be it were searched to the end."""
    best = min(racing, key=lambda runner: runner.lowest_value)
    while not best.is_finished and not interrupted.is_set():
        best.finish()
        assert best.stage is not None
        if best.stage.outcome.stop == Stop.INTERRUPTED:
            interrupted.set()
        best = min(racing, key=lambda runner: runner.lowest_value)
    if interrupted.is_set():
        assert best.stage is not None
        best.stage = best.stage.ended_by(Stop.INTERRUPTED)
    return best
