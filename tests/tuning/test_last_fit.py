"""The last fit: its form, what a time budget leaves of it, and the criterion it is read by."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.targets import one_versus_rest
from foldless.criteria import LOO, EvidenceEP, SmoothedSpan
from foldless.datasets import make_ripley
from foldless.machines import LSSVM, HingeSVM, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.tuning.forms import FittedForm
from foldless.tuning.last_fit import (
    N_TRIAL_CLASSES,
    NEGLIGIBLE_GAP,
    OPERATIONS_PER_SECOND,
    LastFit,
)

N = 200
FLEXIBLE = SmoothMachine(Logistic(), C=1e3)


@pytest.fixture(scope="module")
def data():
    X, y = make_ripley(N, random_state=0)
    return X, np.where(y > 0, 1.0, -1.0)[:, None]


@pytest.fixture
def limits(monkeypatch):
    """Make the limits so low that they matter for a few rows, and landmarks never suffice."""

    def lower(width):
        values = {
            "NEGLIGIBLE_GAP": 0.0,
            "SUFFICIENT_GAP": 0.0,
            "SMALL_WHOLE_MAX_ROWS": 0,
            "WHOLE_MAX_ROWS": 190,
            "TRIAL_MAX_OPERATIONS": 0,
            "LANDMARK_MAX_OPERATIONS": N * 150**2 if width > 0.1 else N * 20**2,
            "FIRST_LANDMARKS": 10,
        }
        for name, value in values.items():
            monkeypatch.setattr(f"foldless.tuning.last_fit.{name}", value)

    return lower


@pytest.mark.parametrize(
    ("machine", "criterion"), [(LSSVM(1.0), LOO()), (HingeSVM(1.0, False), EvidenceEP())]
)
def test_no_form_is_fitted_twice(machine, criterion, data, monkeypatch):
    """With nothing left of the budget the first landmarks are also the most that are affordable."""
    fitted, fit = [], LastFit._form
    monkeypatch.setattr(
        LastFit, "_form", lambda self, name, *rest: (fitted.append(name), fit(self, name, *rest))[1]
    )
    form = LastFit(*data, criterion, seconds=0.0).fit(RBF(0.05), machine)
    assert fitted == ["100 landmarks"] == [form.name]
    assert [tried.name for tried in form.tried] == fitted


@pytest.mark.parametrize(("classes", "name"), [(2, "whole"), (4, "100 landmarks")])
def test_the_classes_share_a_time_budget(classes, name, data):
    """The time of two whole fits is enough for the one of two classes, and not for the four of four."""
    Y = one_versus_rest(np.arange(N) % classes, classes)
    seconds = 2 * N**3 / 3 / OPERATIONS_PER_SECOND
    assert (
        LastFit(data[0], Y, SmoothedSpan(), seconds=seconds).fit(RBF(0.3), SquaredHingeSVM(1.0)).name == name
    )


def test_more_rows_do_not_make_the_fit_coarser(data, monkeypatch):
    """Beyond some number of rows, here 100, the number of landmarks stays."""
    monkeypatch.setattr("foldless.tuning.last_fit.LANDMARK_STEADY_ROWS", 100)
    monkeypatch.setattr("foldless.tuning.last_fit.LANDMARK_MAX_OPERATIONS", 100 * 150**2)
    monkeypatch.setattr("foldless.tuning.last_fit.WHOLE_MAX_ROWS", 190)
    monkeypatch.setattr("foldless.tuning.last_fit.SMALL_WHOLE_MAX_ROWS", 0)
    monkeypatch.setattr("foldless.tuning.last_fit.TRIAL_MAX_OPERATIONS", 0)
    monkeypatch.setattr(LastFit, "may_use_cells", lambda self, machine: False)
    monkeypatch.setattr("foldless.tuning.last_fit.SUFFICIENT_GAP", 0.0)
    assert LastFit(*data, LOO()).fit(RBF(0.05), LSSVM(1.0)).name == "150 landmarks"


@pytest.mark.parametrize(
    ("width", "cell_size", "form"), [(0.4, 20, "landmarks"), (0.4, 50, "cells"), (0.03, 50, "cells")]
)
def test_all_cells_are_fitted_unless_some_of_them_are_worse(
    width, cell_size, form, data, limits, monkeypatch
):
    """Small cells are worse than many landmarks; larger ones are no worse in parts, and together better."""
    limits(width)
    fitted, cells = [], LastFit.cells
    monkeypatch.setattr(LastFit, "cells", lambda self, *rest: (fitted.append("cells"), cells(self, *rest))[1])
    found = LastFit(*data, LOO(), cell_size=cell_size).fit(RBF(width), LSSVM(1.0))
    assert form in found.name
    assert fitted == (["cells"] if form == "cells" else [])


def test_cells_that_some_of_them_recommend_do_not_replace_better_landmarks(data, limits, monkeypatch):
    """What is far ahead in some groups may lose over all rows; landmarks are then tried on."""
    limits(0.4)
    monkeypatch.setattr(LastFit, "_cells_are_far_ahead", lambda *_: True)
    monkeypatch.setattr("foldless.tuning.last_fit.TRIAL_MAX_OPERATIONS", N * 30**2)
    found = LastFit(*data, LOO(), cell_size=10).fit(RBF(0.4), LSSVM(1.0))
    names = [form.name.split()[1] for form in found.tried]
    assert names == ["landmarks", "landmarks", "cells", "landmarks"]
    assert found.name == found.tried[-1].name
    assert found.tried[-1].loss < found.tried[-2].loss


@pytest.mark.parametrize("fits_whole", [True, False])
def test_a_fit_that_clearly_loses_to_one_through_fewer_landmarks_is_left(
    data, limits, monkeypatch, fits_whole
):
    """With little regularisation every landmark more fits more noise."""
    limits(0.4)
    if fits_whole:
        monkeypatch.setattr("foldless.tuning.last_fit.WHOLE_MAX_ROWS", N)
    monkeypatch.setattr(LastFit, "may_use_cells", lambda self, machine: False)
    monkeypatch.setattr("foldless.tuning.last_fit.TRIAL_MAX_OPERATIONS", N * 30**2)
    found = LastFit(*data, LOO()).fit(RBF(0.2), LSSVM(100.0))
    assert found.tried[0].name == found.name == "10 landmarks"
    assert found.losses(data[1]).mean == pytest.approx(found.tried[0].loss, rel=1e-9)
    assert min(form.loss for form in found.tried[1:]) > found.tried[0].loss


def test_a_form_whose_losses_do_not_exist_hides_no_better_one(data, limits, monkeypatch):
    limits(0.4)
    monkeypatch.setattr(LastFit, "may_use_cells", lambda self, machine: False)
    monkeypatch.setattr("foldless.tuning.last_fit.TRIAL_MAX_OPERATIONS", N * 30**2)
    scored = FittedForm.scored
    monkeypatch.setattr(
        FittedForm,
        "scored",
        lambda form, Y: (
            replace(scored(form, Y), losses=None) if form.name.startswith("10 ") else scored(form, Y)
        ),
    )
    assert LastFit(*data, LOO()).fit(RBF(0.2), LSSVM(100.0)).name == "30 landmarks"


def test_parameters_that_suit_single_cells_are_kept_if_they_suit_the_mean_over_cells(data):
    """The identity, far too strong a regularisation, and one that is better than a far too strong one."""
    kernel, weak, strong = RBF(0.3), LSSVM(1.0), LSSVM(1e-6)
    cells = LastFit(*data, LOO(), gram="cells", cell_size=50)
    for given, suited, kept in ((weak, weak, weak), (weak, strong, weak), (strong, weak, weak)):
        form = cells.fit(kernel, given, polish=lambda tree, suited=suited: (kernel, suited))
        assert form.machine is kept
        assert form.losses(data[1]).mean == cells.fit(kernel, kept).losses(data[1]).mean


@pytest.mark.parametrize(
    ("width", "names"),
    [(0.02, ["100 landmarks", "whole"]), (0.1, ["100 landmarks", "several landmarks"])],
)
def test_landmarks_that_are_known_to_be_too_few_are_not_fitted(width, names):
    """A narrow kernel has no use for 300 landmarks, which 100 of them tell; a wider one needs no more, and takes no more than suffice."""
    X, y = make_ripley(1850, random_state=0)
    form = LastFit(X, np.where(y > 0, 1.0, -1.0)[:, None], LOO()).fit(RBF(width), LSSVM(1.0))
    several = "whole" if form.name == "whole" else str(form.builder.m)
    assert [tried.name for tried in form.tried] == [name.replace("several", several) for name in names]
    assert form.gap <= NEGLIGIBLE_GAP
    assert form.name == "whole" or 100 < form.builder.m < 300


@pytest.mark.parametrize(("width", "name"), [(0.02, "whole"), (1.0, "landmarks")])
def test_of_many_classes_some_are_fitted_through_landmarks_first(width, name, monkeypatch):
    """A narrow kernel has no use for 100 landmarks, which three classes tell; a wide one needs no more."""
    monkeypatch.setattr("foldless.tuning.last_fit.SMALL_WHOLE_MAX_ROWS", 0)
    X = np.random.default_rng(0).uniform(size=(620, 2))
    Y = one_versus_rest(np.digitize(X[:, 0], np.linspace(0, 1, 9)[1:-1]), 8)
    columns, solve = [], SmoothMachine.solve

    def counted(self, gram, Y, start=None):
        columns.append(Y.shape[1])
        return solve(self, gram, Y, start)

    monkeypatch.setattr(SmoothMachine, "solve", counted)
    form = LastFit(X, Y, LOO()).fit(RBF(width), SmoothMachine(Logistic(), C=1.0))
    assert [one.name for one in form.tried] == [form.name]
    assert form.name.endswith(name)
    assert columns[0] == N_TRIAL_CLASSES
    assert columns.count(8) == 1


def test_a_correction_belongs_to_the_fit_of_all_rows_together(data):
    """Rows that are refitted have the numbers of one set of rows: a fit by cells does not know them."""
    plain = LastFit(*data, LOO(), gram="cells", cell_size=50)
    whole = LastFit(*data, LOO()).fit(RBF(0.3), FLEXIBLE)
    correction = LOO().corrected(whole.solution)
    assert max(correction.refit_rows) > 50
    found = LastFit(*data, LOO(), gram="cells", cell_size=50, correction=correction).fit(RBF(0.3), FLEXIBLE)
    expected = plain.fit(RBF(0.3), FLEXIBLE)
    assert found.name.endswith(" cells")
    assert found.reading.value == expected.reading.value
    assert LastFit(*data, LOO(), correction=LOO()).fit(RBF(0.3), FLEXIBLE).criterion == correction
