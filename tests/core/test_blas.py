"""SciPy's routines without the lock: the numbers of the ordinary wrappers, and other threads run meanwhile."""

import threading
import time

import numpy as np
import pytest
from scipy.linalg import lapack

from foldless.core import blas

RNG = np.random.default_rng(0)
SIZES = [1, 2, 7, 65, 150]


@pytest.fixture(autouse=True, params=["unlocked", "ordinary"])
def way(request, monkeypatch):
    """Every size through the capsules, and every size through the fallback."""
    if request.param == "unlocked":
        monkeypatch.setattr(blas, "MIN_UNLOCKED_PRODUCTS", 0)
    else:
        monkeypatch.setattr(blas, "find", lambda name: None)
    return request.param


def definite(n):
    B = RNG.normal(size=(n, n))
    return B @ B.T + n * np.eye(n)


def forms(A):
    """The same numbers in other orders of memory."""
    wide = np.zeros((2 * len(A), 2 * A.shape[-1]) if A.ndim == 2 else 2 * len(A))
    wide[tuple(slice(None, None, 2) for _ in A.shape)] = A
    strided = wide[tuple(slice(None, None, 2) for _ in A.shape)]
    return [np.ascontiguousarray(A), np.asfortranarray(A), strided]


def same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13 * np.max(np.abs(theirs), initial=1.0))


def test_this_scipy_is_known():
    assert (
        all(isinstance(blas.find(name), blas.Routine) for name in blas.SIGNATURES)
        or blas.find("dpotrf") is None
    )


@pytest.mark.parametrize("n", SIZES)
def test_one_matrix(n):
    A = definite(n)
    L = np.tril(lapack.dpotrf(A, lower=1)[0])
    for form in forms(A):
        found, info = blas.dpotrf(form)
        same(np.tril(found), L)
        assert info == 0
    for form in forms(L):
        same(np.tril(blas.dtrtri(form)[0]), np.tril(lapack.dtrtri(L, lower=1)[0]))
        same(np.tril(blas.dlauum(form)[0]), np.tril(lapack.dlauum(L, lower=1)[0]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_a_triangle(n, transposed):
    L, M = np.tril(definite(n)), RNG.normal(size=(n, 3))
    T = L.T if transposed else L
    for left in forms(L):
        for product in (forms(M.copy())[kind] for kind in range(3)):
            blas.dtrmm(-0.7, left, product, transposed=transposed)
            same(product, -0.7 * T @ M)
        for product in (forms(M.T.copy())[kind] for kind in range(3)):
            blas.dtrmm(0.3, left, product, right=True, transposed=transposed)
            same(product, 0.3 * M.T @ T)


def test_a_block_is_multiplied_in_its_place():
    whole = np.asfortranarray(RNG.normal(size=(7, 9)))
    before, block = whole.copy(), whole[2:6, 3:8]
    L = np.tril(definite(4))
    blas.dtrmm(1.0, L, block)
    before[2:6, 3:8] = L @ before[2:6, 3:8]
    same(whole, before)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [None, 1, 4])
def test_right_hand_sides(n, columns):
    L, M = np.linalg.cholesky(definite(n)), RNG.normal(size=n if columns is None else (n, columns))
    # What lies above the diagonal is not read.
    full = L + np.triu(RNG.normal(size=(n, n)), 1)
    for left in forms(full):
        for right in forms(M):
            for transposed in (False, True):
                expected = lapack.dtrtrs(L, M, lower=1, trans=int(transposed))[0].reshape(M.shape)
                found, info = blas.dtrtrs(left, right, transposed)
                same(found.reshape(M.shape), expected)
                assert info == 0
            same(blas.dpotrs(left, right)[0].reshape(M.shape), np.linalg.solve(L @ L.T, M))


@pytest.mark.parametrize("n", SIZES)
def test_single_precision(n):
    A, M = definite(n), RNG.normal(size=(n, 3))
    L = np.linalg.cholesky(A)
    # The condition of A is below 10, and errors of a factor and of its solutions are below n eps times that.
    bound = 10 * n * np.finfo(np.float32).eps
    for form in forms(A):
        found, info = blas.spotrf(np.float32(form))
        assert found.dtype == np.float32
        assert info == 0
        np.testing.assert_allclose(found, L, atol=bound * np.max(L))
    full = np.float32(L + np.triu(RNG.normal(size=(n, n)), 1))
    for left in (np.ascontiguousarray(full), np.asfortranarray(full)):
        for right in (M, M[:, 0]):
            for triangle, transposed in ((L, False), (L.T, True)):
                found, info = blas.strtrs(left, np.float32(right), transposed)
                assert found.dtype == np.float32
                assert info == 0
                expected = np.linalg.solve(triangle, right)
                np.testing.assert_allclose(found, expected, atol=bound * np.max(np.abs(expected)))


def test_a_matrix_without_a_factor_in_single_precision_is_reported():
    A = definite(60)
    A[41, 41] = -1
    assert blas.spotrf(A)[1] == 42


@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (2, 5), (90, 120)])
def test_symmetric_products(shape):
    A, C = RNG.normal(size=shape), definite(shape[0])
    for form in forms(A):
        same(np.tril(blas.dsyrk(-0.7, form)), np.tril(-0.7 * A @ A.T))
        for start in forms(C):
            same(np.tril(blas.dsyrk(0.3, form, start.copy(order="K"))), np.tril(C + 0.3 * A @ A.T))


@pytest.mark.parametrize("n", [3, 40, 150])
def test_pivots(n):
    B = RNG.normal(size=(n, 3))
    A = B @ B.T
    tolerance = 1e-10 * np.max(np.diag(A))
    theirs, order, rank, _ = lapack.dpstrf(A, tol=tolerance, lower=1)
    for form in forms(A):
        ours, rows, found = blas.dpstrf(form, tolerance)
        assert found == rank == 3
        assert np.array_equal(rows, order - 1)
        same(np.tril(ours[:, :3]), np.tril(theirs[:, :3]))


def test_matrices_that_have_no_factor_are_reported():
    A = definite(60)
    A[41, 41] = -1
    assert blas.dpotrf(A)[1] == 42
    L = np.tril(definite(60))
    L[6, 6] = 0
    assert blas.dtrtrs(L, np.ones(60))[1] == 7
    assert blas.dtrtri(L)[1] == 7


def test_arguments_are_left_as_they_were_unless_they_may_be_overwritten():
    A = np.asfortranarray(definite(80))
    before = A.copy()
    blas.dpotrf(A)
    blas.dlauum(A)
    assert np.array_equal(A, before)
    found, _ = blas.dpotrf(A, overwrite=True)
    assert found is A or np.shares_memory(found, A)
    fixed = np.asfortranarray(before)
    fixed.flags.writeable = False
    assert not np.shares_memory(blas.dpotrf(fixed, overwrite=False)[0], fixed)
    assert np.array_equal(fixed, before)


def test_other_numbers_become_doubles():
    A = definite(70)
    L = np.linalg.cholesky(A)
    same(
        np.tril(blas.dpotrf(A.astype(np.float32))[0]), np.linalg.cholesky(A.astype(np.float32).astype(float))
    )
    half = np.float32(np.eye(70, 4))
    same(blas.dtrtrs(L, half)[0], np.linalg.solve(L, np.eye(70, 4)))
    same(np.tril(blas.dsyrk(2.0, half)), 2.0 * np.eye(70, 4) @ np.eye(70, 4).T)


@pytest.mark.parametrize(
    "call",
    [
        lambda: blas.dpotrf(np.ones((3, 4))),
        lambda: blas.dtrtrs(np.eye(3), np.ones((4, 2))),
        lambda: blas.dpotrs(np.eye(3), np.ones(2)),
        lambda: blas.dsyrk(1.0, np.ones((3, 2)), np.zeros((2, 2), order="F")),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call):
    with pytest.raises(ValueError, match="a matrix of shape"):
        call()


@pytest.mark.parametrize(
    "text",
    [
        "void (char *, int *, float_complex *)",
        "void (char *, int *, int64_t *)",
        "void (char *)",
        "nothing",
        "",
    ],
)
def test_an_unknown_signature_is_not_called(text):
    with pytest.raises(KeyError):
        blas.parse(text)


def test_integers_are_those_of_the_build():
    letters, integer = blas.parse("void (char *, int64_t *, double *, int64_t *, int64_t *)")
    assert letters == "cidii"
    assert np.dtype(integer).itemsize == 8


def test_another_signature_means_the_ordinary_wrapper(monkeypatch, way):
    if way == "ordinary":
        pytest.skip("nothing is looked up")
    monkeypatch.setitem(blas.SIGNATURES, "dpotrf", "cidi")
    blas.find.cache_clear()
    try:
        assert blas.find("dpotrf") is None
        same(np.tril(blas.dpotrf(4 * np.eye(3))[0]), 2 * np.eye(3))
    finally:
        blas.find.cache_clear()


def busy_tenths(call):
    """In how many tenths of the call's time another thread could run."""
    stamps, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            stamps.append(time.perf_counter())
            time.sleep(0)

    other = threading.Thread(target=tick)
    other.start()
    try:
        start = time.perf_counter()
        call()
        end = time.perf_counter()
    finally:
        stop.set()
        other.join()
    return len({int(10 * (t - start) / (end - start)) for t in stamps if start <= t < end})


def test_other_threads_run_during_a_call(way):
    if way == "ordinary" or blas.find("dpotrf") is None:
        pytest.skip("the ordinary wrapper holds the lock")
    A = definite(1200)
    # A busy machine may keep the other thread waiting: several tries.
    assert max(busy_tenths(lambda: blas.dpotrf(A)) for _ in range(10)) >= 8
