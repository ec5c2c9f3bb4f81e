"""Dask arrays and data frames: rows that are in no one place.

Every pass over a collection is a graph of tasks that begins at the collection itself: no worker holds anything that could not be
computed again, so that a worker that dies costs time and nothing else.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from copy import copy
from dataclasses import dataclass
from functools import reduce, wraps
from operator import add, getitem
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError
from foldless.core.optional_imports import import_extra
from foldless.estimators.columns import is_frame
from foldless.estimators.dask_checks import PartCheck, places

# Sums that one task adds up.
ADDED_AT_ONCE = 8
# What errors call rows that were pulled to the caller.
DRAWN = "rows drawn from the collection"
# Name of the target in a table that holds rows and targets.
TARGET = "target of foldless"

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
        0 for a fit by cells.
    n_cells : int
        0 for a fit through landmarks.
    left_out_loss : float
        Mean loss of all rows when each is left out of the last fit; for cells a bound from above, see
        :mod:`foldless.estimators.dask_cells`.
    """

    n_rows: int
    n_search_rows: int
    n_landmarks: int
    n_cells: int
    left_out_loss: float

    @property
    def form(self) -> str:
        """The form of the last fit, such as ``"1000 landmarks"`` or ``"667 cells"``."""
        return f"{self.n_cells} cells" if self.n_cells else f"{self.n_landmarks} landmarks"


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
        return lazy_rows(lambda rows: method(model, rows, *args, **options), X)

    return cast(Method, either)


def lazy_rows(compute: Callable[[Any], np.ndarray], X: Any) -> Any:
    """Return ``compute`` of every partition as a Dask array."""
    return _lazy_array(compute, compute(_example_rows(X)), _parts(X), _row_counts(X))


def _lazy_array(
    compute: Callable[[Any], np.ndarray], example: np.ndarray, parts: Sequence[Any], sizes: Sequence[float]
) -> Any:
    dask, da = import_extra("dask", "dask"), import_extra("dask.array", "dask")
    if isinstance(example, tuple):
        raise ValueError("a Dask collection has one output at a time; leave return_std out, or pass arrays.")
    task = dask.delayed(_rows_or_none, pure=False)
    empty, trailing = example[:0], example.shape[1:]
    blocks = [
        da.from_delayed(task(compute, part, empty), (n, *trailing), example.dtype)
        for part, n in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _rows_or_none(compute: Callable[[Any], np.ndarray], rows: Any, empty: np.ndarray) -> np.ndarray:
    return compute(rows) if rows.shape[0] else empty


def _is_dask_frame(X: Any) -> bool:
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def _example_rows(X: Any) -> Any:
    """Return a few rows of the collection's kind, for the shape and type of what comes out."""
    return X._meta_nonempty if _is_dask_frame(X) else np.zeros((1, *X.shape[1:]), X.dtype)


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
    if _is_dask_frame(X) and _is_dask_frame(y):
        return _parts_of_one_table(X, y)
    parts = _parts(X), _parts(y)
    if len(parts[0]) != len(parts[1]):
        raise ValueError(
            f"X has {len(parts[0])} partitions, y has {len(parts[1])}; repartition one of them like the other."
        )
    return list(zip(*parts, strict=True))


def _parts_of_one_table(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Return the partitions of two frames that belong together.

    Two selections of columns of the same files may be read in different numbers of partitions, one table is read in one.
    """
    if X.npartitions != y.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, y has {y.npartitions}; take both from one data frame, or repartition one of them "
            "like the other."
        )
    dask, columns = import_extra("dask", "dask"), list(X.columns)
    targets = [f"{TARGET} {i}" for i in range(y.shape[1])] if y.ndim == 2 else [TARGET]
    series = [y[name] for name in y.columns] if y.ndim == 2 else [y]
    table = X.assign(**dict(zip(targets, series, strict=True)))
    pick = dask.delayed(getitem, pure=False)
    names = targets if y.ndim == 2 else TARGET
    return [(pick(part, columns), pick(part, names)) for part in _parts(table)]


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

    def __call__(self, place: str, X: Any, y: Any) -> tuple[Any, Matrix, Vector]:
        """Return points, targets (n, k) and weights (n,); an error says where it happened."""
        labels = np.asarray(y)
        try:
            points, Y = self.model._check_points(X), self.model._target_columns(labels)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        if self.class_weight is None:
            return points, Y, np.ones(len(Y))
        return points, Y, np.array([self.class_weight.get(label, 1.0) for label in labels.tolist()])


def _chosen(X: Any, y: Any, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    return _safe_indexing(X, rows), np.asarray(y)[rows]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """Return the results of tasks; one clear error if the cluster is lost on the way."""
    dask = import_extra("dask", "dask")
    try:
        return tuple(dask.compute(*tasks))
    except Exception as error:
        if not _is_of_cluster(error):
            raise
        raise RuntimeError(
            f"the Dask cluster was lost while it computed ({type(error).__name__}: {error}). Start another one and call fit "
            "again; a search with a checkpoint goes on where it stood."
        ) from error


def _is_of_cluster(error: Exception) -> bool:
    """Return whether an error is one of Dask's scheduler, and not of a task."""
    return isinstance(error, CancelledError) or type(error).__module__.startswith("distributed.")


def _added(terms: Sequence[Any]) -> Any:
    return reduce(add, terms)


@dataclass(frozen=True, eq=False)
class Collection:
    """The partitions that hold rows, with the number of rows of each and what errors call it."""

    parts: list[tuple[Any, Any]]
    sizes: list[int]
    places: list[str]

    @classmethod
    def of(cls, X: Any, y: Any, allow_nan: bool = False) -> "Collection":
        """Check all partitions and count their rows."""
        dask = import_extra("dask", "dask")
        parts, task = _paired_parts(X, y), dask.delayed(_checked, pure=False)
        check, names = PartCheck.of(X, y, allow_nan), places(X, len(parts))
        tasks = [task(check, place, *part) for place, part in zip(names, parts, strict=True)]
        sizes = _counted(tasks, names)
        held = [i for i, n in enumerate(sizes) if n]
        if not held:
            raise DataError("the collection has no rows.")
        return cls([parts[i] for i in held], [sizes[i] for i in held], [names[i] for i in held])

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    def mapped(self, compute: Callable[[Any], np.ndarray], X: Any, y: Any) -> tuple[Any, Any]:
        """Return ``compute`` of the rows, and the targets, as Dask arrays with the same partitions."""
        of_rows, of_targets = zip(*self.parts, strict=True)
        points = _lazy_array(compute, compute(_example_rows(X)), of_rows, self.sizes)
        return points, _lazy_array(np.asarray, np.asarray(_example_rows(y)), of_targets, self.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return n rows, drawn without replacement, and their targets."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(_chosen, pure=False)
        counts = rng.multivariate_hypergeometric(self.sizes, n)
        rows = [
            np.sort(rng.choice(size, k, replace=False)) for size, k in zip(self.sizes, counts, strict=True)
        ]
        drawn = computed(*[task(*part, r) for part, r in zip(self.parts, rows, strict=True) if len(r)])
        return _stacked([X for X, _ in drawn]), np.concatenate([y for _, y in drawn])

    def tasks(self, compute: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the tasks ``compute(*arguments, place, X, y)`` of all partitions."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(compute, pure=False)
        shared = [dask.delayed(value, pure=False, traverse=False) for value in arguments]
        return [task(*shared, place, *part) for place, part in zip(self.places, self.parts, strict=True)]

    def total(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of ``compute(*arguments, place, X, y)`` over all partitions, in a fixed order."""
        dask = import_extra("dask", "dask")
        terms, added = self.tasks(compute, *arguments), dask.delayed(_added, pure=False)
        while len(terms) > 1:
            terms = [added(terms[i : i + ADDED_AT_ONCE]) for i in range(0, len(terms), ADDED_AT_ONCE)]
        return computed(terms[0])[0]

    def class_counts(self) -> dict[Any, int]:
        """Return how many rows each class has."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(_label_counts, pure=False)
        total: dict[Any, int] = {}
        for counts in computed(*[task(y) for _, y in self.parts]):
            for label, n in counts.items():
                total[label] = total.get(label, 0) + n
        return total


def _checked(check: PartCheck, place: str, X: Any, y: Any) -> int:
    return check(place, X, y)


def _counted(tasks: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the rows of all partitions; if one cannot be read, an error names it."""
    try:
        return list(computed(*tasks))
    except (DataError, RuntimeError):
        raise
    except Exception:
        for task, name in zip(tasks, names, strict=True):
            _read_alone(task, name)
        raise


def _read_alone(task: Any, name: str) -> None:
    try:
        computed(task)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        message = f"{name} cannot be read ({reason}). Do all files have the same columns?"
        raise DataError(message) from error


def _label_counts(y: Any) -> dict[Any, int]:
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _stacked(parts: list[Any]) -> Any:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return import_extra("pandas").concat(parts) if is_frame(parts[0]) else np.concatenate(parts)
