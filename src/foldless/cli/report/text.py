"""An experiment in words and numbers: sentences for the page, facts for the table, plain data for JSON."""

import platform
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.core.contracts import Step, Stop, Vector
from foldless.estimators.registry import entry_of
from foldless.inspection.criterion_surface import PARAMETER_TITLES, Parameter, parameters

SENTENCE_MAX_CLASSES = 6
# From this many parameters of one kind on, only their range is shown.
RANGE_MIN_PARAMETERS = 4
PACKAGES = ("foldless", "numpy", "scipy", "scikit-learn", "plotly")
# Relative difference between the criterion of the search and of the final fit that deserves a caution.
APPROXIMATION_MAX_GAP = 0.2
ROWS_PER_PARAMETER = 20
# Numbers from this one on are written with a power of ten.
PLAIN_MAX_NUMBER = 1e5


def number(value: float | None) -> str:
    """Return three digits of a number: 1420, not 1.42e+03, and 1e7, not 1e+07; a dash for None."""
    if value is None:
        return "-"
    if 1e3 <= abs(value) < PLAIN_MAX_NUMBER:
        return f"{float(f'{value:.3g}'):.0f}"
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{value:.3g}")


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage; a dash for None."""
    return "-" if fraction is None else f"{100 * fraction:.1f} %"


def count(n: int, one: str, many: str = "") -> str:
    """Return a number and its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"


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


def shows_alpha_for_C(estimator: Any) -> bool:
    """Return True if the machine is tuned in C, but the estimator shows alpha = 1 / C."""
    named = parameters(estimator.selection_)
    return bool(named) and named[-1].name == "C" and hasattr(estimator, "alpha_")


def tuned_parameters(experiment: Experiment) -> list[Parameter]:
    """Return the tuned parameters, under the names the estimator gives them."""
    estimator = experiment.estimator
    found = parameters(estimator.selection_)
    if shows_alpha_for_C(estimator):
        found[-1] = replace(found[-1], name="alpha", value=estimator.alpha_)
    return found


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
    """Return (label, text) pairs: what was chosen and how good it is."""
    estimator, error = experiment.estimator, error_name(experiment)
    rows = [("machine", entry_of(estimator).title), ("kernel", str(estimator.kernel_)), *chosen(experiment)]
    criterion = estimator.selection_.criterion
    rows.append((f"criterion ({criterion.name}), {criterion.unit}", number(estimator.criterion_value_)))
    if experiment.loo_probabilities is not None:
        rows.append(("leave-one-out cross-entropy per row", number(cross_entropy(experiment))))
    if experiment.loo_error is not None:
        rows.append((f"leave-one-out {error}", error_text(experiment, experiment.loo_error)))
        spread = error_text(experiment, experiment.loo_standard_error or 0.0)
        rows.append((f"standard error of the leave-one-out {error}", spread))
    if experiment.held_out is not None:
        rows.append((f"held-out {error}", error_text(experiment, experiment.held_out.error)))
    rows += [("evaluations", str(estimator.n_evaluations_)), ("seconds", f"{experiment.seconds:.2f}")]
    return rows


def asked(experiment: Experiment) -> str:
    """Return what was asked, in a few sentences."""
    estimator = experiment.estimator
    kernels = estimator.kernel if isinstance(estimator.kernel, list) else [estimator.kernel]
    rows = count(len(experiment.y), "row")
    if experiment.held_out is not None:
        rows += f" ({experiment.held_out.rows} more were held out)"
    return (
        f"Predict {_target(experiment)} from {count(experiment.X.shape[1], 'feature')} of {rows}. "
        f"Machine: {entry_of(estimator).title} with the kernel {' or '.join(map(str, kernels))}. "
        f"Criterion that chooses its parameters, without folds: {_criterion(experiment)}."
    )


def _criterion(experiment: Experiment) -> str:
    criterion = experiment.estimator.selection_.criterion
    return f"{criterion.title} ({criterion.name})"


def _target(experiment: Experiment) -> str:
    name, y = experiment.table.target_name, experiment.y
    if not experiment.is_classification:
        return f"the number “{name}” (from {number(y.min())} to {number(y.max())})"
    return f"“{name}” ({_classes(experiment, '{0}: {1}')})"


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


def cautions(experiment: Experiment) -> list[str]:
    """Return what a careful reader should know about this result; often nothing."""
    rules = (_cut_short, _approximated, _many_parameters, _on_bounds, _worse_than_guessing)
    return [caution for rule in rules for caution in rule(experiment)]


def _cut_short(experiment: Experiment) -> Iterator[str]:
    stop = experiment.estimator.selection_.outcome.stop
    if stop in (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED):
        yield f"{stop.value} More time may give a better choice."


def _approximated(experiment: Experiment) -> Iterator[str]:
    best, final = experiment.estimator.selection_.outcome.best, experiment.estimator.criterion_value_
    if len(best.theta) != len(tuned_parameters(experiment)):
        return  # the search tuned another machine: a subset grows from a tuned ridge regression
    if abs(final - best.value) > APPROXIMATION_MAX_GAP * max(abs(final), abs(best.value)):
        yield (
            f"The criterion was {number(best.value)} on the approximated kernel matrix of the search and is "
            f"{number(final)} in the final fit: the choice may not be the best. Give the search more time."
        )


def _many_parameters(experiment: Experiment) -> Iterator[str]:
    tuned, rows = len(parameters(experiment.estimator.selection_)), len(experiment.y)
    if tuned * ROWS_PER_PARAMETER > rows:
        yield (
            f"{tuned} parameters were chosen on {rows} rows: an estimate that was minimised over so many is too "
            "optimistic. Trust the error on rows held out (--holdout), or tune fewer parameters."
        )


def _on_bounds(experiment: Experiment) -> Iterator[str]:
    named = parameters(experiment.estimator.selection_)
    for side in ("lower", "upper"):
        ended = [p.name for p in named if p.on_bound == side]
        if len(named) <= RANGE_MIN_PARAMETERS and ended:
            yield (
                f"{', '.join(ended)} ended at the {side} bound: the data do not determine it. "
                "Another kernel may fit better."
            )
        elif ended and side == "upper":
            yield f"{count(len(ended), 'length scale')} ended at the upper bound: those features hardly matter."


def _worse_than_guessing(experiment: Experiment) -> Iterator[str]:
    if experiment.loo_error is None or not experiment.is_classification:
        return
    most_frequent = np.unique(experiment.y, return_counts=True)[1].max() / len(experiment.y)
    if experiment.loo_error >= 1 - most_frequent:
        yield f"Always predicting the most frequent class is wrong for {percent(1 - most_frequent)}: this is no better."


def versions() -> list[tuple[str, str]]:
    """Return the versions that matter, as (package, version)."""
    rows = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def features(experiment: Experiment) -> list[tuple[str, list[str]]]:
    """Return minimum, mean, maximum and standard deviation of every feature, as (name, texts)."""
    return [(name, _summary(x)) for name, x in zip(experiment.table.feature_names, experiment.X.T)]


def _summary(x: Vector) -> list[str]:
    return [number(float(value)) for value in (x.min(), x.mean(), x.max(), x.std())]


def target(experiment: Experiment) -> str:
    """Return the range of the target, or each class with its frequency."""
    name = f"{experiment.table.target_name}: "
    if experiment.is_classification:
        return name + _classes(experiment, "{0} {1} ({2})")
    return name + "from {0} to {2}, mean {1}, standard deviation {3}".format(*_summary(experiment.y))


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
        "features": experiment.table.feature_names,
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
        "notes": [*experiment.table.notes, *cautions(experiment)],
        "versions": dict(versions()),
        "command": experiment.command,
        "trace": [_step(step) for step in estimator.trace_],
    }


def _step(step: Step) -> dict[str, Any]:
    value = float(step.value) if np.isfinite(step.value) else None
    return {"theta": list(map(float, step.theta)), "value": value, "seconds": step.seconds, "why": step.why}
