"""Where words, figures and page meet."""

from pathlib import Path

from foldless.landscape import parameters, surface
from foldless.report import figures, text
from foldless.report.page import Panel, render


def write_report(study, path):
    """Write one self-contained HTML file about a study.

    Parameters
    ----------
    study : Study
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
    """Every figure this study has something to show in."""
    kind = _classes if study.is_classification else _numbers
    return [*_search(study), *kind(study), *_compared(study)]


def _search(study):
    selection = study.estimator.selection_
    landscape = surface(selection)
    if landscape is not None:
        seen = "all rows" if landscape.landmarks is None else f"{landscape.landmarks} landmarks"
        yield Panel(
            "surface",
            "The criterion and the path of the search",
            f"Dark is low, which is good. The dots are the looks of the search in their order, the star is the choice. "
            f"The landscape was computed on {seen} and is a sketch; the choice was not made on it.",
            figures.surface(landscape, selection.outcome),
        )
    yield Panel(
        "trace",
        "The search, look by look",
        "Each dot is one evaluation of the criterion; the line is the best so far.",
        figures.trace(study.estimator.trace_, [p.name for p in parameters(selection)]),
    )
    lengths = figures.length_scales(study)
    if lengths is not None:
        yield Panel(
            "relevance",
            "Which features matter",
            "One over the length scale of each feature: a long bar is a feature along which the answer changes "
            "quickly. It says what the machine uses, not what causes what.",
            figures.relevance(lengths, study.table.feature_names),
        )


def _compared(study):
    if study.comparison is None:
        return
    repeats = len(study.comparison.errors)
    yield Panel(
        "comparison",
        "What other criteria would have given",
        f"Error on held-out rows when the same machine is tuned by each criterion: mean and standard deviation over "
        f"{repeats} random splits. Differences smaller than the bars say nothing.",
        figures.comparison(study.comparison, text.error_word(study)),
    )


def _classes(study):
    if study.loo_outputs is None:
        return
    yield Panel(
        "margins",
        "How clear the decisions are",
        "Leave-one-out margins: how far each row is on the right side when the machine has not seen it. "
        "Left of zero it would be put in the wrong class.",
        figures.margins(study),
    )
    if study.loo_probabilities is not None:
        yield Panel(
            "reliability",
            "How far the probabilities can be believed",
            "Rows grouped by the probability they were given when left out, against the share of them that came true. "
            "On the diagonal the probabilities mean what they say; the bars are 95 % intervals.",
            figures.reliability(study),
        )
    yield Panel(
        "confusion",
        "What is mistaken for what",
        "Rows by their class and by the class they were given when left out.",
        figures.confusion(study),
    )


def _numbers(study):
    if study.loo_outputs is None:
        return
    yield Panel(
        "predicted",
        "Predicted and actual",
        "Each row's value against its prediction by the machine that has not seen it.",
        figures.predicted(study),
    )
    yield Panel(
        "residuals",
        "Residuals",
        "Actual minus predicted, each row left out in turn.",
        figures.residuals(study),
    )
