"""The page as a text: self-contained, escaped, complete."""

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import balanced_accuracy_score, log_loss, mean_absolute_error, r2_score, roc_auc_score

from foldless.cli import read_table, run_experiment
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table
from foldless.cli.numbers import number
from foldless.cli.report import class_figures
from foldless.cli.report.baselines import baselines
from foldless.cli.report.cautions import cautions
from foldless.cli.report.chart import shortened
from foldless.cli.report.columns import dependence, importance, original_columns
from foldless.cli.report.downloads import downloads, model_card, predictions_csv, refit_script
from foldless.cli.report.page import embedded
from foldless.cli.report.scores import Unseen, find, gain, scores
from foldless.cli.report.search_figures import _best_so_far, comparison
from foldless.cli.report.sections import sections
from foldless.cli.report.svg import draw
from foldless.cli.report.text import to_plain_data
from foldless.cli.report.threshold import COUNTED_MAX_ROWS, cost_table, threshold_data
from foldless.cli.report.verdict import Findings, _against_guess, disagreement, find_out, headline, sentences
from foldless.cli.report.write import curious, page, write_report
from foldless.estimators.registry import MACHINES
from foldless.inspection.compare import compare
from oracles.hostile import LABELS, NAMES, hostile_experiment

PAGE_MAX_BYTES = 2_000_000


def table_of(X, y, task="classification"):
    names = [f"x{j}" for j in range(X.shape[1])]
    encoder = Encoder(tuple(Code(name, "number") for name in names), "y", task)
    return Table(X, y, names, "y", task, encoder)


def experiment_of(X, y, task="classification", **options):
    return run_experiment(
        table_of(X, y, task), source="made up", command="foldless tune made-up.csv", **options
    )


class Elements(HTMLParser):
    """All start tags with their attributes, and the texts between."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search may run into its budget
        return hostile_experiment(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def hostile_page(hostile):
    return page(find_out(hostile))


def panels(experiment):
    """All figures of a page without simple models, by name."""
    parts = [*sections(Findings(experiment)), curious(experiment)]
    return {panel.name: panel for part in parts for panel in part.panels}


def section(experiment, name):
    return {part.name: part for part in sections(Findings(experiment))}[name]


def test_names_from_the_file_make_no_element(hostile_page):
    tags = Elements(hostile_page).tags
    scripts = [attributes for tag, attributes in tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "page-data"}, {}]
    assert not [tag for tag, _ in tags if tag in ("img", "a", "i", "b2", "iframe", "object", "base", "form")]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_names_from_the_file_are_shown_as_text(hostile_page):
    texts = " ".join(Elements(hostile_page).texts)
    for name in NAMES:
        assert name in texts


def test_names_in_figures_are_escaped(hostile):
    for panel in panels(hostile).values():
        elements = Elements(draw(panel.chart, panel.title))
        assert {tag for tag, _ in elements.tags} <= {
            "svg",
            "g",
            "line",
            "text",
            "rect",
            "circle",
            "path",
            "polygon",
        }
    words = Elements(draw(panels(hostile)["confusion"].chart)).texts
    assert {shortened(label) for label in LABELS} <= set(words)


def test_nothing_is_fetched(hostile_page):
    for tag, attributes in Elements(hostile_page).tags:
        assert "src" not in attributes, tag
        assert "href" not in attributes, tag


def test_the_policy_allows_one_script_and_no_network(hostile_page):
    policy = next(
        attributes["content"]
        for tag, attributes in Elements(hostile_page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 1
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_embedded_json_cannot_end_its_element():
    data = {"a": "</script><!--\u2028\u2029&", "b": [1.5, None]}
    text = embedded(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data


def test_a_page_of_many_rows_and_columns_stays_small(rng, tmp_path):
    X = rng.normal(size=(1500, 30))
    y = np.where(
        X[:, 0] + 0.5 * rng.normal(size=1500) > 0, "long name of a class", "another long name of a class"
    )
    experiment = experiment_of(X, y, machine="lssvc", kernel=RBF(5.0, "fixed"), C=1.0)
    write_report(experiment, tmp_path / "page.html", baselines=False)
    assert (tmp_path / "page.html").stat().st_size < PAGE_MAX_BYTES


def test_two_tuned_parameters_have_a_surface_and_many_have_length_scales(two_classes, hostile):
    X, y = two_classes
    names = [panel.name for panel in curious(experiment_of(X, y.astype(int))).panels]
    assert names == ["surface", "trace", "margins"]
    assert [panel.name for panel in curious(hostile).panels] == ["trace", "relevance", "margins"]


def test_the_search_comes_last_and_the_verdict_first(hostile, hostile_page):
    names = [part.name for part in sections(find_out(hostile))]
    assert names == ["models", "mistakes", "certainty", "costs", "columns", "suspicious", "data"]
    places = [hostile_page.index(f'id="{name}"') for name in (*names, "downloads", "curious")]
    assert places == sorted(places)
    assert hostile_page.index('class="headline"') < places[0]


def test_rows_to_look_at_are_those_of_the_estimator_counted_from_one(three_classes):
    experiment = experiment_of(*three_classes)
    rows = [row[0] for row in section(experiment, "suspicious").table.rows]
    surprising = int(np.sum(experiment.estimator.label_quality_ < 0.5))
    assert rows == [f"row {row + 1}" for row in experiment.estimator.suspicious_[:15]][:surprising]
    held_out = experiment_of(*three_classes, holdout=0.2)
    rows = [row[0] for row in section(held_out, "suspicious").table.rows]
    surprising = int(np.sum(held_out.estimator.label_quality_ < 0.5))
    assert (
        rows
        == [f"row {held_out.places[row] + 1}" for row in held_out.estimator.suspicious_[:15]][:surprising]
    )


def test_errors_have_standard_errors(three_classes, noisy_curve):
    experiment = experiment_of(*three_classes)
    found = experiment.estimator.loo_score().standard_error
    assert experiment.loo_standard_error == pytest.approx(found)
    numbers = experiment_of(*noisy_curve, "regression")
    squares = numbers.estimator.loo_residuals_**2
    expected = np.std(squares, ddof=1) / np.sqrt(40) / (2 * np.sqrt(squares.mean()))
    assert numbers.loo_standard_error == pytest.approx(expected)
    assert scores(Findings(numbers).left_out)[2].standard_error == pytest.approx(expected)


def test_figures_count_every_row_once(three_classes):
    X, y = three_classes
    experiment = experiment_of(X, y)
    charts = {name: panel.chart for name, panel in panels(experiment).items()}
    right, wrong = charts["margins"].marks
    assert np.sum(right.top) + np.sum(wrong.top) == len(y)
    assert np.sum(wrong.top) == round(experiment.loo_error * len(y))
    counts = np.array(list(map(int, charts["confusion"].marks[0].texts))).reshape(3, 3)[::-1]
    assert counts.sum() == len(y)
    assert np.trace(counts) == len(y) - np.sum(wrong.top)
    cases = [int(tip.split()[-2]) for tip in charts["calibration"].marks[1].tips]
    assert sum(cases) == 3 * len(y)  # one versus rest


def test_counts_get_the_figures_of_a_regression(rng):
    X = rng.uniform(-2, 2, size=(80, 1))
    experiment = experiment_of(
        X, rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]))).astype(float), "regression", machine="poisson"
    )
    found = panels(experiment)
    assert {"predicted", "residuals", "importance", "dependence0", "surface", "trace"} <= set(found)
    assert min(found["predicted"].chart.marks[1].x) > 0  # rates, not their logarithms
    assert np.sum(found["residuals"].chart.marks[0].top) == 80
    assert experiment.loo_error == pytest.approx(
        np.sqrt(np.mean((experiment.y - np.exp(experiment.estimator.loo_decision_)) ** 2))
    )
    texts = " ".join(Elements(page(Findings(experiment))).texts)
    assert "alpha" in texts
    assert "RMSE" in texts
    surface = found["surface"].chart
    assert surface.y.title == "alpha"
    assert surface.marks[-1].y[0] == pytest.approx(experiment.estimator.alpha_, rel=1e-3)
    assert f"alpha {number(experiment.estimator.alpha_)}" in found["trace"].chart.marks[1].tips[-1]


@pytest.mark.parametrize("machine", [name for name, entry in MACHINES.items() if entry.task == "regression"])
def test_every_regressor_of_the_catalogue_can_be_reported(machine, rng):
    X = rng.uniform(-2, 2, size=(60, 1))
    experiment = experiment_of(
        X,
        rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]))).astype(float),
        "regression",
        machine=machine,
        holdout=0.2,
    )
    assert MACHINES[machine].title in " ".join(Elements(page(find_out(experiment))).texts)
    json.dumps(to_plain_data(experiment), allow_nan=False)


def test_the_length_scales_are_drawn_as_their_inverse(hostile):
    chart = panels(hostile)["relevance"].chart
    lengths = hostile.estimator.kernel_.length_scale
    assert chart.marks[0].right == pytest.approx(np.sort(1 / lengths), rel=1e-5)
    assert chart.y.names[-1] == shortened(NAMES[int(np.argmin(lengths))])


def test_the_page_names_the_criterion_by_title_and_unit(hostile, hostile_page):
    criterion = hostile.estimator.selection_.criterion
    texts = " ".join(Elements(hostile_page).texts)
    assert f"{criterion.title} ({criterion.name})" in texts
    assert criterion.unit in texts
    assert panels(hostile)["trace"].chart.y.title == f"criterion ({criterion.unit})"


def test_the_page_shows_the_command_and_versions(hostile_page):
    texts = " ".join(Elements(hostile_page).texts)
    assert "</code><script>alert(7)" in texts
    assert "scikit-learn" in texts


@pytest.mark.parametrize(
    "machine", [name for name, entry in MACHINES.items() if entry.task == "classification"]
)
def test_every_classifier_of_the_catalogue_can_be_reported(machine, three_classes):
    experiment = experiment_of(*three_classes, machine=machine)
    texts = " ".join(Elements(page(find_out(experiment))).texts)
    assert MACHINES[machine].title in texts
    json.dumps(to_plain_data(experiment), allow_nan=False)


def test_a_comparison_of_criteria_is_shown_when_there_is_one(two_classes):
    X, y = two_classes
    experiment = experiment_of(X, y.astype(int))
    compared = compare(X, y.astype(int), ["logistic"], ["loo", "evidence"], repeats=2, max_evaluations=5)
    panel = curious(replace(experiment, comparison=compared)).panels[-1]
    assert panel.name == "comparison"
    assert sorted(panel.chart.y.names) == ["evidence", "loo"]


@pytest.mark.parametrize("machine", ["svc", "lssvc"])
def test_machines_without_probabilities_of_their_own_show_how_reliable_the_calibrated_ones_are(
    machine, three_classes, two_classes
):
    for X, y in (two_classes, three_classes):
        experiment = experiment_of(X, y.astype(int), machine=machine)
        dots = panels(experiment)["calibration"].chart.marks[1]
        p = experiment.estimator.calibration_(experiment.loo_outputs)
        assert np.array_equal(experiment.loo_probabilities, p)
        given = np.average(dots.x, weights=[int(tip.split()[-2]) for tip in dots.tips])
        assert given == pytest.approx(p[:, 1].mean() if p.shape[1] == 2 else 1 / p.shape[1], rel=1e-4)


def test_no_panel_stands_alone_beside_a_gap(two_classes, three_classes, hostile):
    X, y = two_classes
    for experiment in (experiment_of(X, y.astype(int)), experiment_of(*three_classes), hostile):
        for part in (*sections(Findings(experiment)), curious(experiment)):
            halves = sum(not panel.wide for panel in part.panels) + sum(panel.tall for panel in part.panels)
            assert halves % 2 == 0


def test_every_evaluation_near_the_choice_is_in_the_figure(two_classes):
    X, y = two_classes
    chart = panels(experiment_of(X, y.astype(int), machine="svc"))["surface"].chart
    cells, dots = chart.marks[0], next(mark for mark in chart.marks if mark.name == "evaluations")
    assert chart.x.low == pytest.approx(min(cells.left))
    assert chart.x.high == pytest.approx(max(cells.right))
    assert chart.x.low < min(dots.x)
    assert max(dots.x) < chart.x.high
    assert chart.y.low < min(dots.y)
    assert max(dots.y) < chart.y.high


def test_the_best_so_far_begins_anew_on_a_finer_matrix():
    assert _best_so_far(np.array([3.0, 1.0, 2.0, 5.0, 6.0, 4.0]), 3).tolist() == [3, 1, 1, 5, 5, 4]
    assert _best_so_far(np.array([3.0, 1.0]), 2).tolist() == [3, 1]


def test_a_criterion_far_off_is_drawn_at_the_edge_and_named_in_full():
    lines = [
        {"criterion": c, "title": f"criterion {c}", "error": e, "sd": 0.01, "seconds": 1.0}
        for c, e in zip("abc", (0.1, 0.12, 0.9))
    ]
    held_out, far = comparison(SimpleNamespace(sorted_lines=lambda: lines), "error").marks
    assert held_out.x == pytest.approx([0.12, 0.1])
    assert far.x == pytest.approx([1.05 * 0.13])
    assert far.tips == ["criterion c: 90 %, 1.00 s"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1423.4, "1420"),
        (999.9, "1000"),
        (-98765, "-98,800"),
        (123456, "123,000"),
        (1e7, "10,000,000"),
        (1.234e9, "1.23e9"),
        (0.000927, "0.000927"),
        (0, "0"),
    ],
)
def test_numbers_a_reader_can_use(value, written):
    assert number(value) == written


def test_the_page_shows_the_shares_of_the_classes(three_classes):
    X, y = three_classes
    texts = " ".join(Elements(page(Findings(experiment_of(X, y)))).texts)
    for label in np.unique(y):
        n = np.sum(y == label)
        assert f"“{label}” {n} times ({100 * n / len(y):.1f} %)" in texts


def test_a_few_wrong_rows_among_many_have_their_bar(rng):
    outputs, codes = np.r_[rng.uniform(5, 60, 996), -0.2, -3.0, -0.1, -7.0], np.ones(1000, dtype=int)
    experiment = SimpleNamespace(
        loo_outputs=outputs[:, None], y=codes, estimator=SimpleNamespace(classes_=np.array([0, 1]))
    )
    right, wrong = class_figures.margins(experiment).marks
    assert (sum(right.top), sum(wrong.top)) == (996, 4)


def unseen_classes(rng, n=300, k=3):
    y = rng.integers(k, size=n)
    p = rng.dirichlet(np.ones(k), size=n) + 0.8 * np.eye(k)[y] * rng.uniform(size=(n, 1))
    p /= p.sum(axis=1, keepdims=True)
    return Unseen("a", y, np.argmax(p, axis=1), p, np.arange(k), "made up")


def test_scores_are_those_of_scikit_learn(rng):
    for k in (2, 3):
        one = unseen_classes(rng, k=k)
        found = {score.name: score.value for score in scores(one)}
        proba = one.probabilities[:, 1] if k == 2 else one.probabilities
        assert found["log loss"] == pytest.approx(log_loss(one.y, one.probabilities))
        assert found["AUC"] == pytest.approx(roc_auc_score(one.y, proba, multi_class="ovr"))
        assert found["balanced accuracy"] == pytest.approx(balanced_accuracy_score(one.y, one.predicted))
        assert found["error"] == pytest.approx(np.mean(one.y != one.predicted))
    y = rng.normal(size=200)
    numbers = Unseen("a", y, y + 0.5 * rng.normal(size=200), None, None, "made up")
    found = {score.name: score.value for score in scores(numbers)}
    assert found["R²"] == pytest.approx(r2_score(y, numbers.predicted))
    assert found["MAE"] == pytest.approx(mean_absolute_error(y, numbers.predicted))


def test_standard_errors_are_those_of_the_bootstrap(rng):
    """The spread of a score over resampled rows, which needs no formula, is its standard error."""
    y = rng.normal(size=400)
    numbers = Unseen("a", y, 0.8 * y + 0.5 * rng.normal(size=400), None, None, "made up")
    for one in (unseen_classes(rng, 400, 2), unseen_classes(rng, 400, 3), numbers):
        draws = []
        for _ in range(400):
            rows = rng.integers(400, size=400)
            p = None if one.probabilities is None else one.probabilities[rows]
            part = replace(one, y=one.y[rows], predicted=one.predicted[rows], probabilities=p)
            draws.append([score.value for score in scores(part)])
        expected = np.std(draws, axis=0)
        assert [score.standard_error for score in scores(one)] == pytest.approx(expected, rel=0.15)


def test_a_model_gains_nothing_over_itself_for_sure(rng):
    one = unseen_classes(rng)
    for score in scores(one):
        assert gain(score, score) == (0, 0)


def test_simple_models_are_judged_on_the_same_rows(three_classes):
    experiment = experiment_of(*three_classes)
    for other in baselines(experiment):
        assert np.array_equal(other.y, experiment.y)
        assert other.probabilities.sum(axis=1) == pytest.approx(1)
    held_out = experiment_of(*three_classes, holdout=0.3)
    for other in baselines(held_out):
        assert np.array_equal(other.y, held_out.held_out.y)


def test_a_class_of_one_row_does_not_stop_the_simple_models(rng):
    X, y = rng.normal(size=(40, 2)), np.array(["rare"] + ["common"] * 39)
    experiment = SimpleNamespace(
        X=X,
        y=y,
        held_out=None,
        is_classification=True,
        estimator=SimpleNamespace(classes_=np.unique(y)),
        indicators=np.asarray,
    )
    assert [len(other.y) for other in baselines(experiment)] == [40, 40, 40]


def test_a_useless_table_is_called_useless(rng):
    X, y = rng.normal(size=(120, 2)), rng.integers(2, size=120)
    findings = find_out(experiment_of(X, y))
    expected = (
        "Not shown to be useful: on 120 rows, not clearly better than always answering the commonest class."
    )
    assert headline(findings) == expected
    numbers = find_out(experiment_of(X, rng.normal(size=120), "regression"))
    assert headline(numbers).startswith("Not shown to be useful")
    page(numbers)


def test_a_clear_order_of_rows_held_out_is_of_use_even_if_the_log_loss_is_not_clearly_better(rng):
    y = np.arange(80) % 2
    evidence = 2 * y - 1 + 1.5 * rng.normal(size=80)

    def overconfident(factor):
        p = expit(factor * evidence)
        return Unseen("ours", y, y, np.column_stack([1 - p, p]), np.arange(2), "")

    guess = Unseen("commonest class", y, 0 * y, np.full((80, 2), 0.5), np.arange(2), "")
    # Where the log loss is that of the guess: small factors are better, large ones worse.
    factor = brentq(lambda f: find("log loss", overconfident(f)).value - np.log(2), 0.5, 50)
    assert _against_guess(overconfident(factor), guess, on_held_out=True) == "better"
    assert _against_guess(overconfident(factor), guess, on_held_out=False) == "equal"
    assert _against_guess(overconfident(50), guess, on_held_out=True) == "worse"


def test_a_model_worse_than_guessing_is_cautioned_about(two_classes):
    X, y = two_classes
    experiment = experiment_of(X, y.astype(int), holdout=0.5)
    wrong = replace(experiment.held_out, y=-experiment.held_out.predicted)
    assert "no better than always predicting" in cautions(Findings(replace(experiment, held_out=wrong)))[0]
    assert not any("no better" in caution for caution in cautions(Findings(experiment)))


def test_an_error_that_is_lower_by_chance_is_cautioned_about(rng):
    """Of 100 rows held out, half of either class, 47 are answered wrongly."""
    y = np.arange(200) % 2
    experiment = experiment_of(rng.normal(size=(200, 2)) + 2 * y[:, None], y, holdout=0.5)
    held = experiment.held_out
    wrong = rng.permutation(100) < 47
    chance = replace(held, predicted=np.where(wrong, 1 - held.y, held.y), probabilities=None)
    assert "may be chance" in cautions(Findings(replace(experiment, held_out=chance)))[0]
    assert not any("chance" in caution for caution in cautions(Findings(experiment)))


def test_an_r2_above_zero_by_chance_is_cautioned_about(rng):
    X = rng.normal(size=(200, 1))
    experiment = experiment_of(
        X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=200), task="regression", holdout=0.5
    )
    held = experiment.held_out
    # Every other row, in the order of the distances from the mean, is closer to its answer than to the mean; R² is 0.02.
    spread = held.y - held.y.mean()
    rank = np.argsort(np.argsort(np.abs(spread)))
    step = np.where(rank % 2, 0.1, -0.07) * spread
    chance = replace(held, predicted=held.y.mean() + step)
    assert "may be chance" in cautions(Findings(replace(experiment, held_out=chance)))[0]
    assert not any("chance" in caution for caution in cautions(Findings(experiment)))


def test_an_auc_of_a_model_that_knows_nothing_is_explained(rng):
    X, y = rng.normal(size=(40, 2000)), np.arange(40) % 2
    first = cautions(Findings(experiment_of(X, y, kernel="linear")))[0]
    assert "no better than always predicting" in first
    assert "The AUC below 0.5 comes from leaving rows out" in first


def test_a_rare_class_that_is_never_answered_is_told_apart_by_probabilities(rng):
    X = rng.uniform(-1, 1, size=(400, 1))
    y = (rng.uniform(size=400) < 0.15 * (X[:, 0] > 0)).astype(int)
    first = cautions(Findings(experiment_of(X, y, kernel="rbf")))[0]
    assert "no better than always predicting the most frequent class" in first
    assert "its probabilities tell rows apart (AUC 0." in first


def test_many_parameters_send_the_reader_to_rows_that_did_not_choose_them(rng):
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] > 0, "in", "out")
    for holdout, cure in (
        (0.0, "Hold rows out (--holdout 0.25)"),
        (0.3, "Trust the scores on the rows held out."),
    ):
        found = cautions(Findings(experiment_of(X, y, kernel="rbf-ard-free", holdout=holdout)))
        assert [caution for caution in found if "parameters were chosen on" in caution and cure in caution]


def test_a_learned_metric_is_praised_without_reserve_only_for_rows_held_out(rng):
    X = rng.normal(size=(120, 5))
    y = np.where(X[:, 0] + X[:, 1] > 0, "in", "out")
    left_out, held_out = (
        find_out(experiment_of(X, y, kernel="rbf-metric", holdout=share)) for share in (0.0, 0.3)
    )
    assert left_out.experiment.estimator.selection_.metric_is_learned
    assert headline(left_out).startswith("Probably useful: better than")
    assert any("metric was learned" in caution for caution in cautions(left_out))
    assert headline(held_out).startswith("Useful: clearly better than")
    assert not any("metric was learned" in caution for caution in cautions(held_out))


def test_a_final_fit_is_cautioned_about_only_if_it_is_worse_than_the_search_expected(two_classes):
    X, y = two_classes
    experiment = experiment_of(X, y.astype(int))
    selection = experiment.estimator.selection_
    best = selection.outcome.best
    for factor, expected in ((0.5, True), (2.0, False)):
        outcome = replace(selection.outcome, best=replace(best, value=factor * best.value))
        experiment.estimator.selection_ = replace(selection, outcome=outcome)
        found = cautions(Findings(experiment))
        assert any("The search expected" in caution for caution in found) is expected


def test_a_model_that_beats_all_others_says_so(rng):
    X = rng.uniform(-2, 2, size=(200, 2))
    y = np.where(np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0, "in", "out")
    findings = find_out(experiment_of(X, y))
    assert headline(findings).startswith("Useful: clearly better than")
    assert "commonest class" in headline(findings) or "boosted trees" not in headline(findings)
    assert "five-fold" in " ".join(sentences(findings))


def test_rows_left_out_and_held_out_that_disagree_are_cautioned_about(two_classes):
    X, y = two_classes
    experiment = experiment_of(np.tile(X, (5, 1)), np.tile(y.astype(int), 5), holdout=0.5)
    flipped = replace(
        experiment.held_out, y=-experiment.held_out.y, probabilities=experiment.held_out.probabilities
    )
    findings = Findings(replace(experiment, held_out=flipped))
    assert disagreement(findings) > 2
    assert any("disagree" in caution for caution in cautions(findings))
    assert not any("disagree" in caution for caution in cautions(Findings(experiment)))


def shop_table(folder):
    """A file with a constant column, a category of three levels, one of two, and missing values."""
    rng = np.random.default_rng(5)
    n = 150
    size, colour = rng.normal(10, 2, size=n), rng.choice(["red", "green", "blue"], size=n)
    sold = np.where(size + 3 * (colour == "red") + rng.normal(size=n) > 11, "yes", "no")
    lines = ["size,colour,shop,noise,used,sold"]
    for i in range(n):
        shown = "" if i % 30 == 7 else f"{size[i]:.3f}"
        lines.append(f"{shown},{colour[i]},7,{rng.normal():.3f},{'ab'[i % 2]},{sold[i]}")
    path = folder / "shop.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = shop_table(tmp_path_factory.mktemp("shop"))
    table = read_table(path, "sold", impute=True)
    return run_experiment(table, "logistic", source=str(path), command="foldless tune shop.csv")


def test_columns_that_matter_are_those_of_the_file_and_constant_ones_are_left_out(shop):
    found = importance(shop)
    names = [column.name for column in found.columns]
    assert set(names[:2]) == {"size", "colour"}
    assert set(names) == {"size", "colour", "noise", "used"}
    words = " ".join(section(shop, "columns").words)
    assert "always the same: shop." in words


def test_partial_dependence_of_a_category_has_a_value_per_level(shop):
    column = next(column for column in original_columns(shop) if column.name == "colour")
    found = dependence(shop, column)
    assert found.values == ["blue", "green", "red"]
    yes = found.answers[:, 1]
    assert yes[2] > max(yes[:2]) + 0.1


def test_the_data_section_has_a_line_per_column_of_the_file(shop):
    rows = {row[0]: row[1:] for row in section(shop, "data").table.rows}
    assert list(rows) == ["size", "colour", "shop", "noise", "used"]
    assert rows["size"][1] == "5 (3.3 %)"
    assert "missing values become" in rows["size"][4]
    assert rows["colour"][2] == "3 levels"
    assert rows["used"][4] == "1 for “b”, 0 for “a”"
    assert rows["shop"][4] == "carries no information: always the same"


def test_thresholds_follow_the_costs(shop):
    ours = Findings(shop).left_out
    lines = cost_table(ours)
    assert [line[2] for line in lines][3] == "0.50"
    missed = [int(line[3].split()[0]) for line in lines]
    assert missed == sorted(missed)
    data = threshold_data(ours)
    assert [f"{np.sum(np.array(data['positive']) < 1 / 6)} of {data['n_positive']}"] == lines[1][3:4]
    assert [f"{np.sum(np.array(data['negative']) >= 1 / 6)} of {data['n_negative']}"] == lines[1][4:5]


def test_the_probabilities_of_many_rows_are_thinned_and_keep_their_distribution(rng):
    p = rng.random(3 * COUNTED_MAX_ROWS)
    codes = np.r_[np.ones(2 * COUNTED_MAX_ROWS, int), np.zeros(COUNTED_MAX_ROWS, int)]
    many = Unseen("ours", codes, codes, np.c_[1 - p, p], np.arange(2), "left out")
    data = threshold_data(many)
    assert len(data["positive"]) == len(data["negative"]) == COUNTED_MAX_ROWS
    assert data["n_positive"] == 2 * COUNTED_MAX_ROWS
    share = np.mean(np.array(data["positive"]) < 0.3)
    assert share == pytest.approx(np.mean(p[codes == 1] < 0.3), abs=1 / COUNTED_MAX_ROWS)


def test_predictions_have_a_line_per_row_of_the_table(shop, three_classes):
    lines = predictions_csv(Findings(shop)).splitlines()
    assert lines[0] == "row,sold,predicted,probability of no,probability of yes,judged"
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(1, 151))
    split = predictions_csv(Findings(experiment_of(*three_classes, holdout=0.3))).splitlines()[1:]
    assert [int(line.split(",")[0]) for line in split] == list(range(1, 61))
    assert sum(line.endswith("held out") for line in split) == 18


def test_the_script_fits_the_same_model_again(shop, tmp_path):
    script = refit_script(shop).replace(
        "print(model.predict(table.X)[:10])", "print(model.predict_proba(table.X)[:9, 1].tolist())"
    )
    (tmp_path / "refit.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "refit.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == pytest.approx(
        shop.model.predict_proba(shop.X)[:9, 1].tolist(), rel=1e-4
    )


def test_the_script_does_not_learn_a_metric_again(rng, tmp_path):
    X = rng.normal(size=(120, 5)).round(6)
    y = np.where(X[:, 0] + X[:, 1] > 0, "in", "out")
    lines = ["a,b,c,d,e,y", *(",".join([*map(str, row), label]) for row, label in zip(X, y))]
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    table = read_table(tmp_path / "rows.csv", "y")
    found = run_experiment(table, "logistic", kernel="rbf-metric", source=str(tmp_path / "rows.csv"))
    assert found.estimator.selection_.metric_is_learned
    names: dict = {}
    exec(refit_script(found), names)  # noqa: S102
    again, ours = (model.predict_proba(table.X)[:, 1] for model in (names["model"], found.model))
    assert again == pytest.approx(ours, abs=1e-6)


def test_the_script_of_hostile_names_is_only_a_script(hostile):
    compile(refit_script(hostile), "refit.py", "exec")
    card = model_card(Findings(hostile))
    assert "<" not in card
    assert "alert" in card


def test_every_file_is_offered(shop):
    names = [file.name for file in downloads(Findings(shop))]
    assert names == ["predictions.csv", "parameters.json", "refit.py", "model_card.md"]
    assert json.loads(downloads(Findings(shop))[1].content)["target"] == "sold"


def test_the_form_of_the_model_is_said(shop):
    assert "The model was fitted exactly, to all" in page(Findings(shop))
