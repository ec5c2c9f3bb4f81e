"""The surface is the criterion; the sketch of it is close."""

import numpy as np
import pytest

from foldless import KernelLogisticRegression
from foldless.datasets import make_ripley
from foldless.inspection.criterion_surface import Parameter, evaluate_surface, parameters, sketch, window


@pytest.fixture(scope="module")
def fitted():
    return KernelLogisticRegression().fit(*make_ripley(120, random_state=0))


def test_the_surface_is_the_criterion_with_those_parameters(fitted):
    found = evaluate_surface(fitted.selection_, seconds=0.0)
    X, y = make_ripley(120, random_state=0)
    i, j = 3, 6
    kernel = fitted.kernel_.clone_with_theta(np.log(found.x[[j]]))
    kernel.set_params(length_scale_bounds="fixed")
    refit = KernelLogisticRegression(kernel=kernel, C=found.y[i], gram="dense").fit(X, y)
    assert found.value[i, j] == pytest.approx(refit.criterion_value_, rel=1e-4)
    assert found.landmarks is None
    assert found.names == ("length_scale", "C")


def test_no_point_of_the_surface_is_below_the_choice(fitted):
    assert evaluate_surface(fitted.selection_).value.min() >= fitted.criterion_value_ * (1 - 1e-3)


def test_the_window_holds_the_choice(fitted):
    low, high = window(fitted.selection_.outcome).T
    theta = fitted.selection_.outcome.best.theta
    assert np.all(low < theta)
    assert np.all(theta < high)


def test_landmarks_give_nearly_the_same_value():
    fitted = KernelLogisticRegression().fit(*make_ripley(400, random_state=0))
    theta = fitted.selection_.outcome.best.theta
    assert sketch(fitted.selection_.objective)(theta).value == pytest.approx(
        fitted.criterion_value_, rel=0.01
    )


def test_parameters_are_the_fitted_ones(fitted):
    width, C = parameters(fitted.selection_)
    assert (width.name, C.name) == ("length_scale", "C")
    assert width.value == pytest.approx(fitted.kernel_.length_scale)
    assert C.value == pytest.approx(fitted.C_)


def test_one_tuned_parameter_has_no_surface():
    fitted = KernelLogisticRegression(C=1.0).fit(*make_ripley(60, random_state=0))
    assert [p.name for p in parameters(fitted.selection_)] == ["length_scale"]
    assert evaluate_surface(fitted.selection_) is None


def test_a_parameter_knows_its_bounds():
    assert Parameter("a", 1.0, 1.0, 10.0).on_bound == "lower"
    assert Parameter("a", 10.0, 1.0, 10.0).on_bound == "upper"
    assert Parameter("a", 5.0, 1.0, 10.0).on_bound == ""
    assert Parameter("a", 5.0).on_bound == ""
