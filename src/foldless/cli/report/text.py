"""An experiment in words and numbers: sentences for the page, facts for the table, plain data for JSON."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.cli.files.sheet import count
from foldless.cli.numbers import from_table, listing, number, percent, with_spread
from foldless.cli.report.cautions import cautions
from foldless.cli.report.tuned import RANGE_MIN_PARAMETERS, tuned_parameters
from foldless.cli.report.verdict import Findings
from foldless.core.contracts import Step
from foldless.estimators.registry import entry_of
from foldless.inspection.criterion_surface import PARAMETER_TITLES
from foldless.kernels.in_words import in_words

SENTENCE_MAX_CLASSES = 6
PACKAGES = ("foldless", "numpy", "scipy", "scikit-learn")


def error_text(experiment: Experiment, value: float) -> str:
    """Return an error in the unit of the task."""
    return percent(value) if experiment.is_classification else number(value)


def error_name(experiment: Experiment) -> str:
    """Return what an error is called for this task."""
    return "error" if experiment.is_classification else "RMSE"


def cross_entropy(experiment: Experiment) -> float | None:
    """Return the mean leave-one-out cross-entropy of the true classes; None without probabilities."""
    p = experiment.loo_probabilities
    if p is None:
        return None
    codes = np.searchsorted(experiment.estimator.classes_, experiment.y)
    own = np.take_along_axis(p, codes[:, None], axis=1)
    return float(-np.mean(np.log(np.maximum(own, np.finfo(float).tiny))))


def chosen(experiment: Experiment) -> list[tuple[str, str]]:
    """Return the tuned parameters as (name, text), with one entry for all parameters of a kind."""
    groups: dict[str, list[float]] = {}
    for parameter in tuned_parameters(experiment):
        groups.setdefault(parameter.name.partition("[")[0], []).append(parameter.value)
    return [(PARAMETER_TITLES.get(name, name), _values(values)) for name, values in groups.items()]


def _values(values: list[float]) -> str:
    if len(values) < RANGE_MIN_PARAMETERS:
        return ", ".join(map(number, values))
    return f"{number(min(values))} to {number(max(values))} ({len(values)} values)"


def facts(experiment: Experiment) -> list[tuple[str, str]]:
    """Return (label, text) pairs: how good the model is, what was chosen, and what it took."""
    estimator = experiment.estimator
    criterion = estimator.selection_.criterion
    return [
        *_errors(experiment),
        ("machine", entry_of(estimator).title),
        ("kernel", in_words(estimator.kernel_)),
        *chosen(experiment),
        (f"criterion {criterion.name} ({criterion.unit})", number(estimator.criterion_value_)),
        ("rows of the search", str(searched_rows(experiment))),
        ("rows of the fit", _fitted_rows(experiment)),
        ("evaluations", str(estimator.n_evaluations_)),
        ("seconds", f"{experiment.seconds:.2f}"),
    ]


def _errors(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the errors on rows left out, with a standard error, and on rows held out."""
    error = error_name(experiment)
    if experiment.loo_error is not None:
        spread = experiment.loo_standard_error or 0.0
        shown = (
            f"{percent(experiment.loo_error)} ± {percent(spread)}"
            if experiment.is_classification
            else with_spread(experiment.loo_error, spread)
        )
        yield f"leave-one-out {error}", shown
    if experiment.loo_probabilities is not None:
        yield "leave-one-out log loss", number(cross_entropy(experiment))
    if experiment.held_out is not None:
        yield f"held-out {error}", error_text(experiment, experiment.held_out.error)


def asked(experiment: Experiment) -> str:
    """Return what was asked, in a few sentences."""
    estimator = experiment.estimator
    names = estimator.kernel if isinstance(estimator.kernel, list) else []
    compared = f", chosen among {listing(list(map(str, names)))}" if names else ""
    rows = count(len(experiment.y), "row")
    if experiment.held_out is not None:
        rows += f" ({experiment.held_out.rows} more were held out)"
    return (
        f"The model predicts {_target(experiment)} from {count(experiment.X.shape[1], 'feature')} of {rows}. "
        f"It is {entry_of(estimator).title} with the kernel {in_words(estimator.kernel_)}{compared}. "
        f"Its parameters were chosen without folds, by this criterion: {_criterion(experiment)}."
    )


def form(experiment: Experiment) -> str:
    """Return in a sentence which form the fitted model has: whole, landmarks or cells."""
    kind = experiment.estimator.selection_.form
    rows = len(experiment.y)
    if kind == "whole":
        return f"The model was fitted exactly, to all {rows} rows."
    if kind.endswith("landmarks"):
        return f"The model was fitted to all {rows} rows through {kind}: rows that represent the others."
    if kind == "1 cell":
        return f"The model consists of one cell with all {rows} rows, fitted exactly."
    if kind.endswith("cells"):
        return (
            f"The model consists of {kind}: groups of nearby rows out of {rows}, each with a fit of its own."
        )
    return f"The model has the form “{kind}” of {rows} rows."


def searched_rows(experiment: Experiment) -> int:
    """Return how many rows the search looked at together, at most."""
    return max(step.n_rows or 0 for step in experiment.estimator.trace_)


def _fitted_rows(experiment: Experiment) -> str:
    kind, rows = experiment.estimator.selection_.form, str(len(experiment.y))
    if kind.endswith("landmarks"):
        return f"{rows}, through {kind}"
    return f"{rows}, in {kind}" if "cell" in kind else rows


def _criterion(experiment: Experiment) -> str:
    criterion = experiment.estimator.selection_.criterion
    return f"{criterion.title} ({criterion.name})"


def _target(experiment: Experiment) -> str:
    name, y = experiment.table.target_name, experiment.y
    if not experiment.is_classification:
        return f"the number “{name}” (from {from_table(y.min())} to {from_table(y.max())})"
    return f"“{name}” ({_classes(experiment, '“{0}” {1} times')})"


def _classes(experiment: Experiment, form: str) -> str:
    """Return the classes by ``form`` of (name, rows, percentage); beyond a few only their number."""
    names, counts = np.unique(experiment.y, return_counts=True)
    pairs = list(zip(names, counts))[:SENTENCE_MAX_CLASSES]
    shown = ", ".join(form.format(name, n, percent(n / len(experiment.y))) for name, n in pairs)
    more = len(names) - len(pairs)
    return shown + (f" and {count(more, 'other class', 'other classes')}" if more else "")


def found(experiment: Experiment) -> str:
    """Return what was found, in a few sentences."""
    estimator = experiment.estimator
    values = (
        " and ".join(f"{name} = {text}" for name, text in chosen(experiment)) or "nothing was left to choose"
    )
    evaluations = count(estimator.n_evaluations_, "evaluation")
    sentences = [
        f"After {evaluations} in {experiment.seconds:.1f} seconds: {values}.",
        estimator.selection_.outcome.stop.value,
        *_estimates(experiment),
    ]
    return " ".join(sentences)


def _estimates(experiment: Experiment) -> Iterator[str]:
    loo, held_out, n = experiment.loo_error, experiment.held_out, len(experiment.y)
    if loo is not None and experiment.is_classification:
        wrong = int(round(loo * n))
        yield f"With each row left out in turn, {wrong} of {n} ({percent(loo)}) are put in the wrong class."
    elif loo is not None:
        yield f"With each row left out in turn, the predictions are off by {number(loo)} (RMSE)."
    if held_out is not None and experiment.is_classification:
        yield f"Among the {held_out.rows} rows held out, {percent(held_out.error)} are put in the wrong class."
    elif held_out is not None:
        yield f"On the {held_out.rows} rows held out, the predictions are off by {number(held_out.error)} (RMSE)."


def promise(model: Any, level: float) -> str:
    """Return what intervals or sets of a model promise, without the advice about Python that follows after a comma."""
    return model.guarantee(level).partition(", while ")[0].rstrip(".") + "."


def versions() -> list[tuple[str, str]]:
    """Return the versions that matter, as (package, version)."""
    rows = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def target(experiment: Experiment) -> str:
    """Return the range of the target, or each class with its frequency."""
    name = f"{experiment.table.target_name}: "
    if experiment.is_classification:
        return name + _classes(experiment, "“{0}” {1} times ({2})")
    low, high = (from_table(float(f(experiment.y))) for f in (np.min, np.max))
    mean, spread = (number(float(f(experiment.y))) for f in (np.mean, np.std))
    return name + f"from {low} to {high}, mean {mean}, standard deviation {spread}"


def to_plain_data(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment as dictionaries, lists, texts and numbers, for JSON."""
    estimator, selection, held_out = (
        experiment.estimator,
        experiment.estimator.selection_,
        experiment.held_out,
    )
    return {
        "source": experiment.source,
        "target": experiment.table.target_name,
        "task": experiment.table.task,
        "rows": len(experiment.y),
        "search_rows": searched_rows(experiment),
        "form": selection.form,
        "features": experiment.feature_names,
        "columns": experiment.table.verdicts,
        "machine": entry_of(estimator).title,
        "kernel": str(estimator.kernel_),
        "parameters": {p.name: float(p.value) for p in tuned_parameters(experiment)},
        "criterion": {
            "name": selection.criterion.name,
            "title": selection.criterion.title,
            "unit": selection.criterion.unit,
            "value": float(estimator.criterion_value_),
        },
        "loo_cross_entropy": cross_entropy(experiment),
        "loo_error": experiment.loo_error,
        "held_out_rows": None if held_out is None else held_out.rows,
        "held_out_error": None if held_out is None else held_out.error,
        "evaluations": estimator.n_evaluations_,
        "seconds": experiment.seconds,
        "stop": selection.outcome.stop.name.lower(),
        "notes": [*experiment.table.notes, *cautions(Findings(experiment))],
        "versions": dict(versions()),
        "command": experiment.command,
        "trace": [_step(step) for step in estimator.trace_],
    }


def _step(step: Step) -> dict[str, Any]:
    value = float(step.value) if np.isfinite(step.value) else None
    return {"theta": list(map(float, step.theta)), "value": value, "seconds": step.seconds, "why": step.why}
