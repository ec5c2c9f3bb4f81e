"""Values of the table against slow and plain definitions: refits, hat matrices, densities, powers of matrices."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from foldless.core.targets import class_index, error_fraction, is_pm1
from foldless.criteria.folds import assign
from foldless.grams import DenseGram
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine, Subset
from laws.table import PAIRS, SIGNS, SOLUTIONS, K, N
from oracles import klr, ridge, spectral

EVERY_ROW = [np.array([i]) for i in range(N)]


def retrained(machine, Y, blocks):
    """Return the outputs (n, k) of the rows of each block under the machine that is trained without them."""
    outputs = np.empty(Y.shape)
    for rows in blocks:
        rest = np.setdiff1d(np.arange(N), rows)
        solution = machine.on_rows(rest).solve(DenseGram(K[np.ix_(rest, rest)]), Y[rest])
        outputs[rows] = K[np.ix_(rows, rest)] @ solution.alpha + solution.b
    return outputs


def newton(machine, Y, blocks):
    """Return the outputs of each block after one Newton step of the problem without it."""

    def loss(y, z):
        return machine.loss.value(y, z), *machine.loss.derivatives(y, z)

    columns = [klr.newton_outputs(K, y, machine.C, machine.bias, blocks, machine.weights, loss) for y in Y.T]
    return np.column_stack(columns)


def basis_kept(machine, Y, blocks):
    """Return the outputs of each block under the fit without it that keeps its kernel functions."""
    T = np.eye(N) if isinstance(machine.penalty, str) else machine.penalty
    return np.vstack(
        [
            Y[rows] - ridge.left_out_basis_kept(K, Y, T, machine.alpha, rows, machine.bias, machine.weights)
            for rows in blocks
        ]
    )[np.argsort(np.concatenate(blocks))]


def subset_refits(machine, Y, blocks):
    """Return the outputs of each block under least squares on the chosen kernel functions without it."""
    A = np.column_stack([K[:, machine.indices], np.ones((N, int(machine.bias)))])
    root, outputs = np.sqrt(weights_of(machine)), np.empty(Y.shape)
    for rows in blocks:
        rest = np.setdiff1d(np.arange(N), rows)
        scaled = root[rest, None]
        outputs[rows] = A[rows] @ np.linalg.lstsq(scaled * A[rest], scaled * Y[rest], rcond=None)[0]
    return outputs


def left_out(machine, Y, blocks):
    if isinstance(machine, SmoothMachine):
        return newton(machine, Y, blocks)
    if isinstance(machine, Subset):
        return subset_refits(machine, Y, blocks)
    if isinstance(machine, Ridge) and not machine.penalty_is_kernel:
        return basis_kept(machine, Y, blocks)
    return retrained(machine, Y, blocks)


def weights_of(machine):
    return np.ones(N) if machine.loss_weights is None else machine.loss_weights


def mean_loss(machine, Y, outputs):
    """Return the weighted mean loss: squared errors, or those of a smooth machine."""
    losses = machine.loss.value(Y, outputs) if isinstance(machine, SmoothMachine) else (Y - outputs) ** 2
    return np.average(losses.mean(axis=1), weights=weights_of(machine))


def leave_one_out(pair):
    outputs = left_out(pair.machine, pair.Y, EVERY_ROW)
    if isinstance(pair.machine, HingeSVM):
        return error_fraction(pair.Y, outputs, pair.machine.weights)
    return mean_loss(pair.machine, pair.Y, outputs)


def leave_a_block_out(pair):
    blocks = assign(pair.criterion.folds, N, pair.criterion.seed)
    return mean_loss(pair.machine, pair.Y, left_out(pair.machine, pair.Y, blocks))


def cross_validation(pair):
    machine, Y = pair.machine, pair.Y
    labels = class_index(Y) if is_pm1(Y) else None
    outputs = retrained(machine, Y, pair.criterion.split(labels, N))
    return (
        mean_loss(machine, Y, outputs) if labels is None else error_fraction(Y, outputs, machine.loss_weights)
    )


def hat(machine):
    """Return the matrix that maps targets to outputs, a column per unit vector."""
    return machine.solve(DenseGram(K), np.eye(N)).outputs


def fit_of(machine, Y):
    """Return the weighted sum of squared residuals, the mean over outputs, and the degrees of freedom."""
    H = hat(machine)
    v = np.ones(N) if machine.weights is None else machine.weights
    return np.mean(v @ (Y - H @ Y) ** 2), np.trace(H)


def generalised_cross_validation(pair):
    rss, df = fit_of(pair.machine, pair.Y)
    return N * rss / (N - df) ** 2


def mallows(pair):
    rss, df = fit_of(pair.machine, pair.Y)
    return (rss + 2 * np.mean(pair.criterion.sigma2) * df) / N


def gaussian_evidence(pair):
    """Return minus the log density of the targets under N(0, s2 (K / alpha + 1 / v)), s2 at its maximum or given."""
    machine, (n, k) = pair.machine, pair.Y.shape
    v = np.ones(N) if machine.weights is None else machine.weights
    S = K / machine.alpha + np.diag(1 / v)
    total = 0.0
    for y in pair.Y.T:
        s2 = getattr(pair.criterion, "sigma2", None) or y @ np.linalg.solve(S, y) / n
        total -= multivariate_normal(cov=s2 * S).logpdf(y)
    return total / (n * k) + getattr(pair.criterion, "tuned", 0) / n


def spectral_measure(pair):
    c = pair.criterion
    return -np.log(spectral.spectral_measure(K, SIGNS[:, 0], c.normaliser, int(c.r), c.weighted))


def alignment(pair):
    T = pair.Y @ pair.Y.T
    return -np.vdot(K, T) / np.linalg.norm(K) / np.linalg.norm(T)


def centred_alignment(pair):
    J = np.eye(N) - 1 / N
    T = J @ pair.Y @ pair.Y.T @ J
    return -np.vdot(K, T) / np.linalg.norm(J @ K @ J) / np.linalg.norm(T)


def has_plain_rows(pair):
    """Copies, of which one is left out, and balanced weights, which a refit would balance anew, have their own tests."""
    return pair.machine.row_counts is None and not isinstance(pair.machine.weights, str)


def has_exact_removal(pair):
    """By one Newton step, in closed form, or by refits."""
    exact = isinstance(pair.machine, SmoothMachine | LSSVM | Ridge | Subset | HingeSVM)
    return exact and has_plain_rows(pair) and not getattr(pair.criterion, "refit_rows", ())


def is_process(pair):
    machine = pair.machine
    return (
        isinstance(machine, Ridge) and not machine.bias and machine.penalty_is_kernel and has_plain_rows(pair)
    )


# Name of the criterion -> definition, and the pairs that it holds for.
DEFINITIONS = {
    "loo": (leave_one_out, has_exact_removal),
    "kfold": (leave_a_block_out, has_exact_removal),
    "cv": (cross_validation, lambda pair: True),
    "gcv": (generalised_cross_validation, has_plain_rows),
    "mallows": (mallows, lambda pair: has_plain_rows(pair) and not isinstance(pair.criterion.sigma2, str)),
    "evidence": (gaussian_evidence, is_process),
    "abic": (gaussian_evidence, is_process),
    "alignment": (alignment, lambda pair: True),
    "centered-alignment": (centred_alignment, lambda pair: True),
    "fsm": (lambda pair: spectral.fsm(K, SIGNS[:, 0]), lambda pair: pair.Y is SIGNS),
    "spectral": (spectral_measure, lambda pair: pair.Y is SIGNS and pair.criterion.r % 1 == 0),
}
DEFINED = [
    pair for pair in PAIRS if pair.criterion.name in DEFINITIONS and DEFINITIONS[pair.criterion.name][1](pair)
]


@pytest.mark.parametrize("pair", DEFINED, ids=str)
def test_the_value_is_its_definition(pair):
    definition, _ = DEFINITIONS[pair.criterion.name]
    assert pair.criterion(SOLUTIONS[pair.machine_label]).value == pytest.approx(
        definition(pair), rel=1e-8, abs=1e-10
    )
