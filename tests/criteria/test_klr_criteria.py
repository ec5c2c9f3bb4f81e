"""Every criterion on a kernel logistic regression: reference numbers, derivatives, invariances, limits.

All numbers are in the normalisation of the specification (sums over rows, minus twice a log likelihood).

A new criterion on smooth machines joins by a line in ``CRITERIA``.
"""

import numpy as np
import pytest

from foldless.criteria import (
    ABIC,
    GACV,
    KRIC,
    LOO,
    AICd,
    EffectiveParameters,
    Evidence,
    JaakkolaHaussler,
    KFold,
    KRICSollich,
)
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from oracles.klr import (
    FOLDS1,
    K1,
    K2,
    WIDTH1,
    X1,
    Y1,
    Y2,
    Design,
    agrees,
    fit,
    newton_outputs,
    random_problem,
    rbf_slope,
    refit_outputs,
    root,
    singles,
)
from oracles.units import as_printed

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}
FOLDS14 = [np.arange(i, 14, 4) for i in range(4)]
CRITERIA = {
    "loo": LOO(),
    "kfold": KFold(FOLDS14),
    "kric": KRIC(),
    "kric-paper": KRIC(bias_in_penalty=False),
    "sollich": KRICSollich(),
    "sollich-hybrid": KRICSollich("hybrid"),
    "d": EffectiveParameters(),
    "aicd": AICd(),
    "gacv": GACV(),
    "evidence": Evidence(),
    "evidence-flat": Evidence(None),
    "abic": ABIC(tuned=2),
}
KINKED = {"sollich", "sollich-hybrid"}  # differentiable almost everywhere
SHIFTED = {"kric-paper", "evidence", "abic"}  # they see a constant in the kernel even with a free bias
SIDED = {"gacv"}  # sees which class is the positive one, unless there is a bias


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


@pytest.fixture(params=[True, False], ids=["bias", "plain"])
def bias(request):
    return request.param


@pytest.fixture(params=sorted(CRITERIA))
def name(request):
    return request.param


def solve(gram, y, C=1.0, bias=True, **options):
    return SmoothMachine(Logistic(), C=C, bias=bias, **options).solve(gram, y[:, None])


def read(criterion, gram, y, C=1.0, bias=True, **options):
    return as_printed(criterion(solve(gram, y, C, bias, **options)))


def array(adjoint):
    return adjoint @ np.eye(adjoint.shape[0])


REFERENCE = """
block  1 2.0  7.0736693694  1.0394570988 -1.0145349012
kric   1 2.0  12.9336967834 0.0477250870 0.4778358875
d      1 2.0  2.3585546430  0.9081716327 -1.1656896669
gacv   1 2.0  0.9627208465  0.1431356900 -0.1426815159
flat   1 2.0  5.0869683859  0.3464151433 -0.2988536802
proper 1 2.0  8.3176852262  .3511960426  -.2940755862
block  1 50.0 18.0099164596 6.2140358975 -2.9306625720
kric   1 50.0 8.4267592399  -3.3373749202 14.9550462027
d      1 50.0 5.7819932603  0.8480744780 -2.1923386388
gacv   1 50.0 2.4257057120  0.9103091605 -1.2615194949
flat   1 50.0 7.3384214852  0.7753995794 1.3110433399
proper 1 50.0 10.6596847519 .8583219082  1.3610409006
block  0 2.0  6.4052221427  0.8896376919 -0.6051485384
kric   0 2.0  12.4033887589 0.4335651577 0.7192268601
d      0 2.0  1.9908635017  1.1097716627 -0.9678001010
gacv   0 2.0  0.9188374118  0.1640570179 -0.1140234963
flat   0 2.0  6.3159835186  0.6082381576 -0.0347049840
block  0 50.0 15.7571411301 5.4066785596 -2.1769212470
kric   0 50.0 8.4220842021  -3.3027500329 14.6967001733
d      0 50.0 5.7119301741  0.8819115783 -2.2543363397
gacv   0 50.0 2.3593948861  0.8838685333 -1.3157876733
flat   0 50.0 9.8045283436  1.2338993583 1.5842019197
"""
NAMED = {
    "block": KFold(FOLDS1),
    "kric": KRIC(),
    "d": EffectiveParameters(),
    "gacv": GACV(),
    "flat": Evidence(None),
    "proper": Evidence(10.0),
}


@pytest.mark.parametrize("line", REFERENCE.split("\n")[1:-1])
def test_reference_values_and_slopes_of_set_1(form, line):
    name, bias, C, value, by_C, by_width = line.split()
    r = read(NAMED[name], form(K1), Y1, float(C), bool(int(bias)))
    assert agrees(r.value, value)
    assert agrees(r.slope[0], by_C, units=1)
    assert agrees(np.sum(array(r.adjoint) * rbf_slope(X1, WIDTH1)), by_width, units=1)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("kric", "-.8245772550", "-.6452652158"), ("flat", ".0113000075", "-.1316849080")],
)
def test_reference_entries_of_the_adjoint(form, name, first, second):
    G = array(read(NAMED[name], form(K1), Y1, 2.0).adjoint)
    assert agrees(G[0, 0], first)
    assert agrees(G[0, 1], second)


def test_reference_penalties_with_and_without_the_bias(form):
    with_bias, paper = (read(KRIC(b), form(K1), Y1, 2.0) for b in (True, False))
    assert agrees(with_bias.parts["penalty"], "1.8663594137")
    assert agrees(paper.parts["penalty"], "1.5533598609")
    assert with_bias.parts["loss"] + with_bias.parts["penalty"] == pytest.approx(with_bias.value / 2)


@pytest.mark.parametrize(
    ("name", "C", "value"),
    [
        ("proper", 1e8, "17.1698670134"),
        ("kric", 1e6, ".0039122700"),
        ("d", 1e6, "7.6842972566"),
        ("kric", 1e10, "7.8067070e-7"),
        ("d", 1e10, "7.8324694820"),
        ("flat", 1e10, "6.3236373329"),
        ("kric", 1e-4, "12.5850540278"),
        ("d", 1e-4, "1.0001043133"),
    ],
)
def test_reference_values_at_extreme_C(form, name, C, value):
    assert agrees(read(NAMED[name], form(K1), Y1, C).value, value, units=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("kric", "7.2187891179"), ("d", "1.6089307682"), ("flat", "2.6838488947"), ("gacv", "11336.37")],
)
def test_reference_values_of_set_2_with_certain_points(form, name, value):
    r = read(NAMED[name], form(K2), Y2, 1.0)
    assert agrees(r.value, value, units=1)
    assert np.isfinite(r.slope).all()
    assert np.isfinite(array(r.adjoint)).all()


def test_only_the_product_of_C_and_K_matters(form, bias, name):
    _, K, y = random_problem(4)
    plain, scaled = (read(CRITERIA[name], form(s * K), y, 4.0 / s, bias) for s in (1, 40))
    if name in KINKED:  # these models know C by itself
        assert scaled.parts["penalty"] == pytest.approx(plain.parts["penalty"], rel=1e-9)
        return
    assert scaled.value == pytest.approx(plain.value, rel=1e-9)
    np.testing.assert_allclose(array(scaled.adjoint), array(plain.adjoint) / 40, atol=1e-9)
    assert scaled.slope == pytest.approx(plain.slope, rel=1e-8)
    assert plain.slope[0] == pytest.approx(form(K).inner(plain.adjoint), rel=1e-8)


def test_a_bias_does_not_feel_constants(form, name):
    _, K, y = random_problem(5)
    u = np.full(14, 5.0) if name in SHIFTED else np.linspace(-1, 20, 14)
    r, moved = (
        read(CRITERIA[name], form(K), y, 4.0),
        read(CRITERIA[name], DenseGram(K + u + u[:, None]), y, 4.0),
    )
    if name in SHIFTED:
        assert moved.value != pytest.approx(r.value, rel=1e-4)
        return
    assert moved.value == pytest.approx(r.value, rel=1e-9)
    np.testing.assert_allclose(
        r.adjoint @ np.ones((14, 1)), 0, atol=1e-9 * np.abs(array(r.adjoint)).max() * 14
    )


def test_labels_flip(form, bias, name):
    _, K, y = random_problem(6)
    criterion = CRITERIA[name]
    r, flipped = read(criterion, form(K), y, 4.0, bias), read(criterion, form(K), -y, 4.0, bias)
    if bias or name not in SIDED:
        assert flipped.value == pytest.approx(r.value, rel=1e-9)
        np.testing.assert_allclose(array(flipped.adjoint), array(r.adjoint), atol=1e-8)


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e4, 1e8])
def test_every_C_gives_finite_numbers(form, bias, name, C):
    _, K, y = random_problem(7)
    K[0], K[:, 0], K[0, 0] = K[1], K[:, 1], K[1, 1]  # equal rows with opposite labels
    r = read(CRITERIA[name], form(K), y, C, bias)
    assert np.isfinite([r.value, *r.slope, np.abs(array(r.adjoint)).max()]).all()


def test_integer_weights_are_repeated_rows(form, bias, name):
    _, K, y = random_problem(8)
    v = np.random.default_rng(1).integers(1, 4, size=14)
    rows = np.repeat(np.arange(14), v)
    row_counts = [np.flatnonzero(rows == i) for i in range(14)]  # leave-one-out leaves all copies out
    folds = {"loo": row_counts, "kfold": [np.flatnonzero(np.isin(rows, fold)) for fold in FOLDS14]}
    criterion = KFold(folds[name]) if name in folds else CRITERIA[name]
    weighted = read(CRITERIA[name], form(K), y, 2.0, bias, weights=v.astype(float))
    repeated = read(criterion, form(K[np.ix_(rows, rows)]), y[rows], 2.0, bias)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-7)


# ---- leave a block out


@pytest.mark.parametrize("C", [0.3, 20.0])
def test_a_block_is_one_newton_step_of_the_problem_without_it(form, bias, C):
    _, K, y = random_problem(0)
    u = newton_outputs(K, y, C, bias, FOLDS14)
    r = read(KFold(FOLDS14), form(K), y, C, bias)
    assert r.value == pytest.approx(np.sum(np.logaddexp(0, -y * u)), rel=1e-8)
    assert r.parts["kfold_error"] == np.mean(y * u <= 0)


def test_blocks_of_one_are_leave_one_out(form, bias):
    _, K, y = random_problem(1)
    one, all_ = read(KFold(singles(14)), form(K), y, 5.0, bias), read(LOO(), form(K), y, 5.0, bias)
    assert one.value == pytest.approx(all_.value, rel=1e-10)
    assert one.slope == pytest.approx(all_.slope, rel=1e-9)
    np.testing.assert_allclose(array(one.adjoint), array(all_.adjoint), atol=1e-9)


def test_blocks_are_close_to_their_refits():
    _, K, y = random_problem(1, n=40)
    folds = [np.arange(i, 40, 8) for i in range(8)]
    exact = np.sum(np.logaddexp(0, -y * refit_outputs(K, y, 0.5, True, folds)))
    assert read(KFold(folds), DenseGram(K), y, 0.5).value == pytest.approx(exact, rel=0.02)


def test_a_block_that_holds_a_whole_class_stays_finite():
    y = np.array([1, 1, -1, -1, -1, -1.0])
    K = np.exp(-(np.subtract.outer(np.arange(6), np.arange(6)) ** 2) / 2.0)
    assert np.isfinite(read(KFold([np.array([0, 1]), np.arange(2, 6)]), DenseGram(K), y, 3.0).value)


def test_folds_are_assigned_by_the_seed_and_checked():
    _, K, y = random_problem(1)
    one, same, other = (read(KFold(4, seed=s), DenseGram(K), y, 5.0).value for s in (0, 0, 1))
    assert one == same != other
    for folds, message in [
        (1, "between 2"),
        (15, "between 2"),
        ([[0, 1], [1, 2]], "disjoint"),
        ([[], range(14)], "empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(KFold(folds), DenseGram(K), y)


# ---- KRIC


def test_the_penalty_is_the_trace_of_explicit_matrices_whatever_the_scale_of_the_bias():
    """J and I of (1 + xx')^2 in its own features, the bias a coordinate of scale 1 or 1e-4; KK (12), (15)."""
    X = np.random.default_rng(0).normal(size=(15, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, 1.0, -1.0)
    y[:3] *= -1
    root2 = np.sqrt(2)
    F = np.column_stack([np.ones(15), root2 * X, X**2, root2 * X[:, 0] * X[:, 1]])
    C = 0.7
    for bias, scales in ((True, (1.0, 1e-4)), (False, (None,))):
        s = solve(DenseGram(F @ F.T), y, C, bias).columns[0]
        for scale in scales:
            Z = F if scale is None else np.column_stack([F, np.full(15, scale)])
            D = np.eye(Z.shape[1]) / C
            if bias:
                D[-1, -1] = 0
            J = Z.T @ (s.w[:, None] * Z) + D
            Za = Z.T @ s.a
            I = Z.T @ (s.a[:, None] ** 2 * Z) - np.outer(Za, Za) / 15
            assert KRIC()(s).parts["penalty"] == pytest.approx(np.trace(np.linalg.solve(J, I)), rel=1e-7)


def test_the_paper_s_penalty_is_the_sum_of_the_eigenvalues_of_its_matrix(form):
    s, lam = solve(form(K1), Y1, 2.0).columns[0], 0.5
    M = np.linalg.solve(K1 * s.w + lam * np.eye(8), K1 * s.a**2 - np.outer(K1 @ s.a, s.a) / 8)
    eigenvalues = np.sum(np.linalg.eigvals(M)).real
    assert KRIC(bias_in_penalty=False)(s).parts["penalty"] == pytest.approx(eigenvalues, rel=1e-9)


def test_a_penalised_bias_tends_to_the_free_one(form):
    free = read(KRIC(), form(K1), Y1, 2.0)
    wide = read(KRIC(), form(K1).shifted(1e6), Y1, 2.0, bias=False)
    assert wide.value == pytest.approx(free.value, rel=1e-5)


def test_it_is_leave_one_out_to_first_order(form):
    """Shrink V by shrinking C: pen without its 1/n term is the leave-one-out loss minus the loss."""
    s = solve(form(K1), Y1, 1e-4, bias=False).columns[0]
    first_order = s.a**2 @ s.V
    assert as_printed(LOO()(s)).value - s.loss == pytest.approx(first_order, rel=1e-3)


@pytest.mark.parametrize(("C", "half"), [(1.0, 25.6), (1e2, 2.40), (1e4, 0.054), (1e8, 1.2e-5)])
def test_it_collapses_where_leave_one_out_does_not(C, half):
    y = np.where(np.arange(40) < 20, 1.0, -1.0)
    s = solve(DenseGram(np.eye(40)), y, C, bias=False)
    assert 40 * KRIC()(s).value == pytest.approx(half, rel=0.03)
    assert LOO()(s).value == pytest.approx(np.log(2), rel=1e-10)


def test_it_warns_of_certainty_and_does_not_tune_kernels():
    assert KRIC().warning_for(solve(DenseGram(K1), Y1, 0.1)) == ""
    assert "kric chose a fit in which a point has leverage 0.9" in KRIC().warning_for(
        solve(DenseGram(K1), Y1, 1e3)
    )
    assert not KRIC().tunes_kernel
    assert "falls to zero" in KRIC().reason_against
    assert KRIC(tune_kernel=True).tunes_kernel
    assert LOO().tunes_kernel


def test_sollich_is_checked_and_agrees_with_its_definition():
    s = solve(DenseGram(K1), Y1, 2.0).columns[0]
    gaps = [np.exp(-2.0 * np.maximum(0, 1 + sign * s.z)) for sign in (-1, 1)]
    nu = sum(gaps) / (1 + np.exp(-4.0))
    hinge = 2.0 * np.sum(np.maximum(0, 1 - Y1 * s.z))
    penalty = KRIC()(s).parts["penalty"]
    assert KRICSollich()(s).value == pytest.approx(1 / 8 * (hinge + 8 * np.log(np.mean(sum(gaps))) + penalty))
    assert KRICSollich("hybrid")(s).value == pytest.approx(
        1 / 8 * (s.loss + 8 * np.log(np.mean(nu)) + penalty)
    )
    with pytest.raises(ValueError, match="form must be 'consistent' or 'hybrid'"):
        KRICSollich("paper")


# ---- effective parameters, evidence, bounds


def test_effective_parameters_are_those_of_the_spectrum(form):
    s = solve(form(K1), Y1, 2.0, bias=False).columns[0]
    mu = np.linalg.eigvalsh(np.sqrt(np.outer(s.w, s.w)) * K1)
    assert EffectiveParameters()(s).value == pytest.approx(np.sum(mu / (mu + 0.5)) / 8)
    assert AICd()(s).value == pytest.approx((s.loss + np.sum(mu / (mu + 0.5))) / 8)


@pytest.mark.parametrize("prior", [None, 3.0])
def test_the_evidence_of_many_points_is_the_integral(prior):
    """One feature and a bias: quadrature over both. Laplace's error falls like 1/n."""
    rng = np.random.default_rng(0)
    n, C = 400, 0.02
    x = rng.normal(size=n)
    y = np.where(0.5 * x + rng.logistic(size=n) > 0, 1.0, -1.0)
    s = solve(DenseGram(np.outer(x, x)), y, C).columns[0]
    ours = n * Evidence(prior)(s).value
    center = np.linalg.lstsq(np.column_stack([x, np.ones(n)]), s.z, rcond=None)[0]
    b1, b0 = np.meshgrid(center[0] + np.linspace(-0.9, 0.9, 181), center[1] + np.linspace(-0.9, 0.9, 181))
    loglik = sum(-np.logaddexp(0, -y[i] * (b1 * x[i] + b0)) for i in range(n))
    logprior = -(b1**2) / (2 * C) - np.log(2 * np.pi * C) / 2  # f = b1 x with b1 ~ N(0, C)
    if prior is not None:
        logprior = logprior - b0**2 / (2 * prior**2) - np.log(2 * np.pi * prior**2) / 2
    top = np.max(loglik + logprior)
    exact = -(top + np.log(np.sum(np.exp(loglik + logprior - top)) * 0.01**2))
    assert ours == pytest.approx(exact, abs=0.01)


def test_abic_pays_for_its_parameters(form):
    evidence, abic = read(Evidence(), form(K1), Y1, 2.0), read(ABIC(tuned=3), form(K1), Y1, 2.0)
    assert abic.value == pytest.approx(2 * evidence.value + 6)
    assert abic.slope == pytest.approx(2 * evidence.slope)


def test_the_flat_evidence_drifts_and_the_proper_one_does_not(form):
    y = np.sign(X1[:, 0] - 0.2)
    flat, proper = (
        [read(Evidence(prior), form(K1), y, C).slope[0] for C in (1e8, 1e12)] for prior in (None, 10.0)
    )
    assert flat[1] < 0
    assert np.all(np.array(proper) > 0)


@pytest.mark.parametrize("seed", range(4))
def test_jaakkola_and_haussler_bound_the_refits(form, seed):
    _, K, y = random_problem(seed)
    for C in (0.3, 30.0):
        u = refit_outputs(K, y, C, False, singles(14))
        s = solve(form(K), y, C, bias=False).columns[0]
        assert np.all(y * u >= y * s.z - np.abs(s.alpha) * np.diag(K) - 1e-9)
        r = JaakkolaHaussler()(s)
        assert r.value >= np.mean(y * u <= 0)
        assert r.value == np.mean(y * s.z <= np.abs(s.alpha) * np.diag(K))
        assert r.adjoint is None


# ---- limits


def test_limits_of_a_vanishing_C(form):
    n, r = 8, 5 / 8
    v, h = r * (1 - r), -r * np.log(r) - (1 - r) * np.log(1 - r)
    expected = {
        "d": 1.0,
        "kric": 2 * (n * h + 1),
        "flat": n * h + np.log(n * v) / 2 - np.log(2 * np.pi) / 2,
        "gacv": h + 1 / (n - 1),
    }
    for name, value in expected.items():
        assert read(NAMED[name], form(K1), Y1, 1e-12).value == pytest.approx(value, rel=1e-9)
    plain = {"d": 0.0, "kric": 2 * n * np.log(2), "flat": n * np.log(2)}
    for name, value in plain.items():
        assert read(NAMED[name], form(K1), Y1, 1e-12, bias=False).value == pytest.approx(
            value, rel=1e-9, abs=1e-9
        )


def test_the_effective_parameters_count_the_bias_alone_without_a_kernel():
    y = np.array([1, 1, -1, -1, -1.0])
    for gram in (DenseGram(np.zeros((5, 5))), LowRankGram(np.zeros((5, 1)))):
        assert read(EffectiveParameters(), gram, y, 3.0).value == pytest.approx(1.0)


def test_oracle_designs_know_the_evidence():
    """The determinant of the Hessian in feature space, for the no-bias evidence."""
    design = Design(K1, 2.0, False)
    x = fit(design, Y1, np.ones(8))
    z = design.F @ x
    w = 1 / (2 + 2 * np.cosh(z))
    P = design.F.T @ (w[:, None] * design.F) + np.eye(len(x))
    value = np.sum(np.logaddexp(0, -Y1 * z)) + x @ x / 2 + np.linalg.slogdet(P)[1] / 2
    assert agrees(value, "6.3159835186")
