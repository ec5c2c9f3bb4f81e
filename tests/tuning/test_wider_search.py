"""Structure that blocks of a few hundred rows hide is found on more rows at a time."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSVC,
)
from foldless.core.contracts import Stop
from foldless.core.errors import NoGainWarning, Undefined
from foldless.criteria import CalibratedLOO
from foldless.machines import LSSVM, Ridge, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.searches import Grid
from foldless.tuning import fit_after, wider_search
from foldless.tuning.search_space import SearchSpace
from foldless.tuning.wider_search import CAUTIOUS_MAX_C, WIDE_MAX_ROWS, gains_little, search_wider

CLASSIFIERS = (KernelLogisticRegression, KernelSVC, KernelLSSVC)


def checkerboard(n, seed):
    """Squares in two of four columns; blocks of 250 rows do not show them for this seed."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    y = np.floor(1.5 * X[:, :2]).sum(axis=1) % 2
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def rare_class(n, seed):
    """A class of two rows in a hundred, far from the centre in two of five columns."""
    X = np.random.default_rng(seed).normal(size=(n, 5))
    return X, X[:, 0] ** 2 + X[:, 1] ** 2 > 8


@pytest.fixture
def never_wider(monkeypatch):
    """Fits as they were without this search."""
    monkeypatch.setattr(fit_after, "search_wider", lambda *_: None)


def waves(n, seed):
    """Some fifty stripes of two classes along a line, a tenth of the labels wrong: the narrowest structure that 400 rows can show."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    y = np.sin(150 * X[:, 0]) > 0
    return X, np.where(rng.random(n) < 0.1, ~y, y)


def error(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 1 - model.fit(X, y).score(*checkerboard(3000, seed=1))


@pytest.mark.parametrize("model", [*(kind() for kind in CLASSIFIERS), KernelSearch(SVC())], ids=str)
def test_a_checkerboard_that_blocks_hide_is_found(model):
    # Chance has 50 %; three standard errors of 3000 test rows are 2.7 points.
    assert error(model, *checkerboard(1000, seed=7)) < 0.45


@pytest.mark.parametrize("kind", [KernelSVC, KernelLogisticRegression])
def test_without_more_rows_it_is_missed(kind, never_wider):
    """If this fails, the problem no longer tests what the law before it says."""
    assert error(kind(), *checkerboard(1000, seed=7)) > 0.47


@pytest.mark.parametrize("seed", [102, 103])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_waves_that_squared_errors_hide_are_found_by_calibrated_outputs(kind, seed):
    """All rows have been searched before, but not by what outputs say of the classes."""
    model = kind().fit(*waves(400, seed))
    assert 1 - model.score(*waves(3000, seed=1)) < 0.25


@pytest.mark.parametrize("kind", [KernelSVC, KernelLSSVC])
def test_without_another_criterion_waves_are_missed(kind, never_wider):
    """If this fails, the problem no longer tests what the law before it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert 1 - kind().fit(*waves(400, 103)).score(*waves(3000, seed=1)) > 0.45


@pytest.mark.parametrize("n", [300, 1000])
def test_a_machine_that_found_nothing_is_fitted_with_small_C(n):
    """scikit-learn's SVC may take hours to fit noise with a large C."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 6)), rng.integers(0, 2, n)
    with pytest.warns(NoGainWarning):
        search = KernelSearch(SVC()).fit(X, y)
    # The kernel is 1 on its diagonal, and C of the hinge twice that of least squares.
    assert search.best_params_["C"] <= 2 * CAUTIOUS_MAX_C * (1 + 1e-12)
    assert search.cv_results_["params"][search.best_index_] == search.best_params_


def test_a_range_that_was_asked_for_is_kept_where_nothing_is_found():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 2, 300)
    with pytest.warns(NoGainWarning):
        search = KernelSearch(SVC(), {"C": (10.0, 20.0), "gamma": (1e-3, 1.0)}).fit(X, y)
    assert 10 * (1 - 1e-12) <= search.best_params_["C"] <= 20 * (1 + 1e-12)


@pytest.mark.parametrize("machine", [LSSVM(), Ridge(1.0)], ids=lambda machine: type(machine).__name__)
def test_the_largest_C_is_a_bound_of_the_space(machine):
    X, kernel = np.random.default_rng(0).normal(size=(20, 2)), ConstantKernel(4.0) * RBF()
    space = SearchSpace.around(kernel, machine, X)
    bounded = space.with_largest_C(kernel, machine, np.log(3.0), X)
    C = np.exp(bounded.box.high[-1] if machine.sign > 0 else -bounded.box.low[-1])
    assert float(C) == pytest.approx(3 / 4, rel=1e-12)
    np.testing.assert_array_equal(bounded.box.low[:2], space.box.low[:2])
    np.testing.assert_array_equal(bounded.box.high[:2], space.box.high[:2])


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_a_support_vector_machine_finds_a_rare_class(seed):
    X, y = rare_class(1000, seed)
    new, truth = rare_class(4000, seed + 100)
    found = KernelSVC().fit(X, y).predict(new)
    assert np.mean(found != truth) < np.mean(truth)


def test_the_fit_is_the_same_with_two_workers():
    X, y = checkerboard(1000, seed=7)
    one, two = (KernelLSSVC(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.kernel_.theta.tobytes() == two.kernel_.theta.tobytes()
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()


def test_the_budget_of_evaluations_holds():
    X, y = checkerboard(1000, seed=7)
    free = KernelLSSVC().fit(X, y)
    allowed = free.n_evaluations_ - 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelLSSVC(max_evaluations=allowed).fit(X, y)
    assert model.n_evaluations_ == allowed


def test_a_search_for_a_rest_that_is_not_there_leaves_the_fit(monkeypatch):
    """On noise the first fit stays unless the second one has a lower left-out loss."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelRidgeRegressor().fit(X, y)
        monkeypatch.setattr(fit_after, "search_wider", lambda *_: None)
        plain = KernelRidgeRegressor().fit(X, y)
    assert model.criterion_value_ <= plain.criterion_value_
    assert model.n_evaluations_ > plain.n_evaluations_


Y = np.where(np.arange(200) % 4 == 0, 1.0, -1.0)[:, None]
MACHINES = [SmoothMachine(Logistic()), SquaredHingeSVM(), LSSVM()]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_what_is_little(machine):
    rng = np.random.default_rng(0)
    assert gains_little(machine, Y, np.full_like(Y, -0.5))
    assert gains_little(machine, Y, rng.normal(size=Y.shape))
    assert not gains_little(machine, Y, Y)
    # All rows of the rare class are closer to it than others, and yet on the wrong side.
    assert gains_little(machine, Y, -0.6 + 0.3 * Y)


def test_numbers_that_are_half_explained_are_not_little():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(200, 1))
    assert not gains_little(LSSVM(), targets, targets / 2)
    assert gains_little(LSSVM(), targets, np.zeros_like(targets))


class Nowhere(CalibratedLOO):
    """A criterion that exists for no fit."""

    def __call__(self, solution):
        raise Undefined("it exists for no fit.")


class TestWhereNothingIsSearched:
    """The search is given a problem, and does not run."""

    @pytest.fixture
    def parts(self, monkeypatch):
        """What a fit hands to the search."""
        seen = []

        def spy(*parts):
            seen.append(parts)

        monkeypatch.setattr(fit_after, "search_wider", spy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            KernelLSSVC().fit(*checkerboard(1000, seed=7))
        return seen[0]

    def test_it_runs_otherwise(self, parts):
        found = search_wider(*parts)
        assert found.objective.n_rows == 1000
        assert found.outcome.best.n_rows == 1000

    def test_where_calibrated_outputs_do_not_exist_squared_errors_are_asked(self, parts, monkeypatch):
        monkeypatch.setattr(wider_search, "CalibratedLOO", Nowhere)
        assert search_wider(*parts).outcome.best.n_rows == 1000

    def test_after_a_budget_was_spent(self, parts):
        staged, kernel, stage, *rest = parts
        assert search_wider(staged, kernel, stage.ended_by(Stop.BUDGET), *rest) is None

    def test_on_hardly_more_rows(self, parts, monkeypatch):
        *given, stage, begun, section, _ = parts
        monkeypatch.setattr(wider_search, "WIDE_MAX_ROWS", stage.objective.rows_at_once + 10)
        assert search_wider(*given, stage, begun, section) is None
        # Calibrated outputs have not been asked yet.
        assert search_wider(*given, stage, begun, section, nothing_found=True) is not None

    def test_with_a_search_that_has_no_starts(self, parts):
        staged, *rest = parts
        assert search_wider(replace(staged, search=Grid()), *rest) is None

    def test_a_block_has_no_more_rows_than_it_may(self, parts):
        assert parts[0].problem.Y.shape[0] <= WIDE_MAX_ROWS
