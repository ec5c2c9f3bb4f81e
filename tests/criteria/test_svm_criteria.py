"""Laws of the criteria on support vector machines: refits, derivatives, bounds, invariances, reference numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from foldless.core.errors import Undefined, UnreadableSolution, UnsuitableBias
from foldless.criteria import (
    CV,
    GACV,
    GCV,
    KRIC,
    LOO,
    Evidence,
    EvidenceEP,
    JaakkolaHaussler,
    KRICSollich,
    RadiusMargin,
    SmoothedSpan,
    Span,
    XiAlpha,
    loo_outputs,
)
from foldless.criteria.derivatives.svm import refit_margins, span_margins
from foldless.criteria.kric import kric_at_outputs, kric_sollich_at_outputs
from foldless.grams import DenseGram
from foldless.kernels import gram, pullback
from foldless.machines import HingeSVM, SquaredHingeSVM
from oracles.svm import (
    CASES,
    GRAMS,
    POINTS,
    central,
    dense,
    direction,
    in_order,
    kernel,
    low_rank,
    matrix,
    problem,
    signs,
)

approx = pytest.approx


def fit(machine, K, y, make=dense):
    return machine.solve(make(K), y[:, None]).columns[0]


def refit(machine, K, y):
    """Margins of n honest refits on n - 1 points."""
    s = np.empty(len(y))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        t = fit(machine, K[np.ix_(rest, rest)], y[rest])
        s[i] = y[i] * (K[i, rest] @ t.beta + t.b)
    return s


SMOOTH = [  # criterion, machine, bias modes
    (GACV(), HingeSVM, False),
    (GACV(), HingeSVM, True),
    (GACV(), SquaredHingeSVM, False),
    (GACV(), SquaredHingeSVM, True),
    (SmoothedSpan(), SquaredHingeSVM, False),
    (SmoothedSpan(), SquaredHingeSVM, True),
    (SmoothedSpan(0.01, 2.0, 0.5), SquaredHingeSVM, True),
    (RadiusMargin(), SquaredHingeSVM, True),
    (RadiusMargin(), SquaredHingeSVM, False),
    (RadiusMargin("smallest"), SquaredHingeSVM, False),
    (Evidence(), HingeSVM, False),
    (Evidence(), HingeSVM, True),
    (Evidence(), SquaredHingeSVM, False),
    (Evidence(), SquaredHingeSVM, True),
    (Evidence(a=0.1), SquaredHingeSVM, True),
    (Evidence(a=0.0), SquaredHingeSVM, False),
    (KRIC(), HingeSVM, False),
    (KRIC(eta=1.7), HingeSVM, True),
    (KRIC(), SquaredHingeSVM, True),
    (KRIC(bias_in_penalty=False), SquaredHingeSVM, True),
    (KRICSollich(), HingeSVM, False),
    (KRICSollich(), HingeSVM, True),
    (KRICSollich("hybrid"), HingeSVM, True),
    (KRICSollich(), SquaredHingeSVM, True),
    (KRICSollich("hybrid"), SquaredHingeSVM, False),
]


def problem40(n=40, seed=11):
    """A problem inside the cone (small changes of K are allowed), with a diagonal without ties."""
    K, y = problem(n, seed=seed, length=0.8)
    a = np.random.default_rng(seed).uniform(0.7, 1.4, n)
    return K * np.outer(a, a) + 0.1 * np.eye(n), y


def test_gacv_follows_a_bias_in_the_middle_of_its_interval():
    K, y = problem(12, seed=2)
    y = signs("+ - + - + - + - + - + -")
    H, m = direction(12), HingeSVM(0.02)
    centre = fit(m, K, y)
    assert centre.free.size == 0
    y2 = y.copy()
    reading = GACV()(centre)
    expected = central(lambda t: GACV()(fit(m, K + t * H, y2)).value)
    assert np.sum(reading.adjoint * H) == approx(expected, abs=1e-8)
    assert reading.slope == approx(
        [central(lambda t: GACV()(fit(m.with_theta(m.theta + t), K, y)).value)], abs=1e-8
    )


COUNTS = [LOO(), Span(), XiAlpha(), JaakkolaHaussler()]


LIKELIHOODS = (Evidence, KRICSollich)  # C is more than a scale of the kernel there


@pytest.mark.parametrize(
    ("criterion", "machine", "bias"), [c for c in SMOOTH if not isinstance(c[0], LIKELIHOODS)]
)
def test_scaling_leaves_error_estimates_alone(criterion, machine, bias):
    K, y = problem40()
    a, b = criterion(fit(machine(2.0, bias), K, y)), criterion(fit(machine(0.5, bias), 4 * K, y))
    assert b.value == approx(a.value, abs=1e-9)
    assert np.sum(K * a.adjoint) == approx(a.slope[0], abs=1e-8)


@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
@pytest.mark.parametrize("criterion", COUNTS)
def test_counts_are_invariant(criterion, machine):
    K, y = problem40()
    order = np.random.default_rng(0).permutation(40)
    value = criterion(fit(machine(2.0, False), K, y)).value
    assert criterion(fit(machine(0.5, False), 4 * K, y)).value == value
    assert criterion(fit(machine(2.0, False), K[np.ix_(order, order)], -y[order])).value == value


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_refit_margins_are_those_of_honest_refits(machine, bias, make):
    K, y = problem(25, seed=4, length=0.6)
    s = fit(machine(2.0, bias), K, y, make)
    expected = refit(machine(2.0, bias), K, y)
    assert refit_margins(s) == approx(expected, abs=1e-7)
    if machine is HingeSVM:
        assert LOO()(s).value == np.mean(expected <= 0)
        assert loo_outputs(s) == approx(y * expected, abs=1e-7)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_span_is_the_refit_where_no_set_changes(machine, bias):
    K, y = problem40(seed=8)
    m = machine(1.0, bias)
    s = fit(m, K, y)
    span, exact, same = span_margins(s), refit(m, K, y), 0
    for i in s.support:
        rest = np.delete(np.arange(40), i)
        if np.array_equal(fit(m, K[np.ix_(rest, rest)], y[rest]).sets, s.sets[rest]):
            assert span[i] == approx(exact[i], abs=1e-8)
            same += 1
    assert same >= 3


def test_smoothed_span_tends_to_the_span_and_to_jaakkola_haussler():
    K, y = problem40()
    s = fit(SquaredHingeSVM(1.5, False), K, y)
    sharp = 3.0
    mean = lambda h: np.mean(1 / (1 + np.exp(-sharp * (h - 1))))
    h = np.where(s.alpha > 0, 1 - span_margins(s), 0)
    assert SmoothedSpan(1e-10, sharp)(s).value == approx(mean(h), abs=1e-8)
    h = s.alpha * (np.diag(K) + 1 / s.C)
    assert SmoothedSpan(1e7, sharp)(s).value == approx(mean(h), abs=1e-6)


@pytest.mark.parametrize("eta", [0.3, 2.0])
def test_smoothed_span_is_its_definition(eta):
    K, y = problem40()
    s = fit(SquaredHingeSVM(1.5, False), K, y)
    A, d = s.free, np.sqrt(s.alpha[s.free])
    N = d[:, None] * (K[np.ix_(A, A)] + np.diag(1 / s.C[A])) * d + eta * np.eye(A.size)
    h = np.zeros(40)
    h[A] = 1 / np.diag(np.linalg.inv(N)) - eta
    assert SmoothedSpan(eta, 4.0, 0.3)(s).value == approx(
        np.mean(1 / (1 + np.exp(-4 * (h - 1) + 0.3))), abs=1e-12
    )


def test_bounds_bound_refits():
    """Error-count bounds, GACV and radius-margin against refits in random trials without a free bias."""
    rng = np.random.default_rng(0)
    for trial in range(12):
        K, y = problem(20, seed=100 + trial, length=float(rng.uniform(0.4, 1.5)))
        C = float(10 ** rng.uniform(-1, 1.5))
        for machine in (HingeSVM(C, False), SquaredHingeSVM(C, False)):
            s, margins = fit(machine, K, y), refit(machine, K, y)
            assert np.all(margins >= s.s - s.alpha * np.diag(K) - 1e-8)
            assert JaakkolaHaussler()(s).value >= np.mean(margins <= 0)
            assert XiAlpha()(s).value == JaakkolaHaussler()(s).value
            assert GACV()(s).value >= np.mean(np.maximum(1 - margins, 0)) - 1e-9
        assert RadiusMargin()(s).value >= np.mean(margins <= 0)


def test_xi_alpha_with_a_free_bias_bounds_refits():
    for trial in range(8):
        K, y = problem(20, seed=200 + trial)
        s = fit(HingeSVM(3.0), K, y)
        assert XiAlpha()(s).value >= np.mean(refit(HingeSVM(3.0), K, y) <= 0)
        assert XiAlpha()(fit(HingeSVM(3.0), K, y, low_rank)).value == XiAlpha()(s).value


def test_the_span_of_a_single_marginal_point_is_undefined_with_a_free_bias():
    """Its coefficient is then at a bound, as all others are, and its span would be 0 / 0."""
    K, y = problem(12, seed=2)
    y = signs("+ - + - + - + - + - + -")
    s = fit(HingeSVM(1e-3), K, y)
    degenerate = replace(s, sets=np.where(np.arange(12) == 3, 0, s.sets))
    assert s.free.size == 0
    with pytest.raises(Undefined, match="only one support vector is on the margin"):
        span_margins(degenerate)


def test_the_smallest_ball_exists_where_the_matrix_is_singular():
    K, y = problem(30, seed=1, length=3.0)
    twice = np.r_[np.arange(30), np.arange(30)]
    single, double = (fit(SquaredHingeSVM(1e8), K[np.ix_(r, r)], y[r]) for r in (np.arange(30), twice))
    radius = RadiusMargin()(fit(HingeSVM(1e-3), K[np.ix_(twice, twice)], y[twice])).parts["radius2"]
    assert RadiusMargin()(double).parts["radius2"] == approx(
        RadiusMargin()(single).parts["radius2"], rel=1e-6
    )
    assert radius == approx(RadiusMargin()(single).parts["radius2"], rel=1e-6)


def test_radius_is_that_of_the_smallest_ball():
    K, y = problem(12, seed=1)
    s = fit(SquaredHingeSVM(2.0), K, y)
    Kc = K + np.eye(12) / 2
    best = minimize(
        lambda b: b @ Kc @ b - b @ np.diag(Kc),
        np.full(12, 1 / 12),
        jac=lambda b: 2 * Kc @ b - np.diag(Kc),
        bounds=[(0, None)] * 12,
        constraints=[{"type": "eq", "fun": lambda b: b.sum() - 1}],
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    assert RadiusMargin()(s).parts["radius2"] == approx(-best.fun, abs=1e-8)


def test_no_coefficient_inside_its_bounds_leaves_the_laplace_evidence_of_a_free_bias_undefined():
    """Free in name, at the bound in truth: the determinant is that of nothing, and its logarithm would say certainty."""
    y = np.tile([1.0, -1.0], 4)[:, None]
    bounded = HingeSVM(0.5).solve(DenseGram(2 * np.eye(8)), y).columns[0]
    for sets in (bounded.sets, np.r_[np.zeros(4), np.ones(4)].astype(np.int8)):
        with pytest.raises(Undefined, match="inside its bounds"):
            Evidence()(replace(bounded, sets=sets))


@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_free_bias_evidence_is_the_limit_of_a_wide_offset(machine):
    K, y = problem40()
    free, wide = Evidence()(fit(machine(1.0), K, y)), Evidence()(fit(machine(1.0, False), K + 1e7, y))
    assert wide.value * 40 - 0.5 * np.log(2 * np.pi * 1e7) == approx(free.value * 40, abs=1e-3)


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_multi_class_leave_one_out_is_the_class_left_out(machine, make):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    labels = np.arange(30) % 3
    X[labels == 1] += 1.5
    X[labels == 2, 0] -= 2
    K = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=-1) / 2)
    Y = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    m = machine(0.3, False)
    solution = m.solve(make(K), Y)
    outputs = np.column_stack([Y[:, c] * refit(m, K, Y[:, c]) for c in range(3)])
    if machine is SquaredHingeSVM:
        outputs = np.column_stack([loo_outputs(c) for c in m.solve(dense(K), Y).columns])
    assert LOO()(solution).value == np.mean(np.argmax(outputs, axis=1) != labels)


@pytest.mark.parametrize("make", GRAMS)
def test_cv_is_k_refits(make):
    K, y = problem(45, seed=3)
    m = HingeSVM(2.0, weights=np.random.default_rng(0).uniform(0.5, 2, 45))
    criterion = CV(5, seed=3)
    wrong = np.zeros(45)
    for test in criterion.split((y > 0).astype(int), 45):
        train = np.setdiff1d(np.arange(45), test)
        t = fit(HingeSVM(2.0, weights=m.weights[train]), K[np.ix_(train, train)], y[train])
        wrong[test] = y[test] * (K[np.ix_(test, train)] @ t.beta + t.b) <= 0
    assert criterion(m.solve(make(K), y[:, None])).value == approx(np.average(wrong, weights=m.weights))


def test_errors_say_what_to_do():
    K, y = problem40()
    with pytest.raises(UnsuitableBias, match="bias='kernel'"):
        JaakkolaHaussler()(fit(HingeSVM(), K, y))
    with pytest.raises(
        UnreadableSolution, match=r"gcv reads .*got SVMSolution\. Criteria that read SVMSolution: .*span"
    ):
        GCV()(fit(HingeSVM(), K, y))
    with pytest.raises(Undefined, match="on the margin"):
        Evidence()(fit(HingeSVM(1e-3), K, signs("+ - " * 20)))
    with pytest.raises(ValueError, match="folds"):
        CV(1)
    with pytest.raises(ValueError, match="eta"):
        SmoothedSpan(eta=0.0)


# Reference numbers: section 10 of the specification. Gradients of E there are of E; ours are of the cost -E.

VALUES = {
    ("A", HingeSVM, GACV()): (
        1.8721682360,
        [1.0975736337, 0.7685981867, 0.3289754470, 0.2325395841, 0.4470131655],
    ),
    ("A", HingeSVM, Evidence()): (
        0.6329089121,
        [0.3106758698, -0.0921032200, 0.0022683820, 0.0661199616, 0.2618380040],
    ),
    ("A", HingeSVM, JaakkolaHaussler()): (0.5, None),
    ("A", HingeSVM, XiAlpha(1.0)): (0.5, None),
    ("A", HingeSVM, LOO()): (0.375, None),
    ("A", SquaredHingeSVM, LOO()): (0.25, None),
    ("A", SquaredHingeSVM, Span()): (0.25, None),
    ("A", SquaredHingeSVM, SmoothedSpan()): (
        0.4769529311,
        [0.0461759071, 0.0370771471, 0.0090987600, -0.0595979699, 0.0396631857],
    ),
    ("A", SquaredHingeSVM, RadiusMargin("smallest")): (
        0.8764116155,
        [0.1743198382, 0.1835308582, -0.0092110201, 0.0119977166, 0.3658547652],
    ),
    ("A", SquaredHingeSVM, RadiusMargin()): (1.4893967127, None),
    ("A", SquaredHingeSVM, Evidence(a=0.1)): (
        0.7060882849,
        [0.0398563819, -0.0163262780, 0.0181712706, -0.0649180121, 0.0928773216],
    ),
    ("A", SquaredHingeSVM, Evidence(a=0.001)): (
        0.8156152672,
        [0.1834070085, 0.1248272887, 0.0205683305, -0.0862313041, 0.0378421490],
    ),
    ("A", SquaredHingeSVM, Evidence(a=0.0)): (0.8168821058, None),
    ("B", HingeSVM, LOO()): (0.75, None),
    ("B", HingeSVM, GACV()): (
        9.1137764091,
        [8.3901495600, 7.4752020920, 0.9149474681, -0.0007222310, 0.1782816565],
    ),
    ("B", HingeSVM, Evidence()): (
        1.8825784708,
        [1.6082108995, 0.0268202222, 0.0022601605, -0.1399914374, 0.2377907869],
    ),
    ("B", SquaredHingeSVM, SmoothedSpan()): (
        0.7780860559,
        [0.0132102245, 0.0164574768, -0.0032472523, -0.0626404096, 0.0255913941],
    ),
    ("B", SquaredHingeSVM, Evidence(a=0.001)): (
        1.5469714490,
        [0.9802548430, 0.1326274868, 0.0055582888, -0.1394154208, 0.1119386212],
    ),
}


def reference(case, machine, make=dense):
    y, parameters, C = CASES[case]
    k = kernel(*parameters)
    return k, machine(C, False).solve(make(gram(k, POINTS)), y[:, None])


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize(("case", "machine", "criterion"), VALUES)
def test_reference_numbers(case, machine, criterion, make):
    k, solution = reference(case, machine, make)
    value, gradient = VALUES[case, machine, criterion]
    reading = criterion(solution)
    assert reading.value == approx(value, abs=6e-11)
    if gradient is not None:
        found = in_order(reading.slope, pullback(k, POINTS, matrix(reading.adjoint)))
        assert found == approx(gradient, abs=1.1e-10)


def test_reference_margins_left_out():
    _, solution = reference("A", HingeSVM)
    s = refit_margins(solution.columns[0])
    assert s == approx(
        [
            -0.7323998796,
            1.0231727498,
            0.5842012410,
            0.1515156761,
            1.0483650725,
            -0.0661968320,
            1.3307602340,
            -1.3059357472,
        ],
        abs=6e-11,
    )
    assert np.mean(np.maximum(1 - s, 0)) == approx(0.7961019427, abs=6e-11)
    assert Evidence()(solution).parts["at_mode"] == approx(-0.4972175711, abs=6e-11)
    _, solution = reference("A", SquaredHingeSVM)
    column = solution.columns[0]
    assert refit_margins(column) == approx(
        [
            -0.4974144230,
            0.6544284752,
            0.5323641456,
            0.0899609830,
            0.7875093012,
            0.0185708816,
            1.0090705435,
            -0.8084516434,
        ],
        abs=6e-11,
    )
    h = np.where(column.alpha > 0, 1 - span_margins(column), 0)
    assert h == approx(
        [1.5182373369, 0.3748506056, 0.4835046381, 0.9933672563, 0.2124906988, 0.9814291184, 0, 1.8099940100],
        abs=6e-11,
    )
    assert RadiusMargin("smallest")(solution).parts["radius2"] == approx(1.8633742275, abs=6e-11)


def test_reference_smoothed_spans():
    """h of the smoothed span, one point at a time: the sigmoid is inverted from the change of the value."""
    _, solution = reference("A", SquaredHingeSVM)
    s, A = solution.columns[0], solution.columns[0].free
    w = 1 / (1 / s.C[A] + 1 / s.alpha[A])
    factor = s.gram.subset(A).factor(w)
    h = np.zeros(8)
    h[A] = (s.alpha[A] / s.C[A] + w * factor.covariance_diag()) / factor.inverse_diag()
    expected = [
        2.0315769510,
        0.5075830045,
        0.5604748132,
        1.3062421267,
        0.2546510068,
        1.2714717346,
        0,
        2.0631182210,
    ]
    assert h == approx(expected, abs=6e-11)
    assert SmoothedSpan()(s).value == approx(
        np.mean(1 / (1 + np.exp(-5 * (np.array(expected) - 1)))), abs=6e-11
    )


@pytest.mark.parametrize("bias", [False, True])
def test_kric_is_that_of_the_logistic_model_at_the_outputs(bias):
    K, y = problem40()
    s = fit(HingeSVM(2.0, bias), K, y)
    assert KRIC()(s).value == kric_at_outputs(dense(K), y, s.theta, 2.0, bias=bias).value
    expected = kric_sollich_at_outputs(dense(K), y, s.theta, 2.0, bias=bias, form="hybrid").value
    assert KRICSollich("hybrid")(s).value == expected
    assert KRIC()(fit(HingeSVM(2.0, bias), K, y, low_rank)).value == approx(KRIC()(s).value, rel=1e-8)


def test_a_slope_by_ep_that_does_not_settle_has_fewer_digits_and_no_error(monkeypatch):
    solution = reference("A", HingeSVM)[1]
    exact, rough = EvidenceEP()(solution), EvidenceEP(tolerance=1e-6)(solution)
    slope = exact.slope
    monkeypatch.setattr("foldless.criteria.posteriors.ep.EP_MAX_ROUNDS", 1)
    assert rough.slope == approx(slope, abs=1e-2)
    assert rough.slope != approx(slope, abs=1e-9)
    assert rough.value == approx(exact.value, abs=1e-5)
