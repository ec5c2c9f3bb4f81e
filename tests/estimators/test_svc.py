"""What KernelSVC owes its users."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import LeaveOneOut
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelSVC
from foldless.core.contracts import Box, Stop
from foldless.core.errors import (
    CriterionWarning,
    JitterWarning,
    LandmarkWarning,
    UnknownName,
    UnreadableSolution,
    UnsuitableBias,
)
from foldless.criteria import Evidence, EvidenceEP, EvidenceHMC, evidence_ep
from foldless.grams import DenseGram
from foldless.grams.builders import DenseBuilder
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.searches import HMCAscent
from foldless.tuning.objective import Objective
from oracles.svm import CASES, POINTS

approx = pytest.approx


@pytest.fixture
def moons():
    return make_moons(100, noise=0.25, random_state=0)


@parametrize_with_checks([KernelSVC(), KernelSVC(loss="hinge", C=1.0, kernel=RBF(1.0, "fixed"), bias="free")])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)
        warnings.simplefilter("ignore", JitterWarning)  # some checks repeat rows
        check(estimator)


REFERENCES = [  # case, loss, criterion, value: section 10 of the specification
    ("A", "hinge", "gacv", 1.8721682360),
    ("A", "hinge", "evidence", 0.6329089121),
    ("A", "hinge", EvidenceEP(1e-12), 0.9395337432),
    ("A", "hinge", "loo", 0.375),
    ("A", "hinge", "jaakkola-haussler", 0.5),
    ("A", "squared_hinge", "smoothed-span", 0.4769529311),
    ("A", "squared_hinge", "span", 0.25),
    ("A", "squared_hinge", Evidence(a=0.1), 0.7060882849),
    ("A", "squared_hinge", "radius-margin", 1.4893967127),
    ("B", "hinge", "gacv", 9.1137764091),
    ("B", "squared_hinge", "smoothed-span", 0.7780860559),
]


@pytest.mark.parametrize(("case", "loss", "criterion", "value"), REFERENCES)
def test_fixed_parameters_only_solve_and_read_the_criterion(case, loss, criterion, value):
    y, (k0, koff, lengths), C = CASES[case]
    fixed = ConstantKernel(k0, "fixed") * RBF(lengths, "fixed") + ConstantKernel(koff, "fixed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CriterionWarning)
        model = KernelSVC(fixed, C, loss, "kernel", criterion).fit(POINTS, y)
    assert model.criterion_value_ == approx(value, abs=1e-10)
    assert model.n_evaluations_ == 1
    assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_outputs_are_those_of_scikit_learn(moons, loss):
    X, y = moons
    model = KernelSVC(RBF(0.7, "fixed"), 2.0, loss, "free", "span").fit(X, y)
    K = RBF(0.7)(X)
    if loss == "hinge":
        other = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, y)
        assert np.array_equal(model.support_, np.sort(other.support_))
        assert np.sort(model.dual_coef_[0]) == approx(np.sort(other.dual_coef_[0]), abs=1e-4)
    else:
        other = SVC(C=1e8, kernel="precomputed", tol=1e-8).fit(K + np.eye(100) / 2.0, y)
    expected = K[:, other.support_] @ other.dual_coef_[0] + other.intercept_[0]
    assert model.decision_function(X) == approx(expected, abs=1e-5)
    assert model.X_fit_.shape == (len(model.support_), 2)


@pytest.mark.parametrize(
    "options", [{}, {"criterion": "evidence"}, {"criterion": "gacv", "loss": "hinge"}], ids=str
)
def test_tuning_leaves_little_to_gain(options):
    X, y = make_moons(200, noise=0.25, random_state=0)
    test = make_moons(1000, noise=0.25, random_state=1)
    best = max(SVC(C=C, gamma=g).fit(X, y).score(*test) for C in (0.3, 1, 3, 10) for g in (0.5, 1, 2, 4, 8))
    assert KernelSVC(**options).fit(X, y).score(*test) > best - 0.02


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "smoothed-span"),
        ({"loss": "hinge"}, "span"),
        ({"loss": "hinge", "bias": "kernel"}, "span"),
        ({"loss": "hinge", "kernel": RBF(0.7, "fixed")}, "span"),
        ({"loss": "hinge", "C": 1.0}, "span"),
        ({"loss": "hinge", "C": 1.0, "kernel": RBF(0.7, "fixed")}, "gacv"),
    ],
)
def test_the_criterion_by_default(moons, options, name):
    X, y = moons
    assert KernelSVC(**options).fit(X[:40], y[:40]).selection_.criterion.name == name


@pytest.mark.parametrize("seed", [0, 5, 7])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_evidence_tunes_as_well_as_that_of_a_gaussian_process(loss, seed):
    """On the first draw amplitudes run to their bounds, there as here: the evidence takes the classes for separable."""
    X, y = make_moons(100, noise=0.25, random_state=seed)
    test = make_moons(4000, noise=0.25, random_state=seed + 1)
    theirs = GaussianProcessClassifier(ConstantKernel(1.0, (0.05, 8103.0)) * RBF(1.0)).fit(X, y)
    ours = KernelSVC(criterion="evidence-ep", loss=loss).fit(X, y)
    assert ours.score(*test) > theirs.score(*test) - 0.01


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_evidence_is_at_its_maximum(moons, loss):
    X, y = moons
    found = KernelSVC(criterion="evidence-ep", loss=loss, gram="dense").fit(X, y)
    for length in (0.4, 0.9):
        for k0, C in ((1.0, 1.0), (4.0, 2.0)):
            fixed = ConstantKernel(k0, "fixed") * RBF(length, "fixed") + ConstantKernel(0.1, "fixed")
            other = KernelSVC(fixed, C, loss, "kernel", "evidence-ep").fit(X, y)
            assert found.criterion_value_ < other.criterion_value_ + 1e-3


@pytest.mark.parametrize("gram", ["dense", "lowrank"])
def test_probabilities_of_the_evidence_are_sharp_where_points_are_and_vague_elsewhere(moons, gram):
    X, y = moons
    model = KernelSVC(
        criterion="evidence-ep", loss="hinge", gram=gram, n_components=None if gram == "dense" else 60
    )
    model.fit(X, y)
    p = model.predict_proba(X)
    assert np.mean(np.max(p, axis=1)) > 0.85
    far = model.predict_proba(np.array([[50.0, 50.0]]))[0]
    assert abs(far[1] - 0.5) < 0.1
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(p, axis=1)])


def test_low_rank_posterior_with_all_points_is_the_dense_one(moons):
    X, y = moons
    options = {
        "kernel": ConstantKernel(2.0, "fixed") * RBF(0.4, "fixed"),
        "C": 1.5,
        "bias": "kernel",
        "criterion": "evidence-ep",
    }
    a = KernelSVC(**options, gram="dense").fit(X, y)
    b = KernelSVC(**options, gram="nystrom", n_components=100).fit(X, y)
    assert b.criterion_value_ == approx(a.criterion_value_, abs=1e-6)
    assert b.predict_proba(X[:20] + 0.1) == approx(a.predict_proba(X[:20] + 0.1), abs=1e-5)


def test_calibrated_probabilities_follow_the_outputs(moons):
    X, y = moons
    model = KernelSVC().fit(X, y)
    p, z = model.predict_proba(X)[:, 1], model.decision_function(X)
    assert np.array_equal(np.argsort(p, kind="stable"), np.argsort(z, kind="stable"))
    assert np.array_equal(p > 0.5, z > 0)
    test = make_moons(2000, noise=0.25, random_state=1)
    q = model.predict_proba(test[0])
    assert -np.mean(np.log(q[np.arange(2000), test[1]])) < 0.3


def test_leave_one_out_outputs_are_refits(moons):
    X, y = moons[0][:40], moons[1][:40]
    model = KernelSVC(RBF(0.7, "fixed"), 1.0, "hinge", "free", "loo").fit(X, y)
    for train, test in list(LeaveOneOut().split(X))[:12]:
        other = clone(model).set_params(criterion="span").fit(X[train], y[train])
        assert model.loo_decision_[test] == approx(other.decision_function(X[test]), abs=1e-6)
    assert model.criterion_value_ == np.mean((model.loo_decision_ > 0) != y)


def test_multi_class(moons):
    X, y = load_iris(return_X_y=True)
    model = KernelSVC().fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.loo_decision_.shape == (150, 3)
    assert np.mean(np.argmax(model.loo_decision_, axis=1) != y) < 0.08
    p = model.predict_proba(X)
    assert p.sum(axis=1) == approx(np.ones(150))
    assert np.array_equal(model.predict(X), np.argmax(p, axis=1))


def test_weights_multiply_C(moons):
    X, y = moons
    options = {"kernel": RBF(0.7, "fixed"), "loss": "hinge", "bias": "free", "criterion": "gacv"}
    heavy = KernelSVC(C=1.0, **options).fit(X, y, sample_weight=np.full(100, 3.0))
    assert heavy.decision_function(X) == approx(
        KernelSVC(C=3.0, **options).fit(X, y).decision_function(X), abs=1e-8
    )
    balanced = KernelSVC(C=1.0, class_weight={0: 1.0, 1: 4.0}, **options).fit(X, y)
    other = SVC(C=1.0, kernel="rbf", gamma=1 / (2 * 0.49), class_weight={0: 1.0, 1: 4.0}, tol=1e-8).fit(X, y)
    assert balanced.decision_function(X) == approx(other.decision_function(X), abs=1e-5)


def test_precomputed_sparse_and_pickled_agree(moons):
    X, y = moons
    plain = KernelSVC(RBF(0.7, "fixed"), 1.0).fit(X, y)
    K = RBF(0.7)(X)
    given = KernelSVC("precomputed", 1.0).fit(K, y)
    assert given.decision_function(K) == approx(plain.decision_function(X), abs=1e-8)
    sparse = KernelSVC(RBF(0.7, "fixed"), 1.0).fit(sp.csr_array(X), y)
    assert sparse.decision_function(sp.csr_array(X)) == approx(plain.decision_function(X), abs=1e-8)
    again = pickle.loads(pickle.dumps(KernelSVC(criterion="evidence-ep").fit(X, y)))  # noqa: S301
    assert again.predict_proba(X).shape == (100, 2)


def test_an_ascent_from_afar_ends_where_expectation_propagation_does():
    X, y = make_moons(40, noise=0.4, random_state=3)
    found = KernelSVC(criterion="evidence-ep", loss="hinge", gram="dense").fit(X, y)
    machine, Y = HingeSVM(found.C_, False), np.where(y == 1, 1.0, -1.0)[:, None]
    problem = Objective(
        found.kernel_, machine, EvidenceHMC(chains=16, number=25, nodes=0), DenseBuilder(X), Y
    )
    ep = replace(problem, criterion=EvidenceEP())
    box = Box(problem.theta - 3, problem.theta + 3)
    start = problem.theta + np.array([1.0, -1.0, 1.0, -1.0])
    outcome = HMCAscent()(problem, box, [start])
    lost = ep(outcome.trace[-1].theta).value - ep(problem.theta).value
    assert ep(start).value - ep(problem.theta).value > 0.05
    assert lost < 0.005
    assert outcome.stop is Stop.NOISE


def test_the_optimum_of_expectation_propagation_leaves_an_ascent_little_to_do():
    X, y = make_moons(40, noise=0.4, random_state=3)  # the classes overlap: no parameter runs to its bound
    found = KernelSVC(criterion="evidence-ep", loss="hinge", gram="dense").fit(X, y)
    machine, Y = HingeSVM(found.C_, False), np.where(y == 1, 1.0, -1.0)[:, None]
    problem = Objective(
        found.kernel_, machine, EvidenceHMC(chains=16, number=25, nodes=0), DenseBuilder(X), Y
    )
    box = Box(problem.theta - 2, problem.theta + 2)
    outcome = HMCAscent()(problem, box, [problem.theta], max_evaluations=5)
    first, last = outcome.trace[0], outcome.trace[-1]
    assert np.all(
        np.abs(first.gradient) < 4 * first.error + 0.01
    )  # its gradients are right to some thousandths
    assert np.all(first.error < 0.02)
    assert np.max(np.abs(last.theta - first.theta)) < 0.7


def test_duplicates_and_contradictions_are_no_trouble(moons):
    X, y = moons
    X, y = np.vstack([X, X[:30], X[:5]]), np.r_[y, y[:30], 1 - y[:5]]
    for options in ({}, {"loss": "hinge", "bias": "free"}, {"loss": "hinge"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JitterWarning)
            model = KernelSVC(**options).fit(X, y)
        assert model.score(X, y) > 0.85
        assert all(np.isfinite(step.value) or step.note for step in model.trace_)


def test_a_laplace_evidence_that_cannot_be_checked_is_still_a_fit(moons, monkeypatch):
    monkeypatch.setattr("foldless.criteria.posteriors.ep.EP_MAX_ROUNDS", 1)
    X, y = moons
    with pytest.warns(CriterionWarning, match="could not be checked .* did not settle"):
        model = KernelSVC(RBF(0.7, "fixed"), 1.0, "hinge", "kernel", "evidence").fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_hinge_machine_tuned_by_radius_and_margin_is_warned_about(moons):
    with pytest.warns(CriterionWarning, match="bounds nothing for the hinge"):
        KernelSVC(loss="hinge", criterion="radius-margin").fit(*moons)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelSVC(loss="squared_hinge", criterion="radius-margin").fit(*moons)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.CriterionWarning")
def test_bounds_keep_the_laplace_evidence_from_its_false_maximum():
    """A tenth of the labels is wrong: with a wide amplitude the hinge machine may explain each point by itself."""
    wide = ConstantKernel(1.0, (0.05, 8103.0)) * RBF(2.0, (0.02, 200.0))
    truth = lambda X: np.sign(X[:, 0] + X[:, 1])
    scores = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(80, 4)), rng.normal(size=(2000, 4))
        y = np.where(rng.random(80) < 0.1, -1, 1) * truth(X)
        machines = [
            KernelSVC(kernel, loss="hinge", criterion="evidence").fit(X, y) for kernel in ("rbf", wide)
        ]
        scores.append([machine.score(new, truth(new)) for machine in machines])
    bounded, unbounded = np.transpose(scores)
    assert np.mean(bounded) > np.mean(unbounded) + 0.05
    assert min(bounded) > 0.7 > min(unbounded)
    posterior = KernelSVC(loss="hinge", criterion="evidence-ep").fit(X, y)
    assert posterior.kernel_.k1.k1.constant_value_bounds[1] > 1000


@pytest.mark.parametrize("machine", [HingeSVM(bias=False), SquaredHingeSVM(bias=False)])
def test_points_that_do_not_see_each_other_are_never_explained_too_well_within_the_bounds(machine):
    y, power = np.r_[np.ones(4), -np.ones(4)][:, None], machine.loss.power
    highest = lambda k0: max(
        -Evidence()(replace(machine, C=C).solve(DenseGram(k0 * np.eye(8)), y)).value
        for C in np.logspace(-2, 2, 21)
    )
    _, safe = Evidence().amplitude_bounds(power)
    assert max(highest(k0) for k0 in safe * np.array([0.02, 0.1, 0.5, 1])) < {1: -0.55, 2: -0.69}[power]
    assert highest(5 * safe) > -0.3


def test_the_false_maximum_of_the_laplace_evidence_is_reported(moons):
    """k0 = 1000 with short length scales: E is near 0, the truth is -ln 2."""
    X, y = moons
    narrow = ConstantKernel(1000.0, "fixed") * RBF(0.01, "fixed")
    with pytest.warns(CriterionWarning, match="false maximum"):
        KernelSVC(narrow, 5.0, "hinge", "kernel", "evidence").fit(X, y)
    with pytest.warns(CriterionWarning, match="false maximum"):
        KernelSVC(narrow, 5.0, "hinge", "free", "evidence").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelSVC(RBF(0.7, "fixed"), 1.0, "squared_hinge", "kernel", "evidence").fit(X, y)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"loss": "log"}, UnknownName, "loss must be one of hinge, squared_hinge"),
        ({"bias": "no"}, UnknownName, "bias must be one of free, kernel"),
        ({"C": -1.0}, ValueError, "C must be positive"),
        ({"criterion": "nothing"}, UnknownName, "criterion must be one of"),
        ({"criterion": "evidence-ep", "bias": "free"}, UnsuitableBias, "bias='kernel'"),
        (
            {"loss": "hinge", "criterion": "gcv"},
            UnreadableSolution,
            "'gcv' has no formula for KernelSVC with these parameters. Criteria that have one: .*span",
        ),
    ],
)
def test_bad_parameters_are_named(moons, options, error, words):
    with pytest.raises(error, match=words):
        KernelSVC(**options).fit(*moons)


def test_probabilities_of_left_out_rows_are_the_calibrated_ones_or_none(moons):
    X, y = moons
    model = KernelSVC().fit(X, y)
    outputs = model.loo_decision_
    expected = 1 / (1 + np.exp(-model.calibration_.slope * outputs))
    assert model.loo_proba_[:, 1] == pytest.approx(expected)
    bayesian = KernelSVC(RBF(1.0, "fixed"), C=1.0, loss="hinge", criterion="evidence-ep").fit(X, y)
    assert bayesian.loo_proba_ is None


def test_the_posterior_of_the_chosen_point_is_computed_once(monkeypatch, moons):
    """One run from a cold start at every evaluation and one for the last fit; prediction continues from that one."""
    run, cold = evidence_ep.expectation_propagation, []

    def counted(gram, y, site, start=None, tolerance=1e-10):
        cold.append(start is None)
        return run(gram, y, site, start, tolerance)

    monkeypatch.setattr(evidence_ep, "expectation_propagation", counted)
    model = KernelSVC(loss="hinge", criterion="evidence-ep", gram="dense").fit(*moons)
    assert sum(cold) == model.n_evaluations_ + 1
    assert model.calibration_ is None
