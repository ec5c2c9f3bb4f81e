"""What the report writes for people: units they know, dates on axes, names of rows."""

from datetime import date, timedelta

import numpy as np
import pytest

from foldless.cli import read_table, run_experiment
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table
from foldless.cli.numbers import from_table, with_spread
from foldless.cli.report.cautions import cautions
from foldless.cli.report.chart import Axis
from foldless.cli.report.column_figures import answer_axis, dependent
from foldless.cli.report.columns import dependence, importance, original_columns
from foldless.cli.report.root_curve import RootCurve
from foldless.cli.report.sections import sections
from foldless.cli.report.svg import ticks
from foldless.cli.report.verdict import Findings
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.inspection.criterion_surface import parameters


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    """Flats with a name, a day and a price that grows with size."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("sales") / "sales.csv"
    lines = ["flat,sold,size,built,price"]
    for i in range(90):
        day = date(2019, 1, 2) + timedelta(days=int(rng.integers(0, 1500)))
        size, built = rng.uniform(20, 160), rng.integers(1900, 2022)
        lines.append(
            f"F-{i},{day},{size:.1f},{built},{2500 * size + 500 * (built - 1900) + 9000 * rng.normal():.0f}"
        )
    path.write_text("\n".join(lines), encoding="utf-8")
    return run_experiment(read_table(path, "price", id_column="flat"), "ridge", kernel="rbf")


def part(experiment, name):
    return {section.name: section for section in sections(Findings(experiment))}[name]


def test_a_root_curve_has_the_root_mean_squares_and_their_errors_to_first_order(rng):
    squares = LearningCurve(np.array([20.0, 40.0, 80.0]), rng.chisquare(1, size=(4000, 3)) * [9.0, 4.0, 1.0])
    found = RootCurve(squares)
    assert found.values == pytest.approx(np.sqrt(squares.losses.mean(axis=0)))
    draws = [np.sqrt(squares.losses[rng.integers(4000, size=4000)].mean(axis=0)).tolist() for _ in range(400)]
    # The spread of 400 resamples is known to 1 / sqrt(800) = 3.5 %; 15 % is four times that.
    assert found.standard_errors == pytest.approx(np.std(draws, axis=0), rel=0.15)
    value, error = found.extrapolate([160])
    value_of_squares, error_of_squares = squares.extrapolate([160])
    assert value**2 == pytest.approx(value_of_squares)
    assert 2 * value * error == pytest.approx(error_of_squares)


def test_errors_of_numbers_are_in_the_unit_of_the_target(sales):
    rises = importance(sales)
    assert rises.columns[0].name == "size"
    # Shuffling a column that explains a deviation s adds errors of about sqrt(2) s.
    spread = 2500 * 140 / np.sqrt(12)
    assert 0.7 * spread < rises.rise[0] < 2 * spread
    words = " ".join(part(sales, "rows").words)
    assert "RMSE" in words
    assert "e9" not in words
    assert "squared" not in words


def test_a_column_of_dates_is_drawn_along_years(sales):
    column = next(column for column in original_columns(sales) if column.name == "sold")
    found = dependence(sales, column)
    first, last = (date(1970, 1, 1) + timedelta(days=int(found.values[i])) for i in (0, -1))
    chart = dependent(found, None, answer_axis([found], None, "price"))
    labels = [label for _, label in ticks(chart.x)]
    assert set(range(first.year + 1, last.year + 1)) <= set(map(int, labels))
    assert chart.marks[-1].tips[0].startswith(f"{first}: ")


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        ("2019-03-01", "2023-02-01", ["2020", "2021", "2022", "2023"]),
        ("2022-11-15", "2023-02-20", ["2022-12", "2023-01", "2023-02"]),
        ("2022-11-15", "2022-11-19", ["2022-11-16", "2022-11-17", "2022-11-18", "2022-11-19"]),
        ("1950-01-01", "2020-01-02", ["1951", "1963", "1975", "1987", "1999", "2011"]),
    ],
)
def test_ticks_of_dates_are_the_beginnings_of_years_months_or_days(low, high, labels):
    ends = [float(np.datetime64(end, "D").astype(int)) for end in (low, high)]
    found = ticks(Axis("", *ends, dates=True))
    assert [label for _, label in found] == labels
    assert all(ends[0] <= place <= ends[1] for place, _ in found)
    assert [place for place, _ in found] == [
        float(np.datetime64(label, "D").astype(int)) for _, label in found
    ]


def test_rows_to_look_at_are_called_by_their_names(sales):
    names = [row[0] for row in part(sales, "suspicious").table.rows]
    assert all(name == f"F-{int(name.split('row ')[1][:-1]) - 1} ({name.split('(')[1]}" for name in names)


def test_whole_numbers_of_a_column_keep_their_digits(sales):
    built = sales.table.X[:, sales.table.feature_names.index("built")]
    rows = {row[0]: row for row in part(sales, "data").table.rows}
    assert rows["built"][3].startswith(f"{int(built.min())} to {int(built.max())}, ")
    assert from_table(1_234_567.0) == "1,234,567"


@pytest.mark.parametrize(
    ("value", "spread", "written"),
    [
        (57.46, 0.684, "57.5 ± 0.7"),
        (0.0123, 0.0004, "0.0123 ± 0.0004"),
        (41312.0, 5362.0, "41,300 ± 5360"),
        (0.0, 0.0, "0 ± 0"),
    ],
)
def test_a_number_and_its_uncertainty_end_at_the_same_digit(value, spread, written):
    assert with_spread(value, spread) == written


def experiment_of(X, y, **options):
    names = [f"x{j}" for j in range(X.shape[1])]
    encoder = Encoder(tuple(Code(name, "number") for name in names), "y", "classification")
    return run_experiment(
        Table(X, y, names, "y", "classification", encoder), "logistic", kernel="rbf", **options
    )


def test_rows_that_surprise_nobody_are_not_listed(rng):
    X = np.r_[rng.normal(-4, 0.5, size=(30, 2)), rng.normal(4, 0.5, size=(30, 2))]
    found = part(experiment_of(X, np.repeat(["left", "right"], 30)), "suspicious")
    assert found.table is None
    assert found.words == ["None: no row surprises the model that has not seen it."]


def test_columns_without_an_effect_are_not_drawn(rng):
    X = np.column_stack([rng.normal(size=80), 1e-3 * rng.normal(size=(80, 2))])
    experiment = experiment_of(X, np.where(X[:, 0] > 0, "a", "b"), scale=False)
    drawn = [panel.title for panel in part(experiment, "columns").panels if panel.name != "importance"]
    assert drawn == ["x0"]


def test_length_scales_of_columns_that_do_not_matter_are_no_caution(rng):
    X = rng.normal(size=(120, 6))
    experiment = run_experiment(
        experiment_of(X, np.where(X[:, 0] > 0, "a", "b")).table, "logistic", kernel="rbf-ard-free"
    )
    at_bound = [p for p in parameters(experiment.estimator.selection_) if p.on_bound == "upper"]
    assert at_bound
    assert not [caution for caution in cautions(Findings(experiment)) if "length scale" in caution]
