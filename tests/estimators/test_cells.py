"""Estimators fitted by cells have all that other forms have: probabilities, intervals, sets, files, blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import foldless
from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.estimators.calibration import calibrate
from foldless.estimators.uncertainty.sets import margin_score

N, CELL = 150, 40
KERNEL = RBF(1.0, "fixed")
ESTIMATORS = {
    "ridge": KernelRidgeRegressor(KERNEL, alpha=0.2),
    "least squares": KernelLSSVC(KERNEL, C=2.0),
    "logistic": KernelLogisticRegression(KERNEL, C=3.0),
    "squared hinge": KernelSVC(KERNEL, C=1.0),
}
CLASSIFIERS = [name for name in ESTIMATORS if name != "ridge"]
# Machines whose rows can be left out without any approximation.
EXACT = ["ridge", "least squares"]
each_machine = pytest.mark.parametrize("name", ESTIMATORS)
each_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


@pytest.fixture
def rows(rng):
    """Rows with a number and a label each, and new rows, some of them outside."""
    X = rng.uniform(-3, 3, size=(N, 2))
    z = np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=N)
    return X, z, np.where(z > 0, "up", "down"), rng.uniform(-4, 4, size=(25, 2))


def fitted(name, rows, **options):
    X, z, y, _ = rows
    return clone(ESTIMATORS[name]).set_params(**options).fit(X, z if name == "ridge" else y)


def by_cells(name, rows):
    model = fitted(name, rows, gram="cells", cell_size=CELL)
    assert model.cells_.tree.n_cells > 3
    return model


def columns(values):
    return np.reshape(values, (len(values), -1))


def raw_outputs(model, points):
    """Outputs (p, k) before any link."""
    return columns((model.decision_function if hasattr(model, "classes_") else model.predict)(points))


def answers(model, new):
    """All that a model says about new rows and about its own."""
    own = [model.loo_decision_, model.guarantee_]
    if not hasattr(model, "classes_"):
        return [model.predict(new), model.predict_interval(new, 0.8), *own, model.loo_residuals_]
    said = [getattr(model, f"predict{what}")(new) for what in ("", "_proba", "_set")]
    return [*said, model.predict_set(new, 0.7, "adaptive"), *own, model.loo_proba_, model.label_quality_]


def refits(name, rows, model):
    """Yield, for every row of the training set, the function that is fitted without it.

    Every cell is fitted without the row, by an exact machine, and the cells are blended by the weights of the tree.
    """
    X, z, y, _ = rows
    targets, tree = z if name == "ridge" else y, model.cells_.tree
    members = {number: found for number, found, _ in tree.route(X)}
    whole = {
        number: clone(ESTIMATORS[name]).fit(X[found], targets[found]) for number, found in members.items()
    }
    for i in range(N):
        rest = {number: found[found != i] for number, found in members.items() if i in found}
        fits = {
            **whole,
            **{number: clone(ESTIMATORS[name]).fit(X[some], targets[some]) for number, some in rest.items()},
        }

        def without(points, fits=fits):
            outputs = np.zeros((len(points), 1))
            for number, reached, weights in tree.route(points):
                outputs[reached] += weights[:, None] * raw_outputs(fits[number], points[reached])
            return outputs

        yield without


@each_machine
def test_one_cell_says_what_the_whole_machine_says(name, rows):
    new = rows[-1]
    cell = fitted(name, rows, gram="cells", cell_size=N)
    whole = fitted(name, rows, gram="dense")
    assert cell.selection_.form == "1 cell"
    assert cell.criterion_value_ == pytest.approx(whole.criterion_value_)
    assert raw_outputs(cell, new) == pytest.approx(raw_outputs(whole, new), abs=1e-8)
    assert cell.loo_decision_ == pytest.approx(whole.loo_decision_, abs=1e-8)
    if name == "ridge":
        assert cell.predict_interval(new, 0.8) == pytest.approx(whole.predict_interval(new, 0.8), abs=1e-8)
    else:
        assert cell.predict_proba(new) == pytest.approx(whole.predict_proba(new), abs=1e-8)
        assert np.array_equal(cell.predict_set(new, 0.8), whole.predict_set(new, 0.8))


@each_machine
def test_left_out_outputs_are_blended_from_those_of_the_cells(name, rows):
    X, z, y, _ = rows
    model, targets, expected = by_cells(name, rows), z if name == "ridge" else y, np.zeros(N)
    for _, members, weights in model.cells_.tree.route(X):
        alone = clone(ESTIMATORS[name]).fit(X[members], targets[members])
        expected[members] += weights * alone.loo_decision_
    assert model.loo_decision_ == pytest.approx(expected, abs=1e-8)


@each_machine
def test_left_out_outputs_are_those_of_refits(name, rows):
    X, model = rows[0], by_cells(name, rows)
    refitted = np.array([without(X[[i]])[0, 0] for i, without in enumerate(refits(name, rows, model))])
    if name in EXACT:
        assert model.loo_decision_ == pytest.approx(refitted, abs=1e-8)
    # Elsewhere one step is taken: it makes up for most of what leaving the row out changes.
    missed = np.abs(model.loo_decision_ - refitted)
    assert missed.mean() < 0.15 * np.abs(raw_outputs(model, X)[:, 0] - refitted).mean()


def test_sets_are_those_of_refits(rows):
    X, _, y, new = rows
    model = by_cells("least squares", rows)
    left_out, own = [], []
    for i, without in enumerate(refits("least squares", rows, model)):
        left_out.append(margin_score(without(new)))
        own.append(margin_score(without(X[[i]]))[0, int(y[i] == "up")])
    for level in (0.7, 0.9):
        p = (1 + np.sum(np.array(own)[:, None, None] >= np.array(left_out), axis=0)) / (N + 1)
        expected = p > 1 - level
        some = expected.any(axis=1)
        assert np.array_equal(model.predict_set(new, level)[some], expected[some])


@pytest.mark.parametrize("name", ["least squares", "squared hinge"])
def test_probabilities_are_calibrated_on_the_left_out_outputs_of_all_rows(name, rows):
    _, _, y, new = rows
    model = by_cells(name, rows)
    Y = np.where(y == "up", 1.0, -1.0)[:, None]
    slope = calibrate(model.loo_decision_[:, None], Y)
    assert model.predict_proba(new) == pytest.approx(slope(model.decision_function(new)[:, None]))
    assert model.loo_proba_ == pytest.approx(slope(model.loo_decision_[:, None]))


@each_classifier
def test_probabilities_of_cells_are_as_near_the_true_ones_as_those_of_the_whole(name, rng):
    """The expected log loss, over four draws, is at most 0.01 above that of the whole machine: half of what this one has above the entropy."""
    tuned, losses, entropies = clone(ESTIMATORS[name]).set_params(C=None), [], []
    for _ in range(4):
        X = rng.uniform(-3, 3, size=(1500, 2))
        p = 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) * np.cos(X[:, 1])))
        y, true = rng.random(1500) < p, p[1000:]
        for form in ({"gram": "cells", "cell_size": 200}, {"gram": "dense"}):
            found = clone(tuned).set_params(**form).fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
            losses.append(-np.mean(true * np.log(found) + (1 - true) * np.log(1 - found)))
        entropies.append(-np.mean(true * np.log(true) + (1 - true) * np.log(1 - true)))
    cells, whole = np.mean(losses[::2]), np.mean(losses[1::2])
    assert cells < whole + 0.01 < np.mean(entropies) + 0.04


@each_machine
def test_a_loaded_model_says_the_same_to_the_last_bit(name, rows, tmp_path):
    pytest.importorskip("skops.io", reason="model files need foldless[files]")
    model = by_cells(name, rows)
    foldless.save(model, tmp_path / "model.skops")
    loaded = foldless.load(tmp_path / "model.skops")
    for ours, theirs in zip(answers(model, rows[-1]), answers(loaded, rows[-1]), strict=True):
        assert np.array_equal(ours, theirs)


@each_machine
@pytest.mark.parametrize("rows_at_once", [1, 7])
def test_blocks_of_rows_change_nothing(name, rows_at_once, rows, monkeypatch):
    model, new = by_cells(name, rows), rows[-1]
    expected = answers(model, new)
    monkeypatch.setattr("foldless.estimators.base.PREDICT_BLOCK_ENTRIES", rows_at_once * CELL)
    monkeypatch.setattr("foldless.estimators.uncertainty.left_out.BLOCK_MAX_ENTRIES", rows_at_once * N)
    for ours, theirs in zip(answers(model, new), expected, strict=True):
        if ours is theirs or np.asarray(ours).dtype.kind != "f":
            assert np.array_equal(ours, theirs)
        else:
            assert ours == pytest.approx(theirs, abs=1e-10)


@each_machine
def test_the_order_of_the_rows_and_their_storage_change_nothing(name, rows, rng):
    X, z, y, new = rows
    expected, order = raw_outputs(by_cells(name, rows), new), rng.permutation(N)
    shuffled = by_cells(name, (X[order], z[order], y[order], new))
    assert raw_outputs(shuffled, new) == pytest.approx(expected, abs=1e-6)
    sparse = by_cells(name, (csr_array(X), z, y, new))
    assert raw_outputs(sparse, csr_array(new)) == pytest.approx(expected, abs=1e-6)


@each_machine
def test_a_weight_of_zero_is_no_row(name, rows):
    X, z, y, new = rows
    kept = np.arange(N) % 6 != 0
    options = {"gram": "cells", "cell_size": CELL}
    targets = z if name == "ridge" else y
    model = clone(ESTIMATORS[name]).set_params(**options).fit(X, targets, kept.astype(float))
    fewer = clone(ESTIMATORS[name]).set_params(**options).fit(X[kept], targets[kept])
    assert np.array_equal(raw_outputs(model, new), raw_outputs(fewer, new))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_several_classes_have_all_that_two_have(name, three_classes):
    X, y = three_classes
    model = clone(ESTIMATORS[name]).set_params(gram="cells", cell_size=30).fit(X, y)
    whole = clone(ESTIMATORS[name]).set_params(gram="dense").fit(X, y)
    assert model.cells_.tree.n_cells > 1
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(60))
    assert np.mean(model.predict(X) == y) > 0.8
    assert np.mean(model.loo_predict_ == whole.loo_predict_) > 0.8
    # A set that is not filled holds the left-out row's class for about nine rows of ten.
    assert np.mean(model.predict_set(X, 0.9)[np.arange(60), y]) > 0.8
