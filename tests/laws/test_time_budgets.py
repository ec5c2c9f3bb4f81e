"""A search takes at most a fifth more than its time budget, by a clock that ticks with the operations of a fit."""

import warnings
from contextlib import suppress

import pytest

from foldless import KernelLogisticRegression, KernelLSSVC, KernelSVC
from foldless.core.contracts import Box, Evaluation
from foldless.core.errors import FoldlessWarning
from foldless.datasets import make_ripley
from foldless.searches.run import TIME_SLACK, SearchHalted, SearchRun
from foldless.tuning.objective import Objective

SECONDS_PER_CUBE = 1e-9  # of a fit to n rows, which ticks n^3 times


@pytest.fixture
def clock(monkeypatch):
    """The time in a list of one number; only what a test adds passes."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize(("budget", "made"), [(0.5, 1), (1.5, 1), (1.9, 2), (2.0, 2), (3.7, 4)])
def test_an_evaluation_that_would_end_too_late_is_not_begun(clock, budget, made):
    """Evaluations of one second each; the first is always made."""

    def objective(theta, start=None):
        clock[0] += 1.0
        return Evaluation(0.0)

    run = SearchRun(objective, Box([0.0], [1.0]), time_budget=budget)
    with suppress(SearchHalted):
        for _ in range(10):
            run.evaluate([0.5], "test", gradient=False)
    assert len(run.trace) == made


@pytest.mark.parametrize("budget", [0.1, 0.3, 0.6, 1.0, 3.0])
@pytest.mark.parametrize(
    "model", [KernelSVC(), KernelSVC(loss="hinge"), KernelLSSVC(), KernelLogisticRegression()], ids=str
)
def test_no_stage_exceeds_the_time(clock, model, budget, monkeypatch):
    """900 rows are searched on 250 of them, then on three blocks of 300."""
    evaluate = Objective.__call__

    def ticking(self, theta, warm_start=None, /):
        clock[0] += SECONDS_PER_CUBE * len(self.Y) ** 3
        return evaluate(self, theta, warm_start)

    monkeypatch.setattr(Objective, "__call__", ticking)
    X, y = make_ripley(900, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldlessWarning)
        model.set_params(time_budget=budget, random_state=0).fit(X, y)
    assert model.n_evaluations_ >= 1
    assert clock[0] <= (1 + TIME_SLACK) * budget + 1e-12
