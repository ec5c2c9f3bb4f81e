"""The tables of Gold and Sollich: what is computed, on a set small enough for a test."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from foldless import KernelSVC
from foldless.cli.papers import gold, gold_methods
from foldless.core.contracts import Step
from foldless.criteria import HyperPrior
from foldless.criteria.evidence_ep import ep_posterior
from foldless.estimators.base import frozen
from foldless.grams.builders import DenseBuilder
from foldless.kernels import gram
from foldless.searches import EllipticalSlice, RandomWalk
from foldless.tuning.validation_split import held_out_cost, improvements, set_aside


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(200) % 2, rng.normal(3, 5, size=(200, 2))])
    y = (X[:, 1] + rng.normal(size=200) > 3).astype(int)
    np.savez(tmp_path / "crabs.npz", X=X, y=y)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Methods that stop early."""
    methods = {name: gold.METHODS[name] for name in ("GACV", "Span L-BFGS", "EP prior")}
    methods["GACV"] = replace(methods["GACV"], search=RandomWalk(shortest=0.4))
    monkeypatch.setattr(gold, "METHODS", methods)
    monkeypatch.setattr(gold_methods, "METHODS", methods)


def test_crabs_are_cut_with_as_many_of_either_colour_and_without_it(data):
    split = gold.load_split(data, "Crabs")
    X = np.load(data / "crabs.npz")["X"]
    scaled = (X[:, 1:] - X[:, 1:].mean(axis=0)) / X[:, 1:].std(axis=0)
    rows = [int(np.flatnonzero(np.all(scaled == x, axis=1))[0]) for x in split.X]
    assert split.X.shape == (80, 2)
    assert split.X_test.shape == (120, 2)
    assert X[rows, 0].sum() == 40
    assert len(set(rows)) == 80
    other = gold.load_split(data, "Crabs", trial=1)
    assert not np.array_equal(other.X, split.X)
    np.testing.assert_allclose(
        np.sort(np.r_[other.X, other.X_test], 0), np.sort(np.r_[split.X, split.X_test], 0)
    )


def test_wdbc_is_standardised_and_cut_after_three_hundred_rows():
    split = gold.load_split(".", "WDBC")
    both = np.vstack([split.X, split.X_test])
    assert split.X.shape == (300, 30)
    assert len(split.y_test) == 269
    np.testing.assert_allclose(both.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(both.std(axis=0), 1)


def test_the_archive_s_first_split_orders_its_rows(tmp_path):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(400, 3)), rng.permutation(400)
    y = np.where(X[:, 0] > 0, 1, -1)
    np.savez(tmp_path / "raetsch_twonorm.npz", X=X, y=y, train=rows[None, :350], test=rows[None, 350:])
    split = gold.load_split(tmp_path, "Twonorm")
    np.testing.assert_array_equal(split.y, y[rows[:300]])
    np.testing.assert_array_equal(split.y_test, y[rows[300:]])


def test_the_error_is_that_of_libsvm_with_the_same_kernel(data):
    split = gold.load_split(data, "Crabs")
    method = gold.METHODS["LE1"]
    problem, _ = gold_methods.problem_of(method, split, 0)
    error, _ = gold_methods.errors(split, problem, [Step(problem.theta, 0.0, 0.0, "")], np.ones(1), False)
    K, cross = gram(problem.kernel, split.X), gram(problem.kernel, split.X_test, split.X)
    doubled = SVC(kernel="precomputed", C=0.5, tol=1e-8).fit(
        np.block([[K, -K], [-K, K]]), np.r_[split.y, -split.y]
    )
    theirs = doubled.predict(np.hstack([cross, -cross]))
    assert error == pytest.approx(100 * np.mean(theirs != split.y_test))


def test_walks_begin_at_one_point_and_descents_at_random_ones():
    walk, descent = gold.METHODS["Span"], gold.METHODS["EP"]
    thetas = [gold_methods.start(walk, 4, trial)[0].theta for trial in (0, 1)]
    np.testing.assert_array_equal(*thetas)
    np.testing.assert_allclose(thetas[0][1:5], np.log(2))
    drawn = [gold_methods.start(descent, 4, trial)[0].theta for trial in (0, 1)]
    assert np.all(drawn[0] != drawn[1])
    assert np.all(np.abs(drawn[0][1:5] - np.log(2)) <= 0.5)
    assert walk.search_of(3).seed == 3


def test_the_prior_that_ties_has_the_deviation_it_names():
    prior = gold.METHODS["EP tied"].criterion_for(50, 2)
    kernel = gold_methods.start(gold.METHODS["Span"], 2, 0)[0]
    apart = kernel.clone_with_theta(kernel.theta + np.array([0.7, 0.5, -0.5, 0]))
    assert isinstance(prior, HyperPrior)
    assert 50 * prior.penalty(apart)[0] == pytest.approx(
        2 * 0.5 * (0.5 / gold_methods.LOG_LENGTH_DEVIATION) ** 2
    )


def test_the_prior_that_places_is_centred_where_it_says():
    prior = gold.METHODS["EP prior"].criterion_for(50, 9)
    kernel, machine = gold_methods.start(gold.METHODS["Span"], 9, 0)
    value, pull = prior.penalty(kernel, machine)
    assert 50 * value == pytest.approx((4 / 1.5) ** 2 / 2 + 1 / 2)  # length scales begin at their centre
    np.testing.assert_allclose(50 * pull, [-4 / 1.5**2, *np.zeros(9), 0, -1], atol=1e-12)


def test_an_ensemble_adds_outputs_by_weight(data):
    split = gold.load_split(data, "Crabs")
    method = gold.METHODS["Span ensemble"]
    problem, _ = gold_methods.problem_of(method, split, 0)
    thetas = method.starts(2, 0)
    np.testing.assert_array_equal(thetas[0], problem.theta)
    assert len(thetas) == gold_methods.ENSEMBLE_DESCENTS
    steps = [Step(theta, 1.0, 0.0, "") for theta in thetas[:2]]
    one, two = (gold_methods.outputs(split, problem, theta, False)[0] for theta in thetas[:2])
    expected = np.mean(split.y_test * (3 * one + two) <= 0)
    assert gold_methods.errors(split, problem, steps, np.array([0.75, 0.25]), False)[0] == pytest.approx(
        100 * expected
    )


def test_early_stopping_takes_the_step_that_rows_it_did_not_see_like_best(data):
    split = gold.load_split(data, "Crabs")
    method = gold.METHODS["EP stopped"]
    problem, box = gold_methods.problem_of(method, split, 0)
    (chosen,), _, trace = gold_methods.early_stopped(method.search, problem, box, 3)
    train, test = set_aside(problem.Y, 0.25, 3)
    assert len(train) == 60
    part = replace(problem, builder=DenseBuilder(split.X[train]), Y=problem.Y[train])
    assert chosen.value == pytest.approx(part(chosen.theta).value)  # the held-out rows took no part
    costs = [held_out_cost(part, s.theta, split.X[test], problem.Y[test]) for s in improvements(trace)]
    assert held_out_cost(part, chosen.theta, split.X[test], problem.Y[test]) == min(costs)


def test_averaging_adds_the_probabilities_of_draws_from_the_posterior(data):
    split = gold.load_split(data, "Crabs")
    method = replace(gold.METHODS["EP averaged"], search=EllipticalSlice(draws=3, burn_in=2, thin=1))
    problem, box = gold_methods.problem_of(method, split, 0)
    steps, weights, trace = gold_methods.search_steps(method, problem, box, 5)
    np.testing.assert_array_equal(weights, np.full(3, 1 / 3))
    assert len(trace) > 5
    for step in steps:  # its own estimator says the same
        kernel, machine = problem.at(step.theta)
        fixed = KernelSVC(frozen(kernel), machine.C, "hinge", "kernel", "evidence-ep").fit(split.X, split.y)
        belief = gold_methods.outputs(split, problem, step.theta, True)[1]
        np.testing.assert_allclose(belief + 0.5, fixed.predict_proba(split.X_test)[:, 1], atol=1e-7)


def test_the_posterior_and_its_mean_agree_on_the_class(data):
    split = gold.load_split(data, "Crabs")
    method = gold.METHODS["EP"]
    problem, _ = gold_methods.problem_of(method, split, 0)
    belief = gold_methods.outputs(split, problem, problem.theta, True)[1]
    posterior = ep_posterior(problem.solve(problem.theta)[2].columns[0])
    np.testing.assert_array_equal(
        belief > 0, gold_methods.expansion_outputs(split, problem.kernel, posterior.b) > 0
    )


def test_the_tables_hold_ours_and_the_paper_s(data, quick):
    seen = []
    scores = gold.run(
        data, {"GACV": 2, "Span L-BFGS": 1, "EP prior": 1}, ["Crabs"], watch=lambda *w: seen.append(w)
    )
    assert [what[:3] for what in seen[:2]] == [("Crabs", "GACV", 0), ("Crabs", "GACV", 1)]
    steps, errors, best = gold.steps_table(scores), gold.errors_table(scores), gold.best_table(scores)
    walks = [s.error for s in scores["Crabs", "GACV"]]
    cell = errors.cells["Crabs", "GACV"]
    assert (cell.ours, cell.paper, cell.paper_spread, cell.count) == (np.mean(walks), 13.0, 1.8, 2)
    assert best.cells["Crabs", "GACV"].ours == min(walks)
    assert best.cells["Crabs", "GACV"].paper == 10.9
    assert (steps.cells["Crabs", "SVM"].paper, steps.cells["Crabs", "GACV"].paper) == (0.81, 4)
    assert np.isnan(errors.cells["Crabs", "EP prior"].paper)
    assert errors.cells["Crabs", "EP prior best"].ours <= errors.cells["Crabs", "EP prior"].ours < 30
    assert "Trials: GACV: 2; Span L-BFGS: 1; EP prior: 1." in str(errors)
    assert errors.cells["Crabs", "EP prior mean"].ours < 30


def test_the_ascent_is_beside_the_paper_s_last_columns():
    assert gold.paper_pair("Pima", "Evid grad", 0) == (20.8, 1.5)
    assert gold.paper_pair("Pima", "Evid grad best", 0) == (19.7, 1.5)
    assert gold.paper_pair("Ringnorm", "Evid grad best", 1)[0] == 2.5
    assert gold.paper_pair("WDBC", "Evid grad", 2)[0] == 9352
    for parts in gold.PAPER.values():
        assert [len(part.split()) for part in parts] == [12, 6, 6]


def test_trials_are_the_paper_s_unless_told():
    assert gold.n_trials(None, "LE1") == 25
    assert gold.n_trials(None, "Evid grad") == 10
    assert gold.n_trials(3, "EP") == 3
    assert gold.n_trials({"EP": 2}, "LE1") == 0
