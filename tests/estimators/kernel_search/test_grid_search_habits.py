"""What a user of GridSearchCV tries first is explained."""

import inspect
import warnings

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless import KernelSearch
from foldless.core.errors import CriterionWarning


@pytest.mark.parametrize(
    ("name", "word"),
    [("cv", "folds"), ("scoring", "loo_score"), ("param_grid", "param_space"), ("n_iter", "max_evaluations")],
)
def test_an_argument_of_grid_search_is_explained(name, word):
    with pytest.raises(TypeError, match=word) as explained:
        KernelSearch(SVC(), **{name: 5})
    assert "\n" not in str(explained.value)
    with pytest.raises(TypeError, match=r"no parameter 'nonsense'\. It has: estimator, param_space"):
        KernelSearch(SVC(), nonsense=5)


def test_the_signature_is_unchanged():
    assert "param_space" in inspect.signature(KernelSearch).parameters
    assert clone(KernelSearch(SVC(), {"C": [1.0]})).param_space == {"C": [1.0]}


@pytest.mark.parametrize(
    "step", [SelectKBest(k=2), make_column_transformer((SelectKBest(k=2), [0, 1, 2]))], ids=["step", "nested"]
)
def test_a_step_that_uses_the_targets_is_flagged(step, two_classes):
    with pytest.warns(CriterionWarning, match=r"SelectKBest learns from the targets.*criterion='cv'"):
        KernelSearch(make_pipeline(step, SVC()), max_evaluations=20).fit(*two_classes)


@pytest.mark.filterwarnings("ignore:.*budget")
def test_folds_and_plain_steps_are_not_flagged(two_classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", CriterionWarning)
        KernelSearch(make_pipeline(StandardScaler(), SVC()), max_evaluations=20).fit(*two_classes)
        chosen = make_pipeline(SelectKBest(k=2), SVC())
        KernelSearch(chosen, {"svc__C": [1.0, 2.0]}, criterion="cv").fit(*two_classes)


def test_the_score_has_a_name_and_a_unit(two_classes):
    search = KernelSearch(SVC()).fit(*two_classes)
    assert search.score_name_.startswith("minus ")
    assert search.score_name_.endswith(")")
    folds = KernelSearch(SVC(), {"C": [1.0, 2.0]}, criterion="cv").fit(*two_classes)
    assert folds.score_name_ == "mean accuracy over the folds"
    assert 0.5 < folds.best_score_ <= 1


def test_a_misspelt_parameter_is_answered_by_a_question(two_classes):
    with pytest.raises(ValueError, match="Did you mean 'gamma'"):
        KernelSearch(SVC(), {"gama": [1.0]}).fit(*two_classes)


@pytest.mark.parametrize("refit", [True, False])
def test_a_fitted_search_has_what_a_grid_search_has(refit, two_classes):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    grid = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, refit=refit).fit(frame, y)
    ours = KernelSearch(SVC(), {"C": [1.0, 10.0]}, refit=refit)
    assert not hasattr(ours, "scorer_")
    ours.fit(frame, y)
    fitted = {name for name in dir(grid) if name.endswith("_") and name[0] != "_" and hasattr(grid, name)}
    assert fitted - {"n_splits_"} == {name for name in fitted if hasattr(ours, name)}  # there are no folds
    assert ours.multimetric_ is grid.multimetric_ is False
    assert ours.scorer_(SVC().fit(frame, y), frame, y) == SVC().fit(frame, y).score(frame, y)
    if refit:
        assert ours.scorer_(ours.best_estimator_, frame, y) == ours.score(frame, y)
        assert list(ours.feature_names_in_) == list(grid.feature_names_in_)
        assert ours.n_features_in_ == grid.n_features_in_
        assert ours.classes_.tolist() == grid.classes_.tolist()
