"""What a fit on landmarks holds at most, in arrays of n x m numbers: rows are worked through in strips."""

import tracemalloc
import warnings

import numpy as np
import pytest

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import SearchWarning

N, M = 6000, 150
MOST = 4.0
# Whatever n is, landmarks are compared with an exact fit to 1200 rows. That fit holds the distances, the kernel matrix, its
# centred form and what is made on the way, and for each class two triangles.
BLOCK = 1200**2 / (N * M)
BLOCK_ARRAYS, ARRAYS_PER_CLASS = 6, 2


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """These rows count as many: nothing is kept because it is small."""
    for module in ("features", "builders"):
        monkeypatch.setattr(f"foldless.grams.{module}.KEPT_ENTRIES", 0)


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N)


def peak(model, X, y):
    """Most memory of a fit beyond what was there, in arrays of n x m doubles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        tracemalloc.start()
        try:
            model.fit(X, y)
            return tracemalloc.get_traced_memory()[1] / (8 * N * M)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "kind, options",
    [
        (KernelLogisticRegression, {}),
        (KernelLogisticRegression, {"criterion": "evidence"}),
        (KernelLogisticRegression, {"kernel": "rbf-ard"}),
        (KernelLSSVC, {}),
        (KernelSVC, {}),
        (KernelRidgeRegressor, {}),
    ],
)
def test_a_fit_on_landmarks_holds_few_arrays_of_their_size(kind, options):
    X, z = data()
    y = z if kind is KernelRidgeRegressor else z > 0
    # So few evaluations use small blocks of rows only: it is the fit that counts.
    model = kind(gram="lowrank", n_components=M, max_evaluations=9, **options)
    assert peak(model, X, y) < MOST + BLOCK * (BLOCK_ARRAYS + ARRAYS_PER_CLASS)


def test_one_machine_per_class_needs_no_more_of_their_size():
    X, z = data()
    model = KernelLogisticRegression(gram="lowrank", n_components=M, max_evaluations=9)
    assert peak(model, X, np.digitize(z, [-0.5, 0.5])) < MOST + BLOCK * (BLOCK_ARRAYS + 3 * ARRAYS_PER_CLASS)
