"""An exported model predicts what the model predicts, to the digits of double precision."""

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSVC,
    to_onnx,
)
from foldless.core.errors import DataError, UnseenLevelWarning
from foldless.estimators.prepared_columns import PreparedColumns
from foldless.kernels import Columns, Laplacian, Metric, Softened

MISSING = "NOT TESTED: models as ONNX graphs. Install them with: pip install onnx onnxruntime"
TOLERANCE = 1e-11


def rotation(d):
    return np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]


KERNELS = {
    "rbf": RBF(1.3, "fixed"),
    "rbf-ard": RBF([0.7, 1.5, 3.0], "fixed"),
    "matern12": Matern(1.3, "fixed", nu=0.5),
    "matern32": Matern(1.3, "fixed", nu=1.5),
    "matern52-ard": Matern([0.7, 1.5, 3.0], "fixed", nu=2.5),
    "matern-inf": Matern(1.3, "fixed", nu=np.inf),
    "times a constant": ConstantKernel(2.5, "fixed") * RBF(1.3, "fixed"),
    "laplacian": Laplacian(1.3, "fixed"),
    "product-laplacian": Laplacian([0.7, 1.5, 3.0], "fixed", norm=1),
    "affine": ConstantKernel(0.3, "fixed") * DotProduct(0.5, "fixed") + ConstantKernel(2.0, "fixed"),
    "softened": Softened(RBF(1.3, "fixed"), 2.0),
    "columns": Columns(RBF(1.3, "fixed"), [0]) * Columns(Laplacian(0.7, "fixed"), slice(None)),
    "plain metric": Metric(1.3, nu=1.5, length_scale_bounds="fixed", power_bounds="fixed"),
    "learned metric": Metric(
        1.3, 0.7, [2.0, 0.9, 0.1], rotation(3), 2.5, length_scale_bounds="fixed", power_bounds="fixed"
    ),
}


def answers(model, X):
    runtime = pytest.importorskip("onnxruntime", reason=MISSING)
    pytest.importorskip("onnx", reason=MISSING)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def new_points(X, rng):
    """Training points, where distances vanish, and others."""
    return np.vstack([X, X + rng.normal(size=X.shape), 30 * rng.normal(size=X.shape)])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", [KernelLogisticRegression, KernelLSSVC])
def test_two_classes(kind, name, two_classes, rng):
    X, y = two_classes
    model = kind(KERNELS[name], C=2.0).fit(X, np.where(y > 0, "up", "down"))
    new = new_points(X, rng)
    found = answers(model, new)
    assert found["probabilities"].dtype == np.float64
    np.testing.assert_allclose(
        found["probabilities"], model.predict_proba(new), rtol=TOLERANCE, atol=TOLERANCE
    )
    assert np.array_equal(found["label"], model.predict(new))


@pytest.mark.parametrize(
    "model",
    [
        KernelLogisticRegression(C=2.0),
        KernelLogisticRegression(C=2.0, multi_class="multinomial"),
        KernelLSSVC(C=2.0),
    ],
    ids=["one against the rest", "multinomial", "least squares"],
)
def test_three_classes(model, three_classes, rng):
    X, y = three_classes
    model.set_params(kernel=RBF(1.0, "fixed")).fit(X, y)
    new = new_points(X, rng)
    found = answers(model, new)
    np.testing.assert_allclose(
        found["probabilities"], model.predict_proba(new), rtol=TOLERANCE, atol=TOLERANCE
    )
    assert found["label"].dtype == np.int64
    assert np.array_equal(found["label"], model.predict(new))


ONE_FEATURE = [
    name for name in KERNELS if not {"ard", "product", "learned"} & set(name.replace(" ", "-").split("-"))
]


@pytest.mark.parametrize("name", ONE_FEATURE)
def test_numbers_after_scaling(name, noisy_curve, rng):
    X, y = noisy_curve
    X = 1000 + 5 * X
    Y = np.column_stack([y, 3 - y])
    model = make_pipeline(StandardScaler(), KernelRidgeRegressor(KERNELS[name], 0.1)).fit(X, Y)
    new = new_points(X, rng)
    np.testing.assert_allclose(answers(model, new)["prediction"], model.predict(new), rtol=1e-10, atol=1e-10)


def test_a_tuned_model(two_classes):
    X, y = two_classes
    model = KernelLogisticRegression("rbf-ard").fit(X, y)
    found = answers(model, X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9, atol=1e-9)


def with_gaps(X, rng):
    """Columns with missing values and one that never changes, all on different scales."""
    X = np.column_stack([X * [1.0, 50.0, 0.1], np.full(len(X), 7.0)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def test_the_default_estimators_with_their_preparation(two_classes, noisy_curve, rng):
    X, y = two_classes
    X = with_gaps(X, rng)
    model = KernelClassifier().fit(X, np.where(y > 0, "up", "down"))
    found = answers(model, X)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9, atol=1e-9)
    assert np.array_equal(found["label"], model.predict(X))
    X, y = noisy_curve
    model = KernelRegressor().fit(X, y)
    np.testing.assert_allclose(answers(model, X)["prediction"][:, 0], model.predict(X), rtol=1e-8, atol=1e-8)


def test_what_cannot_be_exported_is_named(two_classes):
    pytest.importorskip("onnx", reason=MISSING)
    X, y = two_classes
    fixed = {"kernel": RBF(1.0, "fixed"), "C": 1.0}
    refused = {
        "KernelSVC": KernelSVC(**fixed),
        "SVC": SVC(),
        "KernelPoissonRegressor": KernelPoissonRegressor(RBF(1.0, "fixed"), 1.0),
        "MinMaxScaler": make_pipeline(MinMaxScaler(), KernelLSSVC(**fixed)),
        "RationalQuadratic": KernelLSSVC(RationalQuadratic(1.0, 1.0, "fixed", "fixed"), 1.0),
        "nu=0.7": KernelLSSVC(Matern(1.0, "fixed", nu=0.7), 1.0),
        "Gram matrix": KernelLSSVC("precomputed", 1.0),
    }
    for word, model in refused.items():
        precomputed = word == "Gram matrix"
        model.fit(X @ X.T if precomputed else X, (y > 0).astype(int))
        with pytest.raises(DataError, match=word):
            to_onnx(model)


@pytest.fixture
def people(rng):
    """Rows with a number, a code of three levels, another of twelve, and gaps in each; and two classes."""
    X = np.column_stack([rng.normal(size=120), rng.integers(3, size=120), rng.integers(12, size=120)])
    y = (X[:, 1] == 1) ^ (X[:, 0] > 0) ^ (X[:, 2] > 8)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y.astype(int)


def test_categories_of_an_array_are_exported(people):
    X, y = people
    model = KernelClassifier(random_state=0, categorical_features=[1, 2]).fit(X, y)
    new = np.vstack([X, [[0.3, 7.0, 99.0]], [[np.nan, np.nan, 2.0]]])
    with pytest.warns(UnseenLevelWarning):
        expected = model.predict_proba(new)
    machine = make_pipeline(PreparedColumns.of(model), model.best_estimator_)
    for one in (model, machine):
        np.testing.assert_allclose(answers(one, new)["probabilities"], expected, rtol=1e-9, atol=1e-9)


def test_categories_of_a_frame_are_exported_as_numbers_of_levels(people):
    X, y = people
    levels = np.array([*"abcdefghijkl", None], dtype=object)
    texts = levels[np.where(np.isnan(X[:, 1:]), 12, X[:, 1:]).astype(int)]
    frame = pd.DataFrame({"size": X[:, 0], "ward": texts[:, 0], "site": texts[:, 1]})
    for model in (
        KernelClassifier(random_state=0).fit(frame, y),
        KernelRidgeRegressor("auto").fit(frame.dropna(subset="size"), y[~np.isnan(X[:, 0])]),
    ):
        rows = frame.dropna(subset="size")
        coded = np.asarray(model.column_codes_.encode(rows), dtype=float)
        found = answers(model, coded)
        expected = model.predict_proba(rows) if "label" in found else model.predict(rows)[:, None]
        np.testing.assert_allclose(
            found.get("probabilities", found.get("prediction")), expected, rtol=1e-8, atol=1e-8
        )


def test_texts_in_an_array_cannot_be_exported(people):
    pytest.importorskip("onnx", reason=MISSING)
    X, y = people
    texts = X.astype(object)
    texts[:, 1] = np.where(
        np.isnan(X[:, 1]), None, np.array(["a", "b", "c"])[np.nan_to_num(X[:, 1]).astype(int)]
    )
    model = KernelClassifier(random_state=0, categorical_features=[1, 2]).fit(texts, y)
    with pytest.raises(DataError, match="texts such as 'a'"):
        to_onnx(model)
