"""compare(): the table, its tests and its pictures."""

import sys

import matplotlib
import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression, compare
from foldless.core.errors import UnknownName
from foldless.criteria import BY_NAME
from foldless.datasets import make_ripley
from foldless.inspection.comparison import Comparison, Row, cliques, corrected_t, wilcoxon

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def ripley():
    return make_ripley(80, random_state=0)


@pytest.fixture(scope="module")
def table(ripley):
    return compare(*ripley, ["logistic"], ["loo", "evidence", "alignment"], repeats=3)


def made(errors, ratio=0.5):
    """A comparison with given errors (repeats, rows)."""
    errors = np.array(errors, dtype=float)
    ones = np.ones(len(errors))
    return Comparison(
        tuple(Row("m", f"c{i}", e, ones, ones, {"C": ones}) for i, e in enumerate(errors.T)), ratio
    )


def test_a_row_is_the_estimator_tuned_and_judged_on_that_split(table, ripley):
    X, y = ripley
    row = table.rows[0]
    for repeat in range(3):
        train, test = train_test_split(np.arange(80), test_size=0.3, random_state=repeat, stratify=y)
        scaler = StandardScaler().fit(X[train])
        model = KernelLogisticRegression().fit(scaler.transform(X[train]), y[train])
        assert row.errors[repeat] == np.mean(model.predict(scaler.transform(X[test])) != y[test])
        assert row.values[repeat] == model.criterion_value_
        assert row.chosen["C"][repeat] == model.C_
        assert row.chosen["length_scale"][repeat] == model.kernel_.length_scale


def test_it_prints_itself_best_first(table):
    lines = str(table).splitlines()
    assert lines[0].split()[:2] == ["machine", "criterion"]
    order = [line.split()[1] for line in lines[1:4]]
    frame = table.to_frame()
    assert order == list(frame["criterion"])
    assert np.all(np.diff(frame["error"]) >= 0)
    assert "3 repeats" in lines[4]
    assert table._repr_html_().count("<tr") == 4


def test_the_frame_has_what_the_table_promises(table):
    frame = table.to_frame()
    names = {
        "machine",
        "criterion",
        "C",
        "length_scale",
        "title",
        "value",
        "unit",
        "error",
        "sd",
        "rank",
        "p_t",
        "p_wilcoxon",
        "seconds",
    }
    assert names <= set(frame.columns)
    best = frame.iloc[0]
    assert (best["title"], best["unit"]) == (
        BY_NAME[best["criterion"]].title,
        BY_NAME[best["criterion"]].unit,
    )
    assert best["p_t"] == 1
    assert best["p_wilcoxon"] == 1
    assert best["error"] == pytest.approx(min(row.errors.mean() for row in table.rows))


def test_all_leaves_out_what_takes_its_time_and_what_cannot_be_read(ripley):
    names = {row.criterion for row in compare(*ripley, ["logistic"], repeats=1).rows}
    assert {"loo", "kfold", "evidence", "abic", "gacv", "spectral"} <= names
    assert not names & {"cv", "evidence-hmc", "span", "smoothed-span", "radius-margin", "kric"}


def test_machines_may_be_estimators_and_criteria_may_be_none_readable(ripley):
    given = compare(*ripley, {"mine": KernelLogisticRegression(C=1.0)}, ["loo", "span"], repeats=1)
    assert [row.name for row in given.rows] == ["mine loo"]
    assert given.rows[0].chosen["C"] == [1.0]
    with pytest.raises(ValueError, match="none of the machines can be tuned by any"):
        compare(*ripley, ["logistic"], ["span"], repeats=1)


def test_unknown_names_are_listed(ripley):
    with pytest.raises(UnknownName, match=r"machines \(for classification\) must be one of .*logistic"):
        compare(*ripley, ["ridge"])
    with pytest.raises(UnknownName, match="criterion must be one of"):
        compare(*ripley, ["logistic"], ["lo"])


def test_repeats_side_by_side_give_the_same(table, ripley):
    again = compare(*ripley, ["logistic"], ["loo", "evidence", "alignment"], repeats=3, n_jobs=2)
    assert np.array_equal(again.errors, table.errors)


def test_options_reach_the_estimators(ripley):
    fixed = compare(*ripley, ["logistic"], ["loo"], repeats=1, C=2.0)
    assert fixed.rows[0].chosen["C"] == [2.0]


def test_the_corrected_t_test_is_the_plain_one_without_overlap(rng):
    d = rng.normal(0.3, 1, size=12)
    assert corrected_t(d, 0.0) == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    assert corrected_t(d, 0.5) > corrected_t(d, 0.0)
    t = d.mean() / np.sqrt((1 / 12 + 0.5) * d.var(ddof=1))
    assert corrected_t(d, 0.5) == pytest.approx(2 * stats.t.sf(abs(t), 11))


def test_equal_and_missing_differences():
    assert corrected_t(np.zeros(4), 0.5) == 1
    assert wilcoxon(np.zeros(4)) == 1
    assert corrected_t(np.full(4, 0.1), 0.5) == 0
    assert np.isnan(corrected_t(np.array([0.1, np.nan, 0.2]), 0.5))


def test_ranks_and_critical_difference_are_those_of_demsar():
    result = made([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.1, 0.1, np.nan]])
    assert result.ranks == pytest.approx([(1 + 2 + 1.5) / 3, (2 + 1 + 1.5) / 3, 3])
    # Demsar (2006), table 5 (a): q_0.05 = 2.343 for three classifiers.
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), rel=1e-3)


def test_a_failed_repeat_is_last_and_said():
    result = made([[0.1, np.nan], [0.2, 0.1]])
    assert result.best == 0
    row = Row("m", "bad", np.array([np.nan]), np.array([np.nan]), np.ones(1), {}, "it failed.")
    assert "m bad: it failed." in str(
        Comparison((result.rows[0].__class__("m", "c", *[np.ones(1)] * 3, {}), row), 0.5)
    )


def test_rows_within_the_critical_difference_are_joined():
    assert cliques([1.0, 2.0, 3.0], 5.0) == [(0, 2)]
    assert cliques([1.0, 3.0, 5.0], 1.0) == []
    assert cliques([1.0, 1.4, 1.8, 2.2], 0.9) == [(0, 2), (1, 3)]


def test_the_pictures_show_every_row(table):
    for draw in (table.plot, table.plot_ranks):
        ax = draw()
        labels = {label.get_text() for label in ax.get_yticklabels()}
        assert labels == {row.name for row in table.rows}
        matplotlib.pyplot.close(ax.figure)


def test_whole_numbers_that_are_no_classes_are_noticed(ripley):
    X, _ = ripley
    with pytest.raises(ValueError, match="give task='regression'"):
        compare(X, np.arange(80))


def test_counts_can_be_compared_by_name_and_are_found_by_themselves(rng):
    X = rng.uniform(-2, 2, size=(60, 1))
    y = rng.poisson(np.exp(1 + np.sin(2 * X[:, 0])))
    found = compare(X, y, criteria=["loo"], task="regression", repeats=1, max_evaluations=5)
    assert {row.machine for row in found.rows} == {"ridge", "subset", "poisson"}
    found = compare(X, y, ["poisson"], ["loo"], task="regression", repeats=1, max_evaluations=5)
    assert np.all(np.isfinite(found.errors))


def test_what_rules_out_every_pair_is_said(noisy_curve):
    with pytest.raises(ValueError, match=r"none of the machines .* poisson by loo: y must hold counts"):
        compare(*noisy_curve, ["poisson"], ["loo"], repeats=1)


def test_a_data_frame_without_pandas_names_what_to_install(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas$"):
        table.to_frame()
