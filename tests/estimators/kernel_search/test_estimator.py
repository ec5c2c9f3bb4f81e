"""KernelSearch: the drop-in for GridSearchCV."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import loguniform, randint
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelLogisticRegression, KernelSearch, criteria, searches
from foldless.core.errors import SearchWarning, UnknownName
from foldless.core.targets import one_versus_rest
from foldless.datasets import make_ripley
from foldless.estimators.kernel_search.sklearn_models import SVC_C_OVER_LSSVM_C
from foldless.estimators.registry import MACHINES
from foldless.grams.builders import DenseBuilder
from foldless.machines import LSSVM, HingeSVM, SmoothMachine
from foldless.machines.losses import Logistic
from foldless.machines.newton import SEARCH_CHORD_DECREMENT


@pytest.fixture(scope="module")
def ripley():
    return make_ripley(90, random_state=3)


@pytest.fixture(scope="module")
def fitted(ripley):
    return KernelSearch(make_pipeline(StandardScaler(), SVC())).fit(*ripley)


@parametrize_with_checks([KernelSearch(SVC(), {"C": [1.0, 10.0]}), KernelSearch(KernelLogisticRegression())])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# What it returns.


def test_the_best_estimator_is_the_wrapped_one_with_the_best_parameters(fitted, ripley):
    X, y = ripley
    assert sorted(fitted.best_params_) == ["svc__C", "svc__gamma"]
    plain = make_pipeline(StandardScaler(), SVC()).set_params(**fitted.best_params_).fit(X, y)
    assert type(fitted.best_estimator_) is type(plain)
    assert np.array_equal(fitted.decision_function(X), plain.decision_function(X))
    assert np.array_equal(fitted.predict(X), plain.predict(X))
    assert fitted.score(X, y) == plain.score(X, y)
    assert fitted.n_features_in_ == 2
    assert list(fitted.classes_) == [0, 1]


@pytest.fixture(scope="module")
def judged(ripley):
    """Tuned by a criterion of the support vector machine itself."""
    return KernelSearch(make_pipeline(StandardScaler(), SVC()), criterion="gacv").fit(*ripley)


def test_the_best_score_is_minus_the_criterion_of_that_machine(judged, ripley):
    X, y = ripley
    Z = StandardScaler().fit_transform(X)
    kernel = RBF(1 / np.sqrt(2 * judged.best_params_["svc__gamma"]))
    solution = HingeSVM(judged.best_params_["svc__C"]).solve(
        DenseBuilder(Z).gram(kernel), one_versus_rest(y, 2)
    )
    assert judged.best_score_ == pytest.approx(-criteria.GACV()(solution).value, rel=1e-9)


def test_without_a_criterion_a_machine_by_squares_with_half_of_C_stands_in(fitted, ripley):
    X, y = ripley
    Z = StandardScaler().fit_transform(X)
    kernel = RBF(1 / np.sqrt(2 * fitted.best_params_["svc__gamma"]))
    solution = LSSVM(fitted.best_params_["svc__C"] / 2).solve(
        DenseBuilder(Z).gram(kernel), one_versus_rest(y, 2)
    )
    assert fitted.best_score_ == pytest.approx(-criteria.CalibratedLOO()(solution).value, rel=1e-9)


def test_weights_weigh_the_fit_and_the_errors_of_the_machine_that_stands_in(ripley):
    X, y = ripley
    machine = KernelSearch(SVC(class_weight={0: 1, 1: 3})).fit(X, y).selection_.machine
    assert np.array_equal(machine.weights, np.where(y == 1, 3.0, 1.0))
    assert machine.costs == pytest.approx(machine.weights / machine.weights.mean())


def test_the_machine_judged_is_the_machine_fitted(judged, ripley):
    """Our outputs at the training points are those of scikit-learn's SVC with the same parameters."""
    solution = judged.selection_.solution
    ours = solution.gram.matmul(solution.alpha)[:, 0] + solution.b
    assert ours == pytest.approx(judged.decision_function(ripley[0]), abs=5e-3)  # libsvm stops at 1e-3


def test_results_have_the_keys_and_shapes_of_grid_search(fitted):
    n = len(fitted.cv_results_["params"])
    names = {
        "params",
        "mean_test_score",
        "rank_test_score",
        "mean_fit_time",
        "param_svc__C",
        "param_svc__gamma",
    }
    assert names <= set(fitted.cv_results_)
    assert all(len(column) == n for column in fitted.cv_results_.values())
    best = fitted.best_index_
    assert fitted.cv_results_["params"][best] == fitted.best_params_
    assert fitted.cv_results_["mean_test_score"][best] == fitted.best_score_
    assert fitted.cv_results_["rank_test_score"][best] == 1
    assert fitted.cv_results_["param_svc__C"][best] == fitted.best_params_["svc__C"]
    assert np.all(np.isfinite(fitted.cv_results_["mean_fit_time"]))


def test_without_refit_there_are_parameters_and_nothing_else(ripley):
    search = KernelSearch(SVC(), refit=False).fit(*ripley)
    assert search.best_params_["C"] > 0
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "n_features_in_")
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(ripley[0])


def test_a_fitted_search_survives_pickling_and_cloning(fitted, ripley):
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert np.array_equal(again.predict(ripley[0]), fitted.predict(ripley[0]))
    assert not hasattr(clone(fitted), "best_params_")


def test_it_is_at_home_in_cross_validation(ripley):
    scores = cross_val_score(KernelSearch(SVC()), *ripley, cv=3)
    assert scores.mean() > 0.8


# Spaces.


def test_lists_of_numbers_are_the_grid_of_grid_search(ripley):
    grid = {"C": [100, 0.1, 1.0], "gamma": [0.5, 5.0]}
    ours = KernelSearch(SVC(), grid).fit(*ripley)
    theirs = GridSearchCV(SVC(), grid, cv=3).fit(*ripley)
    key = lambda params: (params["C"], params["gamma"])
    assert sorted(map(key, ours.cv_results_["params"])) == sorted(map(key, theirs.cv_results_["params"]))
    X, y = ripley
    values = {
        (C, g): -criteria.CalibratedLOO()(
            LSSVM(C / 2).solve(DenseBuilder(X).gram(RBF(1 / np.sqrt(2 * g))), one_versus_rest(y, 2))
        ).value
        for C in grid["C"]
        for g in grid["gamma"]
    }
    assert key(ours.best_params_) == max(values, key=values.get)


def test_ranges_bound_the_search(ripley):
    search = KernelSearch(SVC(), {"C": (5.0, 6.0), "gamma": loguniform(0.2, 0.3)}).fit(*ripley)
    C = np.array([p["C"] for p in search.cv_results_["params"]])
    gamma = np.array([p["gamma"] for p in search.cv_results_["params"]])
    assert 5 - 1e-9 <= C.min() <= C.max() <= 6 + 1e-9
    assert 0.2 - 1e-9 <= gamma.min() <= gamma.max() <= 0.3 + 1e-9


def test_what_is_not_named_stays(ripley):
    search = KernelSearch(SVC(gamma=2.0), {"C": (0.1, 100)}).fit(*ripley)
    assert list(search.best_params_) == ["C"]
    assert search.best_estimator_.gamma == 2.0
    kernel = search.selection_.kernel
    assert 1 / (2 * kernel.length_scale**2) == pytest.approx(2.0)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_a_named_gamma_means_what_scikit_learn_means(ripley, gamma):
    search = KernelSearch(SVC(gamma=gamma), {"C": (0.1, 100)}).fit(*ripley)
    length = search.selection_.kernel.length_scale
    assert 1 / (2 * length**2) == pytest.approx(search.best_estimator_._gamma)


def test_listed_values_beside_ranges_are_each_searched(ripley):
    space = {"C": (0.1, 100), "gamma": (0.1, 50), "class_weight": [None, "balanced"], "tol": 1e-4}
    search = KernelSearch(SVC(), space).fit(*ripley)
    assert {p["class_weight"] for p in search.cv_results_["params"]} == {None, "balanced"}
    alone = [
        KernelSearch(SVC(class_weight=w, tol=1e-4), {"C": (0.1, 100), "gamma": (0.1, 50)})
        .fit(*ripley)
        .best_score_
        for w in (None, "balanced")
    ]
    assert search.best_score_ == max(alone)
    assert search.best_estimator_.tol == 1e-4


def test_a_list_of_spaces_is_their_union(ripley):
    spaces = [{"kernel": ["linear"], "C": (0.1, 10)}, {"kernel": ["rbf"], "C": (0.1, 10), "gamma": (1, 50)}]
    search = KernelSearch(SVC(), spaces).fit(*ripley)
    assert {p["kernel"] for p in search.cv_results_["params"]} == {"linear", "rbf"}
    linear = search.cv_results_["param_kernel"] == "linear"
    assert np.all(np.ma.getmaskarray(search.cv_results_["param_gamma"])[linear])


def test_parameters_of_earlier_steps_may_be_listed(ripley):
    pipe = make_pipeline(StandardScaler(), SVC())
    search = KernelSearch(pipe, {"standardscaler__with_std": [True, False], "svc__C": (0.1, 10)}).fit(*ripley)
    assert set(search.best_params_) == {"standardscaler__with_std", "svc__C"}


def test_whole_numbers_of_a_distribution_are_tried_one_by_one(ripley):
    search = KernelSearch(SVC(kernel="poly", coef0=1.0), {"degree": randint(2, 4), "C": (0.1, 10)}).fit(
        *ripley
    )
    assert {p["degree"] for p in search.cv_results_["params"]} == {2, 3}


@pytest.mark.parametrize(
    ("space", "error", "words"),
    [
        ({"c": (1, 2)}, ValueError, "param_space names 'c', which SVC does not have"),
        ({"C": (-1, 2)}, ValueError, r"param_space\['C'\] must be a range .* got \(-1, 2\)"),
        ({"C": (2, 1)}, ValueError, "0 < low < high"),
        ({"C": []}, ValueError, r"param_space\['C'\] is empty"),
        ({"tol": (1e-4, 1e-2)}, ValueError, r"param_space\['tol'\] is a range, but no criterion can follow"),
        ("C", TypeError, "param_space must be a dict"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(ripley, space, error, words):
    with pytest.raises(error, match=words):
        KernelSearch(SVC(), space).fit(*ripley)


# Kernels and machines.


@pytest.mark.parametrize(
    ("svc", "names"),
    [
        (SVC(kernel="linear"), {"C"}),
        (SVC(kernel="poly"), {"C"}),  # gamma is only a factor of C there
        (SVC(kernel="poly", coef0=1.0), {"C", "gamma"}),
        (SVC(kernel="rbf"), {"C", "gamma"}),
    ],
)
def test_every_kernel_of_svc_has_its_default_space(ripley, svc, names):
    assert set(KernelSearch(svc).fit(*ripley).best_params_) == names
    search = KernelSearch(svc, criterion="gacv").fit(*ripley)
    assert set(search.best_params_) == names
    ours = search.selection_.solution
    outputs = ours.gram.matmul(ours.alpha)[:, 0] + ours.b
    theirs = search.decision_function(ripley[0])
    assert outputs == pytest.approx(theirs, abs=0.02 * np.ptp(theirs))


def test_a_precomputed_gram_matrix_tunes_C(ripley):
    X, y = ripley
    K = RBF(0.4)(X)
    search = KernelSearch(SVC(kernel="precomputed")).fit(K, y)
    same = KernelSearch(SVC(gamma=1 / (2 * 0.4**2)), {"C": (1e-5, 1e7)}).fit(X, y)
    assert search.best_params_["C"] == pytest.approx(same.best_params_["C"], rel=1e-6)
    assert search.__sklearn_tags__().input_tags.pairwise


def test_nu_is_that_of_the_machine_chosen(ripley):
    """A least-squares machine chose; nu is that of the support vector machine with the C that corresponds to it."""
    search = KernelSearch(NuSVC(tol=1e-6)).fit(*ripley)
    C = SVC_C_OVER_LSSVM_C * search.selection_.machine.C
    svc = SVC(C=C, gamma=search.best_params_["gamma"], tol=1e-6).fit(*ripley)
    assert search.best_params_["nu"] == pytest.approx(np.sum(np.abs(svc.dual_coef_)) / (C * 90), rel=1e-4)
    assert set(search.best_params_) == {"gamma", "nu"}
    assert np.array_equal(svc.predict(ripley[0]), search.predict(ripley[0]))


@pytest.mark.parametrize("sizes", [(5, 25), (3, 6, 21), (2, 2, 26)])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0}])
def test_nu_is_feasible_where_nothing_can_be_learned(rng, sizes, class_weight):
    """All coefficients are then at their bound, and nu is the largest that scikit-learn accepts."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(3):
        search = KernelSearch(NuSVC(nu=0.1, class_weight=class_weight)).fit(rng.normal(size=(len(y), 1)), y)
        assert 0 < search.best_params_["nu"] < 1


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    search = KernelSearch(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    assert search.score(X, y) > 0.95
    assert len(search.classes_) == 3


def test_class_and_sample_weights_reach_the_criterion(ripley):
    X, y = ripley
    twice = KernelSearch(SVC()).fit(X, y, sample_weight=np.full(len(y), 2.0))
    once = KernelSearch(SVC()).fit(X, y)
    assert twice.selection_.machine.weights == pytest.approx(2.0)
    assert once.selection_.machine.weights is None
    weighed = KernelSearch(SVC(class_weight={0: 1, 1: 3})).fit(X, y).selection_.machine.weights
    assert np.array_equal(weighed, np.where(y == 1, 3.0, 1.0))


def test_rows_without_weight_take_no_part(ripley):
    X, y = ripley
    weight = np.r_[np.zeros(20), np.ones(len(y) - 20)]
    left, weighed = (
        KernelSearch(SVC()).fit(X[20:], y[20:]),
        KernelSearch(SVC()).fit(X, y, sample_weight=weight),
    )
    assert weighed.best_params_ == left.best_params_
    with pytest.raises(ValueError, match="sample_weight leaves rows of fewer than two classes"):
        KernelSearch(SVC()).fit(X, y, sample_weight=y)


def test_the_weights_of_a_pipeline_go_by_the_name_of_the_step(ripley):
    X, y = ripley
    weight = np.r_[np.zeros(20), np.full(len(y) - 20, 2.0)]
    pipe = make_pipeline(FunctionTransformer(), SVC())
    weighed = KernelSearch(pipe).fit(X, y, svc__sample_weight=weight)
    plain = KernelSearch(SVC()).fit(X, y, sample_weight=weight)
    assert weighed.best_params_ == {f"svc__{name}": value for name, value in plain.best_params_.items()}
    with pytest.raises(ValueError, match=r"pass svc__sample_weight=\.\.\. instead of sample_weight"):
        KernelSearch(pipe).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="Negative values"):
        KernelSearch(pipe).fit(X, y, svc__sample_weight=-weight)


@pytest.mark.parametrize("machine", [SVC(), KernelLogisticRegression()])
def test_a_pipeline_may_end_in_a_pipeline(ripley, machine):
    nested = Pipeline(
        [("scale", StandardScaler()), ("rest", Pipeline([("same", FunctionTransformer()), ("it", machine)]))]
    )
    flat = Pipeline([("scale", StandardScaler()), ("it", machine)])
    search, plain = KernelSearch(nested).fit(*ripley), KernelSearch(flat).fit(*ripley)
    assert search.best_params_ == {f"rest__{name}": value for name, value in plain.best_params_.items()}
    assert search.decision_function(ripley[0]) == pytest.approx(plain.decision_function(ripley[0]), abs=1e-6)


def test_a_precomputed_gram_matrix_must_be_square(ripley):
    with pytest.raises(
        ValueError, match=r"needs a square Gram matrix of the training points, got shape \(90, 2\)"
    ):
        KernelSearch(SVC(kernel="precomputed")).fit(*ripley)


def test_what_cannot_fit_is_refused(ripley):
    with pytest.raises(TypeError, match="estimator must have a fit method, got 'svc'"):
        KernelSearch("svc").fit(*ripley)


def test_a_gaussian_process_classifier_gets_its_kernel(ripley):
    X, y = ripley
    kernel = ConstantKernel(10.0) * RBF(0.5)
    search = KernelSearch(GaussianProcessClassifier(kernel)).fit(X, y)
    chosen = search.best_estimator_.kernel_
    assert chosen == search.best_params_["kernel"]
    loo = lambda k: criteria.LOO()(
        SmoothMachine(Logistic(), bias=False).solve(DenseBuilder(X).gram(k), one_versus_rest(y, 2))
    )
    assert -search.best_score_ == pytest.approx(loo(chosen).value, rel=1e-6)
    assert -search.best_score_ < loo(kernel).value


def test_our_own_estimators_tune_themselves(ripley):
    search = KernelSearch(make_pipeline(StandardScaler(), KernelLogisticRegression())).fit(*ripley)
    alone = make_pipeline(StandardScaler(), KernelLogisticRegression()).fit(*ripley)
    model = alone[-1]
    assert search.best_score_ == -model.criterion_value_
    assert search.best_params_["kernellogisticregression__C"] == model.C_
    assert np.array_equal(search.predict_proba(ripley[0]), alone.predict_proba(ripley[0]))


@pytest.mark.parametrize("name", MACHINES)
def test_the_parameters_of_our_own_estimators_only_need_solving(ripley, name):
    X, y = ripley
    machine = MACHINES[name].estimator
    search = KernelSearch(machine()).fit(X, y)
    again = machine(**search.best_params_).fit(X, y)
    assert again.criterion_value_ == pytest.approx(-search.best_score_, rel=1e-6)
    # A subset is chosen anew, with a ridge regression before it.
    assert again.n_evaluations_ == 1 or name == "subset"


@pytest.mark.parametrize("machine", [SVC(), KernelLogisticRegression()])
def test_the_best_estimator_keeps_the_options_of_the_pipeline(ripley, machine, tmp_path):
    pipe = Pipeline([("scale", StandardScaler()), ("it", machine)], memory=str(tmp_path))
    best = KernelSearch(pipe).fit(*ripley).best_estimator_
    assert [type(step) for _, step in best.steps] == [StandardScaler, type(machine)]
    assert best.memory == str(tmp_path)


def test_an_ensemble_of_our_own_has_a_member_at_each_optimum():
    search = KernelSearch(KernelLogisticRegression(), ensemble=True).fit(*make_ripley(60, random_state=5))
    optima = search.selection_.outcome.optima
    assert len(optima) > 1
    for member, optimum in zip(search.ensemble_.members, optima, strict=True):
        assert [np.log(member.kernel_.length_scale), np.log(member.C_)] == pytest.approx(optimum.theta)


def test_options_reach_our_own_estimators(ripley):
    search = KernelSearch(KernelLogisticRegression(), search="nelder-mead", criterion="evidence").fit(*ripley)
    assert search.selection_.criterion.name == "evidence"
    assert any(step.why == "simplex" for step in search.trace_)


def test_sparse_input(ripley):
    X, y = ripley
    dense, sparse = KernelSearch(SVC()).fit(X, y), KernelSearch(SVC()).fit(sp.csr_array(X), y)
    assert sparse.best_params_ == pytest.approx(dense.best_params_, rel=1e-3)


# Regression.


def loo_error(estimator, X, y):
    return np.mean((cross_val_predict(estimator, X, y, cv=LeaveOneOut()) - y) ** 2)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
def test_kernel_ridge_is_judged_by_its_own_leave_one_out_error(noisy_curve, kernel):
    search = KernelSearch(KernelRidge(kernel=kernel)).fit(*noisy_curve)
    assert -search.best_score_ == pytest.approx(loo_error(search.best_estimator_, *noisy_curve), rel=1e-4)
    assert set(search.best_params_) == ({"alpha"} if kernel == "linear" else {"alpha", "gamma"})


def test_the_grid_of_kernel_ridge_has_the_point_that_refits_prefer(noisy_curve):
    grid = {"alpha": [1.0, 0.1, 0.01], "gamma": [0.1, 1.0, 10.0]}
    search = KernelSearch(KernelRidge(kernel="rbf"), grid).fit(*noisy_curve)
    points = [{"alpha": a, "gamma": g} for a in grid["alpha"] for g in grid["gamma"]]
    best = min(points, key=lambda p: loo_error(KernelRidge(kernel="rbf", **p), *noisy_curve))
    assert search.best_params_ == best


def test_several_outputs(noisy_curve):
    X, y = noisy_curve
    search = KernelSearch(KernelRidge(kernel="rbf")).fit(X, np.column_stack([y, -2 * y]))
    assert search.predict(X).shape == (40, 2)


def test_a_gaussian_process_regressor_is_judged_by_its_own_evidence(noisy_curve):
    X, y = noisy_curve
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    search = KernelSearch(GaussianProcessRegressor(kernel)).fit(X, y)
    theirs = GaussianProcessRegressor(kernel).fit(X, y)
    ours = search.best_estimator_
    assert len(y) * search.best_score_ == pytest.approx(ours.log_marginal_likelihood_value_, rel=1e-6)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        theirs.log_marginal_likelihood_value_, abs=0.01
    )


def test_one_alpha_per_row_has_no_criterion(noisy_curve):
    X, y = noisy_curve
    with pytest.raises(ValueError, match="alpha must be one number"):
        KernelSearch(GaussianProcessRegressor(alpha=np.full(40, 0.1))).fit(X, y)


# Folds, where there is nothing else.


def test_an_arbitrary_estimator_is_refused_and_offered_folds(ripley):
    with pytest.raises(
        TypeError, match=r"no criterion without folds for RandomForestClassifier.*criterion='cv'"
    ):
        KernelSearch(RandomForestClassifier(), {"max_depth": (1, 9)}).fit(*ripley)


def test_folds_tune_anything(ripley):
    search = KernelSearch(LogisticRegression(), {"C": (1e-3, 1e3)}, criterion="cv").fit(*ripley)
    assert 1e-3 <= search.best_params_["C"] <= 1e3
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert not hasattr(search, "selection_")


def test_folds_are_those_of_the_criterion_and_whole_numbers_stay_whole(ripley):
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    space = {"max_depth": [1, 3], "n_estimators": (2, 9)}
    search = KernelSearch(forest, space, criterion=criteria.CV(folds=3), max_evaluations=8)
    with pytest.warns(SearchWarning):
        search.fit(*ripley)
    assert {p["max_depth"] for p in search.cv_results_["params"]} == {1, 3}
    assert all(isinstance(p["n_estimators"], int) for p in search.cv_results_["params"])


def test_folds_without_a_space_need_one_for_a_stranger(ripley):
    with pytest.raises(ValueError, match="criterion='cv' needs a param_space for RandomForestClassifier"):
        KernelSearch(RandomForestClassifier(), criterion="cv").fit(*ripley)


@pytest.mark.filterwarnings("ignore:Singular matrix")  # of KernelRidge, whose sigmoid kernel is indefinite
@pytest.mark.parametrize("estimator", [SVR(), SVC(kernel="sigmoid"), KernelRidge(kernel="sigmoid")])
def test_machines_without_a_criterion_fall_back_on_folds(estimator, ripley):
    with pytest.warns(SearchWarning):
        search = KernelSearch(estimator, max_evaluations=3).fit(*ripley)
    assert {"alpha" if isinstance(estimator, KernelRidge) else "C", "gamma"} <= set(search.best_params_)
    assert not hasattr(search, "selection_")


# Searches, budgets, ensembles.


def test_unknown_names_are_refused(ripley):
    with pytest.raises(UnknownName, match="criterion must be one of"):
        KernelSearch(SVC(), criterion="lo").fit(*ripley)
    with pytest.raises(UnknownName, match="search must be one of"):
        KernelSearch(SVC(), search="bfgs").fit(*ripley)


def test_budgets_are_shared_by_the_listed_values(ripley):
    space = {"C": (0.1, 10), "gamma": (0.1, 10), "class_weight": [None, "balanced"]}
    with pytest.warns(SearchWarning):
        search = KernelSearch(SVC(), space, max_evaluations=4).fit(*ripley)
    assert search.n_evaluations_ == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_result_does_not_depend_on_n_jobs(ripley, n_jobs):
    space = {"C": (0.1, 10), "gamma": (0.1, 10), "class_weight": [None, "balanced"]}
    alone, together = (KernelSearch(SVC(), space, n_jobs=jobs).fit(*ripley) for jobs in (None, n_jobs))
    assert alone.best_params_ == together.best_params_
    assert np.array_equal(alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"])


def test_a_checkpoint_saves_the_evaluations(ripley, tmp_path):
    file = tmp_path / "run.jsonl"
    first = KernelSearch(SVC(), checkpoint=file).fit(*ripley)
    lines = file.read_text()
    again = KernelSearch(SVC(), checkpoint=file).fit(*ripley)
    assert file.read_text() == lines
    assert again.best_params_ == first.best_params_


@pytest.mark.parametrize(
    "make",
    [
        lambda file: KernelLogisticRegression(search=searches.LBFGS(checkpoint=file)),
        lambda file: KernelSearch(KernelLogisticRegression(), checkpoint=file),
        lambda file: KernelSearch(SVC(), search=searches.LBFGS(checkpoint=file)),
        lambda file: KernelSearch(
            SVR(), {"C": [1.0], "gamma": (0.1, 1.0)}, search=searches.LBFGS(checkpoint=file)
        ),
    ],
)
def test_every_estimator_can_go_on_where_it_was_killed(ripley, tmp_path, make):
    file = tmp_path / "run.jsonl"
    with pytest.warns(SearchWarning):
        make(file).set_params(max_evaluations=4).fit(*ripley)
    lines = file.read_text().splitlines()
    whole, alone = make(file).fit(*ripley), make(None).fit(*ripley)
    assert file.read_text().splitlines()[: len(lines)] == lines
    steps = [line for line in file.read_text().splitlines() if '"theta"' in line]
    assert len(steps) == len(whole.trace_)
    for step, other in zip(whole.trace_, alone.trace_, strict=True):  # a recalled step hands no warm start on
        assert step.theta == pytest.approx(other.theta, rel=1e-6)


def test_an_estimator_of_ours_goes_on_from_a_checkpoint(ripley, tmp_path):
    file, machine = tmp_path / "run.jsonl", KernelLogisticRegression(gram="dense")
    with pytest.warns(SearchWarning):
        KernelSearch(machine, checkpoint=file, max_evaluations=8).fit(*ripley)
    begun = file.read_text()
    resumed = KernelSearch(machine, checkpoint=file).fit(*ripley)
    whole = KernelSearch(machine).fit(*ripley)
    assert file.read_text().startswith(begun)
    # Recalled steps give no warm start. Fits are then as close as a search needs them, and steps to about ten times their slopes.
    error = 10 * np.sqrt(SEARCH_CHORD_DECREMENT)
    for one, other in zip(resumed.trace_, whole.trace_, strict=True):
        assert one.theta == pytest.approx(other.theta, abs=error)
    seconds = [json.loads(line)["seconds"] for line in begun.splitlines() if '"theta"' in line]
    assert [step.seconds for step in resumed.trace_[:8]] == seconds


def test_an_ensemble_is_the_weighted_mean_of_the_optima(ripley):
    X, y = ripley
    search = KernelSearch(SVC(), ensemble=True, search=searches.LBFGS(n_starts=6)).fit(X, y)
    members, weights = search.ensemble_.members, search.ensemble_.weights
    assert len(members) == len(search.selection_.outcome.optima)
    assert weights.sum() == pytest.approx(1)
    assert np.all(np.diff(weights) <= 0)  # the optima are listed best first
    expected = sum(w * member.decision_function(X) for w, member in zip(weights, members))
    assert search.decision_function(X) == pytest.approx(expected)
    assert np.array_equal(search.predict(X), (expected > 0).astype(int))
    assert search.score(X, y) == np.mean(search.predict(X) == y)
