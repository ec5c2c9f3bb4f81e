"""What KernelLogisticRegression owes its users."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelLogisticRegression
from foldless.core.errors import LandmarkWarning, NotPositiveDefinite, SearchWarning, UnknownName
from foldless.kernels import gram

SET1_X = np.array(
    [(0, 0.2), (1, 0.9), (0.3, 1.1), (1.4, 0.1), (-0.8, 0.5), (-0.2, -0.9), (0.6, 0.4), (-1.1, -0.3)]
)
SET1_Y = np.array([1, 1, 1, 1, -1, -1, -1, 1])


@pytest.fixture
def moons():
    return make_moons(120, noise=0.25, random_state=0)


LANDMARKS = KernelLogisticRegression(gram="lowrank", n_components=10, max_evaluations=200)


@parametrize_with_checks(
    [KernelLogisticRegression(), KernelLogisticRegression(C=1.0, kernel=RBF(1.0, "fixed")), LANDMARKS]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)  # some checks have fewer rows than landmarks
        check(estimator)


@pytest.mark.parametrize(
    ("C", "value", "b"),
    [(2.0, 7.9658985230, 0.5379532010), (1e6, 150.5330961474, 4.727308227), (1e-4, 6.5157514118, None)],
)
def test_fixed_parameters_only_solve_and_read_the_criterion(C, value, b):
    """Reference numbers of the specification, set 1."""
    model = KernelLogisticRegression(C=C, kernel=RBF(0.9, "fixed")).fit(SET1_X, SET1_Y)
    assert model.criterion_value_ == pytest.approx(value / 8, rel=1e-9)
    assert model.selection_.reading.parts["total"] == pytest.approx(value, rel=1e-9)
    assert model.n_evaluations_ == 1
    assert C == model.C_
    if b is not None:
        assert model.intercept_[0] == pytest.approx(b, rel=1e-8)


def test_leave_one_out_outputs_are_the_reference_ones():
    model = KernelLogisticRegression(C=2.0, kernel=RBF(0.9, "fixed")).fit(SET1_X, SET1_Y)
    u = [
        -0.2918954776,
        0.5691479853,
        0.2978963378,
        0.2040403321,
        1.2583864209,
        1.1110386979,
        1.4742965961,
        -0.4307816988,
    ]
    np.testing.assert_allclose(model.loo_decision_, u, rtol=1e-8)


def test_linear_kernel_is_penalised_logistic_regression(moons):
    X, y = moons
    ours = KernelLogisticRegression(C=0.7, kernel=DotProduct(0.0, "fixed")).fit(X, y)
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_tuning_beats_the_untuned_machine(moons):
    X, y = moons
    tuned = KernelLogisticRegression().fit(X, y)
    fixed = KernelLogisticRegression(C=1.0, kernel=RBF(1.0, "fixed")).fit(X, y)
    assert tuned.criterion_value_ < fixed.criterion_value_ - 1 / len(y)
    assert tuned.criterion_value_ == pytest.approx(min(step.value for step in tuned.trace_), rel=1e-6)


def test_low_rank_with_all_points_is_the_dense_machine(moons):
    X, y = moons
    options = {"C": 3.0, "kernel": RBF(0.5, "fixed")}
    dense = KernelLogisticRegression(gram="dense", **options).fit(X, y)
    low = KernelLogisticRegression(gram="lowrank", n_components=len(X), **options).fit(X, y)
    assert low.criterion_value_ == pytest.approx(dense.criterion_value_, rel=1e-8)
    np.testing.assert_allclose(low.decision_function(X), dense.decision_function(X), atol=1e-6)


def test_automatic_gram_finds_the_dense_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    auto = KernelLogisticRegression().fit(X, y)
    dense = KernelLogisticRegression(gram="dense").fit(X, y)
    assert auto.criterion_value_ == pytest.approx(dense.criterion_value_, rel=0.01)


def test_string_labels_frames_and_pipelines_agree(moons):
    X, y = moons
    names = np.array(["no", "yes"])[y]
    reference = KernelLogisticRegression().fit(X, names)
    assert list(reference.classes_) == ["no", "yes"]
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = KernelLogisticRegression().fit(frame, names)
        assert list(model.feature_names_in_) == ["a", "b"]
        np.testing.assert_allclose(model.decision_function(frame), reference.decision_function(X), rtol=1e-9)
    pipeline = make_pipeline(StandardScaler(), KernelLogisticRegression())
    assert cross_val_score(pipeline, X, names, cv=3).mean() > 0.85
    assert clone(pipeline)[-1].get_params() == KernelLogisticRegression().get_params()


def test_sparse_and_float32_input_give_the_dense_answer(moons):
    X, y = moons
    X = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32).astype(float)
    reference = KernelLogisticRegression().fit(X, y)
    for other in (sp.csr_array(X), sp.csc_matrix(X), X.astype(np.float32)):
        model = KernelLogisticRegression().fit(other, y)
        np.testing.assert_allclose(model.decision_function(other), reference.decision_function(X), rtol=1e-6)


def test_precomputed_gram_is_the_kernel(moons):
    X, y = moons
    K = gram(RBF(0.5), X)
    model = KernelLogisticRegression(kernel="precomputed", C=2.0).fit(K[:90, :90], y[:90])
    direct = KernelLogisticRegression(kernel=RBF(0.5, "fixed"), C=2.0).fit(X[:90], y[:90])
    np.testing.assert_allclose(model.predict_proba(K[90:, :90]), direct.predict_proba(X[90:]), rtol=1e-9)
    assert model.criterion_value_ == pytest.approx(direct.criterion_value_, rel=1e-10)


def test_candidate_kernels_compete_by_the_criterion(moons):
    X, y = moons
    candidates = ["linear", "rbf", Matern(1.0, nu=1.5)]
    best = min(KernelLogisticRegression(kernel=k).fit(X, y).criterion_value_ for k in candidates)
    assert KernelLogisticRegression(kernel=candidates).fit(X, y).criterion_value_ == pytest.approx(
        best, rel=1e-6
    )


def test_multi_class_shares_one_kernel_and_is_the_mean_of_its_binary_problems():
    X, y = load_iris(return_X_y=True)
    kernel = RBF(1.5, "fixed")
    model = KernelLogisticRegression(C=2.0, kernel=kernel).fit(X, y)
    binary = [KernelLogisticRegression(C=2.0, kernel=kernel).fit(X, y == c) for c in range(3)]
    assert model.criterion_value_ == pytest.approx(np.mean([b.criterion_value_ for b in binary]), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X)[:, 1], binary[1].decision_function(X), rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.loo_decision_.shape == (150, 3)
    assert KernelLogisticRegression().fit(X, y).score(X, y) > 0.95


def test_class_weight_multiplies_the_loss(moons):
    X, y = moons
    weighted = KernelLogisticRegression(C=1.0, kernel=RBF(1.0, "fixed"), class_weight={0: 1.0, 1: 3.0}).fit(
        X, y
    )
    repeated = KernelLogisticRegression(C=1.0, kernel=RBF(1.0, "fixed")).fit(
        np.vstack([X, X[y == 1], X[y == 1]]), np.r_[y, y[y == 1], y[y == 1]]
    )
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7)


def test_weights_count_rows_in_the_criterion_too(moons, rng):
    X, y = moons
    counts = rng.integers(0, 4, size=len(y))
    options = {"C": 2.0, "kernel": RBF(0.6, "fixed")}
    weighted = KernelLogisticRegression(**options).fit(X, y, sample_weight=counts)
    repeated = KernelLogisticRegression(**options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_, rel=1e-9)


def test_fitting_is_deterministic_and_ignores_the_global_seed(moons):
    X, y = make_moons(400, noise=0.25, random_state=0)
    np.random.seed(0)  # noqa: NPY002
    first = KernelLogisticRegression(random_state=3).fit(X, y)
    np.random.seed(1)  # noqa: NPY002
    second = KernelLogisticRegression(random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


@pytest.mark.parametrize("C", [1e-8, 1e8])
@pytest.mark.parametrize("width", [1e-6, 1.0, 1e6])
def test_extreme_parameters_stay_finite(moons, C, width):
    X, y = moons
    model = KernelLogisticRegression(C=C, kernel=RBF(width, "fixed")).fit(X, y)
    assert np.isfinite(model.criterion_value_)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.loo_decision_))


def test_duplicates_contradictions_and_constant_columns_are_no_trouble(moons):
    X, y = moons
    X = np.column_stack([np.vstack([X, X, X[:20]]), np.full(260, 7.0)])
    y = np.r_[y, y, 1 - y[:20]]
    model = KernelLogisticRegression().fit(X, y)
    assert np.isfinite(model.criterion_value_)
    assert model.score(X, y) > 0.8


def test_a_single_member_of_a_class_is_fitted(moons):
    X, y = moons
    y = np.zeros_like(y)
    y[0] = 1
    assert np.isfinite(KernelLogisticRegression().fit(X, y).criterion_value_)


def test_a_budget_gives_the_best_so_far(moons):
    X, y = moons
    with pytest.warns(SearchWarning, match="9 evaluations"):
        model = KernelLogisticRegression(max_evaluations=9).fit(X, y)
    assert model.n_evaluations_ == 9
    own = [step.value for step in model.trace_ if not step.is_scan]
    assert model.criterion_value_ == pytest.approx(min(own), rel=1e-6)
    with pytest.warns(SearchWarning, match="time budget"):
        assert KernelLogisticRegression(time_budget=0.0).fit(X, y).n_evaluations_ == 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"C": -1.0}, ValueError, "C must be positive"),
        ({"C": 0.0}, ValueError, "C must be positive"),
        ({"C": np.nan}, ValueError, "C must be positive"),
        ({"criterion": "lou"}, UnknownName, "criterion must be one of .*loo.*got 'lou'"),
        ({"search": "gridd"}, UnknownName, "search must be one of .*lbfgs"),
        ({"kernel": "rbff"}, UnknownName, "kernel must be one of .*rbf"),
        ({"kernel": 3}, TypeError, "kernel must be a name"),
        ({"kernel": []}, ValueError, "at least one candidate"),
        ({"gram": "sparse"}, UnknownName, "gram must be one of"),
        ({"gram": "lowrank", "kernel": RBF() + WhiteKernel()}, ValueError, "WhiteKernel"),
    ],
)
def test_bad_parameters_are_named(moons, options, error, words):
    with pytest.raises(error, match=words):
        KernelLogisticRegression(**options).fit(*moons)


def test_bad_data_are_named(moons):
    X, y = moons
    model = KernelLogisticRegression()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="minimum of 4"):
        model.fit(X[:3], y[:3])
    with pytest.raises(NotPositiveDefinite, match=r"smallest eigenvalue -5\.0e-01"):
        KernelLogisticRegression(kernel="precomputed").fit(np.diag([1.0, 1, 1, -0.5]), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="symmetric"):
        KernelLogisticRegression(kernel="precomputed").fit(np.triu(np.ones((4, 4))), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="square"):
        KernelLogisticRegression(kernel="precomputed").fit(np.ones((5, 4)), [0, 1, 0, 1, 0])


def test_more_landmarks_than_rows_means_all(moons):
    with pytest.warns(LandmarkWarning, match="500 is more than the 120 rows"):
        KernelLogisticRegression(gram="lowrank", n_components=500).fit(*moons)


def test_ard_finds_the_features_that_matter(rng):
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.8).astype(int)
    model = KernelLogisticRegression(kernel="rbf-ard").fit(X, y)
    scales = model.kernel_.length_scale
    assert scales[:2].max() < scales[2:].min()
