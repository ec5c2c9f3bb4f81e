"""Kernels on some columns, for categories, and sums over columns: definitions, derivatives, errors, every form of a fit."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import DataError, Undefined
from foldless.criteria import LOO
from foldless.grams.builders import ChunkedBuilder, DenseBuilder, NystromBuilder
from foldless.inspection import AdditiveTermsDisplay, additive_terms
from foldless.kernels import Additive, Categorical, Columns, Laplacian, Pairs, gram, pullback
from foldless.kernels.additive import addends
from foldless.kernels.columns import bind_columns, column_indices
from foldless.kernels.evaluate import diagonal, is_semidefinite
from foldless.machines import Ridge

RNG = np.random.default_rng(0)


def table(n):
    """Two columns of numbers and two of codes."""
    return np.column_stack([RNG.normal(size=(n, 2)), RNG.integers(0, 3, n), RNG.integers(0, 2, n)])


X, Z = table(12), table(7)
MIXED = Columns(RBF(0.7), [0, 1]) * Columns(Categorical([0.7, 1.9]), slice(2, None))
KERNELS = [
    Columns(RBF(0.7), [0, 1]),
    Columns(RBF([0.7, 1.9, 3.0]), [1, 0, 3]),
    Columns(Laplacian(0.7, norm=1), slice(0, 2)),
    Columns(Categorical(0.7), [2, 3]),
    Columns(Categorical([0.7, 1.9]), [False, False, True, True]),
    Columns(Categorical(0.7, "fixed"), np.array([2])),
    MIXED,
    ConstantKernel(2.0) * MIXED + Columns(Matern(0.7, nu=1.5), [-1]) ** 2,
    Columns(Columns(RBF(0.7), [1]), [0, 2]),
    Additive([0.5, 1.5, 0.2, 1.0], 0.7),
    Additive([0.5, 1.5, 0.2, 1.0], 0.7, 0.4, order=2),
    Additive([0.5, 1.5, 0.2, 1.0], 0.7, 0.4, 2, "fixed"),
    Additive([0.5, 1.5, 0.2, 1.0], 0.7, 0.4, 2, "fixed", "fixed", "fixed"),
    Columns(Additive([0.5, 1.5], 0.7, 0.4, order=2), [0, 1]) + Columns(Categorical(0.7), [2, 3]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gram_and_pullback_agree_with_the_kernel(kernel):
    K, gradient = kernel(X, eval_gradient=True)
    A = RNG.normal(size=K.shape)
    assert gram(kernel, X) == pytest.approx(K, rel=1e-12)
    assert gram(kernel, X, Z) == pytest.approx(kernel(X, Z), rel=1e-12)
    assert kernel.diag(X) == pytest.approx(np.diag(K), rel=1e-12)
    assert gradient.shape == (12, 12, len(kernel.theta))
    assert pullback(kernel, X, A) == pytest.approx(np.tensordot(A, gradient, axes=2), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if len(kernel.theta)], ids=repr)
@pytest.mark.parametrize("other", [None, Z], ids=["square", "rectangular"])
def test_pullback_is_the_derivative(kernel, other):
    A = RNG.normal(size=(12, 12 if other is None else 7))
    for j, got in enumerate(pullback(kernel, X, A, other)):
        step = 1e-6 * np.eye(len(kernel.theta))[j]
        up, down = (gram(kernel.clone_with_theta(kernel.theta + s), X, other) for s in (step, -step))
        assert got == pytest.approx(np.vdot(A, up - down) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_scikit_learn_conventions(kernel):
    same = clone(kernel)
    assert same == kernel
    assert same.clone_with_theta(same.theta).theta == pytest.approx(kernel.theta, rel=1e-14)
    assert len(kernel.bounds) == len(kernel.theta)
    assert kernel.is_stationary()
    assert is_semidefinite(kernel)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10
    if len(kernel.theta):
        moved = kernel.clone_with_theta(kernel.theta - 0.1)
        assert moved.theta == pytest.approx(kernel.theta - 0.1)
        assert moved != kernel
    with pytest.raises(ValueError, match="Gradient can only"):
        kernel(X, Z, eval_gradient=True)


@pytest.mark.parametrize("kernel", [MIXED, KERNELS[10]], ids=repr)
def test_gradients_through_every_form_of_the_matrix(kernel):
    Y = np.sin(X[:, :1]) + X[:, 2:3]
    for builder in (DenseBuilder(X), NystromBuilder(X, np.arange(0, 12, 2))):

        def value(theta, builder=builder):
            return LOO()(Ridge(0.2).solve(builder.gram(kernel.clone_with_theta(theta)), Y)).value

        K = builder.gram(kernel)
        got = builder.pullback(kernel, K, LOO()(Ridge(0.2).solve(K, Y)).adjoint)
        steps = 1e-6 * np.eye(len(kernel.theta))
        expected = [(value(kernel.theta + s) - value(kernel.theta - s)) / 2e-6 for s in steps]
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-8)
    v = RNG.normal(size=(12, 1))
    assert ChunkedBuilder(X, 5).gram(kernel).matmul(v) == pytest.approx(gram(kernel, X) @ v)


def test_strips_use_the_distances_of_the_whole():
    pairs = Pairs(X, Z)
    for kernel in (MIXED, KERNELS[7], KERNELS[13]):
        got = np.vstack([gram(kernel, pairs.strip(slice(i, i + 5))) for i in (0, 5, 10)])
        assert got == pytest.approx(kernel(X, Z), rel=1e-12)


def test_columns_of_a_sparse_matrix():
    for kernel in KERNELS:
        assert gram(kernel, sp.csr_array(X), sp.csr_array(Z)) == pytest.approx(kernel(X, Z), abs=1e-9)
        assert diagonal(kernel, sp.csr_array(X)) == pytest.approx(kernel.diag(X))


# Columns: what may stand for them, and what may not.


def test_every_kind_of_selector_finds_its_columns():
    frame = pd.DataFrame(X[:, :3], columns=["age", "sex", "bmi"])
    numbers = make_column_selector(dtype_include="number")
    cases = [("bmi", [2]), (["bmi", "age"], [2, 0]), (-1, [2]), ([True, False, True], [0, 2])]
    for columns, expected in [
        *cases,
        (slice(1, 3), [1, 2]),
        (numbers, [0, 1, 2]),
        (np.array([0, 2]), [0, 2]),
    ]:
        assert bind_columns(Columns(RBF(), columns), frame).columns == expected
        nested = bind_columns(2.0 * RBF() + Columns(RBF(), columns) * WhiteKernel(), frame)
        assert nested.k2.k1.columns == expected


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["age", "bmii"], "columns names 'bmii', but X has no such column. Did you mean 'bmi'"),
        ("weight", "has no such column. It has 'age', 'sex', 'bmi'"),
        (3, "columns names column 3, but X has 3 columns"),
        ([True, False], "a mask of 2 columns, but X has 3 columns"),
        ([], "selects none of the 3 columns"),
        (slice(5, 9), "selects none of the 3 columns"),
        (make_column_selector(dtype_include="category"), "selects none of the 3 columns"),
    ],
)
def test_columns_that_do_not_exist_are_named(columns, words):
    frame = pd.DataFrame(X[:, :3], columns=["age", "sex", "bmi"])
    with pytest.raises(ValueError, match=words):
        KernelRidgeRegressor(Columns(RBF(), columns)).fit(frame, X[:, 0])


def test_names_and_callables_need_a_frame():
    for columns, words in (("bmi", "the name 'bmi'"), (make_column_selector(), "a callable")):
        with pytest.raises(ValueError, match=f"columns holds {words}, which needs a data frame"):
            KernelRidgeRegressor(Columns(RBF(), columns)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"numbers, names or a mask, got 1\.5"):
        column_indices([1.5], range(3))


def test_an_estimator_turns_names_into_numbers():
    columns = ["a", "b", "c", "d"]
    y = np.where(X[:, 0] > 0, "yes", "no")
    named = [Columns(RBF(1.0), ["a", "b"]), Columns(Categorical(), make_column_selector("c|d"))]
    expected = KernelLogisticRegression([Columns(RBF(1.0), [0, 1]), Columns(Categorical(), [2, 3])]).fit(X, y)
    for frame in (pd.DataFrame(X, columns=columns), pl.DataFrame(X, columns)):
        kernels = named if isinstance(frame, pd.DataFrame) else [named[0], Columns(Categorical(), ["c", "d"])]
        model = KernelLogisticRegression(kernels).fit(frame, y)
        assert model.kernel_ == expected.kernel_
        assert model.predict_proba(frame) == pytest.approx(expected.predict_proba(X))
        assert model.kernel[0].columns == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename({"a": "z"}))


# Categories.


def test_the_kernel_of_categories_is_the_gaussian_of_one_hot_columns():
    codes = RNG.integers(0, 4, (9, 1))
    one_hot = np.eye(4)[codes[:, 0]]
    assert Categorical(0.7**2)(codes) == pytest.approx(RBF(0.7)(one_hot))


def test_an_unknown_category_matches_nothing():
    seen, unseen = np.array([[0.0], [1.0]]), np.array([[-1.0], [-1.0], [np.nan]])
    miss = np.exp(-1 / 0.5)
    kernel = Categorical(0.5)
    assert kernel(unseen, seen) == pytest.approx(np.full((3, 2), miss))
    assert kernel(unseen, unseen) == pytest.approx(np.full((3, 3), miss))
    assert kernel(unseen) == pytest.approx(miss + (1 - miss) * np.eye(3))
    assert Categorical([0.5, 0.5])(np.hstack([unseen, unseen])) == pytest.approx(
        miss**2 + (1 - miss**2) * np.eye(3)
    )


def test_wrong_codes_are_named():
    model = KernelLogisticRegression(Columns(Categorical(), [1]))
    with pytest.raises(DataError, match=r"needs integer codes, but column 0 holds -?\d+\.\d+"):
        model.fit(X, X[:, 2] > 0)
    with pytest.raises(ValueError, match="2 length scales for 4 columns"):
        gram(Categorical([1.0, 2.0]), X)


# Additive models.


def test_the_definition_of_the_additive_kernel():
    s, c = np.array([0.5, 1.5, 0.2, 1.0]), 0.4
    z = [s[a] * RBF(0.7)(X[:, [a]], Z[:, [a]]) for a in range(4)]
    assert Additive(s, 0.7)(X, Z) == pytest.approx(sum(z))
    expected = sum(z) + c * sum(z[a] * z[b] for a, b in combinations(range(4), 2))
    assert Additive(s, 0.7, c, 2)(X, Z) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_addends_add_up(kernel):
    assert sum(gram(part, X, Z) for part in addends(kernel)) == pytest.approx(gram(kernel, X, Z))


def test_an_additive_kernel_finds_the_columns_that_matter():
    points = np.random.default_rng(1).uniform(-2, 2, size=(150, 5))
    y = np.sin(2 * points[:, 0]) + points[:, 1] ** 2 + 0.05 * np.random.default_rng(2).normal(size=150)
    model = KernelRidgeRegressor("additive").fit(points, y)
    terms = additive_terms(model, points)
    assert {term.name for term in terms[:2]} == {"0", "1"}
    assert terms[2].values.std() < 0.1 * terms[1].values.std()
    truth = {"0": np.sin(2 * points[:, 0]), "1": points[:, 1] ** 2}
    for term in terms[:2]:
        assert np.corrcoef(term.values[:, 0], truth[term.name])[0, 1] > 0.99


def test_interactions_need_the_second_order():
    points = np.random.default_rng(1).uniform(-1, 1, size=(150, 3))
    y = points[:, 0] * points[:, 1]
    one, two = (
        KernelRidgeRegressor(name).fit(points, y).criterion_value_ for name in ("additive", "additive2")
    )
    assert two < 0.1 * one


def test_terms_add_up_to_the_prediction():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    kernel = Columns(RBF(1.0), ["a"]) + Columns(RBF(1.0), ["b"]) * Columns(Categorical(), ["c", "d"])
    models = [
        KernelRidgeRegressor(kernel).fit(frame, X[:, 0] + X[:, 2]),
        make_pipeline(StandardScaler(), KernelLogisticRegression("additive2")).fit(frame, X[:, 0] > 0),
        KernelSVC("additive").fit(frame, X[:, 0] > 0),
    ]
    for model in models:
        terms = additive_terms(model, frame)
        output = model.predict(frame) if hasattr(model, "alpha_") else model.decision_function(frame)
        total = sum(term.values for term in terms)[:, 0]
        assert total == pytest.approx(output - output.mean(), abs=1e-8)
    assert {term.name for term in additive_terms(models[0], frame)} == {"a", "b, c, d"}


def test_a_curve_is_drawn_for_every_column():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = KernelRidgeRegressor("additive").fit(frame, X[:, 0] + X[:, 2])
    display = AdditiveTermsDisplay.from_estimator(model, frame)
    assert {ax.get_xlabel() for ax in display.axes_} == {"a", "b", "c", "d"}
    single = KernelRidgeRegressor(Columns(RBF(1.0), "a") + Columns(RBF(1.0), ["b", "c"])).fit(frame, X[:, 0])
    assert AdditiveTermsDisplay.from_estimator(single, frame, ax=display.axes_[0]).axes_ == [display.axes_[0]]
    with pytest.raises(ValueError, match="no term depends on a single column"):
        AdditiveTermsDisplay.from_estimator(KernelRidgeRegressor().fit(frame, X[:, 0]), frame)


def test_a_model_without_one_sum_has_no_terms():
    K = RBF()(X)
    with pytest.raises(Undefined, match="precomputed"):
        additive_terms(KernelRidgeRegressor("precomputed").fit(K, X[:, 0]), K)


def test_wrong_parameters_of_the_additive_kernel():
    with pytest.raises(ValueError, match="order must be 1 or 2, got 3"):
        gram(Additive([1.0, 1.0, 1.0, 1.0], order=3), X)
    with pytest.raises(ValueError, match="2 amplitudes for 4 columns"):
        gram(Additive([1.0, 1.0]), X)


@pytest.mark.parametrize("form", ["lowrank", "cells"])
def test_large_fits_take_them(form):
    points = np.column_stack([np.linspace(-3, 3, 1500), np.arange(1500) % 3])
    y = np.where(points[:, 1] == 1, -1, 1) * np.sin(2 * points[:, 0])
    kernel = Columns(RBF(1.0), [0]) * Columns(Categorical(1.0), [1])
    model = KernelRidgeRegressor(kernel, alpha=1e-3, gram=form, max_evaluations=8)
    with pytest.warns(Warning, match="ended after"):
        model.fit(points, y)
    assert model.score(points, y) > 0.95
