"""Tied length scales: value, gradient, units, and what they do to a search."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import SearchWarning
from foldless.criteria import LOO, SIC, Evidence, HyperPrior, Spectral, Tied
from foldless.grams.builders import DenseBuilder
from foldless.kernels.by_name import NAMED, named_kernel
from foldless.machines import LSSVM, Ridge, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.tuning.lookup import tied_for
from foldless.tuning.objective import Objective
from foldless.tuning.select import select

MACHINES = {
    "logistic": (SmoothMachine(Logistic()), "loo"),
    "evidence": (SmoothMachine(Logistic()), "evidence"),
    "ridge": (Ridge(0.3), "loo"),
    "gcv": (Ridge(0.3), "gcv"),
    "lssvm": (LSSVM(), "loo"),
    "svm": (SquaredHingeSVM(C=1.0), "smoothed-span"),
}


def penalty(l, epsilon=0.01):
    z = np.log(l) - np.mean(np.log(l))
    d = len(l)
    return d / 2 * np.log((z @ z / 2 + epsilon * d) / (epsilon * d))


def test_the_penalty_is_the_formula():
    kernel = ConstantKernel(3.0) * RBF([1.0, 2.0, 5.0]) + Matern([0.5, 0.7]) * RBF(9.0)
    expected = penalty([1.0, 2.0, 5.0]) + penalty([0.5, 0.7])
    assert Tied(rows=10).penalty(kernel)[0] == pytest.approx(expected, rel=1e-12)


def test_it_is_a_normal_prior_with_its_precision_integrated_out():
    """The integral of a^(d/2) exp(-a Omega) da / a is Gamma(d/2) Omega^(-d/2); the constant cancels in a difference."""
    kernels = [RBF([1.0, 2.0, 5.0]), RBF([1.0, 1.1, 0.7])]

    def minus_log(kernel):
        z = kernel.theta - kernel.theta.mean()
        omega = z @ z / 2 + 0.03
        return -np.log(quad(lambda a: a**0.5 * np.exp(-a * omega), 0, np.inf)[0])

    one, two = (Tied(rows=10).penalty(kernel)[0] for kernel in kernels)
    assert one - two == pytest.approx(minus_log(kernels[0]) - minus_log(kernels[1]), rel=1e-6)


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), RBF([1.0, 2.0], "fixed"), ConstantKernel(2.0) * RBF([3.0, 3.0])]
)
def test_length_scales_that_are_one_or_fixed_or_equal_cost_nothing(kernel):
    value, gradient = Tied(rows=10).penalty(kernel)
    assert value == 0
    assert np.all(gradient == 0)


@pytest.mark.parametrize("tune_machine", [True, False])
@pytest.mark.parametrize("name", sorted(MACHINES))
def test_the_objective_has_the_gradient_of_its_sum(two_classes, name, tune_machine):
    X, y = two_classes
    machine, criterion = MACHINES[name]
    tied = Tied(criterion).with_data_estimates(machine, [], y[:, None])
    problem = Objective(
        RBF([1.0, 2.0, 0.6]), machine, tied, DenseBuilder(X), y[:, None], tune_machine=tune_machine
    )
    theta = problem.theta
    steps = 1e-5 * np.eye(len(theta))
    expected = [(problem(theta + e).value - problem(theta - e).value) / 2e-5 for e in steps]
    assert problem(theta).gradient == pytest.approx(np.array(expected), rel=1e-4, abs=1e-6)


def test_a_nat_is_a_nat_in_every_unit(two_classes):
    """The value in nats of all rows rises by the penalty: as a sum of losses, or as n/2 log of a squared error."""
    X, y = two_classes
    n, kernel = len(y), RBF([1.0, 2.0, 0.6])
    cost = Tied(rows=n).penalty(kernel)[0]
    for machine, nats in ((SmoothMachine(Logistic()), True), (Ridge(0.3), False)):
        tied = Tied("loo").with_data_estimates(machine, [], y[:, None])
        assert tied.nats == nats
        solution = machine.solve(DenseBuilder(X).gram(kernel), y[:, None])
        alone = LOO()(solution).value
        value = tied.with_penalty(LOO()(solution), kernel)[0].value
        gain = n * (value - alone) if nats else n / 2 * np.log(value / alone)
        assert gain == pytest.approx(cost, rel=1e-10)
        assert tied.gain_in_nats(value, alone) == pytest.approx(cost, rel=1e-10)


def test_the_unit_of_the_targets_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    kernels = [KernelRidgeRegressor("rbf-ard").fit(X, scale * y).kernel_ for scale in (1.0, 1e3)]
    np.testing.assert_allclose(kernels[0].theta, kernels[1].theta, rtol=1e-5)


def test_what_is_no_number_of_rows_or_epsilon_is_refused():
    with pytest.raises(ValueError, match="epsilon must be positive, got 0"):
        Tied(epsilon=0)
    with pytest.raises(ValueError, match="needs the number of rows"):
        Tied().with_penalty(LOO()(solved()), RBF([1.0, 2.0]))


def solved():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    return SmoothMachine(Logistic()).solve(DenseBuilder(X).gram(RBF([1.0, 2.0])), y[:, None])


# Which kernels are tied.


def test_names_decide():
    loo = LOO()
    assert tied_for("rbf-ard", loo) == Tied(loo)
    assert tied_for(["rbf", "matern-ard"], loo) == Tied(loo)
    for kernel in ("rbf", "rbf-ard-free", RBF([1.0, 2.0]), ["rbf", "rbf-ard-free"]):
        assert tied_for(kernel, loo) is loo


@pytest.mark.parametrize("criterion", [HyperPrior("loo"), Tied("loo", 0.1), Spectral(), SIC()])
def test_a_criterion_with_a_prior_or_without_a_logarithm_is_left_alone(criterion):
    assert tied_for("rbf-ard", criterion) is criterion


@pytest.mark.parametrize("name", [name for name in NAMED if "-ard" in name])
def test_a_kernel_per_feature_begins_as_the_kernel_with_one_width(name):
    X = np.random.default_rng(0).normal(size=(30, 3))
    base = named_kernel(name.split("-ard")[0], X)
    kernel = named_kernel(name, X)
    assert np.size(kernel.length_scale) == 3
    np.testing.assert_allclose(kernel(X), base(X), rtol=1e-12)


# What a search finds.


def irrelevant(n=120, d=8, seed=0):
    """Two of d features matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(int)


def alike(n=80, d=8, seed=0):
    """All features matter alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X.sum(axis=1) + 1.5 * rng.normal(size=n) > 0).astype(int)


def test_features_that_do_not_matter_go():
    X, y = irrelevant()
    model = KernelLogisticRegression("rbf-ard").fit(X, y)
    test = irrelevant(2000, seed=1)
    assert model.score(*test) > KernelLogisticRegression("rbf").fit(X, y).score(*test) + 0.02
    assert np.max(model.kernel_.theta[:2]) < np.min(model.kernel_.theta[2:])
    assert "one width was kept" not in model.selection_.explanation


def test_one_width_is_kept_where_it_is_better_and_that_is_reported():
    X, y = alike()
    one, each = (KernelLogisticRegression(kernel).fit(X, y) for kernel in ("rbf", "rbf-ard"))
    assert np.ptp(each.kernel_.theta) == 0
    assert each.criterion_value_ == pytest.approx(one.criterion_value_, rel=1e-3)
    words = f"one width: {each.criterion_value_:.4g} per row; a width per feature: "
    assert each.selection_.explanation.startswith(words)
    assert each.selection_.explanation.endswith("tied; one width was kept")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data", [irrelevant, alike])
def test_the_value_is_never_above_that_of_one_width(data, seed):
    X, y = data(seed=seed)
    one, each = (KernelLogisticRegression(kernel).fit(X, y) for kernel in ("rbf", "rbf-ard"))
    assert each.criterion_value_ <= one.criterion_value_ * (1 + 1e-3)


def test_the_comparison_of_kernels_counts_their_parameters():
    X, y = alike()
    free = KernelLogisticRegression(["rbf", "rbf-ard-free"]).fit(X, y)
    assert np.size(free.kernel_.length_scale) == 8
    tied = KernelLogisticRegression(["rbf", "rbf-ard"]).fit(X, y)
    assert np.ptp(tied.kernel_.theta) == 0
    values = [trial.value for trial in tied.selection_.trials]
    assert values[1] == pytest.approx(values[0], rel=1e-3)


def test_many_rows_are_searched_block_by_block():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1300, 4))
    y = np.floor(1.5 * X[:, :2]).sum(axis=1).astype(int) % 2
    model = KernelLogisticRegression("rbf-ard").fit(X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > 0.85
    assert np.max(model.kernel_.theta[:2]) < np.min(model.kernel_.theta[2:]) - 1


@pytest.mark.parametrize(
    ("model", "criterion"),
    [
        (KernelSVC, "smoothed-span"),
        (KernelSVC, "loo"),
        (KernelSVC, "evidence"),
        (KernelRidgeRegressor, "evidence"),
    ],
)
def test_every_estimator_ties(model, criterion):
    X, y = irrelevant(60, 3)
    fitted = model("rbf-ard", criterion=criterion).fit(X, y)
    assert isinstance(fitted.selection_.criterion, Tied)
    assert fitted.selection_.explanation.startswith("one width: ")


def test_a_budget_is_kept():
    X, y = irrelevant(60, 3)
    for budget in (1, 5, 14, 20, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SearchWarning)
            found = select(
                X,
                np.where(y == 1, 1.0, -1.0)[:, None],
                kernel="rbf-ard",
                machine=SmoothMachine(Logistic()),
                criterion=Evidence(),
                max_evaluations=budget,
            )
        assert len(found.outcome.trace) <= budget
        assert any(step is found.outcome.best for step in found.outcome.trace)
