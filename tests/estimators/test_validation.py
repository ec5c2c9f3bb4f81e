"""What a user passes in: the right answer, or one clear sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    Hyperparameter,
    Kernel,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
    compare,
)
from foldless.core.errors import DataError
from foldless.estimators.registry import MACHINES

ESTIMATORS = {name: entry.estimator for name, entry in MACHINES.items()}
ESTIMATORS["search"] = lambda: KernelSearch(SVC())
ESTIMATORS["pipeline"] = lambda: KernelSearch(make_pipeline(FunctionTransformer(), SVC()))
ESTIMATORS["folds"] = lambda: KernelSearch(SVR(), {"C": [0.1, 10.0]})
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
        ({"random_state": "seed"}, "random_state must be a seed.*'seed'"),
        ({"random_state": -1}, "random_state must be a seed.*-1"),
        ({"on_interrupt": "kep"}, "Did you mean 'keep'"),
    ],
)
@pytest.mark.parametrize("name", ["logistic", "subset", "search"])
def test_a_bad_option_is_named_before_any_work(name, option, words):
    # No column can be used: if there were work before the check, this would be the error.
    table = TABLES["objects"](COLOURS)
    with pytest.raises(ValueError, match=words):
        ESTIMATORS[name]().set_params(**option).fit(table, Y)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("estimator", [KernelClassifier(), KernelLogisticRegression(), KernelSearch(SVC())])
def test_labels_that_are_missing_are_counted(estimator, gap):
    y = COLOURS.astype(object)
    y[[3, 7]] = gap
    with pytest.raises(DataError, match=r"y has 2 missing values, the first in row 3 \(from 0\)"):
        estimator.fit(NUMBERS[:, None], y)


def test_scaling_is_done_or_not():
    with pytest.raises(ValueError, match="scale must be True or False; got 'yes'"):
        KernelClassifier(scale="yes").fit(TABLES["objects"](COLOURS), Y)


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


@pytest.mark.filterwarnings("ignore::foldless.core.errors.SearchWarning")
@pytest.mark.parametrize("space", [None, {"C": [0.1, 10.0]}], ids=["by default", "listed"])
def test_targets_written_as_text_are_numbers(space):
    search = KernelSearch(SVR(), space, max_evaluations=2)
    predictions = [
        search.fit(NUMBERS[:, None], y).predict(NUMBERS[:, None]) for y in (NUMBERS, NUMBERS.astype(str))
    ]
    assert np.array_equal(*predictions)


def test_folds_leave_a_kernel_of_the_user_the_rows_as_they_are():
    def shared_letters(A, B):
        return np.array([[float(len({*a[0]} & {*b[0]})) for b in B] for a in A])

    search = KernelSearch(SVR(kernel=shared_letters), {"C": [0.1, 1.0]}).fit(COLOURS.reshape(-1, 1), NUMBERS)
    assert search.best_params_["C"] in (0.1, 1.0)


@pytest.mark.parametrize(
    ("estimator", "left_out", "words"),
    [
        (KernelRidge(), np.nan, r"column 'size' of X is sparse and leaves out nan.*to_dense"),
        (SVC(), np.nan, r"column 'size' of X is sparse and leaves out nan.*to_dense"),
        (SVC(), 0.0, r"SVC of scikit-learn cannot read a data frame of sparse columns.*to_dense"),
    ],
)
def test_a_sparse_frame_that_scikit_learn_cannot_read_gets_a_cure(estimator, left_out, words):
    X = pd.DataFrame({"size": pd.arrays.SparseArray(NUMBERS, fill_value=left_out)})
    with pytest.raises(DataError, match=words):
        KernelSearch(estimator).fit(X, Y)
    assert KernelSearch(estimator).fit(X.sparse.to_dense(), Y).n_features_in_ == 1


# What is no table of numbers, and a word of the error that says so.
NO_TABLES = {
    "a dictionary": ({"size": NUMBERS}, TypeError, "X must be a table of numbers, got dict"),
    "a generator": ((row for row in NUMBERS), TypeError, "X must be a table of numbers, got generator"),
    "a lazy frame": (
        TABLES["polars"](COLOURS).lazy(),
        (TypeError, ValueError),
        "table of numbers, got LazyFrame",
    ),
    "ragged rows": ([[1.0], [2.0, 3.0]] * 10, ValueError, "the rows of X have different lengths"),
    "no columns": (pd.DataFrame(index=range(20)), ValueError, "X has no columns"),
    "columns of one name": (
        pd.DataFrame(np.c_[NUMBERS, NUMBERS], columns=["a", "a"]),
        DataError,
        "several columns called 'a'",
    ),
    "periods": (
        pd.DataFrame({"size": NUMBERS, "day": pd.period_range("2020", periods=20, freq="D")}),
        DataError,
        "column 'day' of X holds dates or times, and numbers are needed",
    ),
    "lists": (
        pd.DataFrame({"size": NUMBERS, "of": [[1, 2]] * 20}),
        ValueError,
        "column 'of' of X holds.*list",
    ),
    "all missing": (
        pd.DataFrame({"size": NUMBERS, "name": pd.array([None] * 20, dtype="string")}),
        TypeError,
        "column 'name' of X holds values of type NAType",
    ),
}


@pytest.mark.parametrize("case", NO_TABLES)
@pytest.mark.parametrize("name", ["ridge", "svc", "pipeline", "folds"])
def test_what_is_no_table_of_numbers_is_said(name, case):
    X, kind, words = NO_TABLES[case]
    if name in ("pipeline", "folds") and case in ("a generator", "a dictionary", "a lazy frame"):
        pytest.skip("scikit-learn asks for the number of rows first, and says what it got")
    with pytest.raises(kind, match=words):
        ESTIMATORS[name]().fit(X, Y)


@pytest.mark.parametrize("estimator", [KernelRidgeRegressor(), KernelRegressor(), KernelSearch(SVR())])
def test_targets_of_text_are_shown(estimator):
    with pytest.raises(DataError, match="y must hold numbers for a regression, got 'red'"):
        estimator.fit(NUMBERS[:, None], COLOURS)


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("name", [*ESTIMATORS, "classifier", "regressor"])
def test_inputs_whose_squares_are_no_numbers_are_refused(name, factor):
    defaults = {"classifier": KernelClassifier, "regressor": KernelRegressor}
    with pytest.raises(DataError, match=r"the largest absolute value of X is .*Divide X by it"):
        (ESTIMATORS | defaults)[name]().fit(factor * NUMBERS[:, None], Y)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelSubsetRegressor, KernelRegressor])
def test_targets_whose_squares_are_no_numbers_are_refused(kind, factor):
    with pytest.raises(DataError, match="the largest absolute value of y"):
        kind().fit(NUMBERS[:, None], factor * NUMBERS)


@pytest.mark.parametrize("space", [None, {"C": [1.0, 2.0]}], ids=["by default", "listed"])
@pytest.mark.parametrize("estimator", [SVR(kernel="linear"), SVC(kernel="linear"), SVC(kernel="poly")])
def test_inputs_with_which_libsvm_does_not_end_are_refused(estimator, space):
    X = np.r_[NUMBERS[:-1], 1e20][:, None]
    with pytest.raises(DataError, match="the largest absolute value of X"):
        KernelSearch(estimator, space).fit(X, Y)


@pytest.mark.parametrize("factor", [1e-135, 1e-80, 1e80, 1e135])
def test_inputs_within_the_range_give_the_same_fit(factor):
    model, same = (KernelRidgeRegressor().fit(s * NUMBERS[:, None], Y) for s in (factor, 1.0))
    expected = same.predict(NUMBERS[:, None])
    np.testing.assert_allclose(model.predict(factor * NUMBERS[:, None]), expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 1e300}, "C must lie between"),
        ({"C": np.float32(-1)}, "C must be positive"),
        ({"kernel": RBF(0.0)}, "length_scale of .* must lie between"),
        ({"kernel": RBF(1.0, (1e5, 1e-5))}, "length_scale_bounds .* the lower one first"),
        ({"kernel": RBF([1.0, 2.0, 3.0])}, "3 length scales, and X has 1 columns"),
        ({"kernel": 3}, "kernel must be a name"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "class_weight must be positive, got -1"),
        ({"landmarks": "x"}, "landmarks must be row numbers"),
    ],
)
@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, sp.csr_array])
def test_a_number_that_cannot_be_meant_is_named(options, words, table):
    with pytest.raises((TypeError, ValueError), match=words):
        KernelLogisticRegression(**options).fit(table(NUMBERS[:, None]), Y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.full(20, "a"), "sample_weight must hold a number for every row"),
        (np.r_[1e-300, np.ones(19)], "sample_weight must be 0 or between"),
        (np.r_[1.0, np.zeros(19)], "sample_weight leaves 1 rows"),
    ],
)
@pytest.mark.parametrize("name", ["ridge", "logistic", "search"])
def test_weights_that_cannot_be_meant_are_named(name, weights, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ESTIMATORS[name]().fit(NUMBERS[:, None], Y, sample_weight=weights)


class Undifferentiated(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """A kernel of a user who did not write the derivative."""

    def __init__(self, width=1.0, width_bounds=(0.1, 10.0)):
        self.width = width
        self.width_bounds = width_bounds

    @property
    def hyperparameter_width(self):
        return Hyperparameter("width", "numeric", self.width_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            raise NotImplementedError
        return np.exp(-cdist(X, X if Y is None else Y) / self.width)


def test_a_kernel_without_a_derivative_is_told_which_search_does_without():
    X = NUMBERS[:, None] / 10
    with pytest.raises(TypeError, match="search='nelder-mead'"):
        KernelRidgeRegressor(Undifferentiated()).fit(X, Y)
    KernelRidgeRegressor(Undifferentiated(), search="nelder-mead").fit(X, Y)


def test_weights_of_the_wrong_length_are_counted_before_rows_are_cut_in_halves():
    model = KernelRidgeRegressor(calibration="split")
    with pytest.raises(ValueError, match=r"sample_weight\.shape"):
        model.fit(NUMBERS[:, None], Y, sample_weight=np.ones(19))


@pytest.mark.parametrize(
    "model", [KernelClassifier(), KernelLogisticRegression(), KernelRidgeRegressor(), KernelSearch(SVC())]
)
def test_a_misspelt_parameter_is_asked_about(model):
    with pytest.raises(ValueError, match=r"Invalid parameter 'random_sate'.*Did you mean 'random_state'\?$"):
        model.set_params(random_sate=0)
    with pytest.raises(ValueError, match=r"\]\.$"):
        model.set_params(unlike_any_other=0)
    assert model.set_params(random_state=3) is model
    assert model.random_state == 3


def test_a_misspelt_parameter_of_a_part_keeps_the_message_of_the_part():
    with pytest.raises(ValueError, match="Invalid parameter 'gama' for estimator SVC"):
        KernelSearch(SVC()).set_params(estimator__gama=1)


def test_a_parameter_that_a_constructor_lacks_is_asked_about():
    with pytest.raises(TypeError, match=r"KernelSVC has no parameter 'kernal'\. Did you mean 'kernel'\?$"):
        KernelSVC(kernal="rbf")
    with pytest.raises(TypeError, match=r"KernelRegressor has no parameter 'depth'\. It has: time_budget"):
        KernelRegressor(depth=3)
    with pytest.raises(TypeError, match=r"KernelClassifier has no parameter 'kernel'\. It chooses kernel"):
        KernelClassifier(kernel="rbf")
