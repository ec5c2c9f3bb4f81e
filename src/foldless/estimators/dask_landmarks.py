"""The last fit to a Dask collection through landmarks: a sum over the partitions; see :mod:`foldless.tuning.partitioned_fit`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from foldless.core.contracts import Machine, Matrix
from foldless.core.parallel import workers
from foldless.criteria.left_out import row_losses
from foldless.estimators.dask_collections import (
    Collection,
    Reader,
    ReadRows,
    machine_of_rows,
    memory_of_workers,
)
from foldless.estimators.landmarks import landmark_points
from foldless.grams.expansion import Expansion
from foldless.grams.landmarks import pivoted_landmarks
from foldless.machines.base import fraction_of_one_row
from foldless.machines.losses import Squared
from foldless.tuning.partitioned_fit import (
    NEAR_DECREMENT,
    KnownFeatures,
    LandmarkFeatures,
    PrimalState,
    Slopes,
    Sums,
    feature_slopes,
    feature_sums,
    hessian_roots,
    minimise_sums,
    near_minimum,
    outputs_left_out,
    quadratic_sums,
    row_slopes,
    row_sums,
)

# Numbers of all Hessians that one pass sums up: columns beyond are fitted afterwards.
HESSIAN_MAX_ENTRIES = 10_000_000
# Features stay with the workers between passes if they take at most this share of their memory; without a cluster, so many numbers.
KEPT_MEMORY_SHARE, KEPT_MAX_ENTRIES = 0.3, 1e8


@dataclass(frozen=True, eq=False)
class _Job:
    """What all tasks have in common."""

    reader: Callable[[str, Any, Any, Any], ReadRows]
    features: LandmarkFeatures | KnownFeatures
    machine: Machine
    loss: Any
    C: float

    def known(self, place: str, X: Any, y: Any, weight: Any) -> ReadRows:
        """Return the rows of a partition, with their features in place of their points."""
        rows = self.reader(place, X, y, weight)
        with workers(1):
            return replace(rows, X=cast(LandmarkFeatures, self.features).in_strips(rows.X))

    def sums(self, columns: slice, beta: Matrix, place: str, X: Any, y: Any, weight: Any) -> Sums:
        """Return the sums over a partition."""
        rows = self.reader(place, X, y, weight)
        with workers(1):
            return row_sums(self.features, self.loss, beta, rows.X, rows.Y[:, columns], rows.weights)

    def slopes(self, columns: slice, beta: Matrix, place: str, X: Any, y: Any, weight: Any) -> Slopes:
        """Return the cheaper sums over a partition."""
        rows = self.reader(place, X, y, weight)
        with workers(1):
            return row_slopes(self.features, self.loss, beta, rows.X, rows.Y[:, columns], rows.weights)

    def left_out(
        self,
        columns: slice,
        beta: Matrix,
        roots: list[Matrix],
        place: str,
        X: Any,
        y: Any,
        weight: Any,
    ) -> float:
        """Return the sum of the left-out losses of a partition."""
        rows = self.reader(place, X, y, weight)
        Y = rows.Y[:, columns]
        u = rows.weights * fraction_of_one_row(machine_of_rows(self.machine, rows), len(Y))
        with workers(1):
            Z = outputs_left_out(self.features, self.loss, self.C, beta, roots, rows.X, Y, u)
        return float(rows.counts @ row_losses(self.machine, Y, Z))


def fit_landmarks(
    model: Any,
    tuned: Any,
    collection: Collection,
    reader: Reader,
    read: ReadRows,
    m: int,
    rng: np.random.Generator,
) -> tuple[Expansion, float]:
    """Return the function that was fitted to all rows, and their mean left-out loss.

    Parameters
    ----------
    model : estimator
        Has the user's parameters.
    tuned : estimator
        Fitted to some of the rows: has the kernel and the machine.
    collection : Collection
    reader : Reader
    read : ReadRows
        Rows that are at hand: landmarks are chosen among them, and they give the first coefficients.
    m : int
        Number of landmarks, unless the user gave them.
    rng : Generator
    """
    machine, k = tuned.selection_.machine, read.Y.shape[1]
    features = LandmarkFeatures.of(tuned.kernel_, _landmarks(model, tuned, read.X, m, rng), machine.bias)
    job = _Job(reader, features, machine, *machine.smooth_loss)
    step = k if isinstance(job.loss, Squared) else max(1, HESSIAN_MAX_ENTRIES // features.width**2)
    groups = [slice(i, min(i + step, k)) for i in range(0, k, step)]
    if collection.n * features.width <= _kept_entries():
        collection = collection.kept(_Job.known, job)
        job = replace(job, reader=_read_already, features=KnownFeatures(features.width, features.bias))
    if not isinstance(job.loss, Squared):
        read = replace(read, X=features.in_strips(read.X))
    fits = [_fit_columns(job, collection, columns, read) for columns in groups]
    coefficients, intercept = features.expansion(np.column_stack([beta for beta, _ in fits]))
    loss = sum(beta.shape[1] * loss for beta, loss in fits) / k
    return Expansion(features.points, coefficients, intercept), float(loss)


def _kept_entries() -> float:
    """Return how many numbers may be kept between passes."""
    memory = memory_of_workers()
    return KEPT_MAX_ENTRIES if memory is None else KEPT_MEMORY_SHARE * memory / np.dtype(float).itemsize


def _read_already(place: str, rows: ReadRows, *nothing: None) -> ReadRows:
    return rows


def _landmarks(model: Any, tuned: Any, points: Any, m: int, rng: np.random.Generator) -> Any:
    """Return the landmarks that the user gave, or rows of those that were pulled."""
    if model.landmarks is None:
        with workers(model.n_jobs):
            return points[pivoted_landmarks(tuned.kernel_, points, min(m, points.shape[0]), rng)]
    if not sp.issparse(model.landmarks) and np.ndim(model.landmarks) == 1:
        raise ValueError(
            "the rows of a Dask collection have no numbers; give landmarks as points of shape (m, d)."
        )
    return landmark_points(model.landmarks, points, tuned.column_codes_)


def _fit_columns(job: _Job, collection: Collection, columns: slice, read: ReadRows) -> tuple[Matrix, float]:
    """Return the coefficients of some columns, and the mean left-out loss of these."""
    beta, sums = _minimum(job, collection, columns, read)
    roots = hessian_roots(sums, job.C, job.features.penalty)
    loss = collection.total(_Job.left_out, job, columns, beta, roots)
    return beta, loss / collection.weight


def _minimum(job: _Job, collection: Collection, columns: slice, read: ReadRows) -> tuple[Matrix, Sums]:
    """Return the best coefficients, and the sums with the latest Hessians, which are those of a point close by."""
    latest: list[Sums] = []

    def sums(beta: Matrix) -> Sums:
        latest[:] = [collection.total(_Job.sums, job, columns, beta)]
        return latest[0]

    def slopes(beta: Matrix) -> Slopes:
        return cast(Slopes, collection.total(_Job.slopes, job, columns, beta))

    if isinstance(job.loss, Squared):
        beta = np.zeros((job.features.width, columns.stop - columns.start))
        everywhere = quadratic_sums(sums(beta))
        state = PrimalState(
            everywhere, lambda beta: everywhere(beta).slopes, job.C, job.features.penalty, beta
        )
    else:
        model = _begun(job, collection, columns, read)
        state = near_minimum(model, replace(model, sums=sums, slopes=slopes, C=job.C), collection.weight)
    return minimise_sums(state, collection.weight), latest[0]


def _begun(job: _Job, collection: Collection, columns: slice, read: ReadRows) -> PrimalState:
    """Return the fit to the rows at hand, whose features are given and each of which stands for as many of the collection."""
    F, Y = read.X, read.Y[:, columns]
    beta = np.zeros((job.features.width, Y.shape[1]))
    if job.features.bias:
        beta[-1] = [job.loss.start(y, read.weights) for y in Y.T]
    total = read.counts.sum()
    state = PrimalState(
        lambda beta: feature_sums(F, job.loss, beta, Y, read.weights),
        lambda beta: feature_slopes(F, job.loss, beta, Y, read.weights),
        job.C * collection.weight / total,
        job.features.penalty,
        beta,
    )
    return state.at(minimise_sums(state, total, NEAR_DECREMENT * job.C))
