"""The last fit to a Dask collection through landmarks: a sum over the partitions; see :mod:`foldless.tuning.partitioned_fit`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.parallel import workers
from foldless.criteria.left_out import row_losses
from foldless.estimators.dask_collections import Collection, Reader
from foldless.estimators.landmarks import landmark_points
from foldless.grams.expansion import Expansion
from foldless.grams.landmarks import pivoted_landmarks
from foldless.tuning.partitioned_fit import (
    LandmarkFeatures,
    PrimalState,
    Sums,
    minimise_sums,
    outputs_left_out,
    row_sums,
)

DEFAULT_LANDMARKS = 1000


@dataclass(frozen=True, eq=False)
class _Job:
    """What all tasks have in common."""

    reader: Reader
    features: LandmarkFeatures
    machine: Machine
    loss: Any
    C: float

    def sums(self, beta: Vector, column: int, place: str, X: Any, y: Any) -> Sums:
        """Return the sums over a partition."""
        points, Y, v = self.reader(place, X, y)
        with workers(1):
            return row_sums(self.features, self.loss, beta, points, Y[:, column], v)

    def left_out(self, beta: Vector, root: Matrix, column: int, place: str, X: Any, y: Any) -> float:
        """Return the sum of the left-out losses of a partition."""
        points, Y, v = self.reader(place, X, y)
        y = Y[:, column]
        with workers(1):
            z = outputs_left_out(self.features, self.loss, self.C, beta, root, points, y, v)
        return float(np.sum(row_losses(self.machine, y[:, None], z[:, None])))


def fit_landmarks(
    model: Any, tuned: Any, collection: Collection, reader: Reader, read: tuple[Any, Matrix, Vector], rng: Any
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
    read : tuple of points (n, d), targets (n, k) and weights (n,)
        Rows that are at hand: landmarks are chosen among them, and they give the first coefficients.
    rng : Generator
    """
    machine = tuned.selection_.machine
    features = LandmarkFeatures.of(tuned.kernel_, _landmarks(model, tuned, read[0], rng), machine.bias)
    job = _Job(reader, features, machine, *machine.smooth_loss)
    fits = [_fit_column(job, collection, column, *read) for column in range(read[1].shape[1])]
    coefficients, intercept = features.expansion(np.column_stack([beta for beta, _ in fits]))
    return Expansion(features.points, coefficients, intercept), float(np.mean([loss for _, loss in fits]))


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
    job: _Job, collection: Collection, column: int, X: Any, Y: Matrix, v: Vector
) -> tuple[Vector, float]:
    """Return the coefficients of one column, and the mean left-out loss; the fit to the rows at hand is the start."""

    def here(beta: Vector) -> Sums:
        return row_sums(job.features, job.loss, beta, X, Y[:, column], v)

    def everywhere(beta: Vector) -> Sums:
        return collection.total(_Job.sums, job, beta, column)

    beta = np.zeros(job.features.width)
    if job.features.bias:
        beta[-1] = job.loss.start(Y[:, column], v)
    first = PrimalState(here, job.C * collection.n / len(Y), job.features.penalty, beta)
    begun = PrimalState(everywhere, job.C, job.features.penalty, minimise_sums(first, len(Y)))
    beta = minimise_sums(begun, collection.n)
    root = begun.at(beta).root
    return beta, collection.total(_Job.left_out, job, beta, root, column) / collection.n
