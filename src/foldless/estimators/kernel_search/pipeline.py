"""A pipeline cut before its last step, and joined again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.utils import check_array, get_tags

from foldless.core.errors import DataError
from foldless.core.magnitude import LARGEST, check_magnitude
from foldless.core.text_columns import naming_text_columns

LIBSVM_MACHINES = (SVC, NuSVC, SVR, NuSVR)
# LIBSVM does not end, or loses all digits, with an input of 1e20 among others of 1.
LIBSVM_LARGEST = 1e15


@dataclass(frozen=True, eq=False)
class PipelineParts:
    """What comes before the machine, and the machine.

    Attributes
    ----------
    transformers : Pipeline or None
        The steps before the machine.
    machine : estimator
        The last step, or the estimator itself if it is not a pipeline.
    prefix : str
        In front of the machine's parameters, such as ``svc__``.
    """

    transformers: Pipeline | None
    machine: BaseEstimator
    prefix: str

    @property
    def pairwise(self) -> bool:
        """Whether the machine takes a Gram matrix instead of points."""
        return bool(get_tags(self.machine).input_tags.pairwise)

    @property
    def _uses_inner_products(self) -> bool:
        """Whether LIBSVM computes with inner products of the points themselves."""
        inner = getattr(self.machine, "kernel", None) in ("linear", "poly", "sigmoid")
        return inner and isinstance(self.machine, LIBSVM_MACHINES)

    def transformed(self, X: Any, y: np.ndarray) -> tuple[Pipeline | None, Any]:
        """Return the steps before the machine, fitted, and what they make of ``X``."""
        if self.transformers is None:
            return None, X
        steps = clone(self.transformers)
        with naming_text_columns(X):
            return steps, steps.fit_transform(X, y)

    def points(self, X: Any, y: np.ndarray) -> Any:
        """Return the transformed points, an array or a CSR matrix of numbers."""
        given = self.transformed(X, y)[1]
        with naming_text_columns(given):
            X = check_array(
                given, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=self.machine
            )
        if isinstance(self.machine, LIBSVM_MACHINES) and issparse(X) and not issparse(given):
            raise DataError(
                f"{type(self.machine).__name__} of scikit-learn cannot read a data frame of sparse columns. Pass "
                "X.sparse.to_dense(), or X.sparse.to_coo() for a sparse matrix."
            )
        check_magnitude(X, "X", largest=LIBSVM_LARGEST if self._uses_inner_products else LARGEST)
        if self.pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs a square Gram matrix of the training points, got shape {X.shape}."
            )
        return X

    def without_prefix(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return parameters under the machine's own names."""
        return {name.removeprefix(self.prefix): value for name, value in params.items()}

    def with_prefix(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return parameters of the machine under the pipeline's names."""
        return {self.prefix + name: value for name, value in params.items()}


def split_pipeline(estimator: BaseEstimator) -> PipelineParts:
    """Cut an estimator before the machine; the last step of a pipeline may be a pipeline itself."""
    if not isinstance(estimator, Pipeline):
        return PipelineParts(None, estimator, "")
    name, last = estimator.steps[-1]
    inner = split_pipeline(last)
    steps = [*estimator.steps[:-1], *([] if inner.transformers is None else [(name, inner.transformers)])]
    return PipelineParts(Pipeline(steps) if steps else None, inner.machine, f"{name}__{inner.prefix}")


def join_pipeline(
    estimator: BaseEstimator, transformers: Pipeline | None, machine: BaseEstimator
) -> BaseEstimator:
    """Return a copy of ``estimator`` with fitted parts of :func:`split_pipeline` in place of its own."""
    if not isinstance(estimator, Pipeline):
        return machine
    name, last = estimator.steps[-1]
    fitted = [] if transformers is None else transformers.steps
    own, rest = fitted[: len(estimator.steps) - 1], fitted[len(estimator.steps) - 1 :]
    tail = join_pipeline(last, rest[0][1] if rest else None, machine)
    return clone(estimator).set_params(steps=[*own, (name, tail)])
