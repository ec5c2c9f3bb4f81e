"""Laws of the guard: fits through landmarks are compared with fits to blocks of rows by the machine that is fitted."""

import numpy as np
import pytest

from foldless import KernelLogisticRegression, KernelLSSVC, KernelSVC
from foldless.core.errors import LandmarkWarning
from foldless.criteria import BY_NAME
from foldless.datasets import make_twonorm

IGNORE_MACHINE = sorted(name for name, criterion in BY_NAME.items() if criterion.ignores_machine)
CLASSIFIERS = [KernelLogisticRegression, KernelSVC, KernelLSSVC]


@pytest.fixture(scope="module")
def rows():
    X, y = make_twonorm(500, random_state=0)
    return X[:, :6], y


@pytest.mark.parametrize("gram", ["dense", "lowrank"])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("criterion", IGNORE_MACHINE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_criteria_that_ignore_the_machine_search_on_blocks(criterion, estimator, gram, rows):
    model = estimator(criterion=criterion, gram=gram).fit(*rows)
    assert {step.n_rows for step in model.trace_} >= {250, 500}
    assert np.isfinite(model.criterion_value_)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_landmarks_that_are_too_few_are_noticed_whatever_criterion_was_searched(estimator, rows):
    X, y = rows
    model = estimator("rbf", C=1.0, criterion="centered-alignment", gram="lowrank", n_components=2)
    with pytest.warns(LandmarkWarning, match="left-out rows"):
        model.fit(X, y)
