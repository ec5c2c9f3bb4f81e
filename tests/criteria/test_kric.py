"""KRIC at the outputs of a support vector machine, and through landmarks."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.svm import SVC

from foldless import KernelLogisticRegression
from foldless.core.errors import CriterionWarning
from foldless.criteria import KRIC, EffectiveParameters
from foldless.criteria.kric import OutputPenalty, kric_at_outputs, kric_sollich_at_outputs, sollich
from foldless.grams import DenseGram, LowRankGram
from foldless.grams.builders import NystromBuilder, leading_nystrom
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from oracles.klr import K1, WIDTH1, X1, Y1, agrees, random_problem, root

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


def svm_outputs(K, y, C):
    """Outputs and bias of an SVM: libsvm (float32 inside) finds the active set, a linear solve the digits."""
    machine = SVC(kernel="precomputed", C=C, tol=1e-10).fit(K, y)
    beta = np.zeros(len(y))
    beta[machine.support_] = machine.dual_coef_[0]
    free = np.flatnonzero((np.abs(beta) > 1e-6 * C) & (np.abs(beta) < C * (1 - 1e-6)))
    bound = np.setdiff1d(np.arange(len(y)), free)
    beta[bound] = C * np.round(beta[bound] / C)
    m = len(free)
    system = np.block([[K[np.ix_(free, free)], np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    right = np.r_[y[free] - K[np.ix_(free, bound)] @ beta[bound], -beta[bound].sum()]
    solved = np.linalg.solve(system, right)
    beta[free], b = solved[:-1], solved[-1]
    return K @ beta + b, b


@pytest.fixture(scope="module")
def svm():
    return svm_outputs(K1, Y1, 5.0)


def test_reference_penalty_at_the_outputs_of_an_svm(form, svm):
    f, b = svm
    assert agrees(b, ".3774509051")
    assert agrees(OutputPenalty.of(form(K1), Y1, f, 5.0, bias=False).value, "1.7909225251")
    assert agrees(OutputPenalty.of(form(K1), Y1, f, 5.0, bias=True).value, "1.9082203325")
    r = kric_at_outputs(form(K1), Y1, f, 5.0)
    assert agrees(r.parts["loss"], "3.7410761454")
    assert r.value == pytest.approx((r.parts["loss"] + r.parts["penalty"]) / 8)
    assert r.adjoint is None


def test_reference_likelihood_of_sollich_s_model(svm):
    assert agrees(sollich(Y1, svm[0], 5.0).value, "11.8617897630")
    low, b = svm_outputs(K1, Y1, 0.4)
    assert agrees(b, ".9317153360")
    assert agrees(sollich(Y1, low, 0.4).value, "5.1819981356")
    r = kric_sollich_at_outputs(DenseGram(K1), Y1, svm[0], 5.0)
    assert r.parts["loss"] == pytest.approx(sollich(Y1, svm[0], 5.0).value)
    hybrid = kric_sollich_at_outputs(DenseGram(K1), Y1, svm[0], 5.0, form="hybrid")
    nu = (np.exp(-5 * np.maximum(0, 1 - svm[0])) + np.exp(-5 * np.maximum(0, 1 + svm[0]))) / (1 + np.exp(-10))
    loss = np.sum(np.logaddexp(0, -Y1 * svm[0])) + 8 * np.log(np.mean(nu))
    assert hybrid.value == pytest.approx((loss + r.parts["penalty"]) / 8)


def test_far_outputs_neither_overflow_nor_vanish():
    f = np.array([1e4, -1e4, 3.0, -2.0])
    cost = sollich(np.sign(f), f, 1e5)
    assert np.isfinite([cost.value, cost.by_C, cost.normaliser, cost.normaliser_C, *cost.by_z]).all()


@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_the_penalty_is_the_trace_of_the_paper_s_matrices_for_any_slope(form, eta):
    """KK (22), with y_i in (14) and (16)."""
    f, C = np.linspace(-2, 2, 8), 3.0
    T, m, lam = eta**2 * expit(eta * f) * expit(-eta * f), eta * Y1 * expit(-eta * Y1 * f), eta / C
    trace = np.trace(np.linalg.solve(K1 * T + lam * np.eye(8), K1 * m**2 - np.outer(K1 @ m, m) / 8))
    assert OutputPenalty.of(form(K1), Y1, f, C, eta, bias=False).value == pytest.approx(trace, rel=1e-9)


def test_at_its_own_outputs_a_logistic_machine_is_read_as_usual(form):
    s = SmoothMachine(Logistic(), C=2.0).solve(form(K1), Y1[:, None]).columns[0]
    assert kric_at_outputs(form(K1), Y1, s.z, 2.0).value == pytest.approx(KRIC()(s).value, rel=1e-10)


# ---- landmarks

LANDMARKS = np.array([0, 2, 4, 6])


@pytest.fixture(params=["cholesky", "eigenvectors"])
def thin(request):
    kernel = RBF(WIDTH1)
    if request.param == "cholesky":
        return NystromBuilder(X1, LANDMARKS).gram(kernel)
    return leading_nystrom(kernel, X1, LANDMARKS)


@pytest.mark.parametrize(
    ("bias", "penalty", "logdet", "d"),
    [
        (False, "1.2061927069", "1.9052790406", "1.4015654088"),
        (True, "1.5837350605", "1.6991099035", "1.9220146951"),
    ],
)
def test_reference_values_through_landmarks_at_the_same_outputs(thin, bias, penalty, logdet, d):
    s = SmoothMachine(Logistic(), C=2.0).solve(DenseGram(K1), Y1[:, None]).columns[0]
    factor = thin.factor(2.0 * s.w, bias)
    assert agrees(OutputPenalty.of(thin, Y1, s.z, 2.0, bias=bias).value, penalty)
    assert agrees(factor.logdet() - bias * np.log(2.0), logdet)
    assert agrees(2.0 * s.w @ factor.covariance_diag(), d)


def test_all_landmarks_and_components_are_the_whole_matrix():
    whole = leading_nystrom(RBF(WIDTH1), X1, np.arange(8))
    np.testing.assert_allclose(whole.F @ whole.F.T, K1, atol=1e-10)


def test_fewer_components_are_the_leading_ones():
    kernel = RBF(WIDTH1)
    two, all_ = leading_nystrom(kernel, X1, LANDMARKS, 2), leading_nystrom(kernel, X1, LANDMARKS)
    np.testing.assert_allclose(two.F, all_.F[:, :2])
    mu = np.linalg.eigvalsh(K1[np.ix_(LANDMARKS, LANDMARKS)])[::-1]
    np.testing.assert_allclose(np.sum(two.F[LANDMARKS] ** 2, axis=0), mu[:2])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_landmarks_err_on_one_side_by_at_most_what_they_leave_out(seed, bias, C):
    """Section 4: for fixed outputs, 0 <= exact - approximate <= e, and e max exp(-yz) for the penalty."""
    X, K, y = random_problem(seed, n=20)
    s = SmoothMachine(Logistic(), C=C, bias=bias).solve(DenseGram(K), y[:, None]).columns[0]
    kept = np.random.default_rng(seed).choice(20, size=6, replace=False)
    gram = leading_nystrom(RBF(1.2), X, kept, components=[None, 3][seed % 2])
    e = C * np.sum(s.w * (np.diag(K) - gram.diag()))
    exact, thin = DenseGram(K).factor(C * s.w, bias), gram.factor(C * s.w, bias)
    gaps = {
        "logdet": exact.logdet() - thin.logdet(),
        "d": C * s.w @ (exact.covariance_diag() - thin.covariance_diag()),
        "penalty": OutputPenalty.of(DenseGram(K), y, s.z, C, bias=bias).value
        - OutputPenalty.of(gram, y, s.z, C, bias=bias).value,
    }
    bounds = {"logdet": e, "d": e, "penalty": e * np.max(np.exp(-y * s.z))}
    for name, gap in gaps.items():
        assert -1e-10 <= gap <= bounds[name] + 1e-10, name


def test_one_factorisation_serves_every_criterion():
    """The low-rank factor is computed once per fit, however many criteria read it."""
    _, K, y = random_problem(0)
    s = SmoothMachine(Logistic(), C=2.0).solve(LowRankGram(root(K)), y[:, None]).columns[0]
    before = s.factor
    KRIC()(s), EffectiveParameters()(s)
    assert s.factor is before


# ---- what it refuses


def tune(**options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return KernelLogisticRegression(**options).fit(X, X[:, 0] + 0.8 * rng.normal(size=40) > 0)


def test_it_refuses_to_choose_a_width_unless_told_to():
    with pytest.raises(
        ValueError, match=r"kric must not choose a kernel: it falls to zero.*RBF\(2.0, 'fixed'\)"
    ):
        tune(criterion="kric")
    with pytest.raises(ValueError, match="kric-sollich must not choose a kernel"):
        tune(kernel=[RBF(1.0, "fixed"), RBF(2.0, "fixed")], criterion="kric-sollich")
    with pytest.warns(CriterionWarning) as seen:
        assert tune(criterion=KRIC(tune_kernel=True)).kernel_.length_scale > 0
    assert any("kric chose a fit in which a point has leverage" in str(w.message) for w in seen)


def test_it_chooses_C_of_a_smooth_kernel_and_says_when_it_ran_away():
    model = tune(kernel=DotProduct(1.0, "fixed"), criterion="kric")  # no warning: they are errors here
    assert 1e-4 < model.C_ < 1e5
    with pytest.warns(CriterionWarning) as seen:
        tune(kernel=RBF(0.05, "fixed"), criterion="kric")
    told = " ".join(str(w.message) for w in seen)
    assert "leverage" in told
    assert "it falls to zero as C grows" in told
