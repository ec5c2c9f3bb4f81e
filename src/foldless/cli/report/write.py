"""The report: cards, sentences and figures put together on one page."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.cli.files.sheet import PathLike
from foldless.cli.report import class_figures, regression_figures, search_figures, text, uncertainty_figures
from foldless.cli.report.page import Panel, render
from foldless.core.atomic_write import written_whole
from foldless.core.contracts import Outcome, Step
from foldless.criteria.base import Criterion
from foldless.inspection.criterion_surface import Surface, evaluate_surface
from foldless.inspection.relevance import length_scales

# With more rows even a sketch of the criterion takes minutes.
SURFACE_MAX_ROWS = 100_000
CARD_MAX_CHARACTERS = 20


def write_report(experiment: Experiment, path: PathLike) -> None:
    """Write one self-contained HTML file about an experiment.

    Parameters
    ----------
    experiment : Experiment
    path : str or path-like
    """
    html = page(experiment)
    with written_whole(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def page(experiment: Experiment) -> str:
    """Return the page as HTML."""
    return render(
        title=f"{experiment.table.target_name} from {experiment.source}",
        asked=text.asked(experiment),
        found=text.found(experiment),
        cautions=text.cautions(experiment),
        cards=cards(experiment),
        facts=text.facts(experiment),
        panels=panels(experiment),
        notes=experiment.table.notes,
        features=text.features(experiment),
        target=text.target(experiment),
        scaled=experiment.is_scaled,
        command=experiment.command,
        versions=text.versions(),
    )


def cards(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the few numbers a reader wants first, as (label, text)."""
    name = text.error_name(experiment)
    shown = []
    if experiment.loo_error is not None:
        shown.append((f"leave-one-out {name}", text.error_text(experiment, experiment.loo_error)))
    if experiment.held_out is not None:
        shown.append((f"{name} on held-out rows", text.error_text(experiment, experiment.held_out.error)))
    shown += [(name, value) for name, value in text.chosen(experiment) if len(value) < CARD_MAX_CHARACTERS]
    return [*shown, ("evaluations of the criterion", str(experiment.estimator.n_evaluations_))]


def panels(experiment: Experiment) -> list[Panel]:
    """Return every figure of this experiment; one that would be alone in its line takes the whole line."""
    of_the_task = _class_panels if experiment.is_classification else _regression_panels
    found = [
        *_search_panels(experiment),
        *of_the_task(experiment),
        *_uncertainty_panels(experiment),
        *_comparison_panels(experiment),
    ]
    halves = [i for i, panel in enumerate(found) if not panel.wide]
    if len(halves) % 2:
        found[halves[-1]] = replace(found[halves[-1]], wide=True)
    return found


def _search_panels(experiment: Experiment) -> Iterator[Panel]:
    estimator = experiment.estimator
    outcome, landscape = estimator.selection_.outcome, _landscape(experiment)
    if text.shows_alpha_for_C(estimator):
        outcome, landscape = _in_alpha(outcome, landscape)
    if landscape is not None:
        yield _surface_panel(landscape, outcome, estimator.selection_.criterion)
    yield _trace_panel(experiment, outcome)
    lengths = length_scales(estimator.kernel_)
    if len(lengths) > 1:
        yield Panel(
            "relevance",
            "Which features matter",
            "One over the length scale of each feature: a long bar is a feature along which the prediction changes "
            "quickly. It shows what the machine uses, not what causes what.",
            search_figures.relevance(lengths, experiment.table.feature_names),
            wide=True,
        )


def _landscape(experiment: Experiment) -> Surface | None:
    if len(experiment.y) > SURFACE_MAX_ROWS:
        return None
    return evaluate_surface(experiment.estimator.selection_)


def _in_alpha(outcome: Outcome, landscape: Surface | None) -> tuple[Outcome, Surface | None]:
    """Return outcome and landscape with alpha = 1 / C in the place of C."""
    steps = tuple(_inverted(step) for step in outcome.trace)
    if landscape is not None:
        landscape = replace(landscape, y=1 / landscape.y, names=(landscape.names[0], "alpha"))
    return replace(outcome, trace=steps, best=_inverted(outcome.best)), landscape


def _inverted(step: Step) -> Step:
    return replace(step, theta=np.append(step.theta[:-1], -step.theta[-1]))


def _surface_panel(landscape: Surface, outcome: Outcome, criterion: Criterion) -> Panel:
    rows = "all rows" if landscape.landmarks is None else f"{landscape.landmarks} landmarks"
    return Panel(
        "surface",
        "The criterion and the path of the search",
        f"{criterion.label}: dark is low, which is good. The dots are the evaluations of the search, the star is the choice. The surface "
        f"was computed on {rows} and is only a sketch; the search itself was more accurate.",
        search_figures.surface(landscape, outcome, criterion.unit),
        wide=True,
    )


def _trace_panel(experiment: Experiment, outcome: Outcome) -> Panel:
    n_final = len(experiment.estimator.selection_.steps_on_last_rows) or len(outcome.trace)
    caption = "Each dot is one evaluation of the criterion; the line is the best so far."
    if n_final < len(outcome.trace):
        caption += (
            " At the dotted line the approximation of the kernel matrix was refined, and the values changed."
        )
    names = [parameter.name for parameter in text.tuned_parameters(experiment)]
    unit = experiment.estimator.selection_.criterion.unit
    figure = search_figures.trace(outcome.trace, names, n_final, unit)
    return Panel("trace", "Evaluations of the search", caption, figure)


def _uncertainty_panels(experiment: Experiment) -> Iterator[Panel]:
    """Yield the rows to look at, if their numbers are those of the file and the estimator knows them."""
    unknown = experiment.is_classification and experiment.loo_probabilities is None
    if experiment.held_out is not None or experiment.loo_outputs is None or unknown:
        return
    yield Panel(
        "suspicious",
        "Rows to look at",
        "The rows whose own value surprises the machine that has not seen them most: possible errors of labels or "
        "measurements, or the rows from which most can be learned. Rows of the table are counted from 1.",
        uncertainty_figures.suspicious(experiment),
    )


def _comparison_panels(experiment: Experiment) -> Iterator[Panel]:
    if experiment.comparison is None:
        return
    repeats = len(experiment.comparison.errors)
    yield Panel(
        "comparison",
        "Comparison with other criteria",
        "Error on held-out rows when the same machine is tuned by each criterion: mean and standard deviation over "
        f"{repeats} random splits. Differences smaller than the bars mean nothing. A triangle at the edge stands for "
        "an error far beyond the others.",
        search_figures.comparison(experiment.comparison, text.error_name(experiment)),
    )


def _class_panels(experiment: Experiment) -> Iterator[Panel]:
    if experiment.loo_outputs is None:
        return
    yield Panel(
        "margins",
        "Margins",
        "How far each row is on the right side when the machine has not seen it (leave-one-out). "
        "Rows left of zero are put in the wrong class.",
        class_figures.margins(experiment),
    )
    if experiment.loo_probabilities is not None:
        yield Panel(
            "calibration",
            "Calibration",
            "Rows grouped by their leave-one-out probability, against the frequency of the class among them. "
            "On the diagonal the probabilities are right; the bars are 95 % intervals.",
            class_figures.calibration(experiment),
            class_figures.calibration_on_a_phone(),
        )
    yield Panel(
        "confusion",
        "Confusion matrix",
        "Rows by their true class and by the class predicted when they are left out.",
        class_figures.confusion(experiment),
        class_figures.confusion_on_a_phone(experiment),
    )


def _regression_panels(experiment: Experiment) -> Iterator[Panel]:
    if experiment.loo_outputs is None:
        return
    yield Panel(
        "predicted",
        "Predicted and actual",
        "The value of each row against its prediction when it is left out.",
        regression_figures.predicted(experiment),
    )
    yield Panel(
        "residuals",
        "Residuals",
        "Actual minus predicted, each row left out in turn.",
        regression_figures.residuals(experiment),
    )
