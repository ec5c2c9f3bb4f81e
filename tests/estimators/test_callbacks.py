"""scikit-learn's callbacks see every evaluation, in every estimator."""

import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
)

callback = pytest.importorskip("sklearn.callback", reason="NOT TESTED: callbacks. scikit-learn 1.9 has them.")


class Record:
    """A callback that writes down what it is called with."""

    max_propagation_depth = None

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context):
        self.calls.append(context.task_name)

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    @property
    def n_evaluations(self):
        return sum(name.startswith("evaluation") for name in self.calls)


ESTIMATORS = [
    KernelLogisticRegression(),
    KernelSVC(),
    KernelLSSVC(),
    KernelRidgeRegressor(),
    KernelSubsetRegressor(),
    KernelPoissonRegressor(),
    KernelSearch(SVC()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_every_evaluation_is_a_task(estimator, two_classes):
    X, y = two_classes
    record = Record()
    model = clone(estimator).set_callbacks(record).fit(X, (y > 0).astype(int))
    assert record.calls[0] == "setup"
    assert record.calls[-1] == "teardown"
    assert record.calls.count("begin") == len(record.calls) - record.calls.count("begin") - 2
    assert record.n_evaluations >= model.n_evaluations_ > 0


@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
def test_the_defaults_pass_callbacks_on(kind, two_classes):
    X, y = two_classes
    record = Record()
    kind().set_callbacks(record).fit(X, y)
    assert record.calls.count("setup") == record.calls.count("teardown") == 1
    assert record.n_evaluations > 10


def test_a_pipeline_passes_callbacks_on(two_classes):
    X, y = two_classes
    record = Record()
    make_pipeline(StandardScaler(), KernelLSSVC()).set_callbacks(record).fit(X, y)
    assert record.calls.count("setup") == record.calls.count("teardown") == 1
    assert record.n_evaluations > 5


def test_a_fit_that_fails_tears_down(two_classes):
    record = Record()
    with pytest.raises(TypeError):
        KernelLSSVC(criterion="span").set_callbacks(record).fit(*two_classes)
    assert record.calls[-1] == "teardown"


def test_the_progress_bar_of_scikit_learn_runs(two_classes, capsys):
    pytest.importorskip("rich")
    KernelLSSVC().set_callbacks(callback.ProgressBar()).fit(*two_classes)
    assert "KernelLSSVC" in capsys.readouterr().out
