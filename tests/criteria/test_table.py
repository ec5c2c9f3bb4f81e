"""The table of the manual: which criterion reads which machine, through the estimators."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC, criteria
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import HingeSVM, Ridge, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic

BLIND = ["spectral", "alignment", "centered-alignment", "fsm", "eigenvalue-ratio"]
SUPPORT = [
    "loo",
    "span",
    "smoothed-span",
    "gacv",
    "xi-alpha",
    "radius-margin",
    "jaakkola-haussler",
    "evidence",
]
SUPPORT += ["evidence-ep", "kric", "kric-sollich", "abic", "cv", *BLIND]
TABLE = {
    KernelLogisticRegression: [
        "loo",
        "kfold",
        "gacv",
        "xi-alpha",
        "evidence",
        "kric",
        "kric-sollich",
        "abic",
        "cv",
        *BLIND,
    ],
    KernelSVC: SUPPORT,
    KernelLSSVC: ["loo", "calibrated-loo", "kfold", "evidence", "gcv", "cv", *BLIND],
    KernelRidgeRegressor: ["loo", "kfold", "evidence", "abic", "sic", "gcv", "mallows", "cv"],
}
PAIRS = [(kind, {}, name) for kind, names in TABLE.items() for name in names]
PAIRS += [(KernelSVC, {"loss": "hinge"}, name) for name in SUPPORT]


@pytest.fixture(scope="module")
def moons():
    return make_moons(40, noise=0.3, random_state=1)


@pytest.mark.parametrize(
    "kind, options, name", PAIRS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_every_pair_of_the_table_is_read_at_a_fixed_point(moons, kind, options, name):
    """``fit`` with everything fixed gives the number that the criterion object gives on the machine itself."""
    X, y = moons
    target = X[:, 1] if kind is KernelRidgeRegressor else y
    fixed = {"alpha": 0.5} if kind is KernelRidgeRegressor else {"C": 2.0}
    kernel = RBF(0.8, "fixed") + ConstantKernel(0.3, "fixed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # traps of criteria are warned about elsewhere
        model = kind(kernel=kernel, criterion=name, **fixed, **options).fit(X, target)
    again = criteria.BY_NAME[name]()(model.selection_.solution).value
    assert model.criterion_value_ == pytest.approx(again, rel=1e-9, abs=1e-12)
    assert np.isfinite(model.criterion_value_)
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
