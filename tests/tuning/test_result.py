"""What a user prints is short, and the trace is a table with natural values."""

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

from foldless import KernelClassifier, KernelLogisticRegression, KernelSearch, select_kernel
from foldless.core.contracts import Step
from foldless.kernels.in_words import in_words
from foldless.tuning.trace import Trace

MAX_CHARACTERS, MAX_LINES = 1200, 12


@pytest.fixture
def fitted(two_classes):
    return KernelLogisticRegression("rbf-ard").fit(*two_classes)


def test_a_selection_prints_in_a_few_lines(fitted):
    text = repr(fitted.selection_)
    assert len(text) < MAX_CHARACTERS
    assert len(text.splitlines()) < MAX_LINES
    assert in_words(fitted.kernel_) in text
    assert f"{fitted.criterion_value_:.6g}" in text
    assert f"{fitted.n_evaluations_} evaluations" in text


def test_everything_a_user_prints_is_short(fitted, two_classes):
    X, y = two_classes
    search = KernelSearch(SVC()).fit(X, y)
    default = KernelClassifier().fit(X, y)
    selection = fitted.selection_
    printed = [
        selection,
        selection.outcome,
        selection.trials,
        selection.forms,
        fitted.trace_,
        search.selection_,
        search.trace_,
        default.trials_,
        *default.trials_,
        select_kernel(X, y, ["rbf", "linear"]),
    ]
    for one in printed:
        assert len(repr(one)) < MAX_CHARACTERS, type(one)
        assert len(repr(one).splitlines()) < MAX_LINES, type(one)


def test_the_html_is_a_table_without_raw_angle_brackets(fitted):
    for one in (fitted.selection_, fitted.trace_, fitted.selection_.trials):
        html = one._repr_html_()
        assert html.startswith("<table>")
        assert html.endswith("</table>")
        assert len(html) < 5000
    note = Trace([Step(np.zeros(1), np.inf, 0.0, "start", note="a < b")], ["C"])._repr_html_()
    assert "a &lt; b" in note


def test_the_trace_is_a_table_with_natural_values(fitted):
    frame = fitted.trace_.to_frame()
    assert list(frame.columns[:5]) == [*(f"length_scale[{i}]" for i in range(3)), "C", "value"]
    assert len(frame) == fitted.n_evaluations_
    best = frame.loc[frame["value"].idxmin()]
    assert best["C"] == pytest.approx(fitted.C_, rel=1e-3)


def test_the_trace_is_the_sequence_of_steps_that_was_recorded(fitted):
    recorded = fitted.selection_.outcome.trace
    for step, other in zip(fitted.trace_, recorded, strict=True):
        for name, value in vars(other).items():
            assert np.array_equal(getattr(step, name), value), name
    assert fitted.trace_[-1].value == recorded[-1].value
    assert len(fitted.trace_[:2]) == 2


def test_a_trace_survives_a_pickle(fitted):
    loaded = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    assert repr(loaded.trace_) == repr(fitted.trace_)


def test_steps_of_several_sizes_and_none_at_all():
    steps = [
        Step(np.zeros(1), 1.0, 0.1, "start"),
        Step(np.zeros(2), 0.5, 0.1, "end", np.array([np.nan, 1.0])),
    ]
    trace = Trace(steps, ["C"])
    assert [len(step.theta) for step in trace] == [1, 2]
    assert trace[0].gradient is None
    assert trace[1].gradient is not None
    assert list(trace.to_dict()) == ["C", "theta[1]", "value", "seconds", "why"]
    assert repr(Trace([])).startswith("0 evaluations")
