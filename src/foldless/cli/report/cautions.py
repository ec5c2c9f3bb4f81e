"""What a careful reader should know before relying on a result; often nothing."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foldless.cli.numbers import listing, number, percent
from foldless.cli.report.scores import Unseen, find, gain, scores
from foldless.cli.report.tuned import RANGE_MIN_PARAMETERS, shows_alpha_for_C, tuned_parameters
from foldless.cli.report.verdict import CLEAR_STANDARD_ERRORS, Findings, agreement, disagreement
from foldless.core.contracts import Stop
from foldless.criteria.left_out import CHANCE_STANDARD_ERRORS
from foldless.estimators.advice import ROWS_PER_PARAMETER, bound_warning
from foldless.inspection.criterion_surface import PARAMETER_TITLES, parameters

# Relative rise of the criterion from the search to the final fit that deserves a caution.
APPROXIMATION_MAX_GAP = 0.2
# All classes but the commonest together are rare up to this share of the rows.
RARE_MAX_SHARE = 0.2


def cautions(findings: Findings) -> list[str]:
    """Return one sentence or two for every reason to be careful, the gravest first."""
    rules = (
        _no_better_than_guessing,
        _held_out_worse,
        _learned_metric,
        _many_parameters,
        _regularisation_at_bound,
        _length_scales_at_bound,
        _cut_short,
        _approximated,
    )
    return [caution for rule in rules for caution in rule(findings)]


def _no_better_than_guessing(findings: Findings) -> Iterator[str]:
    ours = findings.ours
    if ours is None:
        return
    guess = _always_the_same(ours)
    is_better = any(_is_clearly_better(ours, guess, score) for score in ("R²", "error", "log loss"))
    if ours.classes is None:
        if find("R²", ours).value <= 0:
            yield "Always predicting the mean is as good: the model has found nothing that helps with unseen rows."
        elif not is_better:
            yield "It is hardly better than always predicting the mean, and that may be chance."
        return
    error, guessed = find("error", ours).value, find("error", guess).value
    if error >= guessed:
        yield (
            f"By its answers it is no better than always predicting the most frequent class, which is wrong for {percent(guessed)} of the "
            f"rows.{_rare_class(findings, guessed)}{_turned_around(findings)}"
        )
    elif not is_better:
        yield (
            f"It is hardly better than always predicting the most frequent class, which is wrong for {percent(guessed)} of the rows, and "
            "that may be chance."
        )


def _always_the_same(ours: Unseen) -> Unseen:
    """Return the answers of one who knows nothing but how often each class occurs, or the mean."""
    if ours.classes is None:
        return replace(ours, predicted=np.full(len(ours.y), np.mean(ours.y)))
    shares = np.bincount(ours.codes, minlength=len(ours.classes)) / len(ours.y)
    p = None if ours.probabilities is None else np.broadcast_to(shares, ours.probabilities.shape)
    return replace(ours, predicted=np.full(len(ours.y), ours.classes[np.argmax(shares)]), probabilities=p)


def _is_clearly_better(ours: Unseen, guess: Unseen, name: str) -> bool:
    """Return whether a score is better by more than chance explains; False for a score that does not exist."""
    pair = [score for one in (ours, guess) for score in scores(one) if score.name == name]
    if not pair:
        return False
    more, error = gain(*pair)
    return more > CHANCE_STANDARD_ERRORS * error


def _rare_class(findings: Findings, guessed: float) -> str:
    """Return what to do about a class that is never answered because it is rare, if the probabilities tell rows apart."""
    ours = findings.ours
    if ours is None or ours.probabilities is None or guessed > RARE_MAX_SHARE:
        return ""
    area = find("AUC", ours)
    if area.low <= 0.5:
        return ""
    return f" But its probabilities tell rows apart (AUC {area.value:.3f}): choose a threshold by the costs of mistakes, as the report does."


def _turned_around(findings: Findings) -> str:
    """Return where an AUC below 0.5 comes from that no held-out rows contradict."""
    ours = findings.ours
    if (
        ours is None
        or ours.probabilities is None
        or findings.held_out is not None
        or find("AUC", ours).high >= 0.5
    ):
        return ""
    return " The AUC below 0.5 comes from leaving rows out: without a row its class is rarer, and a model that knows nothing else predicts another one."


def _held_out_worse(findings: Findings) -> Iterator[str]:
    if abs(disagreement(findings)) > CLEAR_STANDARD_ERRORS:
        yield from agreement(findings)


def _learned_metric(findings: Findings) -> Iterator[str]:
    if findings.is_flattered:
        yield (
            "The metric was learned from all rows, including those that are left out in turn, so left-out scores and intervals are too "
            f"good by an unknown amount. {_cure(findings)}"
        )


def _many_parameters(findings: Findings) -> Iterator[str]:
    tuned, rows = len(parameters(findings.experiment.estimator.selection_)), len(findings.experiment.y)
    if tuned * ROWS_PER_PARAMETER > rows:
        yield f"{tuned} parameters were chosen on {rows} rows, so left-out scores are too optimistic. {_cure(findings)}"


def _cure(findings: Findings) -> str:
    """Return what to trust instead of scores of rows that also chose the parameters."""
    if findings.held_out is not None:
        return "Trust the scores on the rows held out."
    return "Hold rows out (--holdout 0.25) and trust the scores on those."


def _regularisation_at_bound(findings: Findings) -> Iterator[str]:
    experiment, selection = findings.experiment, findings.experiment.estimator.selection_
    if not selection.objective.tune_machine or not len(selection.machine.theta):
        return
    letter = "C" if selection.machine.sign > 0 and not shows_alpha_for_C(experiment.estimator) else "alpha"
    warning = bound_warning(selection, experiment.model[:-1].transform(experiment.X), letter)
    if warning is not None:
        yield str(warning)


def _length_scales_at_bound(findings: Findings) -> Iterator[str]:
    experiment = findings.experiment
    named = parameters(experiment.estimator.selection_)
    # Where columns are prepared for it, the kernel was chosen too: others were tried and are no better.
    if experiment.sees_categories:
        return
    # Among many length scales, those at the upper bound belong to columns that do not matter, which is no reason to worry.
    if len(named) > RANGE_MIN_PARAMETERS:
        return
    for side in ("lower", "upper"):
        # The full power of a learned metric is the metric itself.
        at_bound = [p for p in named if p.on_bound == side and not p.name.endswith("power")]
        ended = [PARAMETER_TITLES.get(p.name, p.name) for p in at_bound]
        if ended:
            one = len(ended) == 1
            yield (
                f"The search moved {listing(ended)} to {'its' if one else 'their'} {side} {'bound' if one else 'bounds'}: the data do not "
                f"determine {'it' if one else 'them'}. Another kernel may fit better."
            )


def _cut_short(findings: Findings) -> Iterator[str]:
    stop = findings.experiment.estimator.selection_.outcome.stop
    if stop in (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED):
        yield f"{stop.value} More time may give a better choice."


def _approximated(findings: Findings) -> Iterator[str]:
    estimator = findings.experiment.estimator
    best, final = estimator.selection_.outcome.best, estimator.criterion_value_
    # A search over other parameters tuned another machine: a subset grows from a tuned ridge regression.
    if len(best.theta) != len(tuned_parameters(findings.experiment)):
        return
    # A search over some of the rows expects too much loss, since more rows help; the other way round, it was misled.
    if final - best.value > APPROXIMATION_MAX_GAP * max(abs(final), abs(best.value)):
        yield (
            f"The search expected a criterion of {number(best.value)} from an approximation, and the final fit has {number(final)}: "
            'other parameters may be better. Give the search more time, or use gram="dense".'
        )
