"""Laws every regression criterion owes on every linear machine and every Gram."""

import numpy as np
import pytest

from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.linalg import symmetric
from foldless.criteria import ABIC, GCV, LOO, SIC, Evidence, KFold, Mallows
from foldless.grams import DenseGram
from foldless.machines import Ridge, Subset

N = 14
RNG = np.random.default_rng(5)
F = RNG.normal(size=(N, N)) / 3
K = F @ F.T + 0.5 * np.eye(N)
Y = RNG.normal(size=(N, 2)) + np.sin(np.arange(N))[:, None]
V = RNG.uniform(0.3, 3, size=N)
COPIES = RNG.integers(1, 4, size=N).astype(float)
T = symmetric(RNG.normal(size=(N, N)) / 9) + 2 * np.eye(N)
FLAT = np.linalg.qr(RNG.normal(size=(N, N)))[0][:, :11]
W = K @ K / 4 + np.eye(N)

MACHINES = {
    "K": Ridge(0.3, route="spectrum"),
    "K by factor": Ridge(0.3, route="factor"),
    "K bias": Ridge(0.3, bias=True, route="spectrum"),
    "K weights": Ridge(0.3, weights=V),
    "K bias weights by factor": Ridge(0.3, bias=True, weights=V, route="factor"),
    "K bias copies": Ridge(0.3, bias=True, weights=COPIES, row_counts=COPIES, route="spectrum"),
    "I": Ridge(0.3, penalty="I"),
    "I bias weights": Ridge(0.3, penalty="I", bias=True, weights=V),
    "T": Ridge(0.3, penalty=T),
    "T bias weights": Ridge(0.3, penalty=T, bias=True, weights=V),
    "T singular": Ridge(0.3, penalty=FLAT @ FLAT.T, bias=True),
    "subset": Subset([1, 4, 9]),
    "subset bias weights": Subset([1, 4, 9, 12], bias=True, weights=V),
}
CRITERIA = {
    "loo": LOO(),
    "kfold": KFold(4),
    "gcv": GCV(),
    "mallows": Mallows(0.3),
    "mallows per model": Mallows("per-model"),
    "abic": ABIC(sigma2=0.3),
    "abic profiled": ABIC(),
    "evidence": Evidence(),
    "sic gamma": SIC(sigma2=0.3, gamma=0.2),
    "sic gamma default": SIC(sigma2=0.3),
    "sic gamma per model": SIC(sigma2="per-model", gamma=0.2),
    "sic paper": SIC("paper", 0.3),
    "sic e": SIC("e", 0.3),
    "sic e per model": SIC("e", "per-model"),
    "sic fixed": SIC("fixed", 0.3, reference=W),
    "sic fixed by a gram": SIC("fixed", 0.3, reference=DenseGram(W)),
}
BAYESIAN = ("abic", "abic profiled", "evidence")
PROPER = [name for name in MACHINES if name != "T singular" and not name.startswith("subset")]
PAIRS = [(c, m) for c in CRITERIA for m in MACHINES if c not in BAYESIAN or m in PROPER]


def criteria_of(machine):
    return [CRITERIA[c] for c, m in PAIRS if m == machine]


def at(machine, K):
    return machine.solve(DenseGram(K), Y)


@pytest.mark.parametrize("criterion", ["gcv", "loo", "kfold", "abic profiled", "evidence"])
@pytest.mark.parametrize("machine", ["K", "K by factor", "K bias"])
def test_trace_of_the_adjoint_is_the_derivative_in_lambda(criterion, machine):
    """Criteria that see K and lambda only through K + lambda I."""
    reading = CRITERIA[criterion](at(MACHINES[machine], K))
    assert np.trace(reading.adjoint) * 0.3 == pytest.approx(reading.slope[0], rel=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_several_outputs_are_the_mean_of_one_at_a_time(machine):
    for criterion in criteria_of(machine):
        both = criterion(at(MACHINES[machine], K))
        one, two = (criterion(MACHINES[machine].solve(DenseGram(K), Y[:, [j]])) for j in (0, 1))
        assert both.value == pytest.approx((one.value + two.value) / 2, rel=1e-9), criterion
        assert both.slope == pytest.approx((one.slope + two.slope) / 2, rel=1e-8, abs=1e-12), criterion
        assert both.adjoint == pytest.approx((one.adjoint + two.adjoint) / 2, rel=1e-8, abs=1e-10), criterion


@pytest.mark.parametrize("machine", ["K", "K by factor", "I", "T", "K bias"])
def test_scaling_the_targets(machine):
    machine, t = MACHINES[machine], 3.0
    m = N - int(machine.bias)
    for criterion, expected in (
        (GCV(), lambda v: t**2 * v),
        (LOO(), lambda v: t**2 * v),
        (ABIC(), lambda v: v + m * np.log(t) / N),
    ):
        once, scaled = criterion(at(machine, K)).value, criterion(machine.solve(DenseGram(K), t * Y)).value
        assert scaled == pytest.approx(expected(once), rel=1e-10)


@pytest.mark.parametrize("penalty", ["K", "I", T])
def test_a_large_lambda_fits_nothing(penalty):
    s = Ridge(1e12, penalty=penalty, route="spectrum").solve(DenseGram(K), Y)
    mean_square = np.mean(Y**2)
    for criterion in (GCV(), LOO(), Mallows(0.3)):
        assert criterion(s).value == pytest.approx(mean_square, rel=1e-6)
    assert SIC("e", 0.3)(s).value == pytest.approx(0, abs=1e-6)
    assert s.df == pytest.approx(0, abs=1e-6)


def test_a_tiny_lambda_interpolates_and_sic_has_its_limit():
    s = Ridge(1e-13, route="spectrum").solve(DenseGram(K), Y)
    expected = np.mean(-np.einsum("ik,ik->k", Y, np.linalg.solve(K, Y))) + 2 * 0.3 * np.trace(
        np.linalg.inv(K)
    )
    assert SIC("e", 0.3)(s).value == pytest.approx(expected, rel=1e-9)


def test_the_identity_kernel():
    s = Ridge(0.7).solve(DenseGram(np.eye(N)), Y)
    assert LOO()(s).value == pytest.approx(np.mean(Y**2), rel=1e-12)


def test_leave_one_out_residual_ignores_the_own_diagonal():
    moved = K.copy()
    moved[3, 3] += 5
    before, after = at(MACHINES["K"], K), at(MACHINES["K"], moved)
    assert after.loo_residuals[3] == pytest.approx(before.loo_residuals[3], rel=1e-9)
    assert not np.allclose(after.whitened_residuals[3], before.whitened_residuals[3])


def test_single_rows_as_folds_are_leave_one_out():
    for machine in MACHINES.values():
        if machine.row_counts is None:
            s = at(machine, K)
            assert KFold(N)(s).value == pytest.approx(LOO()(s).value, rel=1e-9)


def test_mallows_is_sic_in_the_norm_of_the_mean_square():
    s = at(MACHINES["K bias"], K)
    sic = SIC("fixed", 0.3, reference=np.eye(N) / N)(s)
    assert Mallows(0.3)(s).value - 0.3 == pytest.approx(sic.value, rel=1e-10)


def test_sic_is_its_part_and_a_constant_of_the_kernel():
    P = np.linalg.inv(K)
    constant = np.mean(np.einsum("ik,ij,jk->k", Y, P, Y)) - 0.3 * np.trace(P)
    for name in ("K", "I", "T", "subset"):
        s = at(MACHINES[name], K)
        assert SIC("paper", 0.3)(s).value == pytest.approx(SIC("e", 0.3)(s).value + constant, rel=1e-9)


def test_sic_by_definition_with_pseudo_inverses():
    """[SM] (15) with (21), dense matrices only, K of condition 1e6, rel. 1e-7."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(N, N)))[0]
    A = symmetric((U * np.logspace(0, -6, N)) @ U.T)
    Kp = np.linalg.pinv(A, hermitian=True)
    for machine, X in (
        (Ridge(1e-2), np.linalg.inv(A + 1e-2 * np.eye(N))),
        (Ridge(1e-3, penalty="I"), np.linalg.solve(A @ A + 1e-3 * np.eye(N), A)),
    ):
        for y in Y.T:
            alpha, D = X @ y, X - Kp
            e = alpha - Kp @ y
            expected = e @ A @ e - 0.3 * np.trace(A @ D @ D.T) + 0.3 * np.trace(A @ X @ X.T)
            assert SIC("paper", 0.3)(machine.solve(DenseGram(A), y[:, None])).value == pytest.approx(
                expected, rel=1e-7
            )


def test_sic_may_not_compare_kernels():
    for norm in ("gamma", "paper", "e"):
        assert not SIC(norm).tunes_kernel
        assert "loo" in SIC(norm).reason_against
    assert SIC("fixed", reference=W).tunes_kernel
    assert GCV().tunes_kernel
    s = 4.0
    scaled = SIC("paper", 0.3)(Ridge(0.3 * s).solve(DenseGram(s * K), Y)).value
    assert scaled == pytest.approx(SIC("paper", 0.3)(at(MACHINES["K"], K)).value / s, rel=1e-9)


def test_copies_are_repeated_rows():
    rows = np.repeat(np.arange(N), COPIES.astype(int))
    for bias in (False, True):
        once = Ridge(0.3, bias=bias, weights=COPIES, row_counts=COPIES).solve(DenseGram(K), Y)
        many = Ridge(0.3, bias=bias, route="spectrum").solve(DenseGram(K[np.ix_(rows, rows)]), Y[rows])
        for criterion in (
            LOO(),
            GCV(),
            Mallows(0.3),
            ABIC(),
            ABIC(sigma2=0.3),
            Evidence(),
            SIC(sigma2=0.3, gamma=0.2),
        ):
            a, b = criterion(once), criterion(many)
            assert a.value == pytest.approx(b.value, rel=1e-9), criterion
            assert a.slope == pytest.approx(b.slope, rel=1e-7), criterion


def test_undefined_and_wrong_input():
    full = Subset(np.arange(N)).solve(DenseGram(K), Y)
    with pytest.raises(Undefined, match="leverage 1"):
        LOO()(full)
    with pytest.raises(Undefined, match="degrees of freedom"):
        GCV()(full)
    with pytest.raises(Undefined, match="degrees of freedom"):
        Mallows("per-model")(full)
    with pytest.raises(Undefined, match="singular"):
        ABIC()(at(MACHINES["T singular"], K))
    spike = np.eye(N)
    spike[0, 0] = 0
    with pytest.raises(Undefined, match="point 3"):
        LOO()(Subset([3]).solve(DenseGram(spike), Y))
    with pytest.raises(ValueError, match="sigma2 must be positive"):
        SIC(sigma2=-1.0)
    with pytest.raises(ValueError, match="sigma2 must be positive"):
        Mallows(0.0)
    with pytest.raises(ValueError, match="one of"):
        ABIC(sigma2="guess")
    with pytest.raises(ValueError, match="gamma"):
        SIC(gamma=0.0)
    with pytest.raises(ValueError, match="reference"):
        SIC("fixed")
    with pytest.raises(ValueError, match="reference must have shape"):
        SIC("fixed", 0.3, reference=np.eye(3))(at(MACHINES["K"], K))
    with pytest.raises(NotPositiveDefinite, match="reference"):
        SIC("fixed", 0.3, reference=-np.eye(N))(at(MACHINES["K"], K))
    with pytest.raises(ValueError, match="once"):
        KFold([[0, 1], [1, 2]])(at(MACHINES["K"], K))
    with pytest.raises(ValueError, match="folds"):
        KFold(1)(at(MACHINES["K"], K))
