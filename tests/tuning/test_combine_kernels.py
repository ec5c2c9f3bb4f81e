import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, DotProduct, Product, Sum

from foldless import KernelLogisticRegression, combine_kernels
from foldless.core.errors import CriterionWarning
from foldless.core.targets import as_columns
from foldless.criteria import LOO, Alignment, CenteredAlignment, Spectral
from foldless.grams import DenseGram
from foldless.machines import LSSVM, NoMachine, SmoothMachine
from foldless.machines.losses import Logistic
from foldless.tuning.combine_kernels import alignment_weights

approx = pytest.approx
KERNELS = [RBF(0.05), RBF(0.4), RBF(2.0), DotProduct(0.5)]


@pytest.fixture(scope="module")
def problem():
    X, y = make_moons(50, noise=0.2, random_state=3)
    return X, y, [k(X) for k in KERNELS], as_columns(y)


def weights(kernel):
    """Weight of each kernel of KERNELS in a mixture."""
    if isinstance(kernel, Sum):
        return weights(kernel.k1) + weights(kernel.k2)
    return np.array([kernel.k1.constant_value * (kernel.k2 == k) for k in KERNELS])


def derivatives(criterion, machine, K, stack, Y):
    G = criterion(machine.solve(DenseGram(K), Y)).adjoint
    return np.array([np.vdot(G, L) for L in stack])


def test_centred_alignment_is_maximal(problem):
    X, y, stack, Y = problem
    m = weights(combine_kernels(X, y, KERNELS))

    def aligned(m):
        return -CenteredAlignment()(
            NoMachine().solve(DenseGram(sum(w * K for w, K in zip(m, stack))), Y)
        ).value

    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.full(4, 0.5), size=200) / [np.trace(K) for K in stack]
    best = aligned(m)
    assert best > max(aligned(o) for o in others)
    assert best > 1.001 * max(aligned(e) for e in np.eye(4))  # a mixture earns its keep here
    assert (m @ [np.mean(np.diag(K)) for K in stack]) == approx(1)


def test_alignment_weights_fulfil_the_conditions_of_the_programme(problem):
    _, _, stack, Y = problem
    m = alignment_weights(stack, Y)
    J = np.eye(50) - 1 / 50
    Kc = [J @ K @ J for K in stack]
    gradient = np.array([np.vdot(K, sum(w * L for w, L in zip(m, Kc))) - np.vdot(Y, K @ Y) for K in Kc])
    assert np.all(m >= 0)
    assert gradient[m > 0] == approx(np.zeros(np.sum(m > 0)), abs=1e-8 * np.max(np.abs(gradient)) + 1e-8)
    assert np.all(gradient >= -1e-8)


@pytest.mark.parametrize(
    ("criterion", "machine"),
    [
        (Spectral("frobenius", 2), None),
        (Alignment(), None),
        (LOO(), LSSVM(1.0)),
        (LOO(), SmoothMachine(Logistic(), 1.0)),
    ],
    ids=["spectral", "alignment", "press", "klr"],
)
def test_descent_ends_at_a_point_where_no_weight_wants_to_move(problem, criterion, machine):
    X, y, stack, Y = problem
    kernel = combine_kernels(X, y, KERNELS, criterion, machine=machine)
    m = weights(kernel)
    K = kernel(X)
    assert approx(sum(w * L for w, L in zip(m, stack)), rel=1e-12) == K
    read_machine = machine or NoMachine()
    slope = derivatives(criterion, read_machine, K, stack, Y)
    value = criterion(read_machine.solve(DenseGram(K), Y)).value
    assert np.max(np.abs(slope * m)) < 2e-4 * max(1, abs(value))
    assert np.all(slope >= -1e-3 * max(1, abs(value)))
    single = [criterion(read_machine.solve(DenseGram(L), Y)).value for L in stack]
    assert value <= min(single) + 1e-9


@pytest.mark.parametrize("normaliser", ["trace", "sum"])
def test_the_spectral_measure_collapses_to_one_kernel(problem, normaliser):
    X, y, stack, Y = problem
    criterion = Spectral(normaliser, 2)
    with pytest.warns(CriterionWarning, match="single one"):
        kernel = combine_kernels(X, y, KERNELS, criterion)
    assert isinstance(kernel, Product)
    costs = [criterion(NoMachine().solve(DenseGram(K), Y)).value for K in stack]
    assert np.argmax(weights(kernel)) == np.argmin(costs)
    rng = np.random.default_rng(1)
    for m in rng.dirichlet(np.ones(4), size=100):
        mixed = DenseGram(sum(w * K for w, K in zip(m, stack)))
        assert criterion(NoMachine().solve(mixed, Y)).value > min(costs)


def test_a_mixture_works_in_an_estimator(problem):
    X, y, _, _ = problem
    kernel = combine_kernels(X, y, KERNELS)
    assert isinstance(kernel, Sum)
    assert (
        KernelLogisticRegression(kernel=kernel, C=10.0, max_evaluations=3).set_params(search="lbfgs")
        is not None
    )
    model = KernelLogisticRegression(kernel=_fixed(kernel), C=10.0).fit(X, y)
    assert model.score(X, y) > 0.9


def _fixed(kernel):
    return kernel.clone_with_theta(kernel.theta).set_params(
        **{f"{h.name}_bounds": "fixed" for h in kernel.hyperparameters}
    )


def test_bad_input_is_named(problem):
    X, y, _, _ = problem
    with pytest.raises(ValueError, match="at least one"):
        combine_kernels(X, y, [])
    with pytest.raises(ValueError, match="machine="):
        combine_kernels(X, y, KERNELS, "loo")
    with pytest.raises(TypeError, match="kernel must be"):
        combine_kernels(X, y, [np.eye(3)])
    with pytest.raises(ValueError, match="no derivative"):
        combine_kernels(X, y, KERNELS, Spectral("frobenius", threshold=0.1))


def test_weights_scale_with_the_matrices_however_different_their_sizes(rng):
    grams = [G @ G.T for G in rng.normal(size=(4, 12, 5))]
    y = np.where(rng.normal(size=(12, 1)) > 0, 1.0, -1.0)
    scales = np.array([1e-9, 1.0, 1e6, 1e-3])
    weights = alignment_weights(grams, y)
    scaled = alignment_weights([c * K for c, K in zip(scales, grams, strict=True)], y)
    np.testing.assert_allclose(scaled * scales, weights, rtol=1e-9, atol=1e-12 * weights.max())
