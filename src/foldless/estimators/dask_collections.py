"""Dask arrays and data frames: rows that are in no one place.

Every pass over a collection is a graph of tasks that begins at the collection itself: no worker holds anything that could not be
computed again, so that a worker that dies costs time and nothing else.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import reduce, wraps
from operator import add, getitem
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from foldless.core.cluster import client_in_use, cluster_lost, gathered, n_workers
from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import DataError
from foldless.core.optional_imports import import_extra
from foldless.estimators.columns import is_frame
from foldless.estimators.dask_checks import PartCheck, PartSize, places

# Sums that one task adds up.
ADDED_AT_ONCE = 8
# What errors call rows that were pulled to the caller.
DRAWN = "rows drawn from the collection"
# Names of target and weight in a table that holds rows, targets and weights.
TARGET, WEIGHT = "target of foldless", "weight of foldless"

Method = TypeVar("Method", bound=Callable[..., Any])
# Rows, targets and weights of a partition, each a task; the last may be None.
Part = tuple[Any, Any, Any]


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
    return _lazy_array(compute, _example_result(compute, X), _parts(X), _row_counts(X))


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


def _example_result(compute: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """Return what comes out for a few invented rows, whose values are nobody's concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compute(_example_rows(X))


def _parts(X: Any) -> list[Any]:
    """Return the partitions as tasks, with all columns in each."""
    if not _is_dask_frame(X) and X.ndim == 2:
        X = X.rechunk({1: -1})
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _row_counts(X: Any) -> list[float]:
    return [np.nan] * X.npartitions if _is_dask_frame(X) else list(X.chunks[0])


def _paired_parts(X: Any, y: Any, weight: Any = None) -> list[Part]:
    """Return the partitions of all collections; those of arrays are aligned first. Without weights theirs are None."""
    others = {"y": y} if weight is None else {"y": y, "sample_weight": weight}
    if not all(map(is_dask, (X, *others.values()))):
        names = (
            "X and y must both be Dask collections, or both be arrays"
            if weight is None
            else "X, y and sample_weight must all be Dask collections, or all be arrays"
        )
        raise ValueError(f"{names}; one of them is not.")
    if all(map(_is_dask_frame, (X, *others.values()))):
        return _parts_of_one_table(X, **others)
    parts = [_parts(X)]
    for name, other in others.items():
        parts.append(_parts(_aligned(X, name, other)))
        if len(parts[0]) != len(parts[-1]):
            raise ValueError(
                f"X has {len(parts[0])} partitions, {name} has {len(parts[-1])}; repartition one of them like the other."
            )
    if weight is None:
        parts.append([None] * len(parts[0]))
    return list(zip(*parts, strict=True))


def _aligned(X: Any, name: str, other: Any) -> Any:
    """Return an array in the partitions of another one whose rows are counted; anything else stays as it is."""
    if _is_dask_frame(X) or _is_dask_frame(other) or np.isnan(X.shape[0] + other.shape[0]):
        return other
    if X.shape[0] != other.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, {name} has {other.shape[0]}.")
    return other.rechunk({0: X.chunks[0]})


def _parts_of_one_table(X: Any, y: Any, sample_weight: Any = None) -> list[Part]:
    """Return the partitions of frames that belong together.

    Two selections of columns of the same files may be read in different numbers of partitions, one table is read in one.
    """
    for name, other in {"y": y, "sample_weight": sample_weight}.items():
        if other is not None and X.npartitions != other.npartitions:
            raise ValueError(
                f"X has {X.npartitions} partitions, {name} has {other.npartitions}; take all from one data frame, or repartition "
                "one of them like the other."
            )
    dask, columns = import_extra("dask", "dask"), list(X.columns)
    targets = {f"{TARGET} {i}": y[name] for i, name in enumerate(y.columns)} if y.ndim == 2 else {TARGET: y}
    weights = {} if sample_weight is None else {WEIGHT: sample_weight}
    pick = dask.delayed(getitem, pure=False)
    names = list(targets) if y.ndim == 2 else TARGET
    return [
        (pick(part, columns), pick(part, names), pick(part, WEIGHT) if weights else None)
        for part in _parts(X.assign(**targets, **weights))
    ]


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows as machines see them.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    counts : array of shape (n,)
        How many equal rows each stands for: ``sample_weight``. None is zero.
    costs : array of shape (n,)
        Weights of their classes.
    """

    X: Any
    Y: Matrix
    counts: Vector
    costs: Vector

    @property
    def weights(self) -> Vector:
        """Weights of the rows in a fit."""
        return self.counts * self.costs

    def __getitem__(self, rows: np.ndarray) -> "ReadRows":
        return ReadRows(self.X[rows], self.Y[rows], self.counts[rows], self.costs[rows])

    @classmethod
    def joined(cls, parts: Sequence["ReadRows"]) -> "ReadRows":
        """Return the rows of all parts, one after the other."""
        arrays = ((part.Y, part.counts, part.costs) for part in parts)
        return cls(_stacked([part.X for part in parts]), *map(np.concatenate, zip(*arrays, strict=True)))


def machine_of_rows(machine: Machine, rows: ReadRows) -> Machine:
    """Return a machine for other rows than its own, with their weights if it or they have any."""
    given = {field.name: getattr(machine, field.name) for field in fields(cast(Any, machine))}
    # Without numbers of observations the weights are those of copies, and of their losses too.
    costs = rows.weights if given.get("row_counts") is None else rows.costs
    of_rows = {"weights": rows.weights, "costs": costs, "row_counts": rows.counts}
    weighted = "weights" in given and bool(np.any(rows.counts != 1))
    changes = {
        name: values
        for name, values in of_rows.items()
        if isinstance(given.get(name), np.ndarray) or (weighted and name == "weights")
    }
    return replace(cast(Any, machine), **changes)


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

    def __call__(self, place: str, X: Any, y: Any, weight: Any = None) -> ReadRows:
        """Return the rows that have a weight; an error says where it happened."""
        labels = np.asarray(y)
        try:
            points, Y = self.model._check_points(X), self.model._target_columns(labels)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        known = self.class_weight or {}
        costs = np.array([known.get(label, 1.0) for label in labels.tolist()]) if known else np.ones(len(Y))
        if weight is None:
            return ReadRows(points, Y, np.ones(len(Y)), costs)
        counts = np.asarray(weight, dtype=float)
        return ReadRows(points, Y, counts, costs)[np.flatnonzero(counts)]


def _chosen(X: Any, y: Any, weight: Any, rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
    return _safe_indexing(X, rows), np.asarray(y)[rows], None if weight is None else np.asarray(weight)[rows]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """Return the results of tasks; one clear error if the cluster is lost on the way."""
    dask, client = import_extra("dask", "dask"), client_in_use()
    with _losses_told():
        return tuple(dask.compute(*tasks) if client is None else gathered(client, client.compute(tasks)))


def persisted(*tasks: Any) -> tuple[Any, ...]:
    """Return tasks whose results stay where they are computed; a cluster computes them again if their worker dies."""
    with _losses_told():
        return tuple(import_extra("dask", "dask").persist(*tasks))


@contextmanager
def _losses_told() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not _is_of_cluster(error):
            raise
        raise cluster_lost(f"{type(error).__name__}: {error}") from error


def memory_of_workers() -> float | None:
    """Return the bytes that all workers of the cluster may use; None without a cluster, or if it knows no limit."""
    client = client_in_use()
    if client is None:
        return None
    # The scheduler tells of a few workers only.
    limits = [worker["memory_limit"] for worker in client.scheduler_info()["workers"].values()]
    return float(np.mean(limits)) * n_workers(client) if limits and all(limits) else None


def _is_of_cluster(error: Exception) -> bool:
    """Return whether an error is one of Dask's scheduler, and not of a task."""
    return isinstance(error, CancelledError) or type(error).__module__.startswith("distributed.")


def _added(terms: Sequence[Any]) -> Any:
    return reduce(add, terms)


@dataclass(frozen=True, eq=False)
class Collection:
    """The partitions that hold rows.

    Attributes
    ----------
    parts : list of (X, y, sample_weight)
        Tasks; the last is None without weights.
    sizes : list of PartSize
    places : list of str
        What errors call each partition.
    """

    parts: list[Part]
    sizes: list[PartSize]
    places: list[str]

    @classmethod
    def of(cls, X: Any, y: Any, allow_nan: bool = False, sample_weight: Any = None) -> "Collection":
        """Check all partitions and count their rows."""
        dask = import_extra("dask", "dask")
        parts, task = _paired_parts(X, y, sample_weight), dask.delayed(_checked, pure=False)
        check, names = PartCheck.of(X, y, allow_nan), places(X, len(parts))
        tasks = [task(check, place, *part) for place, part in zip(names, parts, strict=True)]
        sizes = _counted(tasks, names)
        held = [i for i, size in enumerate(sizes) if size.rows]
        if not held:
            raise DataError("the collection has no rows.")
        found = cls([parts[i] for i in held], [sizes[i] for i in held], [names[i] for i in held])
        if not found.weight > 0:
            raise DataError("sample_weight is zero for all rows of the collection.")
        return found

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(size.rows for size in self.sizes)

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows; their number without weights."""
        return float(sum(size.weight for size in self.sizes))

    def mapped(
        self, compute: Callable[[Any], np.ndarray], X: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, ...]:
        """Return ``compute`` of the rows, the targets, and the weights or None, as Dask arrays with the same partitions."""
        of_rows, of_targets, of_weights = zip(*self.parts, strict=True)
        sizes = [size.rows for size in self.sizes]
        points = _lazy_array(compute, _example_result(compute, X), of_rows, sizes)
        targets = _lazy_array(np.asarray, np.asarray(_example_rows(y)), of_targets, sizes)
        weights = None if sample_weight is None else _lazy_array(np.asarray, np.ones(1), of_weights, sizes)
        return points, targets, weights

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return n rows, drawn without replacement, their targets, and their weights or None."""
        dask = import_extra("dask", "dask")
        task, sizes = dask.delayed(_chosen, pure=False), [size.rows for size in self.sizes]
        counts = rng.multivariate_hypergeometric(sizes, n)
        rows = [np.sort(rng.choice(size, k, replace=False)) for size, k in zip(sizes, counts, strict=True)]
        drawn = computed(*[task(*part, r) for part, r in zip(self.parts, rows, strict=True) if len(r)])
        X, y, weights = zip(*drawn, strict=True)
        return _stacked(X), np.concatenate(y), None if weights[0] is None else np.concatenate(weights)

    def tasks(self, compute: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the tasks ``compute(*arguments, place, X, y, sample_weight)`` of all partitions."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(compute, pure=False)
        shared = [dask.delayed(value, pure=False, traverse=False) for value in arguments]
        return [task(*shared, place, *part) for place, part in zip(self.places, self.parts, strict=True)]

    def total(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of the results of :meth:`tasks`, in a fixed order."""
        dask = import_extra("dask", "dask")
        terms, added = self.tasks(compute, *arguments), dask.delayed(_added, pure=False)
        while len(terms) > 1:
            terms = [added(terms[i : i + ADDED_AT_ONCE]) for i in range(0, len(terms), ADDED_AT_ONCE)]
        return computed(terms[0])[0]

    def kept(self, compute: Callable[..., Any], *arguments: Any) -> "Collection":
        """Return the partitions with the results of :meth:`tasks` as their rows, which stay where they are computed."""
        parts = [(part, None, None) for part in persisted(*self.tasks(compute, *arguments))]
        return replace(self, parts=parts)

    def class_counts(self) -> dict[Any, int]:
        """Return how many rows with a weight each class has."""
        dask = import_extra("dask", "dask")
        task = dask.delayed(_label_counts, pure=False)
        total: dict[Any, int] = {}
        for counts in computed(*[task(y, weight) for _, y, weight in self.parts]):
            for label, n in counts.items():
                total[label] = total.get(label, 0) + n
        return total


def _checked(check: PartCheck, place: str, X: Any, y: Any, weight: Any) -> PartSize:
    return check(place, X, y, weight)


def _counted(tasks: Sequence[Any], names: Sequence[str]) -> list[PartSize]:
    """Return the sizes of all partitions; if one cannot be read, an error names it."""
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


def _label_counts(y: Any, weight: Any) -> dict[Any, int]:
    labels = np.asarray(y) if weight is None else np.asarray(y)[np.asarray(weight) > 0]
    found, counts = np.unique(labels, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _stacked(parts: Sequence[Any]) -> Any:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return import_extra("pandas").concat(parts) if is_frame(parts[0]) else np.concatenate(parts)
