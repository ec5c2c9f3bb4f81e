"""The report: verdict, sections, files and the story of the search, put together on one page."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.cli.files.sheet import PathLike
from foldless.cli.report import class_figures, search_figures, text, verdict
from foldless.cli.report.cautions import cautions
from foldless.cli.report.downloads import Download, downloads
from foldless.cli.report.page import render
from foldless.cli.report.parts import Grid, Panel, Section, filled
from foldless.cli.report.sections import cards, sections
from foldless.cli.report.threshold import threshold_data
from foldless.cli.report.tuned import shows_alpha_for_C, tuned_parameters
from foldless.cli.report.verdict import Findings, find_out
from foldless.core.atomic_write import written_whole
from foldless.core.contracts import Outcome, Step
from foldless.criteria.base import Criterion
from foldless.inspection.criterion_surface import Surface, evaluate_surface
from foldless.inspection.relevance import length_scales

# With more rows even a sketch of the criterion takes minutes.
SURFACE_MAX_ROWS = 100_000
SURFACE_SECONDS = 2.0


def write_report(experiment: Experiment, path: PathLike, *, baselines: bool = True) -> Findings:
    """Write one self-contained HTML file about an experiment.

    Parameters
    ----------
    experiment : Experiment
    path : str or path-like
    baselines : bool, default=True
        Whether to fit simple models to the same rows, for the verdict.

    Returns
    -------
    findings : Findings
        What the page says in its verdict.
    """
    findings = find_out(experiment, baselines)
    write_page(findings, path)
    return findings


def write_page(findings: Findings, path: PathLike) -> None:
    """Write the page about findings to a file."""
    html = page(findings)
    with written_whole(path) as temporary:
        temporary.write_text(html, encoding="utf-8")


def page(findings: Findings) -> str:
    """Return the page as HTML."""
    experiment = findings.experiment
    files = downloads(findings)
    return render(
        [*sections(findings), _files_section(files), curious(experiment)],
        {"files": {file.name: [file.kind, file.content] for file in files}, "costs": _costs(findings)},
        title=f"{experiment.table.target_name} from {experiment.source}",
        headline=verdict.headline(findings),
        verdict=[*verdict.sentences(findings), text.form(experiment)],
        cautions=cautions(findings),
        cards=cards(findings),
        files=files,
        notes=experiment.table.notes,
        target=text.target(experiment),
        command=experiment.command,
        versions=text.versions(),
    )


def _costs(findings: Findings) -> dict[str, Any] | None:
    ours = findings.ours
    if ours is None or ours.probabilities is None or ours.probabilities.shape[1] != 2:
        return None
    return threshold_data(ours)


def _files_section(files: list[Download]) -> Section:
    words = ["Nothing is fetched or sent: the files are inside this page."]
    if all(file.name != "predictions.csv" for file in files):
        words.append("The predictions are too many for a page; `foldless predict` writes them.")
    return Section("downloads", "Take it with you", words)


def curious(experiment: Experiment) -> Section:
    """Return the last section: what was asked, the search, the criterion and the parameters."""
    rows = [[label, value] for label, value in text.facts(experiment)]
    panels = filled(
        [*_search_panels(experiment), *_margin_panels(experiment), *_comparison_panels(experiment)]
    )
    words = [text.asked(experiment), text.found(experiment)]
    return Section("curious", "For the curious", words, Grid(("", ""), rows, "facts"), panels)


def _search_panels(experiment: Experiment) -> Iterator[Panel]:
    estimator = experiment.estimator
    outcome, landscape = estimator.selection_.outcome, _landscape(experiment)
    if shows_alpha_for_C(estimator):
        outcome, landscape = _in_alpha(outcome, landscape)
    if landscape is not None:
        yield _surface_panel(landscape, outcome, estimator.selection_.criterion)
    yield _trace_panel(experiment, outcome)
    lengths = length_scales(estimator.kernel_)
    if len(lengths) > 1 and len(lengths) == len(experiment.feature_names):
        yield Panel(
            "relevance",
            "Length scales",
            "One over the length scale of each column of numbers: a long bar is a column along which the prediction changes "
            "quickly.",
            search_figures.relevance(lengths, experiment.feature_names),
        )


def _landscape(experiment: Experiment) -> Surface | None:
    if len(experiment.y) > SURFACE_MAX_ROWS:
        return None
    return evaluate_surface(experiment.estimator.selection_, SURFACE_SECONDS)


def _in_alpha(outcome: Outcome, landscape: Surface | None) -> tuple[Outcome, Surface | None]:
    """Return outcome and landscape with alpha = 1 / C in the place of C."""
    steps = tuple(_inverted(step) for step in outcome.trace)
    if landscape is not None:
        # Upside down, so that alpha increases.
        landscape = replace(
            landscape,
            y=1 / landscape.y[::-1],
            value=landscape.value[::-1],
            names=(landscape.names[0], "alpha"),
        )
    return replace(outcome, trace=steps, best=_inverted(outcome.best)), landscape


def _inverted(step: Step) -> Step:
    return replace(step, theta=np.append(step.theta[:-1], -step.theta[-1]))


def _surface_panel(landscape: Surface, outcome: Outcome, criterion: Criterion) -> Panel:
    rows = "all rows" if landscape.landmarks is None else f"{landscape.landmarks} landmarks"
    return Panel(
        "surface",
        "The criterion and the path of the search",
        f"{criterion.label}: dark is low, which is good. Small dots are the evaluations of the search, the large one is the choice. "
        f"The surface was computed on {rows} and is only a sketch; the search itself was more accurate.",
        search_figures.surface(landscape, outcome),
    )


def _trace_panel(experiment: Experiment, outcome: Outcome) -> Panel:
    n_final = len(experiment.estimator.selection_.steps_on_last_rows) or len(outcome.trace)
    caption = "Each dot is one evaluation of the criterion; the line is the best so far."
    if n_final < len(outcome.trace):
        caption += (
            " Values before the dashed line come from fewer rows, or from a quicker model that found where to start: "
            "do not compare them with those after it."
        )
    names = [parameter.name for parameter in tuned_parameters(experiment)]
    unit = experiment.estimator.selection_.criterion.unit
    chart = search_figures.trace(outcome.trace, names, n_final, unit)
    return Panel("trace", "Evaluations of the search", caption, chart)


def _margin_panels(experiment: Experiment) -> Iterator[Panel]:
    if experiment.loo_outputs is None or not experiment.is_classification:
        return
    yield Panel(
        "margins",
        "Margins",
        "How far each row is on the right side when the model has not seen it (leave-one-out). "
        "Rows left of zero are put in the wrong class.",
        class_figures.margins(experiment),
    )


def _comparison_panels(experiment: Experiment) -> Iterator[Panel]:
    if experiment.comparison is None:
        return
    repeats = len(experiment.comparison.errors)
    yield Panel(
        "comparison",
        "Comparison with other criteria",
        "Error on held-out rows when the same machine is tuned by each criterion: mean and standard deviation over "
        f"{repeats} random splits. Differences smaller than the bars mean nothing. An error far beyond the others is drawn at "
        "the edge, in another colour.",
        search_figures.comparison(experiment.comparison, text.error_name(experiment)),
    )
