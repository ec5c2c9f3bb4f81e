"""The same numbers, stored in another way, give the same fit, and a fit leaves what it is given as it was."""

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.core.errors import FoldlessWarning

RNG = np.random.default_rng(5)
# Quarters, so that every container holds exactly these numbers; some zeros for the sparse ones.
X = np.round(4 * RNG.normal(size=(30, 3)) * (RNG.random(size=(30, 3)) < 0.8)) / 4
Y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * RNG.normal(size=30) > 0.7).astype(int)
WEIGHTS = RNG.integers(1, 3, 30).astype(float)


def frozen(M):
    M = M.copy()
    M.flags.writeable = False
    return M


def strided(M):
    wide = np.zeros((2 * M.shape[0], 3 * M.shape[1]))
    wide[::2, ::3] = M
    return wide[::2, ::3]


def halves(M):
    """Every entry in two halves, which a sparse matrix adds."""
    C = sp.coo_array(M)
    entries = np.r_[C.data, C.data] / 2
    return sp.coo_array(
        (entries, (np.r_[C.coords[0], C.coords[0]], np.r_[C.coords[1], C.coords[1]])), C.shape
    )


def frame(M):
    return pd.DataFrame(M, columns=["a", "b", "c"])


DENSE = {
    "read-only": frozen,
    "Fortran order": np.asfortranarray,
    "strides": strided,
    "other byte order": lambda M: M.astype(">f8"),
    "single precision": lambda M: M.astype(np.float32),
    "half precision": lambda M: M.astype(np.float16),
    "objects": lambda M: M.astype(object),
    "texts": lambda M: M.astype(str).astype(object),
    "list": np.ndarray.tolist,
    "masked array": np.ma.masked_array,
    "frame": frame,
    "frame with an index": lambda M: frame(M).set_axis(np.arange(30.0)[::-1]),
    "frame of objects": lambda M: frame(M).astype(object),
    "nullable frame": lambda M: frame(M).astype("Float64"),
    "Arrow frame": lambda M: frame(M).astype("float64[pyarrow]"),
    "polars": lambda M: pl.DataFrame(M, schema=["a", "b", "c"]),
}
SPARSE_FRAMES = {
    "zeros left out": lambda M: frame(M).astype(pd.SparseDtype(float, 0.0)),
    "NaN left out": lambda M: frame(M).astype(pd.SparseDtype(float)),
    "one sparse column": lambda M: frame(M).astype({"b": pd.SparseDtype(float, 0.0)}),
}
SPARSE = {
    f"{kind}_{suffix}": getattr(sp, f"{kind}_{suffix}")
    for kind in ("csc", "coo", "dok", "lil", "bsr", "dia")
    for suffix in ("array", "matrix")
} | {"entries in halves": halves, "frame": SPARSE_FRAMES["zeros left out"]}
ESTIMATORS = [
    KernelLogisticRegression(),
    KernelSVC(),
    KernelLSSVC(),
    KernelRidgeRegressor(),
    KernelPoissonRegressor(),
    KernelSubsetRegressor(),
    KernelSearch(make_pipeline(MaxAbsScaler(), SVC())),
    KernelSearch(KernelRidge(kernel="rbf")),
]
DEFAULTS = [KernelClassifier(random_state=0), KernelRegressor(random_state=0)]


def fitted(estimator, points, y=Y, weights=None):
    extra = {} if weights is None else {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldlessWarning)
        return clone(estimator).fit(points, y, **extra)


def outputs(model, points):
    return model.decision_function(points) if hasattr(model, "decision_function") else model.predict(points)


def same(a, b):
    if sp.issparse(a):
        return np.array_equal(a.toarray(), b.toarray())
    return a.equals(b) if hasattr(a, "equals") else np.array_equal(a, b)


def name(estimator):
    return str(estimator).split("(")[0] + ("" if "Search" not in str(estimator) else str(len(str(estimator))))


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("estimator", [*ESTIMATORS[:-2], KernelSearch(SVC()), ESTIMATORS[-1]], ids=name)
def test_a_dense_container_does_not_matter(estimator, kind):
    if "precision" in kind and "KernelRidge(" in str(estimator):
        pytest.skip("scikit-learn's KernelRidge computes in the precision of X")
    points = DENSE[kind](X)
    before, model = copy.deepcopy(points), fitted(estimator, points)
    assert same(points, before)
    assert np.array_equal(outputs(model, points), outputs(fitted(estimator, X), X))


@pytest.mark.parametrize("kind", ["read-only", "objects", "nullable frame", "polars"])
@pytest.mark.parametrize("estimator", DEFAULTS, ids=name)
def test_a_dense_container_does_not_matter_to_the_defaults(estimator, kind):
    points = DENSE[kind](X)
    assert np.array_equal(outputs(fitted(estimator, points), points), outputs(fitted(estimator, X), X))


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_sparse_container_does_not_matter(estimator, kind):
    points, rows = SPARSE[kind](X), sp.csr_array(X)
    before, model = copy.deepcopy(points), fitted(estimator, points)
    assert same(points, before)
    np.testing.assert_allclose(
        outputs(model, points), outputs(fitted(estimator, rows), rows), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("kind", SPARSE_FRAMES)
@pytest.mark.parametrize("estimator", DEFAULTS, ids=name)
def test_sparse_columns_do_not_matter_to_the_defaults(estimator, kind):
    points = SPARSE_FRAMES[kind](X)
    model, plain = fitted(estimator, points), fitted(estimator, frame(X))
    assert np.array_equal(outputs(model, points), outputs(plain, frame(X)))


@pytest.mark.parametrize("kind", ["NaN left out", "one sparse column"])
@pytest.mark.parametrize("estimator", ESTIMATORS[:6], ids=name)
def test_sparse_columns_that_are_no_sparse_matrix_do_not_matter(estimator, kind):
    points = SPARSE_FRAMES[kind](X)
    assert np.array_equal(outputs(fitted(estimator, points), points), outputs(fitted(estimator, X), X))


@pytest.mark.parametrize("estimator", [*DEFAULTS, KernelLogisticRegression("auto")], ids=name)
def test_sparse_truth_values_are_categories_as_dense_ones_are(estimator):
    dense = frame(X).assign(b=X[:, 1] > 0)
    points = dense.astype({name: pd.SparseDtype(dense[name].dtype) for name in dense})
    assert np.array_equal(
        outputs(fitted(estimator, points), points), outputs(fitted(estimator, dense), dense)
    )


@pytest.mark.parametrize(
    "rows", [X, sp.csr_array(X), np.where(X > 1, np.nan, X)], ids=["dense", "sparse", "gaps"]
)
@pytest.mark.parametrize("estimator", DEFAULTS, ids=name)
def test_new_rows_may_be_stored_otherwise_than_those_of_the_fit(estimator, rows):
    model = fitted(estimator, rows)
    np.testing.assert_allclose(outputs(model, sp.csr_array(X)), outputs(model, X), rtol=0, atol=1e-9)


TARGETS = {
    "list": np.ndarray.tolist,
    "series": lambda y: pd.Series(y, index=np.arange(30)[::-1]),
    "nullable series": lambda y: pd.Series(y).astype("Int64"),
    "polars": lambda y: pl.Series("y", y),
    "read-only": frozen,
    "small integers": lambda y: y.astype(np.int8),
    "unsigned": lambda y: y.astype(np.uint64),
    "truth values": lambda y: y.astype(bool),
    "objects": lambda y: y.astype(object),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_container_of_targets_does_not_matter(estimator, kind):
    if kind == "objects" and is_classifier(estimator):
        pytest.skip("scikit-learn wants labels in arrays of objects to be texts")
    model, plain = fitted(estimator, X, TARGETS[kind](Y)), fitted(estimator, X)
    assert np.array_equal(outputs(model, X), outputs(plain, X))


@pytest.mark.parametrize("kind", ["list", "series", "polars", "read-only"])
@pytest.mark.parametrize("estimator", ESTIMATORS[:6], ids=name)
def test_a_container_of_weights_does_not_matter(estimator, kind):
    model = fitted(estimator, X, Y, TARGETS[kind](WEIGHTS))
    assert np.array_equal(outputs(model, X), outputs(fitted(estimator, X, Y, WEIGHTS), X))
