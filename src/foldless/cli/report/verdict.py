"""The verdict: what the model reaches on rows it has not seen, beside simple models, in plain words."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.cli.files.sheet import count
from foldless.cli.numbers import as_precise, listing, number, percent
from foldless.cli.report.baselines import baselines, judged_rows
from foldless.cli.report.scores import Score, Unseen, decisive_name, find, gain, scores
from foldless.core.memo import cached_property

OURS = "this model"
# A difference counts from so many standard errors on.
CLEAR_STANDARD_ERRORS = 2.0
# Scores without a unit, written with three decimals.
UNITLESS = ("R²", "AUC", "log loss")


@dataclass(frozen=True, eq=False)
class Findings:
    """An experiment with what was found out about it: answers for unseen rows, ours and those of simple models.

    Attributes
    ----------
    experiment : Experiment
    others : list of Unseen
        Simple models on the same rows; empty if they were not asked for.
    """

    experiment: Experiment
    others: tuple[Unseen, ...] = ()

    @cached_property
    def left_out(self) -> Unseen | None:
        """Our answers for the training rows, each left out in turn; None if the machine has none."""
        experiment = self.experiment
        if experiment.loo_predicted is None:
            return None
        classes = experiment.estimator.classes_ if experiment.is_classification else None
        p = experiment.loo_probabilities
        return Unseen(OURS, experiment.y, experiment.loo_predicted, p, classes, "each row left out in turn")

    @cached_property
    def held_out(self) -> Unseen | None:
        """Our answers for the rows held out; None if there are none."""
        held, experiment = self.experiment.held_out, self.experiment
        if held is None:
            return None
        classes = experiment.estimator.classes_ if experiment.is_classification else None
        return Unseen(OURS, held.y, held.predicted, held.probabilities, classes, "rows held out")

    @property
    def ours(self) -> Unseen | None:
        """Our answers on the rows that the verdict is about: those held out, or else those left out."""
        return self.left_out if self.held_out is None else self.held_out

    @property
    def is_flattered(self) -> bool:
        """Whether the scores are too good, because a metric was learned from the rows that judge it."""
        return self.held_out is None and bool(self.experiment.estimator.selection_.metric_is_learned)

    @cached_property
    def compared(self) -> list[Unseen]:
        """Our answers and those of the simple models on the same rows, ours first."""
        if self.ours is None or not self.others:
            return []
        ours = self.ours
        if len(self.others[0].y) != len(ours.y):
            rows = judged_rows(self.experiment)
            p = None if ours.probabilities is None else ours.probabilities[rows]
            ours = replace(ours, y=ours.y[rows], predicted=ours.predicted[rows], probabilities=p)
        return [ours, *self.others]

    @cached_property
    def gains(self) -> list[tuple[str, str]]:
        """For every simple model its name, and whether ours is ``"better"``, ``"worse"`` or ``"equal"`` on these rows."""
        if not self.compared:
            return []
        name, (ours, guess, *rest) = decisive_name(self.compared), self.compared
        sides = [_side(find(name, ours), find(name, other)) for other in rest]
        first = _against_guess(ours, guess, self.held_out is not None)
        return [(guess.name, first), *zip((other.name for other in rest), sides)]


def find_out(experiment: Experiment, with_baselines: bool = True, quick: bool = False) -> Findings:
    """Return the findings of an experiment; simple models are fitted if asked for, without those that take long if ``quick``."""
    return Findings(experiment, tuple(baselines(experiment, quick)) if with_baselines else ())


def _against_guess(ours: Unseen, guess: Unseen, on_held_out: bool) -> str:
    """Return the side of ours against a model that answers the same for every row.

    Few rows held out may be too few for a clear difference of the log loss although the order of the probabilities is clearly right: then
    the area under the ROC curve, which is one half for any such model, decides. Rows left out have chosen the parameters, so that
    two chances on them would find use in noise.
    """
    name = decisive_name([ours, guess])
    side = _side(find(name, ours), find(name, guess))
    if on_held_out and side == "equal" and name == "log loss":
        return "better" if _side(find("AUC", ours), find("AUC", guess)) == "better" else "equal"
    return side


def _side(ours: Score, theirs: Score) -> str:
    difference, error = gain(ours, theirs)
    if abs(difference) <= CLEAR_STANDARD_ERRORS * error:
        return "equal"
    return "better" if difference > 0 else "worse"


def score_text(score: Score, value: float | None = None) -> str:
    """Return a score, or another value in its unit, for people."""
    value = score.value if value is None else value
    if score.is_share:
        return percent(value)
    # Adding 0 turns a rounded -0 into 0.
    return f"{round(value, 3) + 0:.3f}" if score.name in UNITLESS else as_precise(value, value)


def interval_text(score: Score) -> str:
    """Return the 95 % interval of a score."""
    if score.is_share or score.name in UNITLESS:
        low, high = score_text(score, score.low), score_text(score, score.high)
    else:
        low, high = as_precise(score.low, score.value), as_precise(score.high, score.value)
    return f"{low.removesuffix(' %')} to {high}"


def headline(findings: Findings) -> str:
    """Return the verdict in one short sentence."""
    sides = dict(findings.gains)
    if not sides:
        return _headline_alone(findings)
    (name, against_guess), *rest = findings.gains
    guess = f"always answering the {name}"
    if against_guess != "better":
        rows = count(len(findings.compared[0].y), "row")
        return f"Not shown to be useful: on {rows}, not clearly better than {guess}."
    useful, clearly = ("Probably useful", "") if findings.is_flattered else ("Useful", "clearly ")
    losers = [name for name, side in rest if side == "better"]
    winners = [name for name, side in rest if side == "worse"]
    if winners:
        return f"{useful}, but {listing(winners)} {'does' if len(winners) == 1 else 'do'} clearly better."
    if len(losers) == len(rest):
        return f"{useful}: {clearly}better than {listing([*losers, guess])}."
    even = [name for name, side in rest if side == "equal"]
    if losers:
        return f"{useful}: {clearly}better than {listing(losers)}; no clear difference from {listing(even)}."
    return f"{useful}: {clearly}better than {guess}; no clear difference from {listing(even)}."


def _headline_alone(findings: Findings) -> str:
    ours = findings.ours
    if ours is None:
        return "The model is fitted; this machine has no left-out predictions to judge it by."
    score = scores(ours)[0]
    return f"{score.name.capitalize() if score.name == 'error' else score.name} {score_text(score)} on rows it has not seen."


def score_rows(findings: Findings) -> tuple[tuple[str, ...], list[list[Score]]]:
    """Return the names of the models that were judged, ours first, and for each the scores that all of them have."""
    judged = findings.compared or ([] if findings.ours is None else [findings.ours])
    found = [scores(one) for one in judged]
    shared = set.intersection(*({score.name for score in line} for line in found)) if found else set()
    kept = [[score for score in line if score.name in shared] for line in found]
    return tuple(one.name for one in judged), kept


def plain_verdict(findings: Findings) -> dict[str, Any]:
    """Return the verdict and the scores behind it as dictionaries, texts and numbers, for JSON."""
    models = {
        name: {score.name: {"value": score.value, "low": score.low, "high": score.high} for score in line}
        for name, line in zip(*score_rows(findings))
    }
    return {"verdict": headline(findings), "models": models}


def sentences(findings: Findings) -> list[str]:
    """Return the verdict in a few sentences."""
    if findings.ours is None:
        return []
    return [_what_it_reaches(findings), *_how_compared(findings), *agreement(findings)]


def _what_it_reaches(findings: Findings) -> str:
    ours, experiment = findings.ours, findings.experiment
    assert ours is not None
    rows = f"{len(ours.y)} {'rows held out before tuning' if findings.held_out else 'rows, each predicted without itself'}"
    if experiment.is_classification:
        error = find("error", ours)
        ends = f"{percent(1 - error.high).removesuffix(' %')} to {percent(1 - error.low)}"
        right = f"{percent(1 - error.value)} ({ends})"
        return f"It is right for {right} of the {rows}. {_guess(findings)}"
    mae, r2 = find("MAE", ours), find("R²", ours)
    return (
        f"On the {rows}, its predictions are off by {number(mae.value)} on average ({interval_text(mae)}), and it explains "
        f"{percent(max(0.0, r2.value))} of the variance of the target ({number(100 * max(0.0, r2.low))} to "
        f"{percent(max(0.0, r2.high))})."
    )


def _guess(findings: Findings) -> str:
    ours = findings.ours
    assert ours is not None
    labels, sizes = np.unique(findings.experiment.y, return_counts=True)
    commonest = labels[np.argmax(sizes)]
    return (
        f"Always answering “{commonest}” would be right for {percent(float(np.mean(ours.y == commonest)))}."
    )


def _how_compared(findings: Findings) -> list[str]:
    if not findings.compared:
        return []
    if findings.held_out is not None:
        how = "All models were fitted to the same rows and judged on the same rows held out."
    else:
        how = (
            "This model is judged by leaving out one row at a time, the others by five-fold cross-validation, in which each fit has a "
            "fifth fewer rows."
        )
    n, used = len(findings.experiment.y), len(judged_rows(findings.experiment))
    cut = f" The other models were given {used} of the {n} rows, to save time." if used < n else ""
    name = decisive_name(findings.compared)
    is_second_chance = name == "log loss" and findings.held_out is not None
    also = f", and with the {findings.others[0].name} also by AUC" if is_second_chance else ""
    return [
        f"Models are compared by {name}, row by row{also}; a difference of more than {CLEAR_STANDARD_ERRORS:g} standard errors is called "
        f"clear. {how}{cut}"
    ]


def disagreement(findings: Findings) -> float:
    """Return how many standard errors worse the rows held out are than the rows left out; negative if they are better."""
    if findings.held_out is None or findings.left_out is None:
        return 0.0
    name = decisive_name([findings.held_out, findings.left_out])
    held, left = find(name, findings.held_out), find(name, findings.left_out)
    sign = -1.0 if held.larger_is_better else 1.0
    error = np.hypot(held.standard_error, left.standard_error)
    return float(sign * (held.value - left.value) / error) if error > 0 else 0.0


def agreement(findings: Findings) -> list[str]:
    """Return a sentence on whether the rows left out and those held out tell the same story."""
    if findings.held_out is None or findings.left_out is None:
        return []
    name = decisive_name([findings.held_out, findings.left_out])
    held, left = find(name, findings.held_out), find(name, findings.left_out)
    values = (
        f"{name} {score_text(left)} with each training row left out, {score_text(held)} on the rows held out"
    )
    if abs(disagreement(findings)) <= CLEAR_STANDARD_ERRORS:
        return [f"The two estimates agree within their standard errors: {values}."]
    side = "worse" if disagreement(findings) > 0 else "better"
    return [f"The two estimates disagree: {values}. The rows held out are {side} than chance explains."]
