"""The verbs on kernels: equal to scikit-learn's own matrices and derivatives, in less memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from foldless.kernels import Pairs, gram, pullback

TIGHT = 1e-10
positive = st.floats(0.2, 4.0)


@st.composite
def leaves(draw, d):
    """One kernel on d inputs, some of its hyper-parameters fixed."""
    bounds = st.sampled_from([(1e-5, 1e5), "fixed"])
    scale, bound = draw(positive), draw(bounds)
    scales = np.array(draw(st.lists(positive, min_size=d, max_size=d)))
    return draw(
        st.sampled_from(
            [
                RBF(scale, bound),
                RBF(scales, bound),
                *(Matern(scale, bound, nu=nu) for nu in (0.5, 1.5, 2.5, np.inf, 0.8)),
                Matern(scales, bound, nu=0.5),
                Matern(scales, bound, nu=2.5),
                RationalQuadratic(scale, draw(positive), bound, draw(bounds)),
                DotProduct(scale, bound),
                ConstantKernel(scale, bound),
                WhiteKernel(scale, bound),
                PairwiseKernel(scale, bound, metric="laplacian"),
            ]
        )
    )


def trees(d):
    """Random expressions in ``+``, ``*`` and ``**``."""

    def grow(children):
        return st.one_of(
            st.tuples(children, children).map(lambda pair: pair[0] + pair[1]),
            st.tuples(children, children).map(lambda pair: pair[0] * pair[1]),
            st.tuples(children, st.sampled_from([2, 3])).map(lambda pair: Exponentiation(*pair)),
        )

    return st.recursive(leaves(d), grow, max_leaves=4)


@st.composite
def problems(draw):
    """A kernel tree, points with duplicates and constant columns, and other points, some of them the same."""
    d = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X, Y = rng.normal(size=(draw(st.integers(1, 7)), d)), rng.normal(size=(draw(st.integers(1, 5)), d))
    if draw(st.booleans()):
        X[-1], Y[0] = X[0], X[0]
    if draw(st.booleans()):
        X[:, 0] = Y[:, 0] = 0.7
    return draw(trees(d)), X, Y, rng


def close(ours, theirs):
    theirs = np.asarray(theirs)
    scale = np.max(np.abs(theirs), initial=0.0)
    np.testing.assert_allclose(ours, theirs, rtol=TIGHT, atol=TIGHT * scale)


def contracts(gradient, adjoint, derivative, K):
    """The gradient is the contraction to 1e-10 of its terms, or to 1e-13 of the matrix."""
    scale = np.tensordot(np.abs(adjoint), np.abs(derivative), 2) + 1e-3 * np.sum(np.abs(adjoint * K)) + 1e-15
    assert np.all(np.abs(gradient - np.tensordot(adjoint, derivative, 2)) <= TIGHT * scale)


def stacked_gradient(kernel, X, Y):
    """scikit-learn differentiates square matrices only: the corner of a larger one."""
    return kernel(np.vstack([X, Y]), eval_gradient=True)[1][: len(X), len(X) :]


@settings(max_examples=120, deadline=None)
@given(problems())
def test_gram_and_pullback_equal_scikit_learn_over_random_expressions(problem):
    kernel, X, _, rng = problem
    K, derivative = kernel(X, eval_gradient=True)
    adjoint = rng.normal(size=K.shape)
    close(gram(kernel, X), K)
    contracts(pullback(kernel, X, adjoint), adjoint, derivative, K)


@settings(max_examples=80, deadline=None)
@given(problems())
def test_rectangular_gram_and_pullback_equal_scikit_learn(problem):
    kernel, X, Y, rng = problem
    close(gram(kernel, X, Y), kernel(X, Y))
    adjoint, derivative = rng.normal(size=(len(X), len(Y))), stacked_gradient(kernel, X, Y)
    contracts(pullback(kernel, X, adjoint, Y), adjoint, derivative, kernel(X, Y))


NAMED = [
    RBF(0.8),
    RBF([0.8, 1.7, 0.4]),
    Matern(1.1, nu=0.5),
    Matern([0.8, 1.7, 0.4], nu=1.5),
    Matern(1.1, nu=2.5),
    RationalQuadratic(1.2, 0.7),
    DotProduct(0.6),
    ConstantKernel(2.0) * RBF(0.8) + WhiteKernel(0.1),
    (RBF(0.8) + DotProduct(0.3)) * (Matern(1.1, nu=1.5) + ConstantKernel(0.5)),
]


@pytest.mark.parametrize("kernel", NAMED, ids=str)
def test_pullback_is_the_central_difference_of_the_gram(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    for left, right in ((X, None), (X, Y)):
        adjoint = rng.normal(size=(6, 6 if right is None else 4))
        for k in range(len(kernel.theta)):
            step = np.zeros(len(kernel.theta))
            step[k] = 1e-5
            up, down = (gram(kernel.clone_with_theta(kernel.theta + s), left, right) for s in (step, -step))
            expected = np.sum(adjoint * (up - down)) / 2e-5
            assert pullback(kernel, left, adjoint, right)[k] == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kernel", NAMED, ids=str)
@pytest.mark.parametrize("form", ["float32", "csr", "csc", "list"])
def test_other_forms_of_input_give_the_same(kernel, form):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(7, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.4] = 0
    Y, adjoint, cross = X[:4] + np.float32(0.25), rng.normal(size=(7, 7)), rng.normal(size=(7, 4))
    shape = {"float32": np.asarray, "csr": sp.csr_array, "csc": sp.csc_matrix, "list": np.ndarray.tolist}[
        form
    ]
    dense, other = X.astype(float), Y.astype(float)
    close(gram(kernel, shape(X)), kernel(dense))
    close(gram(kernel, shape(X), shape(Y)), kernel(dense, other))
    derivative = kernel(dense, eval_gradient=True)[1]
    close(pullback(kernel, shape(X), adjoint), np.tensordot(adjoint, derivative, 2))
    close(
        pullback(kernel, shape(X), cross, shape(Y)),
        np.tensordot(cross, stacked_gradient(kernel, dense, other), 2),
    )


@pytest.mark.parametrize("kernel", NAMED[:6], ids=str)
def test_a_large_common_offset_costs_no_digits(kernel):
    rng = np.random.default_rng(2)
    X = rng.integers(-40, 40, size=(8, 3)) / 16  # X + 1e6 is exact
    adjoint = rng.normal(size=(8, 8))
    far = (
        X + 1e6
    )  # scikit-learn itself loses six digits there for Matern: the reference is without the offset
    close(gram(kernel, far), kernel(X))
    close(pullback(kernel, far, adjoint), np.tensordot(adjoint, kernel(X, eval_gradient=True)[1], 2))
    close(gram(kernel, far, far[:3]), kernel(X, X[:3]))


@pytest.mark.parametrize("nu", [0.5, 1.5, np.inf])
def test_nearly_equal_points_far_from_the_centre_keep_their_distance(nu):
    X = np.array([[1e4, 1e4], [1e4 + 2.0**-20, 1e4], [-1e4, 3.0]])
    kernel = Matern(1e-5, nu=nu)
    close(gram(kernel, X), kernel(X))


@pytest.mark.parametrize("kernel", NAMED, ids=str)
def test_shared_pairs_give_what_fresh_ones_give(kernel):
    rng = np.random.default_rng(3)
    X, adjoint = rng.normal(size=(6, 3)), rng.normal(size=(6, 6))
    pairs = Pairs(X)
    for shift in (0.0, 0.3, -0.2, 0.3):
        moved = kernel.clone_with_theta(kernel.theta + shift)
        np.testing.assert_array_equal(gram(moved, pairs), gram(moved, X))
        np.testing.assert_array_equal(pullback(moved, pairs, adjoint), pullback(moved, X, adjoint))


def test_pairs_serve_two_kernels_in_turn():
    rng = np.random.default_rng(4)
    X, pairs = rng.normal(size=(5, 2)), None
    pairs = Pairs(X)
    kernels = [RBF(0.5), Matern(0.5, nu=1.5), RBF([0.5, 0.7]), RBF(0.5)]
    for kernel in kernels:
        close(gram(kernel, pairs), kernel(X))


@pytest.mark.parametrize(
    "kernel", [RBF(np.full(60, 2.0)), Matern(np.full(60, 2.0), nu=1.5)], ids=["rbf", "matern"]
)
def test_pullback_of_sixty_length_scales_needs_the_memory_of_a_few_grams(kernel):
    n, d = 300, 60
    X = np.random.default_rng(5).normal(size=(n, d))
    pairs, adjoint = Pairs(X), np.ones((n, n))
    gram(kernel, pairs)
    tracemalloc.start()
    gradient = pullback(kernel, pairs, adjoint)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert gradient.shape == (d,)
    assert peak < 8 * n * n * 8  # eight Gram matrices; the tensor would be sixty


def test_what_is_no_kernel_is_named():
    with pytest.raises(TypeError, match="kernel must be a scikit-learn Kernel object, got 'rbf'"):
        gram("rbf", np.zeros((2, 1)))
