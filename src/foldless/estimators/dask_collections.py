"""Dask arrays and data frames into ``fit`` and ``predict``: rows that are in no one place.

The parameters are chosen on some of the rows, which are pulled to the caller. The last fit, through landmarks, is a sum over
the partitions; see :mod:`foldless.tuning.partitioned_fit`. Every pass is a graph of tasks that begins at the collection itself:
no worker holds anything that could not be computed again, so that a worker that dies costs time and nothing else.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce, wraps
from operator import add
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import LandmarkWarning, Undefined
from foldless.core.optional_imports import import_extra
from foldless.core.parallel import workers
from foldless.criteria.left_out import left_out_outputs, row_losses
from foldless.estimators.columns import is_frame
from foldless.estimators.landmarks import landmark_points
from foldless.grams.landmarks import pivoted_landmarks
from foldless.tuning.partitioned_fit import (
    LandmarkFeatures,
    PrimalState,
    Sums,
    minimise_sums,
    outputs_left_out,
    row_sums,
)

# Rows that are pulled to the caller, where landmarks are chosen among them; a collection of no more is fitted as an array.
PULLED_MAX_ROWS = 20_000
# Those of them on which the parameters are chosen: as many as a search makes use of.
TUNED_MAX_ROWS = 5000
DEFAULT_LANDMARKS = 1000
# Sums that one task adds up.
ADDED_AT_ONCE = 8
# What an estimator must know to read rows.
READING_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "column_codes_", "classes_", "_single")

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class PartitionedFit:
    """What a fit to a Dask collection used.

    Attributes
    ----------
    n_rows : int
        Rows of the last fit.
    n_search_rows : int
        Rows on which the parameters were chosen.
    n_landmarks : int
    left_out_loss : float
        Mean loss of all rows when each is left out of the last fit.
    """

    n_rows: int
    n_search_rows: int
    n_landmarks: int
    left_out_loss: float


def is_dask(X: Any) -> bool:
    """Return True for a Dask collection; Dask is not imported for the question."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


def lazy_on_dask(method: Method) -> Method:
    """Let a method of new points take a Dask collection: it then returns a Dask array, and computes nothing yet."""

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **options)
        # A later fit must not change what was promised for this one.
        model = copy(self)
        return _lazy_rows(lambda rows: method(model, rows, *args, **options), X)

    return cast(Method, either)


def _lazy_rows(compute: Callable[[Any], np.ndarray], X: Any) -> Any:
    dask, da = import_extra("dask", "dask"), import_extra("dask.array", "dask")
    example = compute(_example_rows(X))
    if isinstance(example, tuple):
        raise ValueError("a Dask collection has one output at a time; leave return_std out, or pass arrays.")
    task = dask.delayed(_rows_or_none, pure=False)
    empty, trailing = example[:0], example.shape[1:]
    blocks = [
        da.from_delayed(task(compute, part, empty), (n, *trailing), example.dtype)
        for part, n in zip(_parts(X), _row_counts(X), strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _rows_or_none(compute: Callable[[Any], np.ndarray], rows: Any, empty: np.ndarray) -> np.ndarray:
    return compute(rows) if rows.shape[0] else empty


def _is_dask_frame(X: Any) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def _example_rows(X: Any) -> Any:
    """Return a few rows of the collection's kind, for the shape and type of what comes out."""
    return X._meta_nonempty if _is_dask_frame(X) else np.zeros((1, X.shape[1]))


def _parts(X: Any) -> list[Any]:
    """Return the partitions as tasks, with all columns in each."""
    if not _is_dask_frame(X) and X.ndim == 2:
        X = X.rechunk({1: -1})
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _row_counts(X: Any) -> list[float]:
    return [np.nan] * X.npartitions if _is_dask_frame(X) else list(X.chunks[0])


def _paired_parts(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Return the partitions of both collections; those of arrays are aligned first."""
    if not (is_dask(X) and is_dask(y)):
        raise ValueError("X and y must both be Dask collections, or both be arrays; one of them is not.")
    if not (_is_dask_frame(X) or _is_dask_frame(y)) and not np.isnan(X.shape[0] + y.shape[0]):
        if X.shape[0] != y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, y has {y.shape[0]}.")
        y = y.rechunk({0: X.chunks[0]})
    parts = _parts(X), _parts(y)
    if len(parts[0]) != len(parts[1]):
        raise ValueError(
            f"X has {len(parts[0])} partitions, y has {len(parts[1])}; repartition one of them like the other."
        )
    return list(zip(*parts, strict=True))


@dataclass(frozen=True, eq=False)
class Reader:
    """Turns the rows of a partition into points, targets and weights.

    Parameters
    ----------
    model : estimator
        Knows columns and classes.
    class_weight : dict or None
        Weight of each class.
    """

    model: Any
    class_weight: dict[Any, float] | None

    def __call__(self, number: int, X: Any, y: Any) -> tuple[Any, Matrix, Vector]:
        """Return points, targets (n, k) and weights (n,); an error names the partition."""
        labels = np.asarray(y)
        try:
            points, Y = self.model._check_points(X), self.model._target_columns(labels)
        except ValueError as error:
            raise ValueError(f"partition {number} of the collection: {error}") from error
        if self.class_weight is None:
            return points, Y, np.ones(len(Y))
        return points, Y, np.array([self.class_weight.get(label, 1.0) for label in labels.tolist()])


@dataclass(frozen=True, eq=False)
class Job:
    """What all tasks of a fit have in common."""

    reader: Reader
    features: LandmarkFeatures
    machine: Machine
    loss: Any
    C: float

    def sums(self, beta: Vector, column: int, number: int, X: Any, y: Any) -> Sums:
        """Return the sums over a partition."""
        points, Y, v = self.reader(number, X, y)
        with workers(1):
            return row_sums(self.features, self.loss, beta, points, Y[:, column], v)

    def left_out(self, beta: Vector, root: Matrix, column: int, number: int, X: Any, y: Any) -> float:
        """Return the sum of the left-out losses of a partition."""
        points, Y, v = self.reader(number, X, y)
        y = Y[:, column]
        with workers(1):
            z = outputs_left_out(self.features, self.loss, self.C, beta, root, points, y, v)
        return float(np.sum(row_losses(self.machine, y[:, None], z[:, None])))


def _chosen(X: Any, y: Any, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    return _safe_indexing(X, rows), np.asarray(y)[rows]


def _added(terms: Sequence[Any]) -> Any:
    return reduce(add, terms)


@dataclass(frozen=True, eq=False)
class Collection:
    """The partitions that hold rows, with the number of rows of each."""

    parts: list[tuple[Any, Any]]
    sizes: list[int]

    @classmethod
    def of(cls, X: Any, y: Any) -> "Collection":
        """Count the rows of all partitions."""
        dask = import_extra("dask", "dask")
        parts, task = _paired_parts(X, y), dask.delayed(_count, pure=False)
        sizes = dask.compute(*[task(i, *part) for i, part in enumerate(parts)])
        held = [i for i, n in enumerate(sizes) if n]
        return cls([parts[i] for i in held], [sizes[i] for i in held])

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return n rows, drawn without replacement, and their targets."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(_chosen, pure=False)
        counts = rng.multivariate_hypergeometric(self.sizes, n)
        rows = [
            np.sort(rng.choice(size, k, replace=False)) for size, k in zip(self.sizes, counts, strict=True)
        ]
        drawn = dask.compute(*[task(*part, r) for part, r in zip(self.parts, rows, strict=True) if len(r)])
        return _stacked([X for X, _ in drawn]), np.concatenate([y for _, y in drawn])

    def total(self, compute: Callable[..., Any], job: Job, *arguments: Any) -> Any:
        """Return the sum of ``compute(job, *arguments, number, X, y)`` over all partitions, in a fixed order."""
        dask = import_extra("dask", "dask")
        task, added = dask.delayed(compute, pure=False), dask.delayed(_added, pure=False)
        shared = [dask.delayed(value, pure=False, traverse=False) for value in (job, *arguments)]
        terms = [task(*shared, i, *part) for i, part in enumerate(self.parts)]
        while len(terms) > 1:
            terms = [added(terms[i : i + ADDED_AT_ONCE]) for i in range(0, len(terms), ADDED_AT_ONCE)]
        return dask.compute(terms[0])[0]

    def class_counts(self) -> dict[Any, int]:
        """Return how many rows each class has."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(_label_counts, pure=False)
        total: dict[Any, int] = {}
        for counts in dask.compute(*[task(y) for _, y in self.parts]):
            for label, n in counts.items():
                total[label] = total.get(label, 0) + n
        return total


def _count(number: int, X: Any, y: Any) -> int:
    n = int(X.shape[0])
    if n != len(y):
        raise ValueError(f"partition {number} has {n} rows of X and {len(y)} of y.")
    return n


def _label_counts(y: Any) -> dict[Any, int]:
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _stacked(parts: list[Any]) -> Any:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return import_extra("pandas").concat(parts) if is_frame(parts[0]) else np.concatenate(parts)


def fit_collection(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Tune on some rows of a Dask collection, and fit all of them through landmarks, partition by partition."""
    if sample_weight is not None:
        raise ValueError("a fit to Dask collections takes no sample_weight; leave it out, or pass arrays.")
    collection = Collection.of(X, y)
    rng = np.random.default_rng(0 if model.random_state is None else model.random_state)
    points, targets = collection.draw(min(collection.n, PULLED_MAX_ROWS), rng)
    if collection.n <= PULLED_MAX_ROWS:
        return model.fit(points, targets)
    _check_options(model)
    some = rng.permutation(len(targets))[:TUNED_MAX_ROWS]
    tuned = clone(model).set_params(gram="auto", n_components=None, landmarks=None)
    tuned.fit(_safe_indexing(points, some), targets[some])
    machine = tuned.selection_.machine
    if machine.smooth_loss is None or not tuned._is_expansion:
        raise ValueError(
            f"{type(model).__name__} with these parameters cannot be fitted to a Dask collection: it is no sum over rows of a "
            "smooth loss. Pass arrays, or use another loss, penalty or criterion."
        )
    reader = Reader(_reading_copy(model, tuned), model._class_weights_of(collection))
    read = reader(0, points, targets)
    features = LandmarkFeatures.of(tuned.kernel_, _landmarks(model, tuned, read[0], rng), machine.bias)
    job = Job(reader, features, machine, *machine.smooth_loss)
    fits = [_fit_column(job, collection, column, *read) for column in range(read[1].shape[1])]
    loss = float(np.mean([value for _, value in fits]))
    _warn_if_worse(tuned, loss)
    record = PartitionedFit(collection.n, len(some), len(features.L), loss)
    return _keep(model, tuned, features, np.column_stack([beta for beta, _ in fits]), record)


def _check_options(model: Any) -> None:
    if model.gram in ("dense", "cells"):
        raise ValueError(
            f"gram={model.gram!r} needs all rows in one place; use gram='auto' for a Dask collection of more than "
            f"{PULLED_MAX_ROWS} rows."
        )
    if model.calibration != "same":
        raise ValueError(
            "calibration='split' needs all rows in one place; a Dask collection is fitted with 'same'."
        )


def _reading_copy(model: Any, tuned: Any) -> Any:
    reader = clone(model)
    known = vars(tuned)
    vars(reader).update({name: known[name] for name in READING_ATTRIBUTES if name in known})
    return reader


def _landmarks(model: Any, tuned: Any, points: Any, rng: np.random.Generator) -> Any:
    """Return the landmarks that the user gave, or rows of those that were pulled."""
    if model.landmarks is None:
        m = DEFAULT_LANDMARKS if model.n_components is None else model.n_components
        with workers(model.n_jobs):
            return points[pivoted_landmarks(tuned.kernel_, points, min(m, points.shape[0]), rng)]
    if not sp.issparse(model.landmarks) and np.ndim(model.landmarks) == 1:
        raise ValueError(
            "the rows of a Dask collection have no numbers; give landmarks as points of shape (m, d)."
        )
    return landmark_points(model.landmarks, points, tuned.column_codes_)


def _fit_column(
    job: Job, collection: Collection, column: int, X: Any, Y: Matrix, v: Vector
) -> tuple[Vector, float]:
    """Return the coefficients of one column, and the mean left-out loss; the fit to the rows at hand is the start."""

    def here(beta: Vector) -> Sums:
        return row_sums(job.features, job.loss, beta, X, Y[:, column], v)

    def everywhere(beta: Vector) -> Sums:
        return collection.total(Job.sums, job, beta, column)

    beta = np.zeros(job.features.width)
    if job.features.bias:
        beta[-1] = job.loss.start(Y[:, column], v)
    first = PrimalState(here, job.C * collection.n / len(Y), job.features.penalty, beta)
    begun = PrimalState(everywhere, job.C, job.features.penalty, minimise_sums(first, len(Y)))
    beta = minimise_sums(begun, collection.n)
    root = begun.at(beta).root
    return beta, collection.total(Job.left_out, job, beta, root, column) / collection.n


def _warn_if_worse(tuned: Any, loss: float) -> None:
    """Warn if the fit to all rows does worse on left-out rows than the one to the rows that were pulled."""
    selection = tuned.selection_
    try:
        losses = row_losses(selection.machine, selection.solution.Y, left_out_outputs(selection.solution))
    except Undefined:
        return
    if loss > np.mean(losses) + 2 * np.std(losses) / np.sqrt(len(losses)):
        message = (
            f"the fit to all rows does worse on left-out rows (mean loss {loss:.4g}) than the fit to {len(losses)} of them "
            f"({np.mean(losses):.4g}): the landmarks are too few for this kernel. Raise n_components."
        )
        warnings.warn(LandmarkWarning(message), stacklevel=4)


def _keep(model: Any, tuned: Any, features: LandmarkFeatures, beta: Matrix, record: PartitionedFit) -> Any:
    """Store the fit; what belongs to the rows that were pulled, such as their left-out outputs, is left out."""
    parameters = model.get_params(deep=False)
    kept = {
        name: value
        for name, value in vars(tuned).items()
        if name not in parameters and not name.startswith("loo_") and name not in ("_left_out", "support_")
    }
    for name in set(vars(model)) - set(parameters):
        delattr(model, name)
    vars(model).update(kept)
    coefficients, model.intercept_ = features.expansion(beta)
    model.X_fit_, model.dual_coef_, model.cells_ = features.points, coefficients.T, None
    model._training, model.partitions_ = None, record
    return model
