"""A study in words and numbers: sentences for the page, facts for the table, plain data for machines."""

import inspect
import platform
import re
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from foldless.core.contracts import Stop
from foldless.estimators.registry import entry_of
from foldless.inspection.criterion_surface import PARAMETER_TITLES, parameters

MOST_CLASSES = 6  # named in a sentence
MANY = 4  # parameters of one kind beyond which only their range is told
PACKAGES = ("foldless", "numpy", "scipy", "scikit-learn", "plotly")
COARSE = 0.2  # relative difference between the searched and the final criterion that is worth a word
ROWS_EACH = 20  # rows per tuned parameter below which the minimised estimate is too hopeful
PLAIN = 1e5  # from which a number is told with its power of ten


def number(value):
    """Three digits are what a reader can use; 1420, not 1.42e+03, and 1e7, not 1e+07."""
    if 1e3 <= abs(value) < PLAIN:
        return f"{float(f'{value:.3g}'):.0f}"
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{value:.3g}")


def percent(share):
    """A share as a percentage."""
    return f"{100 * share:.1f} %"


def error(study, value):
    """An error in the units of the task."""
    return percent(value) if study.is_classification else number(value)


def criterion_title(study):
    """First line of the criterion's own documentation, as part of a sentence."""
    line = inspect.getdoc(type(study.estimator.selection_.criterion)).splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]


def cross_entropy(study):
    """Mean leave-one-out cross-entropy of the true classes; None for machines without probabilities."""
    p = study.loo_probabilities
    if p is None:
        return None
    codes = np.searchsorted(study.estimator.classes_, study.y)
    own = np.take_along_axis(p, codes[:, None], axis=1)
    return float(-np.mean(np.log(np.maximum(own, np.finfo(float).tiny))))


def tuned(study):
    """Tuned parameters, under the names the estimator gives them."""
    estimator = study.estimator
    found = parameters(estimator.selection_)
    if found and found[-1].name == "C" and hasattr(estimator, "alpha_"):
        found[-1] = replace(found[-1], name="alpha", value=estimator.alpha_)
    return found


def chosen(study):
    """Tuned parameters as (name, text); one line for many of a kind."""
    groups: dict[str, list[float]] = {}
    for parameter in tuned(study):
        groups.setdefault(parameter.name.partition("[")[0], []).append(parameter.value)
    return [(PARAMETER_TITLES.get(name, name), _values(values)) for name, values in groups.items()]


def _values(values):
    if len(values) < MANY:
        return ", ".join(map(number, values))
    return f"{number(min(values))} to {number(max(values))} ({len(values)} values)"


def facts(study):
    """Return (label, text) pairs: what was chosen and how good it is."""
    estimator = study.estimator
    rows = [("machine", entry_of(estimator).title), ("kernel", str(estimator.kernel_)), *chosen(study)]
    rows.append((f"criterion ({estimator.selection_.criterion.name})", number(estimator.criterion_value_)))
    if cross_entropy(study) is not None:
        rows.append(("leave-one-out cross-entropy per row", number(cross_entropy(study))))
    if study.loo_error is not None:
        rows.append((f"leave-one-out {error_word(study)}", error(study, study.loo_error)))
    if study.held_out is not None:
        rows.append((f"held-out {error_word(study)}", error(study, study.held_out.error)))
    rows += [("evaluations", str(estimator.n_evaluations_)), ("seconds", f"{study.seconds:.2f}")]
    return rows


def error_word(study):
    """What an error is called for this task."""
    return "error" if study.is_classification else "RMSE"


def asked(study):
    """One sentence: what was asked."""
    request, estimator = study.request, study.estimator
    kernels = " or ".join(request.kernel)
    rows = f"{len(study.y)} rows"
    if study.held_out is not None:
        rows += f" ({study.held_out.rows} more were set aside)"
    return (
        f"Predict {_target(study)} from {count(study.X.shape[1], 'feature')} of {rows}, by a "
        f"{entry_of(estimator).title} with the kernel {kernels}. Its parameters were to be chosen without folds, by "
        f"the {criterion_title(study)} ({estimator.selection_.criterion.name})."
    )


def _target(study):
    name = study.table.target_name
    if not study.is_classification:
        return f"the number “{name}” (from {number(study.y.min())} to {number(study.y.max())})"
    return f"“{name}” ({class_counts(study)})"


def class_counts(study):
    """Classes with their numbers of rows, the rest counted."""
    names, counts = np.unique(study.y, return_counts=True)
    told = [f"{name}: {n}" for name, n in zip(names[:MOST_CLASSES], counts)]
    more = len(names) - len(told)
    return ", ".join(told) + (f" and {count(more, 'other class', 'other classes')}" if more > 0 else "")


def count(n, one, many=None):
    """A number and its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def found(study):
    """A few sentences: what was found."""
    estimator = study.estimator
    values = " and ".join(f"{name} = {text}" for name, text in chosen(study)) or "nothing was left to choose"
    sentences = [
        f"After {count(estimator.n_evaluations_, 'look', 'looks')} in {study.seconds:.1f} seconds: {values}.",
        estimator.selection_.outcome.stop.value,
        *_estimate(study),
    ]
    return " ".join(sentences)


def _estimate(study):
    loo, held = study.loo_error, study.held_out
    if loo is not None and study.is_classification:
        wrong = int(round(loo * len(study.y)))
        yield (
            f"Had each row been left out in turn, {wrong} of {len(study.y)} ({percent(loo)}) would have been "
            "put in the wrong class."
        )
    elif loo is not None:
        yield f"Had each row been left out in turn, its prediction would have been off by {number(loo)} (RMSE)."
    if held is not None and study.is_classification:
        yield f"Of the {held.rows} rows set aside, {percent(held.error)} were put in the wrong class."
    elif held is not None:
        yield f"On the {held.rows} rows set aside the predictions are off by {number(held.error)} (RMSE)."


def cautions(study):
    """What a careful reader should know about this result; often nothing."""
    rules = (_cut_short, _approximated, _many_parameters, _on_bounds, _worse_than_guessing)
    return [caution for rule in rules for caution in rule(study)]


def _cut_short(study):
    stop = study.estimator.selection_.outcome.stop
    if stop in (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED):
        yield f"{stop.value} More time may give a better choice."


def _approximated(study):
    best, final = study.estimator.selection_.outcome.best, study.estimator.criterion_value_
    seen = best.value
    if len(best.theta) != len(tuned(study)):
        return  # the search was for another machine: a subset is grown where ridge regression was tuned
    if abs(final - seen) > COARSE * max(abs(final), abs(seen)):
        yield (
            f"The search saw {number(seen)} on its approximation of the kernel matrix, the final fit gives "
            f"{number(final)}: the choice may not be the best. Search on the whole matrix, or for longer."
        )


def _many_parameters(study):
    tuned, rows = len(parameters(study.estimator.selection_)), len(study.y)
    if tuned * ROWS_EACH > rows:
        yield (
            f"{tuned} parameters were chosen on {rows} rows: an estimate that was minimised over that many is too "
            "hopeful. Believe rows that were held out (--holdout), or tune fewer."
        )


def _on_bounds(study):
    named = parameters(study.estimator.selection_)
    for side in ("lower", "upper"):
        ended = [p.name for p in named if p.on_bound == side]
        if len(named) <= MANY and ended:
            yield (
                f"{', '.join(ended)} ended on the {side} end of its range: the data do not determine it. "
                "Another kernel may suit them better."
            )
        elif ended and side == "upper":
            yield f"{count(len(ended), 'length scale')} ended at the upper bound: those features hardly matter."


def _worse_than_guessing(study):
    if study.loo_error is None or not study.is_classification:
        return
    commonest = np.unique(study.y, return_counts=True)[1].max() / len(study.y)
    if study.loo_error >= 1 - commonest:
        yield f"Always answering the commonest class would be wrong in {percent(1 - commonest)}: no better was found."


def versions():
    """Versions that matter, as (package, version)."""
    rows = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            rows.append((name, version(name)))
        except PackageNotFoundError:
            rows.append((name, "not installed"))
    return rows


def features(study):
    """Least, mean, greatest value and spread of every feature, as (name, texts)."""
    return [(name, _summary(x)) for name, x in zip(study.table.feature_names, study.X.T)]


def _summary(x):
    return list(map(number, (x.min(), x.mean(), x.max(), x.std())))


def target(study):
    """The target in numbers: a sentence with its values, or each class and its share."""
    name = f"{study.table.target_name}: "
    if not study.is_classification:
        return name + "from {0} to {2}, mean {1}, standard deviation {3}".format(*_summary(study.y))
    names, counts = np.unique(study.y, return_counts=True)
    told = [f"{label} {n} ({percent(n / len(study.y))})" for label, n in zip(names[:MOST_CLASSES], counts)]
    more = len(names) - len(told)
    return (
        name + ", ".join(told) + (f" and {count(more, 'other class', 'other classes')}" if more > 0 else "")
    )


def plain(study):
    """Everything a program would ask for, as dictionaries, lists, texts and numbers."""
    estimator, selection = study.estimator, study.estimator.selection_
    return {
        "source": study.source,
        "target": study.table.target_name,
        "task": study.table.task,
        "rows": len(study.y),
        "features": study.table.feature_names,
        "machine": entry_of(estimator).title,
        "kernel": str(estimator.kernel_),
        "parameters": {p.name: float(p.value) for p in tuned(study)},
        "criterion": {"name": selection.criterion.name, "value": float(estimator.criterion_value_)},
        "loo_cross_entropy": cross_entropy(study),
        "loo_error": study.loo_error,
        "held_out_rows": None if study.held_out is None else study.held_out.rows,
        "held_out_error": None if study.held_out is None else study.held_out.error,
        "evaluations": estimator.n_evaluations_,
        "seconds": study.seconds,
        "stop": selection.outcome.stop.name.lower(),
        "notes": [*study.table.notes, *cautions(study)],
        "versions": dict(versions()),
        "command": study.command,
        "trace": [_step(step) for step in estimator.trace_],
    }


def _step(step):
    value = float(step.value) if np.isfinite(step.value) else None
    return {"theta": list(map(float, step.theta)), "value": value, "seconds": step.seconds, "why": step.why}
