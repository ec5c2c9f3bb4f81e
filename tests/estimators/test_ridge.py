"""What the regressors owe their users."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelRidgeRegressor, KernelSubsetRegressor, criteria
from foldless.core.errors import LandmarkWarning, NotPositiveDefinite, Undefined
from foldless.estimators.archive import trusted_types
from foldless.kernels import gram
from foldless.searches import LBFGS

X8 = np.array([[0, 0.5, 1.1, 1.4, 2.0, 2.7, 3.1, 3.6]]).T
Y8 = np.array([0.1, 0.6, 0.8, 1.1, 0.7, 0.5, -0.2, -0.3])


WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


@parametrize_with_checks(
    [
        KernelRidgeRegressor(),
        KernelRidgeRegressor(penalty="I", kernel=RBF(1.0, "fixed"), criterion="sic"),
        KernelRidgeRegressor(criterion="evidence", gram="lowrank", n_components=8, max_evaluations=200),
        KernelSubsetRegressor(),
    ],
    expected_failed_checks=lambda estimator: (
        dict.fromkeys(WEIGHTS, "it counts the coefficients of a row and its copy apart")
        if getattr(estimator, "penalty", "K") == "I"
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)  # some checks have fewer rows than landmarks
        check(estimator)


@pytest.mark.parametrize(
    ("criterion", "penalty", "value"),
    [
        ("loo", "K", 7.9412981102e-02),
        ("gcv", "K", 1.0265799863e-01),
        ("abic", "K", 7.7733060815),
        (criteria.Mallows(0.04), "K", 6.4568284942e-02),
        (criteria.SIC("e", 0.04), "K", -9.8211497970e-01),
        (criteria.SIC(sigma2=0.04, gamma=0.05), "I", 4.8014938853e-01),
        (criteria.KFold([[0, 1], [2, 3], [4, 5], [6, 7]]), "K", 1.3195262012e-01),
    ],
)
def test_fixed_parameters_only_solve_and_read_the_criterion(criterion, penalty, value):
    model = KernelRidgeRegressor(
        RBF(0.7, "fixed"), 0.1, fit_intercept=False, penalty=penalty, criterion=criterion
    )
    model.fit(X8, Y8)
    assert model.selection_.reading.parts["total"] == pytest.approx(value, rel=1e-9)
    assert model.criterion_value_ == pytest.approx(value / 16 if criterion == "abic" else value, rel=1e-9)
    assert model.n_evaluations_ == 1
    assert model.alpha_ == pytest.approx(0.1)


def test_the_path_finds_what_a_dense_grid_finds(noisy_curve):
    X, y = noisy_curve
    for name in ("loo", "gcv", "mallows", "abic", "evidence", "sic", "kfold"):
        model = KernelRidgeRegressor(RBF(1.0, "fixed"), criterion=name).fit(X, y)
        criterion = model.selection_.criterion
        grid = [
            KernelRidgeRegressor(RBF(1.0, "fixed"), a, criterion=criterion).fit(X, y).criterion_value_
            for a in np.logspace(-6, 3, 60)
        ]
        assert model.criterion_value_ <= min(grid) + 1e-6 * abs(min(grid)), name


def test_as_good_as_grid_search(rng):
    """On the criterion never worse than the grid's choice, up to the tolerance of the search; on new noisy points not worse by more than chance."""
    f = lambda X: np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    grid = {"alpha": np.logspace(-3, 0, 4), "gamma": np.logspace(-1, 0.5, 4)}
    ours, theirs = [], []
    for _ in range(3):
        X, new = rng.uniform(-3, 3, size=(120, 2)), rng.uniform(-3, 3, size=(500, 2))
        y, truth = f(X) + 0.2 * rng.normal(size=120), f(new) + 0.2 * rng.normal(size=500)
        model = KernelRidgeRegressor(fit_intercept=False).fit(X, y)
        search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=10, scoring="neg_mean_squared_error").fit(
            X, y
        )
        kernel, alpha = RBF((2 * search.best_params_["gamma"]) ** -0.5, "fixed"), search.best_params_["alpha"]
        there = KernelRidgeRegressor(kernel, alpha, fit_intercept=False).fit(X, y)
        assert model.criterion_value_ < there.criterion_value_ * (1 + LBFGS().tolerance)
        ours.append(np.mean((model.predict(new) - truth) ** 2))
        theirs.append(np.mean((search.predict(new) - truth) ** 2))
    assert np.mean(ours) < 1.05 * np.mean(theirs)


def test_length_scales_per_feature_find_the_relevant_ones(rng):
    X = rng.normal(size=(120, 8))
    y = np.sin(2 * X[:, 2]) + X[:, 5] ** 2 / 2 + 0.1 * rng.normal(size=120)
    for criterion in ("loo", "evidence", "mallows"):
        model = KernelRidgeRegressor("rbf-ard", criterion=criterion).fit(X, y)
        assert set(np.argsort(model.kernel_.length_scale)[:2]) == {2, 5}
        assert model.score(X, y) > 0.95


def test_the_standard_deviation_is_that_of_a_gaussian_process(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.05, fit_intercept=False).fit(X, y)
    s2 = model.noise_variance_[0]
    gp = GaussianProcessRegressor(
        ConstantKernel(s2 / 0.05, "fixed") * RBF(1.0, "fixed"), alpha=s2, optimizer=None
    )
    new = np.linspace(-5, 5, 9)[:, None]
    expected = gp.fit(X, y).predict(new, return_std=True)
    for got, want in zip(model.predict(new, return_std=True), expected):
        assert got == pytest.approx(want, rel=1e-6, abs=1e-9)
    landmarks = KernelRidgeRegressor(
        RBF(1.0, "fixed"), 0.05, fit_intercept=False, gram="lowrank", n_components=35
    )
    assert landmarks.fit(X, y).predict(new, return_std=True)[1] == pytest.approx(expected[1], rel=1e-4)


def test_several_outputs(noisy_curve):
    X, y = noisy_curve
    Y = np.column_stack([y, -2 * y + 1])
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1).fit(X, Y)
    one = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1).fit(X, y)
    assert model.predict(X) == pytest.approx(np.column_stack([one.predict(X), 1 - 2 * one.predict(X)]))
    assert model.predict(X, return_std=True)[1].shape == (40, 2)
    assert model.loo_decision_[:, 0] == pytest.approx(one.loo_decision_)


def test_leave_one_out_predictions_are_refits(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1).fit(X, y)
    rest = np.delete(np.arange(40), 7)
    without = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1).fit(X[rest], y[rest])
    assert model.loo_decision_[7] == pytest.approx(without.predict(X[[7]])[0], rel=1e-8)


def test_the_unit_of_the_targets_does_not_matter(noisy_curve):
    X, y = noisy_curve
    for criterion in ("loo", "gcv", "mallows"):
        one, small = (KernelRidgeRegressor(criterion=criterion).fit(X, t * y) for t in (1.0, 1e-4))
        assert small.criterion_value_ == pytest.approx(1e-8 * one.criterion_value_, rel=1e-4)


def test_an_intercept_makes_shifts_harmless(noisy_curve):
    X, y = noisy_curve
    one, two = KernelRidgeRegressor().fit(X, y), KernelRidgeRegressor().fit(X, y + 1000)
    assert two.predict(X) - 1000 == pytest.approx(one.predict(X), abs=1e-4)


def test_precomputed(noisy_curve):
    X, y = noisy_curve
    K = RBF(1.0)(X)
    one = KernelRidgeRegressor("precomputed").fit(K, y)
    two = KernelRidgeRegressor(RBF(1.0, "fixed")).fit(X, y)
    assert one.predict(K) == pytest.approx(two.predict(X), abs=1e-6)
    subset = KernelSubsetRegressor("precomputed", indices=[3, 9, 20]).fit(K, y)
    assert subset.predict(K) == pytest.approx(
        KernelSubsetRegressor(RBF(1.0, "fixed"), [3, 9, 20]).fit(X, y).predict(X)
    )
    with pytest.raises(NotPositiveDefinite):
        KernelRidgeRegressor("precomputed").fit(K - np.eye(40), y)
    with pytest.raises(Undefined, match="precomputed"):
        one.predict(K, return_std=True)


def test_sic_refuses_to_tune_a_kernel(noisy_curve):
    X, y = noisy_curve
    with pytest.raises(ValueError, match="cannot be compared"):
        KernelRidgeRegressor(criterion="sic").fit(X, y)
    with pytest.raises(ValueError, match="loo"):
        KernelRidgeRegressor([RBF(1.0, "fixed"), Matern(1.0, "fixed")], criterion="sic").fit(X, y)
    reference = np.linalg.inv(RBF(1.0)(X) + 0.2 * np.eye(40))
    model = KernelRidgeRegressor(criterion=criteria.SIC("fixed", reference=reference)).fit(X, y)
    assert model.score(X, y) > 0.9


def test_the_noise_variance_is_estimated_once(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor(criterion="mallows").fit(X, y)
    assert model.selection_.criterion.sigma2[0] == pytest.approx(0.01, rel=0.7)


def test_many_rows_through_landmarks(rng):
    X = rng.uniform(-3, 3, size=(5000, 2))
    y = np.sin(X[:, 0]) + X[:, 1] / 3 + 0.1 * rng.normal(size=5000)
    model = KernelRidgeRegressor(criterion="gcv").fit(X, y)
    assert np.mean((model.predict(X) - np.sin(X[:, 0]) - X[:, 1] / 3) ** 2) < 1e-3


def test_saving_keeps_predictions(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert loaded.predict(X) == pytest.approx(model.predict(X))


SAVED = {
    "dense": KernelRidgeRegressor(RBF(1.0, "fixed")),
    "no intercept": KernelRidgeRegressor(RBF(1.0, "fixed"), fit_intercept=False),
    "penalty I": KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1, penalty="I"),
    "penalty T": KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1, penalty=np.diag(np.linspace(1, 2, 40))),
    "landmarks": KernelRidgeRegressor(RBF(1.0, "fixed"), gram="lowrank", n_components=12),
    "landmarks, penalty I": KernelRidgeRegressor(
        RBF(1.0, "fixed"), 0.1, penalty="I", gram="lowrank", n_components=12
    ),
}


def by_pickle(model, path):
    return pickle.loads(pickle.dumps(model))  # noqa: S301


def by_skops(model, path):
    skops = pytest.importorskip("skops.io")
    skops.dump(model, path)
    return skops.load(path, trusted=trusted_types())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trip", [by_pickle, by_skops])
@pytest.mark.parametrize("name", SAVED)
def test_a_loaded_model_knows_its_deviations(name, trip, weighted, noisy_curve, tmp_path):
    X, y = noisy_curve
    new = np.linspace(-5, 5, 9)[:, None]
    weight = np.where(np.arange(40) < 5, 0.0, np.arange(40) % 3 + 1.0) if weighted else None
    model = clone(SAVED[name]).fit(X, np.column_stack([y, 2 * y]), weight)
    mean, sd = model.predict(new, return_std=True)
    assert sd[:, 1] == pytest.approx(2 * sd[:, 0])
    loaded = trip(model, tmp_path / "model.skops")
    again = trip(loaded, tmp_path / "again.skops")
    for other in (loaded, again, loaded):
        assert other.predict(new, return_std=True)[0] == pytest.approx(mean)
        assert other.predict(new, return_std=True)[1] == pytest.approx(sd, rel=1e-6)
    assert not hasattr(loaded, "selection_")


def test_deviations_that_do_not_exist_say_why(noisy_curve):
    X, y = noisy_curve
    flat = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1, penalty=np.diag([0.0] + [1.0] * 39), criterion="gcv")
    for model in (flat.fit(X, y), by_pickle(flat.fit(X, y), None)):
        with pytest.raises(Undefined, match="positive definite"):
            model.predict(X, return_std=True)
    exact = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1, criterion="gcv").fit(X, np.zeros(40))
    with pytest.raises(Undefined, match="exactly"):
        exact.predict(X, return_std=True)


def test_constant_targets_are_predicted_as_they_are(noisy_curve):
    X, _ = noisy_curve
    for criterion in ("loo", "gcv", "kfold"):
        model = KernelRidgeRegressor(criterion=criterion).fit(X, np.full(40, 3.0))
        assert model.predict(X + 0.1) == pytest.approx(np.full(40, 3.0), rel=1e-9)
    for criterion in ("mallows", "evidence"):
        with pytest.raises(Undefined, match="Are they constant"):
            KernelRidgeRegressor(criterion=criterion, fit_intercept=False).fit(X, np.zeros(40))


def test_a_second_fit_forgets_the_first(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), 0.1).fit(X, y)
    assert hasattr(model, "loo_decision_")
    model.set_params(criterion="gcv").fit(X, np.zeros(40))
    assert not hasattr(model, "loo_decision_")
    assert not hasattr(model, "noise_variance_")


def test_wrong_parameters(noisy_curve):
    X, y = noisy_curve
    with pytest.raises(NotPositiveDefinite, match=r"^the penalty matrix"):
        KernelRidgeRegressor(penalty=-np.eye(40), kernel=RBF(1.0, "fixed")).fit(X, y)
    for sigma2, said in (
        (np.inf, "sigma2 must be positive"),
        ((1.0, 2.0), "one for each of the 1 outputs; got 2"),
    ):
        for kind in (criteria.Mallows, lambda sigma2: criteria.SIC(sigma2=sigma2)):
            with pytest.raises(ValueError, match=said):
                KernelRidgeRegressor(RBF(1.0, "fixed"), criterion=kind(sigma2)).fit(X, y)
    with pytest.raises(ValueError, match="list of row numbers"):
        KernelSubsetRegressor(indices=[[1]]).fit(X, y)
    for alpha in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="alpha must be positive"):
            KernelRidgeRegressor(alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match="penalty"):
        KernelRidgeRegressor(penalty="L").fit(X, y)
    with pytest.raises(ValueError, match="shape"):
        KernelRidgeRegressor(penalty=np.eye(3), kernel=RBF(1.0, "fixed")).fit(X, y)
    with pytest.raises(ValueError, match="repeats"):
        KernelSubsetRegressor(indices=[1, 1]).fit(X, y)
    with pytest.raises(ValueError, match="empty"):
        KernelSubsetRegressor(indices=[]).fit(X, y)
    with pytest.raises(ValueError, match="must lie in"):
        KernelSubsetRegressor(indices=[100]).fit(X, y)


@pytest.mark.parametrize("criterion", ["loo", "mallows", "sic", "gcv"])
def test_a_chosen_subset_is_small_and_good(criterion, noisy_curve):
    X, y = noisy_curve
    model = KernelSubsetRegressor(criterion=criterion).fit(X, y)
    assert len(model.indices_) < 20
    assert model.score(X, y) > 0.95
    assert model.criterion_value_ == pytest.approx(min(model.path_))
    assert model.X_fit_ == pytest.approx(X[model.indices_])
    K = gram(model.kernel_, X, X[model.indices_])
    assert model.predict(X) == pytest.approx(K @ model.dual_coef_[0] + model.intercept_[0])


def test_a_given_subset_tunes_its_kernel(rng):
    X = np.linspace(-3, 3, 60)[:, None]
    y = np.exp(-((X - X[[10, 30, 50]].T) ** 2) / (2 * 0.6**2)) @ [1.0, -2.0, 1.5] + 0.05 * rng.normal(size=60)
    model = KernelSubsetRegressor(indices=[10, 30, 50]).fit(X, y)
    assert model.kernel_.length_scale == pytest.approx(0.6, rel=0.05)
    assert list(model.indices_) == [10, 30, 50]
