"""The objective hands a criterion what it reads, and nothing that it ignores."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless import KernelSVC, criteria
from foldless.criteria import LOO, EvidenceEP, EvidenceHMC, HyperPrior
from foldless.datasets import make_ripley
from foldless.grams.builders import DenseBuilder
from foldless.machines import HingeSVM, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.tuning.objective import Objective, left_out_losses


@pytest.fixture(scope="module")
def data():
    X, y = make_ripley(40, random_state=3)
    return X, np.where(y == 1, 1.0, -1.0)


def objective(data, criterion, machine):
    X, y = data
    kernel = ConstantKernel(4.0) * RBF(0.5)
    return Objective(kernel, machine(2.0, False), criterion, DenseBuilder(X), y[:, None])


@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
@pytest.mark.parametrize("criterion", [EvidenceEP(), EvidenceHMC(nodes=0)])
def test_a_criterion_that_needs_no_fit_gets_none_and_has_the_same_value_and_gradient(
    data, criterion, machine
):
    function = objective(data, criterion, machine)
    evaluation, reading = function(function.theta), criterion(function.solve(function.theta)[2])
    assert evaluation.value == pytest.approx(reading.value, rel=1e-12)
    assert evaluation.gradient[-1] == pytest.approx(reading.slope[0], rel=1e-9)


def test_left_out_losses_do_not_depend_on_the_start_of_the_fits(data):
    X, y = data
    one = Objective(RBF(0.5), SmoothMachine(Logistic()), LOO(), DenseBuilder(X), y[:, None])
    starts = [one.solve(one.theta + shift)[2].start for shift in (0.0, 0.3)]
    plain, same, near = (left_out_losses([one], one.theta, start) for start in (None, starts[:1], starts[1:]))
    # Fits end when their outputs are right to ten digits.
    np.testing.assert_allclose(same.mean, plain.mean, rtol=1e-9)
    np.testing.assert_allclose(near.mean, plain.mean, rtol=1e-9)


def test_tuning_by_evidence_ep_solves_no_machine_but_the_last(data, monkeypatch):
    solve, calls = HingeSVM.solve, []

    def counted(self, *args, **kwargs):
        calls.append(self)
        return solve(self, *args, **kwargs)

    monkeypatch.setattr(HingeSVM, "solve", counted)
    model = KernelSVC(criterion="evidence-ep", loss="hinge").fit(*data)
    assert model.n_evaluations_ > 10
    assert len(calls) <= 2  # once for the error of the Gram approximation, once for the last fit


@pytest.mark.parametrize("name", ["evidence-ep", "evidence-hmc"])
def test_a_criterion_that_reads_a_problem_says_so(name):
    assert not criteria.BY_NAME[name].needs_fit
    assert not HyperPrior(name).needs_fit
    assert criteria.BY_NAME["span"].needs_fit
