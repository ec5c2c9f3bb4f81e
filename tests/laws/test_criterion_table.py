"""Laws that every criterion owes on every machine that it reads: one table, so that a new line inherits all of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from foldless import machines
from foldless.core.contracts import Machine
from foldless.core.errors import UnreadableSolution
from foldless.core.linalg import symmetric
from foldless.criteria import BY_NAME, CV, SIC, EvidenceHMC, KFold
from foldless.criteria.folds import assign
from foldless.grams import DenseGram, LowRankGram
from laws.table import (
    CRITERIA,
    MACHINES,
    PAIRS,
    REFUSED,
    SOLUTIONS,
    THIN,
    UNREADABLE,
    K,
    N,
    has_derivative,
    refusal,
)

EPS = np.finfo(float).eps
# Differences of fourth order with directions of norm one: the error of the formula, about (STEP / 0.3)^4, is below rounding.
STEP = 2e-5
# A value from systems with the condition of K has about this relative error, and a derivative from differences 1.5 / STEP times as much.
ROUNDING = N * EPS * np.linalg.cond(K)

# The samples of evidence-hmc are drawn anew for every matrix: it owes the laws within its noise, which its own tests measure.
EXACT = [pair for pair in PAIRS if not isinstance(pair.criterion, EvidenceHMC)]
pairs = pytest.mark.parametrize("pair", EXACT, ids=str)
differentiable = pytest.mark.parametrize("pair", [pair for pair in EXACT if has_derivative(pair)], ids=str)
on_landmarks = pytest.mark.parametrize(
    "pair", [pair for pair in EXACT if has_derivative(pair, False)], ids=str
)
# The folds of cv are drawn in the order of the rows.
movable = pytest.mark.parametrize("pair", [p for p in EXACT if not isinstance(p.criterion, CV)], ids=str)


def central(value):
    """Return the derivative of ``value`` at 0, and the absolute error that it may have."""
    near, far = (np.array([value(-step), value(step)]) for step in (STEP, 2 * STEP))
    derivative = (8 * np.diff(near) - np.diff(far)).item() / (12 * STEP)
    return derivative, 1.5 * ROUNDING * np.max(np.abs(near)) / STEP


def read(pair, gram, machine=None):
    return pair.criterion((machine or pair.machine).solve(gram, pair.Y))


@cache
def centre(pair):
    """Return the reading that is shared by the laws."""
    return pair.criterion(SOLUTIONS[pair.machine_label])


def direction(shape):
    H = np.random.default_rng(3).normal(size=shape)
    H = symmetric(H) if shape[0] == shape[1] else H
    return H / np.linalg.norm(H, 2)


def array(adjoint):
    return adjoint @ np.eye(N)


def check_derivative(found, value):
    expected, error = central(value)
    assert found == pytest.approx(expected, abs=error, rel=1e-7)


@differentiable
def test_the_adjoint_is_the_derivative_in_the_matrix(pair):
    adjoint, H = centre(pair).adjoint, direction((N, N))
    np.testing.assert_allclose(adjoint, adjoint.T, atol=ROUNDING * np.abs(adjoint).max())
    check_derivative(np.vdot(adjoint, H), lambda t: read(pair, DenseGram(K + t * H)).value)


@differentiable
def test_the_slope_is_the_derivative_in_theta(pair):
    slope, theta = centre(pair).slope, pair.machine.theta
    assert len(slope) == len(theta)
    if len(theta):
        machine = pair.machine
        check_derivative(slope[0], lambda t: read(pair, DenseGram(K), machine.with_theta(theta + t)).value)


@on_landmarks
def test_the_adjoint_on_landmarks_is_the_derivative_in_their_features(pair):
    adjoint, H = read(pair, LowRankGram(THIN)).adjoint, direction(THIN.shape)
    check_derivative(2 * np.vdot(adjoint @ THIN, H), lambda t: read(pair, LowRankGram(THIN + t * H)).value)


@pairs
def test_a_low_rank_gram_of_full_rank_is_the_dense_one(pair):
    low = read(pair, LowRankGram(np.linalg.cholesky(K)))
    check_equal(low, centre(pair), np.arange(N))


@pairs
def test_a_thin_gram_is_the_singular_dense_one(pair):
    dense, low = read(pair, DenseGram(THIN @ THIN.T)), read(pair, LowRankGram(THIN))
    assert low.value == pytest.approx(dense.value, rel=1e-7, abs=1e-9)


@movable
def test_permuting_the_rows_permutes_the_adjoint(pair):
    order = np.random.default_rng(0).permutation(N)
    moved = pair.machine.on_rows(order).solve(DenseGram(K[np.ix_(order, order)]), pair.Y[order])
    check_equal(on_rows(pair.criterion, order)(moved), centre(pair), order)


def on_rows(criterion, order):
    """Return a criterion with its own arrays in another order of the rows."""
    if isinstance(criterion, KFold):
        return KFold(
            [np.flatnonzero(np.isin(order, rows)) for rows in assign(criterion.folds, N, criterion.seed)]
        )
    if getattr(criterion, "refit_rows", ()):
        return replace(
            criterion, refit_rows=tuple(np.flatnonzero(np.isin(order, criterion.refit_rows)).tolist())
        )
    if isinstance(criterion, SIC) and criterion.norm == "fixed":
        gram, rows = isinstance(criterion.reference, DenseGram), np.ix_(order, order)
        reference = DenseGram(criterion.reference.K[rows]) if gram else criterion.reference[rows]
        return replace(criterion, reference=reference)
    return criterion


def check_equal(one, other, order):
    """Check that two readings agree, the rows of the first in the order given."""
    assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-12)
    assert dict(one.parts) == pytest.approx(dict(other.parts), rel=1e-7, abs=1e-9)
    if other.slope is not None:
        assert one.slope == pytest.approx(other.slope, rel=1e-7, abs=1e-9)
    if other.adjoint is not None:
        G = array(other.adjoint)[np.ix_(order, order)]
        np.testing.assert_allclose(array(one.adjoint), G, atol=1e-8 * np.abs(G).max())


def test_what_is_not_differentiable_declares_it():
    for pair in [pair for pair in EXACT if not has_derivative(pair)]:
        assert centre(pair).adjoint is None, pair
    for pair in [pair for pair in EXACT if not has_derivative(pair, False)]:
        assert read(pair, LowRankGram(THIN)).adjoint is None, pair


@pytest.mark.parametrize("pair", REFUSED, ids=str)
def test_a_refusal_is_clear(pair):
    error, words = refusal(pair)
    with pytest.raises(error, match=words):
        read(pair, DenseGram(K))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_machine_without_a_formula_is_unreadable(criterion):
    for name in [pair.machine_label for pair in UNREADABLE if pair.criterion_label == criterion]:
        with pytest.raises(UnreadableSolution):
            CRITERIA[criterion](SOLUTIONS[name])


def test_every_criterion_and_every_machine_is_in_the_table():
    kinds = {getattr(machines, name) for name in machines.__all__}
    kinds = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Machine)} - {Machine}
    assert {type(machine) for machine, _ in MACHINES.values()} == kinds
    assert {type(criterion) for criterion in CRITERIA.values()} >= set(BY_NAME.values())
    assert {pair.criterion_label for pair in PAIRS} == set(CRITERIA)
