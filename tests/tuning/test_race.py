"""kernel="auto": families race, losers are dropped early, the choice is explained."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSVC, select_kernel
from foldless.core.contracts import Stop
from foldless.core.errors import SearchWarning, Undefined
from foldless.criteria import LOO
from foldless.criteria.left_out import LeftOutLosses
from foldless.datasets import make_ripley
from foldless.kernels.families import FAMILIES, Families, families
from foldless.machines import Ridge
from foldless.searches import LBFGS, EarlyStopping
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.race import _reason_to_drop
from foldless.tuning.runner import Runner
from foldless.tuning.select import select

X, Y = make_ripley(150, random_state=0)
LARGE_X, LARGE_Y = make_friedman1(900, n_features=5, noise=0.1, random_state=0)


def test_on_few_rows_the_choice_is_that_of_the_whole_list():
    """There is one stage, so that the lowest criterion is never dropped; searches from other starts end where it is as low."""
    tolerance = LBFGS().tolerance
    for machine in (KernelLogisticRegression, KernelSVC):
        auto, listed = machine("auto").fit(X, Y), machine(list(FAMILIES)).fit(X, Y)
        assert type(auto.kernel_) is type(listed.kernel_)
        assert auto.criterion_value_ == pytest.approx(listed.criterion_value_, abs=tolerance)
        assert auto.predict(X).tolist() == listed.predict(X).tolist()


def test_the_race_costs_fewer_evaluations_than_the_whole_list():
    """Families begin near the optimum of the first, search roughly, and only the best searches to the end."""
    auto, listed = (KernelLogisticRegression(kernel).fit(X, Y) for kernel in ("auto", list(FAMILIES)))
    counts = [sum(t.n_evaluations for t in m.selection_.trials) for m in (auto, listed)]
    assert counts[0] < 0.75 * counts[1]


def test_losers_are_dropped_after_the_first_rows():
    model = KernelRidgeRegressor("auto").fit(LARGE_X, LARGE_Y)
    trials = {trial.name: trial for trial in model.selection_.trials}
    assert list(trials) == list(FAMILIES)
    assert trials["affine"].note.startswith("dropped after 250 rows: worse than ")
    assert {step.n_rows for step in trials["affine"].outcome.trace} == {250}
    chosen = [trial for trial in trials.values() if trial.note == "chosen"]
    assert len(chosen) == 1
    assert max(step.n_rows for step in chosen[0].outcome.trace) == 900
    assert chosen[0].value == min(
        trial.value for trial in trials.values() if not trial.note.startswith("dropped")
    )


def test_a_row_of_weight_two_counts_twice_in_every_comparison():
    """Families are dropped and challengers judged by means and errors of the repeated rows."""
    x, y = LARGE_X[:120], LARGE_Y[:120]
    counts = np.random.default_rng(0).integers(1, 4, size=120)
    weighted = KernelRidgeRegressor("auto").fit(x, y, sample_weight=counts)
    repeated = KernelRidgeRegressor("auto").fit(np.repeat(x, counts, axis=0), np.repeat(y, counts))
    for one, other in zip(weighted.selection_.trials, repeated.selection_.trials, strict=True):
        assert one.note.replace(" 120 rows", "") == other.note.replace(" 120 rows", "")


def test_the_choice_is_explained():
    text = str(KernelRidgeRegressor("auto").fit(LARGE_X, LARGE_Y).selection_.trials)
    lines = text.splitlines()
    assert lines[0].split() == ["kernel", "criterion", "evaluations"]
    assert [line.split()[0] for line in lines[1:]] == list(FAMILIES)
    assert text.count("chosen") == 1


def test_rough_functions_get_rough_kernels():
    x = np.linspace(0, 6, 200)[:, None]
    noise = 0.05 * np.random.default_rng(0).normal(size=200)
    rough = KernelRidgeRegressor("auto").fit(x, np.sign(np.sin(3 * x[:, 0])) + noise)
    straight = KernelRidgeRegressor("auto").fit(x, x[:, 0] + 20 * noise)
    names = [next(t.name for t in m.selection_.trials if t.note == "chosen") for m in (rough, straight)]
    assert names == ["product-laplacian", "affine"] or names == ["laplacian", "affine"]


def test_a_budget_is_shared():
    with pytest.warns(SearchWarning, match="ended after"):
        model = KernelRidgeRegressor("auto", max_evaluations=30).fit(LARGE_X, LARGE_Y)
    counts = [len(trial.outcome.trace) for trial in model.selection_.trials]
    assert sum(counts) <= 30
    assert max(counts) == 5


def test_families_without_evaluations_are_not_tried():
    with pytest.warns(SearchWarning):
        model = KernelRidgeRegressor("auto", max_evaluations=4).fit(X, Y)
    assert [trial.outcome is None for trial in model.selection_.trials] == [False] * 4 + [True] * 2
    assert "left none for this kernel" in model.selection_.trials[-1].note


def test_side_by_side_is_the_same_race():
    alone, together = (KernelRidgeRegressor("auto", n_jobs=n).fit(LARGE_X, LARGE_Y) for n in (None, 2))
    assert alone.kernel_.theta == pytest.approx(together.kernel_.theta, rel=1e-4)


def test_a_race_goes_on_from_a_checkpoint(tmp_path):
    options = {"machine": Ridge(1.0), "criterion": "loo", "checkpoint": tmp_path / "steps"}
    first = select(LARGE_X, LARGE_Y[:, None], kernel="auto", **options)
    again = select(LARGE_X, LARGE_Y[:, None], kernel="auto", **options)
    assert again.kernel == first.kernel
    assert [t.value for t in again.trials] == pytest.approx([t.value for t in first.trials])


def test_an_interrupt_keeps_the_best_so_far():
    seen = []

    def watch(step):
        seen.append(step)
        if len(seen) == 45:
            raise KeyboardInterrupt

    with pytest.warns(SearchWarning, match="interrupted"):
        chosen = select(
            LARGE_X, LARGE_Y[:, None], kernel="auto", machine=Ridge(1.0), criterion="loo", watch=watch
        )
    assert chosen.outcome.stop == Stop.INTERRUPTED
    assert np.isfinite(chosen.reading.value)


def test_early_stopping_and_criteria_without_a_machine_compare_all():
    stopped = KernelRidgeRegressor("auto", search=EarlyStopping(LBFGS())).fit(X, Y)
    aligned = KernelLogisticRegression("auto", criterion="centered-alignment").fit(X, Y)
    for model in (stopped, aligned):
        assert len(model.selection_.trials) == len(FAMILIES)
        assert not any(trial.note.startswith("dropped") for trial in model.selection_.trials)


def test_a_criterion_that_exists_for_no_family_is_an_error(monkeypatch):
    def undefined(self, solution):
        raise Undefined("nowhere")

    monkeypatch.setattr(LOO, "__call__", undefined)
    with pytest.raises(Undefined, match="nowhere"):
        KernelRidgeRegressor("auto").fit(X, Y)


def test_a_family_whose_corrected_criterion_is_undefined_is_out(monkeypatch):
    """Another family is chosen; an error follows only if none is left."""
    best = next(
        t.name for t in KernelRidgeRegressor("auto").fit(X, Y).selection_.trials if t.note == "chosen"
    )
    finish = CandidateTuner.finish

    def undefined(self, stage, kernel, number=0):
        if FAMILIES[number] == best:
            raise Undefined("nowhere")
        return finish(self, stage, kernel, number)

    monkeypatch.setattr(CandidateTuner, "finish", undefined)
    trials = {trial.name: trial for trial in KernelRidgeRegressor("auto").fit(X, Y).selection_.trials}
    assert trials[best].note == "nowhere"
    assert sum(trial.note == "chosen" for trial in trials.values()) == 1


def test_sparse_points_race_without_the_product_kernel():
    S = sp.random(60, 20, 0.3, random_state=0, format="csr")
    y = np.asarray(S.sum(axis=1)).ravel()
    model = KernelRidgeRegressor("auto").fit(S, y)
    assert [trial.name for trial in model.selection_.trials] == [
        n for n in FAMILIES if n != "product-laplacian"
    ]


def test_auto_stands_alone():
    with pytest.raises(ValueError, match="Name kernels one by one"):
        KernelRidgeRegressor(["auto", "rbf"]).fit(X, Y)
    with pytest.raises(ValueError, match="Name kernels one by one"):
        select_kernel(X, Y, "auto")


def test_families_can_be_changed():
    doubled = families(X).map(lambda kernel: 2.0 * kernel)
    assert isinstance(doubled, Families)
    assert doubled.names == FAMILIES
    assert doubled.kernels[0](X) == pytest.approx(2 * families(X).kernels[0](X))


class FewRows(Runner):
    """A family whose time ran out on 250 rows."""

    def losses(self):
        return LeftOutLosses(np.full(250, 9.0))


def test_a_family_that_is_a_stage_behind_is_not_compared_row_by_row():
    behind, best = (kind("rbf", None, None, 0) for kind in (FewRows, Runner))
    assert _reason_to_drop(behind, best, LeftOutLosses(np.ones(900))) == ""
    assert _reason_to_drop(behind, best, LeftOutLosses(np.ones(250))).startswith("dropped after 250 rows")
