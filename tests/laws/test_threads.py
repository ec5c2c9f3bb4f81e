"""The number of threads changes how long a fit takes, and no digit of it; a resumed search ends at the last digit too."""

import numpy as np
import pytest

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.datasets import make_ripley
from foldless.searches import LBFGS


def fitted(estimator, n, **options):
    X, y = make_ripley(n, random_state=3)
    return estimator.set_params(**options).fit(X, y), X


@pytest.mark.parametrize("options", [{}, {"gram": "cells"}, {"gram": "lowrank", "n_components": 60}], ids=str)
@pytest.mark.parametrize("make", [KernelLogisticRegression, KernelLSSVC, KernelSVC, KernelRidgeRegressor])
def test_threads_change_no_digit(make, options):
    one, X = fitted(make(**options), 900, n_jobs=1)
    for n_jobs in (2, 3):
        other, _ = fitted(make(**options), 900, n_jobs=n_jobs)
        assert np.array_equal(one.predict(X), other.predict(X))
        assert one.criterion_value_ == other.criterion_value_
        assert [step.value for step in one.trace_] == [step.value for step in other.trace_]


@pytest.mark.parametrize("n_lines", [3, 14, 25])
def test_a_resumed_search_ends_at_the_last_digit(n_lines, tmp_path):
    whole, X = fitted(KernelLogisticRegression(search=LBFGS(checkpoint=tmp_path / "whole")), 700)
    lines = (tmp_path / "whole").read_text().splitlines(keepends=True)
    (tmp_path / "half").write_text("".join(lines[:n_lines]))
    resumed, _ = fitted(KernelLogisticRegression(search=LBFGS(checkpoint=tmp_path / "half")), 700)
    assert resumed.criterion_value_ == whole.criterion_value_
    assert np.array_equal(resumed.decision_function(X), whole.decision_function(X))
