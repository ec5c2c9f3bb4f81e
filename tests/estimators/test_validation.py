"""What a user passes in: the right answer, or one clear sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from foldless import KernelSearch, compare
from foldless.core.errors import DataError
from foldless.estimators.registry import MACHINES

ESTIMATORS = {name: entry.estimator for name, entry in MACHINES.items()}
ESTIMATORS["search"] = lambda: KernelSearch(SVC())
ESTIMATORS["pipeline"] = lambda: KernelSearch(make_pipeline(FunctionTransformer(), SVC()))
NUMBERS, COLOURS = np.arange(20.0), np.array(["red", "blue"] * 10)
Y = np.arange(20) % 4 // 2
TABLES = {
    "pandas": lambda text: pd.DataFrame({"size": NUMBERS, "colour": text}),
    "category": lambda text: pd.DataFrame({"size": NUMBERS, "colour": pd.Categorical(text)}),
    "polars": lambda text: pl.DataFrame({"size": NUMBERS, "colour": text}),
    "objects": lambda text: np.column_stack([NUMBERS.astype(object), text]),
}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_evaluations": -1}, "max_evaluations must be at least 0"),
        ({"max_evaluations": "many"}, "max_evaluations must be at least 0.*'many'"),
        ({"n_starts": 0}, "n_starts must be at least 1"),
        ({"time_budget": -1.0}, "time_budget must be seconds"),
        ({"time_budget": "long"}, "time_budget must be seconds"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads"),
        ({"random_state": "seed"}, "seed"),
        ({"on_interrupt": "kep"}, "Did you mean 'keep'"),
    ],
)
@pytest.mark.parametrize("name", ["logistic", "subset", "search"])
def test_a_bad_option_is_named_before_any_work(name, option, words):
    # No column can be used: if there were work before the check, this would be the error.
    table = TABLES["objects"](COLOURS)
    with pytest.raises(ValueError, match=words):
        ESTIMATORS[name]().set_params(**option).fit(table, Y)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_column_of_text_is_named(name, kind):
    column = "1" if kind == "objects" else "'colour'"
    with pytest.raises(DataError, match=f"column {column} of X holds text such as 'red'.*OneHotEncoder"):
        ESTIMATORS[name]().fit(TABLES[kind](COLOURS), Y)


def test_compare_names_a_column_of_text():
    with pytest.raises(DataError, match="column 'colour' of X holds text"):
        compare(TABLES["pandas"](COLOURS), Y)


@pytest.mark.parametrize("name", MACHINES)
def test_a_column_of_text_is_named_when_predicting(name):
    model = ESTIMATORS[name]().fit(pd.DataFrame({"size": NUMBERS, "colour": NUMBERS % 3}), Y)
    with pytest.raises(DataError, match="column 'colour' of X holds text"):
        model.predict(TABLES["pandas"](COLOURS))


def test_numbers_written_as_text_are_numbers():
    text = np.column_stack([NUMBERS, NUMBERS % 3]).astype(str).astype(object)
    model, same = (ESTIMATORS["ridge"]().fit(X, Y) for X in (text, text.astype(float)))
    assert np.array_equal(model.predict(text), same.predict(text.astype(float)))
