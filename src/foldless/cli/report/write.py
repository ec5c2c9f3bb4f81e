"""Where words, figures and page meet."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from foldless.cli.report import class_figures, search_figures, text
from foldless.cli.report import regression_figures as number_figures
from foldless.cli.report.page import Panel, render
from foldless.inspection.criterion_surface import evaluate_surface, parameters

MOST_ROWS = 100_000  # beyond which even a sketch of the criterion takes minutes


def write_report(study, path):
    """Write one self-contained HTML file about a study.

    Parameters
    ----------
    study : Experiment
    path : str or path-like
    """
    Path(path).write_text(page(study), encoding="utf-8")


def page(study):
    """Return the page as a text."""
    return render(
        title=f"{study.table.target_name} from {study.source}",
        asked=text.asked(study),
        found=text.found(study),
        cautions=text.cautions(study),
        cards=cards(study),
        facts=text.facts(study),
        panels=panels(study),
        notes=study.table.notes,
        features=text.features(study),
        target=text.target(study),
        scaled=study.request.scale,
        command=study.command,
        versions=text.versions(),
    )


def cards(study):
    """The few numbers a reader looks for first, as (label, text)."""
    word = text.error_word(study)
    shown = []
    if study.loo_error is not None:
        shown.append((f"leave-one-out {word}", text.error(study, study.loo_error)))
    if study.held_out is not None:
        shown.append((f"{word} on held-out rows", text.error(study, study.held_out.error)))
    shown += [(name, value) for name, value in text.chosen(study) if len(value) < 20]
    return [*shown, ("looks at the criterion", str(study.estimator.n_evaluations_))]


def panels(study):
    """Every figure this study has something to show in; one that would stand alone in its line takes all of it."""
    kind = _classes if study.is_classification else _numbers
    found = [*_search(study), *kind(study), *_compared(study)]
    halves = [i for i, panel in enumerate(found) if not panel.wide]
    if len(halves) % 2:
        found[halves[-1]] = replace(found[halves[-1]], wide=True)
    return found


def in_words_of(estimator, landscape):
    """Return outcome and landscape as the estimator tells them: one over C where it has ``alpha_`` and its machine a C."""
    outcome, named = estimator.selection_.outcome, parameters(estimator.selection_)
    if not hasattr(estimator, "alpha_") or not named or named[-1].name != "C":
        return outcome, landscape
    steps = tuple(_inverted(step) for step in outcome.trace)
    if landscape is not None:
        landscape = replace(landscape, y=1 / landscape.y, names=(landscape.names[0], "alpha"))
    return replace(outcome, trace=steps, best=_inverted(outcome.best)), landscape


def _inverted(step):
    return replace(step, theta=np.append(step.theta[:-1], -step.theta[-1]))


def _landscape(study):
    return evaluate_surface(study.estimator.selection_) if len(study.y) <= MOST_ROWS else None


def _search(study):
    selection = study.estimator.selection_
    outcome, landscape = in_words_of(study.estimator, _landscape(study))
    if landscape is not None:
        seen = "all rows" if landscape.landmarks is None else f"{landscape.landmarks} landmarks"
        yield Panel(
            "surface",
            "The criterion and the path of the search",
            f"Dark is low, which is good. The dots are the looks of the search in their order, the star is the choice. "
            f"The landscape was computed on {seen} and is a sketch; the choice was not made on it.",
            search_figures.surface(landscape, outcome),
            wide=True,
        )
    last = len(selection.steps_on_last_gram) or len(outcome.trace)
    finer = last < len(outcome.trace)
    yield Panel(
        "trace",
        "The search, look by look",
        "Each dot is one evaluation of the criterion; the line is the best so far."
        + finer
        * " At the dotted line the kernel matrix was approximated more closely, and the values changed.",
        search_figures.trace(outcome.trace, [p.name for p in text.tuned(study)], last),
    )
    lengths = search_figures.length_scales(study)
    if lengths is not None:
        yield Panel(
            "relevance",
            "Which features matter",
            "One over the length scale of each feature: a long bar is a feature along which the answer changes "
            "quickly. It says what the machine uses, not what causes what.",
            search_figures.relevance(lengths, study.table.feature_names),
            wide=True,
        )


def _compared(study):
    if study.comparison is None:
        return
    repeats = len(study.comparison.errors)
    yield Panel(
        "comparison",
        "What other criteria would have given",
        f"Error on held-out rows when the same machine is tuned by each criterion: mean and standard deviation over "
        f"{repeats} random splits. Differences smaller than the bars say nothing. A triangle at the edge stands for "
        "an error far beyond the others.",
        search_figures.comparison(study.comparison, text.error_word(study)),
    )


def _classes(study):
    if study.loo_outputs is None:
        return
    yield Panel(
        "margins",
        "How clear the decisions are",
        "Leave-one-out margins: how far each row is on the right side when the machine has not seen it. "
        "Left of zero it would be put in the wrong class.",
        class_figures.margins(study),
    )
    if study.loo_probabilities is not None:
        yield Panel(
            "reliability",
            "How far the probabilities can be believed",
            "Rows grouped by the probability they were given when left out, against the share of them that came true. "
            "On the diagonal the probabilities mean what they say; the bars are 95 % intervals.",
            class_figures.reliability(study),
            class_figures.reliability_on_a_phone(study),
        )
    yield Panel(
        "confusion",
        "What is mistaken for what",
        "Rows by their class and by the class they were given when left out.",
        class_figures.confusion(study),
        class_figures.confusion_on_a_phone(study),
    )


def _numbers(study):
    if study.loo_outputs is None:
        return
    yield Panel(
        "predicted",
        "Predicted and actual",
        "Each row's value against its prediction by the machine that has not seen it.",
        number_figures.predicted(study),
    )
    yield Panel(
        "residuals",
        "Residuals",
        "Actual minus predicted, each row left out in turn.",
        number_figures.residuals(study),
    )
