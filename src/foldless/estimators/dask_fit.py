"""A fit to a Dask collection: parameters on some of its rows, which are pulled to the caller, then all rows on the cluster."""

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from foldless.core.errors import LandmarkWarning, Undefined
from foldless.core.parallel import workers
from foldless.core.standard_error import mean_and_error
from foldless.criteria.left_out import left_out_outputs, row_losses
from foldless.estimators.dask_cells import fit_cells_of
from foldless.estimators.dask_collections import (
    DRAWN,
    Collection,
    PartitionedFit,
    Reader,
    ReadRows,
    machine_of_rows,
)
from foldless.estimators.dask_landmarks import fit_landmarks
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.tuning.cellwise import CellSolution
from foldless.tuning.last_fit import LastFit

# Rows that are pulled to the caller, where landmarks are chosen among them; a collection of no more is fitted as an array.
PULLED_MAX_ROWS = 20_000
# Those of them on which the parameters are chosen: as many as a search makes use of.
TUNED_MAX_ROWS = 5000
# A fit by cells keeps all rows; gram="auto" does so up to this many numbers, two gigabytes of them.
CELLS_MAX_ENTRIES = 250_000_000
# What an estimator must know to read rows.
READING_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "column_codes_", "classes_", "_single")


def checked_collection(
    model: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Collection, np.random.Generator]:
    """Return the partitions of all collections, and what draws rows of them."""
    rng = np.random.default_rng(0 if model.random_state is None else model.random_state)
    allow_nan = model.__sklearn_tags__().input_tags.allow_nan
    return Collection.of(X, y, allow_nan, sample_weight), rng


def fit_collection(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Tune on some rows of a Dask collection, and fit all of them through landmarks or by cells."""
    begun = time.perf_counter()
    collection, rng = checked_collection(model, X, y, sample_weight)
    drawn = collection.draw(min(collection.n, PULLED_MAX_ROWS), rng)
    if collection.n <= PULLED_MAX_ROWS:
        return model.fit(*drawn)
    _check_options(model)
    some = rng.permutation(len(drawn[1]))[:TUNED_MAX_ROWS]
    tuned = clone(model).set_params(gram="auto", n_components=None, landmarks=None)
    tuned.fit(*(None if part is None else _safe_indexing(part, some) for part in drawn))
    reader = Reader(_reading_copy(model, tuned), model._class_weights_of(collection))
    read = reader(DRAWN, *drawn)
    seconds = None if model.time_budget is None else model.time_budget - (time.perf_counter() - begun)
    m = _n_landmarks(model, tuned, collection, read, seconds)
    function: Expansion | CellExpansion
    if m is None:
        kernel, machine, function, loss = fit_cells_of(model, tuned, collection, reader, read.X, rng)
        tuned.selection_ = replace(tuned.selection_, kernel=kernel, machine=machine)
        n_landmarks, n_cells = 0, len(function.cells)
    else:
        _check_landmarks(model, tuned)
        function, loss = fit_landmarks(model, tuned, collection, reader, read, m, rng)
        n_landmarks, n_cells = function.n_points, 0
        _warn_if_worse(tuned, loss)
    record = PartitionedFit(collection.n, len(some), n_landmarks, n_cells, loss)
    return _keep(model, tuned, function, record)


def _check_options(model: Any) -> None:
    if model.gram == "dense":
        raise ValueError(
            "gram='dense' needs all rows in one place; use gram='auto' for a Dask collection of more than "
            f"{PULLED_MAX_ROWS} rows."
        )
    if model.calibration != "same":
        raise ValueError(
            "calibration='split' needs all rows in one place; a Dask collection is fitted with 'same'."
        )


def _check_landmarks(model: Any, tuned: Any) -> None:
    if tuned.selection_.machine.smooth_loss is None or not tuned._is_expansion:
        raise ValueError(
            f"{type(model).__name__} with these parameters cannot be fitted to a Dask collection through landmarks, because it is no "
            "sum over rows of a smooth loss. Use gram='cells', pass arrays, or choose another loss, penalty or criterion."
        )


def _n_landmarks(
    model: Any, tuned: Any, collection: Collection, read: ReadRows, seconds: float | None
) -> int | None:
    """Return how many landmarks the last fit has, None for cells: as the user says, or as the pulled rows are fitted best."""
    if model.gram == "cells":
        return None
    if model.n_components is not None:
        return int(model.n_components)
    selection, total = tuned.selection_, collection.n
    last_fit = LastFit(
        read.X, read.Y, selection.criterion, n_jobs=model.n_jobs, seconds=seconds, total_rows=total
    )
    machine = machine_of_rows(selection.machine, read)
    may_use_cells = model.gram == "auto" and model.landmarks is None and tuned._is_expansion
    if not (may_use_cells and last_fit.may_use_cells(machine)):
        return last_fit.most_landmarks(machine)
    if machine.smooth_loss is None:
        return None
    if total * read.X.shape[1] > CELLS_MAX_ENTRIES:
        return last_fit.most_landmarks(machine)
    with workers(model.n_jobs):
        form = last_fit.fit(tuned.kernel_, machine)
    if isinstance(form.solution, CellSolution):
        return None
    # A table so small that the whole matrix suits it is fitted through as many landmarks as it has.
    return last_fit.most_landmarks(machine) if form.builder.exact else int(form.builder.points.shape[0])


def _reading_copy(model: Any, tuned: Any) -> Any:
    reader = clone(model)
    known = vars(tuned)
    vars(reader).update({name: known[name] for name in READING_ATTRIBUTES if name in known})
    return reader


def _warn_if_worse(tuned: Any, loss: float) -> None:
    """Warn if the fit to all rows does worse on left-out rows than the one to the rows that were pulled."""
    selection = tuned.selection_
    try:
        losses = row_losses(selection.machine, selection.solution.Y, left_out_outputs(selection.solution))
    except Undefined:
        return
    mean, error = mean_and_error(losses, selection.machine.row_counts)
    if loss > mean + 2 * error:
        message = (
            f"the fit to all rows does worse on left-out rows (mean loss {loss:.4g}) than the fit to {len(losses)} of them "
            f"({mean:.4g}): the landmarks are too few for this kernel. Raise n_components, or use gram='cells'."
        )
        warnings.warn(LandmarkWarning(message), stacklevel=4)


def _keep(model: Any, tuned: Any, function: Expansion | CellExpansion, record: PartitionedFit) -> Any:
    """Store the fit; what belongs to the rows that were pulled, such as their left-out outputs, is left out."""
    parameters, of_pulled = (
        model.get_params(deep=False),
        ("_left_out", "support_", "X_fit_", "dual_coef_", "intercept_"),
    )
    kept = {
        name: value
        for name, value in vars(tuned).items()
        if name not in parameters and not name.startswith("loo_") and name not in of_pulled
    }
    for name in set(vars(model)) - set(parameters):
        delattr(model, name)
    vars(model).update(kept)
    selection = model.selection_ = replace(tuned.selection_, form=record.form)
    model.kernel_ = selection.kernel
    for name, value in model._machine_params(selection.machine).items():
        setattr(model, f"{name}_", value)
    model._keep_function(function)
    model._training, model.partitions_ = None, record
    return model
