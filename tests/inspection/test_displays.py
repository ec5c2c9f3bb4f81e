"""The pictures: what they show is what was found."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless import KernelLogisticRegression, KernelSearch
from foldless.criteria import GACV, CalibratedLOO
from foldless.datasets import make_ripley
from foldless.inspection import (
    MarginDisplay,
    RelevanceDisplay,
    ReliabilityDisplay,
    SurfaceDisplay,
    TraceDisplay,
)

EVERY = [SurfaceDisplay, TraceDisplay, MarginDisplay, ReliabilityDisplay]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def ripley():
    return make_ripley(60, random_state=0)


@pytest.fixture(scope="module")
def model(ripley):
    return make_pipeline(StandardScaler(), KernelLogisticRegression()).fit(*ripley)


@pytest.mark.parametrize("display", EVERY)
def test_it_draws_on_its_own_axes_and_on_given_ones(model, display):
    alone = display.from_estimator(model)
    assert alone.figure_.axes[0] is alone.ax_
    ax = plt.subplots()[1]
    assert display.from_estimator(model, ax=ax).ax_ is ax
    assert alone.plot(ax=ax).ax_ is ax


@pytest.mark.parametrize("display", [*EVERY, RelevanceDisplay])
def test_what_was_not_tuned_cannot_be_drawn(display):
    for estimator in (KernelLogisticRegression(), LogisticRegression()):
        with pytest.raises(NotFittedError, match="no selection_ to draw"):
            display.from_estimator(estimator)


def test_the_surface_marks_the_chosen_point_and_is_hardly_lower_anywhere(model):
    display = SurfaceDisplay.from_estimator(model)
    star = next(line for line in display.ax_.lines if line.get_marker() == "*")
    inner = model[-1]
    assert star.get_xydata()[0] == pytest.approx([inner.kernel_.length_scale, inner.C_])
    assert display.landscape.value.min() >= 0.99 * inner.criterion_value_  # a descent ends at 1e-5 per step
    assert display.ax_.get_xlabel() == "length_scale"
    assert display.ax_.get_ylabel() == "C"


def test_a_surface_needs_two_parameters(ripley):
    with pytest.raises(ValueError, match="exactly two tuned parameters, this search had 1"):
        SurfaceDisplay.from_estimator(KernelLogisticRegression(C=1.0).fit(*ripley))


@pytest.mark.parametrize(("asked", "drawn"), [("auto", CalibratedLOO()), ("gacv", GACV())])
def test_the_surface_of_a_search_around_svc(ripley, asked, drawn):
    display = SurfaceDisplay.from_estimator(KernelSearch(SVC(), criterion=asked).fit(*ripley))
    assert display.criterion == drawn.label
    assert display.figure_.axes[-1].get_ylabel() == drawn.label


def test_the_trace_has_every_evaluation_and_falls(model):
    display = TraceDisplay.from_estimator(model)
    *groups, best = display.ax_.lines
    assert sum(len(line.get_xdata()) for line in groups) == model[-1].n_evaluations_
    assert np.all(np.diff(best.get_ydata()) <= 0)
    assert best.get_ydata()[-1] == min(step.value for step in model[-1].trace_)


def test_margins_are_those_of_the_labels(model, ripley):
    y = ripley[1]
    display = MarginDisplay.from_estimator(model)
    assert display.margins == pytest.approx(np.where(y == 1, 1, -1) * model[-1].loo_decision_)
    assert np.array_equal(display.labels, y)
    assert display.ax_.get_title().startswith(f"{100 * np.mean(display.margins <= 0):.1f} %")


def test_margins_of_several_classes_are_to_the_nearest_other():
    X, y = load_iris(return_X_y=True)
    model = KernelLogisticRegression().fit(X, y)
    margins = MarginDisplay.from_estimator(model).margins
    assert np.mean(margins <= 0) == pytest.approx(np.mean(np.argmax(model.loo_decision_, axis=1) != y))


def test_reliability_is_scikit_learns_from_left_out_probabilities(model, ripley):
    display = ReliabilityDisplay.from_estimator(model, n_bins=5)
    assert np.array_equal(display.y_prob, model[-1].loo_proba_[:, 1])
    assert display.prob_true.mean() == pytest.approx(ripley[1].mean(), abs=0.05)


def test_reliability_needs_probabilities_of_two_classes():
    model = KernelLogisticRegression(C=1.0).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="no leave-one-out probabilities of two classes"):
        ReliabilityDisplay.from_estimator(model)


def test_relevances_are_inverse_length_scales_the_largest_on_top(ripley):
    X, y = ripley
    model = KernelLogisticRegression("rbf-ard-free").fit(X, y)
    display = RelevanceDisplay.from_estimator(model, ["a", "b"])
    assert display.relevance == pytest.approx(1 / model.kernel_.length_scale)
    top = display.ax_.get_yticklabels()[0].get_text()
    assert top == ["a", "b"][int(np.argmax(display.relevance))]


def test_one_length_scale_shows_the_gradients_of_the_fit(model):
    display = RelevanceDisplay.from_estimator(model)
    assert display.relevance == pytest.approx(model[-1].relevance_)
