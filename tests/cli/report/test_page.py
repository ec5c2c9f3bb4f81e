"""The page as a text: self-contained, escaped, complete."""

import json
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest

from foldless.cli import run_experiment
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table
from foldless.cli.report import class_figures
from foldless.cli.report.page import embedded
from foldless.cli.report.plotly_json import escape_for_plotly
from foldless.cli.report.search_figures import _best_so_far, comparison
from foldless.cli.report.text import number, to_plain_data
from foldless.cli.report.write import page, panels
from foldless.estimators.registry import MACHINES
from foldless.inspection.compare import compare
from oracles.hostile import LABELS, NAMES, hostile_experiment


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
    return page(hostile)


def test_names_from_the_file_make_no_element(hostile_page):
    tags = Elements(hostile_page).tags
    scripts = [attributes for tag, attributes in tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "figures"}, {}, {}]
    assert not [tag for tag, _ in tags if tag in ("img", "a", "i", "iframe", "object", "base", "form")]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_names_from_the_file_are_shown_as_text(hostile_page):
    texts = " ".join(Elements(hostile_page).texts)
    for name in NAMES:
        assert name in texts


def test_names_in_figures_are_escaped_for_plotly(hostile):
    found = json.dumps([panel.figure for panel in panels(hostile)])
    for name in (*NAMES, *LABELS):
        for piece in ("<script", "<img", "<b>", "<a "):
            if piece in name:
                assert piece not in found
    assert escape_for_plotly(NAMES[0])[:10] in found


def test_names_never_enter_a_template(hostile):
    for panel in panels(hostile):
        for trace in panel.figure["data"]:
            template = trace.get("hovertemplate", "") + trace.get("texttemplate", "")
            assert "alert" not in template
            assert "bold" not in template


def test_nothing_is_fetched(hostile_page):
    for tag, attributes in Elements(hostile_page).tags:
        assert "src" not in attributes, tag
        assert "href" not in attributes, tag


def test_the_policy_allows_the_two_scripts_and_no_network(hostile_page):
    policy = next(
        attributes["content"]
        for tag, attributes in Elements(hostile_page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 2
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_embedded_json_cannot_end_its_element():
    data = {"a": "</script><!--\u2028\u2029&", "b": [1.5, None]}
    text = embedded(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data


def test_every_figure_is_one_that_plotly_accepts(two_classes, three_classes, hostile):
    X, y = two_classes
    experiments = [experiment_of(X, y.astype(int), holdout=0.2), experiment_of(*three_classes), hostile]
    for experiment in experiments:
        for panel in panels(experiment):
            go.Figure(panel.figure)  # raises on an unknown attribute
            json.dumps(panel.figure, allow_nan=False)


def test_two_tuned_parameters_have_a_surface_and_many_have_relevances(two_classes, hostile):
    X, y = two_classes
    names = [panel.name for panel in panels(experiment_of(X, y.astype(int)))]
    assert names == ["surface", "trace", "margins", "calibration", "confusion", "suspicious"]
    assert [panel.name for panel in panels(hostile)] == [
        "trace",
        "relevance",
        "margins",
        "calibration",
        "confusion",
    ]


def test_rows_to_look_at_are_those_of_the_estimator_counted_from_one(three_classes):
    experiment = experiment_of(*three_classes)
    figure = {panel.name: panel.figure for panel in panels(experiment)}["suspicious"]
    names = figure["layout"]["yaxis"]["ticktext"][::-1]
    assert names == [f"row {row + 1}" for row in experiment.estimator.suspicious_[:15]]
    held_out = experiment_of(*three_classes, holdout=0.2)
    assert "suspicious" not in [panel.name for panel in panels(held_out)]


def test_errors_have_standard_errors(three_classes, noisy_curve):
    experiment = experiment_of(*three_classes)
    found = experiment.estimator.loo_score().standard_error
    assert experiment.loo_standard_error == pytest.approx(found)
    numbers = experiment_of(*noisy_curve, "regression")
    squares = numbers.estimator.loo_residuals_**2
    expected = np.std(squares, ddof=1) / np.sqrt(40) / (2 * np.sqrt(squares.mean()))
    assert numbers.loo_standard_error == pytest.approx(expected)


def test_figures_count_every_row_once(three_classes):
    X, y = three_classes
    experiment = experiment_of(X, y)
    figure = {panel.name: panel.figure for panel in panels(experiment)}
    assert sum(sum(bar["y"]) for bar in figure["margins"]["data"]) == len(y)
    assert np.sum(figure["confusion"]["data"][0]["z"]) == len(y)
    wrong = sum(figure["margins"]["data"][1]["y"])
    assert wrong == round(experiment.loo_error * len(y))
    assert np.trace(figure["confusion"]["data"][0]["z"]) == len(y) - wrong
    cases = figure["calibration"]["data"][1]["customdata"]
    assert sum(case[0] for case in cases) == 3 * len(y)  # one versus rest


def test_counts_get_the_figures_of_a_regression(rng):
    X = rng.uniform(-2, 2, size=(80, 1))
    experiment = experiment_of(
        X, rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]))).astype(float), "regression", machine="poisson"
    )
    figure = {panel.name: panel.figure for panel in panels(experiment)}
    assert list(figure) == ["surface", "trace", "predicted", "residuals", "suspicious"]
    go.Figure(figure["predicted"])
    assert min(figure["predicted"]["data"][1]["x"]) > 0  # rates, not their logarithms
    assert sum(figure["residuals"]["data"][0]["y"]) == 80
    assert experiment.loo_error == pytest.approx(
        np.sqrt(np.mean((experiment.y - np.exp(experiment.estimator.loo_decision_)) ** 2))
    )
    texts = " ".join(Elements(page(experiment)).texts)
    assert "alpha" in texts
    assert "RMSE" in texts
    assert figure["surface"]["layout"]["yaxis"]["title"]["text"] == "alpha"
    star = figure["surface"]["data"][-1]
    assert star["y"][0] == pytest.approx(experiment.estimator.alpha_, rel=1e-3)
    assert f"alpha {experiment.estimator.alpha_:.2g}"[:8] in figure["trace"]["data"][1]["customdata"][-1][2]


@pytest.mark.parametrize("machine", [name for name, entry in MACHINES.items() if entry.task == "regression"])
def test_every_regressor_of_the_catalogue_can_be_reported(machine, rng):
    X = rng.uniform(-2, 2, size=(60, 1))
    experiment = experiment_of(
        X, rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]))).astype(float), "regression", machine=machine
    )
    assert MACHINES[machine].title in " ".join(Elements(page(experiment)).texts)
    json.dumps(to_plain_data(experiment), allow_nan=False)
    for panel in panels(experiment):
        go.Figure(panel.figure)


def test_the_relevance_is_one_over_the_length_scale(hostile):
    figure = next(panel.figure for panel in panels(hostile) if panel.name == "relevance")
    lengths = hostile.estimator.kernel_.length_scale
    assert figure["data"][0]["x"] == pytest.approx(np.sort(1 / lengths), rel=1e-5)
    assert figure["layout"]["yaxis"]["ticktext"][-1] == escape_for_plotly(NAMES[int(np.argmin(lengths))])


def test_the_page_names_the_criterion_by_title_and_unit(hostile, hostile_page):
    criterion = hostile.estimator.selection_.criterion
    texts = " ".join(Elements(hostile_page).texts)
    assert f"{criterion.title} ({criterion.name})" in texts
    assert criterion.unit in texts
    trace = next(panel.figure for panel in panels(hostile) if panel.name == "trace")
    assert trace["layout"]["yaxis"]["title"]["text"] == f"criterion ({criterion.unit})"


def test_the_page_tells_the_command_and_versions(hostile_page):
    texts = " ".join(Elements(hostile_page).texts)
    assert "</code><script>alert(7)" in texts
    assert "scikit-learn" in texts


@pytest.mark.parametrize(
    "machine", [name for name, entry in MACHINES.items() if entry.task == "classification"]
)
def test_every_classifier_of_the_catalogue_can_be_reported(machine, three_classes):
    experiment = experiment_of(*three_classes, machine=machine)
    texts = " ".join(Elements(page(experiment)).texts)
    assert MACHINES[machine].title in texts
    json.dumps(to_plain_data(experiment), allow_nan=False)


def test_a_comparison_of_criteria_is_shown_when_there_is_one(two_classes):
    X, y = two_classes
    experiment = experiment_of(X, y.astype(int))
    compared = compare(X, y.astype(int), ["logistic"], ["loo", "evidence"], repeats=2, max_evaluations=5)
    panel = panels(replace(experiment, comparison=compared))[-1]
    assert panel.name == "comparison"
    assert sorted(panel.figure["layout"]["yaxis"]["ticktext"]) == ["evidence", "loo"]
    go.Figure(panel.figure)


@pytest.mark.parametrize("machine", ["svc", "lssvc"])
def test_machines_without_probabilities_of_their_own_show_how_reliable_the_calibrated_ones_are(
    machine, three_classes, two_classes
):
    for X, y in (two_classes, three_classes):
        experiment = experiment_of(X, y.astype(int), machine=machine)
        figure = {panel.name: panel.figure for panel in panels(experiment)}["calibration"]
        p = experiment.estimator.calibration_(experiment.loo_outputs)
        assert np.array_equal(experiment.loo_probabilities, p)
        given = np.average(figure["data"][1]["x"], weights=[n for (n,) in figure["data"][1]["customdata"]])
        assert given == pytest.approx(p[:, 1].mean() if p.shape[1] == 2 else 1 / p.shape[1], rel=1e-4)


def test_no_panel_stands_alone_beside_a_gap(two_classes, three_classes, hostile):
    X, y = two_classes
    for experiment in (experiment_of(X, y.astype(int)), experiment_of(*three_classes), hostile):
        assert sum(not panel.wide for panel in panels(experiment)) % 2 == 0


def test_every_evaluation_near_the_choice_is_in_the_figure(two_classes):
    X, y = two_classes
    figure = panels(experiment_of(X, y.astype(int), machine="svc"))[0].figure
    for name, axis in (("x", "xaxis"), ("y", "yaxis")):
        low, high = figure["layout"][axis]["range"]
        assert min(figure["data"][0][name]) == pytest.approx(10**low, rel=1e-4)
        assert max(figure["data"][0][name]) == pytest.approx(10**high, rel=1e-4)
        assert low < np.log10(min(figure["data"][2][name]))
        assert np.log10(max(figure["data"][2][name])) < high


def test_the_best_so_far_begins_anew_on_a_finer_matrix():
    assert _best_so_far(np.array([3.0, 1.0, 2.0, 5.0, 6.0, 4.0]), 3).tolist() == [3, 1, 1, 5, 5, 4]
    assert _best_so_far(np.array([3.0, 1.0]), 2).tolist() == [3, 1]


def test_a_criterion_far_off_is_drawn_at_the_edge_and_told_in_full():
    lines = [
        {"criterion": c, "title": f"criterion {c}", "error": e, "sd": 0.01, "seconds": 1.0}
        for c, e in zip("abc", (0.1, 0.12, 0.9))
    ]
    dots = comparison(SimpleNamespace(sorted_lines=lambda: lines), "error")["data"][0]
    assert dots["x"] == pytest.approx([1.05 * 13, 12, 10])
    assert dots["marker"]["symbol"] == ["triangle-right", "circle", "circle"]
    assert dots["customdata"][0][:2] == ["criterion c", "90.0"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1423.4, "1420"),
        (-98765, "-98800"),
        (123456, "1.23e5"),
        (1e7, "1e7"),
        (0.000927, "0.000927"),
        (0, "0"),
    ],
)
def test_numbers_a_reader_can_use(value, told):
    assert number(value) == told


def test_the_page_tells_the_shares_of_the_classes(three_classes):
    X, y = three_classes
    texts = " ".join(Elements(page(experiment_of(X, y))).texts)
    for label in np.unique(y):
        n = np.sum(y == label)
        assert f"{label} {n} ({100 * n / len(y):.1f} %)" in texts


def test_a_few_wrong_rows_among_many_have_their_bar(rng):
    outputs, codes = np.r_[rng.uniform(5, 60, 996), -0.2, -3.0, -0.1, -7.0], np.ones(1000, dtype=int)
    experiment = SimpleNamespace(
        loo_outputs=outputs[:, None], y=codes, estimator=SimpleNamespace(classes_=np.array([0, 1]))
    )
    right, wrong = class_figures.margins(experiment)["data"]
    assert (sum(right["y"]), sum(wrong["y"])) == (996, 4)
