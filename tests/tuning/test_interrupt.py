"""Ctrl-C at the worst moments."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from foldless import KernelLogisticRegression, KernelSearch
from foldless.core.contracts import Stop
from foldless.core.errors import SearchWarning
from foldless.datasets import make_waveform
from foldless.searches import LBFGS


@dataclass(frozen=True)
class Impatient(LBFGS):
    """A descent that is interrupted before the first evaluation of its n-th run."""

    patience: int = 1
    runs: list = field(default_factory=list)
    name: ClassVar[str] = "impatient"

    def run(self, run, box, starts):
        self.runs.append(len(run.trace))
        if len(self.runs) > self.patience:
            raise KeyboardInterrupt
        return super().run(run, box, starts)


@pytest.fixture
def hard():
    """More rows than one stage of the search uses."""
    X, y = make_waveform(700, random_state=0)
    return X, y == 0


def test_an_interrupt_between_stages_keeps_what_was_found(hard):
    search = Impatient()
    narrow = RBF(2.0, (1.0, 4.0))
    with pytest.warns(SearchWarning, match="interrupted"):
        model = KernelLogisticRegression(narrow, search=search, on_interrupt="keep").fit(*hard)
    assert len(search.runs) == 2  # otherwise nothing was interrupted
    assert model.selection_.outcome.stop is Stop.INTERRUPTED
    assert model.n_evaluations_ > 5
    assert model.selection_.reading.value == pytest.approx(model.criterion_value_)


def test_an_interrupt_is_raised_unless_the_best_is_to_be_kept(hard):
    search = Impatient()
    model = KernelLogisticRegression(RBF(2.0, (1.0, 4.0)), search=search)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*hard)
    # The first stage was complete: there was something to keep.
    assert len(search.runs) == 2
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("kernel", ["auto", ["rbf", "linear"]])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupt_among_several_kernels_is_raised(hard, kernel, n_jobs):
    with pytest.raises(KeyboardInterrupt):
        KernelLogisticRegression(kernel, search=Impatient(), n_jobs=n_jobs).fit(*hard)


def test_an_interrupt_of_a_search_around_an_estimator_is_raised(hard):
    X, y = hard
    with pytest.raises(KeyboardInterrupt):
        KernelSearch(SVC(), search=Impatient(patience=0)).fit(X[:60], y[:60])


def test_an_interrupt_before_the_first_evaluation_is_an_interrupt(hard):
    with pytest.raises(KeyboardInterrupt):
        KernelLogisticRegression(search=Impatient(patience=0)).fit(*hard)
