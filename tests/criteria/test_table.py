"""Every criterion through every estimator, and what some of them are by hand."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSVC,
    criteria,
)
from foldless.core.errors import FoldlessError, FoldlessWarning
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic, Poisson
from foldless.machines.svm import SupportVectorMachine
from laws.table import DEFAULTS

KERNEL = RBF(0.8, "fixed") + ConstantKernel(0.3, "fixed")
# An estimator with everything fixed, the machine that it stands for, and the name of its targets.
ESTIMATORS = [
    (KernelLogisticRegression(KERNEL, C=2.0), SmoothMachine(Logistic(), 2.0), "labels"),
    (KernelSVC(KERNEL, C=2.0), SquaredHingeSVM(2.0), "labels"),
    (KernelSVC(KERNEL, C=2.0, loss="hinge"), HingeSVM(2.0), "labels"),
    (KernelLSSVC(KERNEL, C=2.0), LSSVM(2.0), "labels"),
    (KernelRidgeRegressor(KERNEL, alpha=0.5), Ridge(0.5, True), "numbers"),
    (KernelPoissonRegressor(KERNEL, alpha=0.5), SmoothMachine(Poisson(), 2.0), "counts"),
]


@pytest.fixture(scope="module")
def moons():
    return make_moons(40, noise=0.3, random_state=1)


def targets(moons, kind):
    """Return the targets as a user gives them, and as columns."""
    X, y = moons
    if kind == "labels":
        return y, np.where(y == 1, 1.0, -1.0)[:, None]
    numbers = X[:, 1] if kind == "numbers" else np.round(np.exp(X[:, 1]))
    return numbers, numbers[:, None]


@pytest.mark.parametrize("name", criteria.BY_NAME)
@pytest.mark.parametrize(
    "estimator, machine, kind", ESTIMATORS, ids=lambda value: type(getattr(value, "loss", value)).__name__
)
def test_an_estimator_at_a_fixed_point_gives_the_number_of_its_machine(moons, estimator, machine, kind, name):
    """The machine is built and the criterion read by hand; a pair that is refused is refused by both."""
    (X, _), (y, Y), criterion = moons, targets(moons, kind), DEFAULTS.get(name) or criteria.BY_NAME[name]()
    if criterion.needs_proper_offset and isinstance(machine, SupportVectorMachine):
        machine = replace(machine, bias=False)
    K = DenseGram(KERNEL(X))
    model = clone(estimator).set_params(criterion=criterion)
    try:
        expected = criterion.with_data_estimates(machine, [K], Y)(machine.solve(K, Y)).value
    except (FoldlessError, ValueError) as error:
        # A criterion that cannot read the solution is refused by the name of the estimator.
        unreadable = rf"criterion='{name}' has no formula for {type(estimator).__name__}"
        with pytest.raises((FoldlessError, ValueError), match=f"{re.escape(str(error)[:30])}|{unreadable}"):
            model.fit(X, y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldlessWarning)  # traps of criteria are warned about elsewhere
        model.fit(X, y)
    assert model.criterion_value_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert model.n_evaluations_ == 1


def problem(moons):
    X, y = moons
    return DenseGram(gram(RBF(0.8), X)), np.where(y == 1, 1.0, -1.0)[:, None]


def test_abic_of_a_support_vector_machine_is_its_evidence_in_other_units(moons):
    K, Y = problem(moons)
    for machine in (HingeSVM(2.0), SquaredHingeSVM(2.0)):
        solution = machine.solve(K, Y).columns[0]
        one, other = criteria.Evidence()(solution), criteria.ABIC(tuned=2)(solution)
        assert other.value == pytest.approx(one.value + 2 / len(Y), rel=1e-12)
        assert other.parts["total"] == pytest.approx(2 * len(Y) * one.value + 4, rel=1e-12)
        np.testing.assert_allclose(other.adjoint, one.adjoint, rtol=1e-12)


def test_xi_alpha_of_a_logistic_machine_counts_by_hand(moons):
    K, Y = problem(moons)
    s = SmoothMachine(Logistic(), 2.0, bias=True).solve(K, Y).columns[0]
    radius = K.K.max() - K.K.min()
    count = sum(
        2 * abs(a) * radius + max(0, 1 - y * z) >= 1 for a, y, z in zip(s.alpha, s.y, s.z, strict=True)
    )
    assert criteria.XiAlpha()(s).value == count / len(Y)


def test_smoothed_span_of_the_hinge_becomes_the_span(moons):
    K, Y = problem(moons)
    s = HingeSVM(2.0).solve(K, Y).columns[0]
    assert criteria.SmoothedSpan(c1=1e6)(s).value == pytest.approx(criteria.Span()(s).value, abs=1e-6)


def test_radius_margin_of_the_hinge_is_radius_times_norm(moons):
    K, Y = problem(moons)
    s = HingeSVM(2.0, bias=False).solve(K, Y).columns[0]
    assert criteria.RadiusMargin()(s).value == pytest.approx(
        s.beta @ K.K @ s.beta / len(Y), rel=1e-12
    )  # K_ii = 1


def test_cv_of_ridge_is_the_error_of_refits(moons):
    X, _ = moons
    K, y = gram(RBF(0.8), X), X[:, 1]
    solution = Ridge(0.5).solve(DenseGram(K), y[:, None])
    errors = []
    for test in criteria.CV(folds=5).split(None, len(y)):
        train = np.setdiff1d(np.arange(len(y)), test)
        alpha = np.linalg.solve(K[np.ix_(train, train)] + 0.5 * np.eye(len(train)), y[train])
        errors.append((y[test] - K[np.ix_(test, train)] @ alpha) ** 2)
    assert criteria.CV(folds=5)(solution).value == pytest.approx(np.concatenate(errors).mean(), rel=1e-9)
