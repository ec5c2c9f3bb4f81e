"""Tables as people keep them, tuned and predicted by the command line; and what may be wrong with new ones."""

import csv
import io
import json
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foldless import KernelClassifier, load
from foldless.cli.files.encoding import Encoder
from foldless.cli.files.read_table import read_new, read_table
from foldless.cli.main import run
from foldless.core.errors import DataError

N_ROWS, N_NEW = 40, 6
FIT = ["--machine", "ridge", "--kernel", "linear"]
FIT_CLASSES = ["--machine", "logistic", "--kernel", "linear"]


def columns(seed=0):
    """Made-up orders: one value of everything per row."""
    rng = np.random.default_rng(seed)
    n = N_ROWS + N_NEW
    amount = np.round(rng.uniform(200, 90_000, n), 2)
    day = [datetime(2022, 1, 3) + timedelta(days=int(d)) for d in rng.integers(0, 900, n)]
    return {
        "id": [f"A-{1000 + i}" for i in range(n)],
        "amount": amount,
        "share": np.round(rng.uniform(0, 100, n), 1),
        "day": day,
        "colour": rng.choice(["red", "green", "blue"], n),
        "age": rng.integers(18, 80, n),
        "note": [f"order number {i} came late by {i % 7} days" for i in range(n)],
        "cost": np.round(amount / 1000 + np.array([d.month for d in day]) + rng.normal(size=n), 3),
        "late": np.where(amount + rng.normal(size=n) * 1e4 > 45_000, "yes", "no"),
        "rare": np.where(amount > 80_000, "fraud", "fine"),
    }


def us(value):
    return f"${value:,.2f}"


def european(value):
    return us(value)[1:].translate(str.maketrans(",.", ".,")) + " €"


def with_gaps(values, first=4):
    return ["" if i % 9 == first else value for i, value in enumerate(values)]


def dated(form):
    return lambda days: [day.strftime(form) for day in days]


# Name of the table -> (columns and how they are written, options of tune, kinds of the columns in X).
TABLES = {
    "iso dates": ({"day": dated("%Y-%m-%d"), "age": list, "cost": list}, ["--target", "cost", *FIT]),
    "european dates and money": (
        {"day": dated("%d.%m.%Y"), "amount": lambda v: list(map(european, v)), "cost": list},
        ["--target", "cost", *FIT],
    ),
    "american dates with times": (
        {"day": dated("%m/%d/%Y %I:%M %p"), "colour": list, "cost": list},
        ["--target", "cost", *FIT],
    ),
    "months in words": ({"day": dated("%d %b %Y"), "amount": list, "cost": list}, ["--target", "cost", *FIT]),
    "dollars": ({"amount": lambda v: list(map(us, v)), "late": list}, ["--target", "late", *FIT_CLASSES]),
    "percents": (
        {"share": lambda v: [f"{x} %" for x in v], "amount": list, "late": list},
        ["--target", "late", *FIT_CLASSES],
    ),
    "names of rows": (
        {"id": list, "amount": list, "colour": list, "late": list},
        ["--target", "late", "--id", "id", *FIT_CLASSES],
    ),
    "free text": (
        {"note": list, "id": list, "amount": list, "late": list},
        ["--target", "late", "--drop-unusable", *FIT_CLASSES],
    ),
    "gaps": (
        {
            "day": lambda v: with_gaps(dated("%Y-%m-%d")(v), 0),
            "amount": with_gaps,
            "colour": with_gaps,
            "late": lambda v: ["" if i in (3, 7) else x for i, x in enumerate(v)],
        },
        ["--target", "late", "--drop-missing-target", *FIT_CLASSES],
    ),
    "imbalance": ({"amount": list, "age": list, "rare": list}, ["--target", "rare", *FIT_CLASSES]),
}


def written(path, table, rows, delimiter=",", without=()):
    """Write some rows of a table as CSV."""
    data = columns()
    cells = {name: write(data[name]) for name, write in table.items() if name not in without}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(cells)
        writer.writerows(list(zip(*cells.values()))[rows])
    return path


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_tuned_and_new_rows_are_predicted(name, tmp_path, capsys):
    table, options = TABLES[name]
    target = options[1]
    train = written(tmp_path / "train.csv", table, slice(N_ROWS))
    new = written(tmp_path / "new.csv", table, slice(N_ROWS, None), without=[target])
    model = str(tmp_path / "model.skops")
    assert run(["tune", str(train), *options, "--json", "--save", model]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["columns"]) == set(table) - {target}
    assert run(["predict", model, str(new)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == N_NEW
    truth = columns()[target][N_ROWS:]
    if target == "cost":
        predicted = np.array([float(row["cost"]) for row in rows])
        assert np.all(np.isfinite(predicted))
        if "amount" in table and "day" in table:
            # The cost is the amount and the month, and noise of deviation 1.
            assert np.sqrt(np.mean((predicted - truth) ** 2)) < 4
    else:
        assert {row[target] for row in rows} <= set(columns()[target])
    if "--id" in options:
        assert [row["id"] for row in rows] == columns()["id"][N_ROWS:]


def test_dates_become_the_numbers_they_are(tmp_path):
    path = written(tmp_path / "a.csv", TABLES["iso dates"][0], slice(N_ROWS))
    table = read_table(path, "cost")
    days = columns()["day"][:N_ROWS]
    expected = {
        "day: days": [(day - datetime(1970, 1, 1)).days for day in days],
        "day: year": [day.year for day in days],
        "day: month": [day.month for day in days],
        "day: weekday": [day.isoweekday() for day in days],
    }
    assert table.feature_names == [*expected, "age"]
    np.testing.assert_array_equal(table.X[:, :4].T, list(expected.values()))


def test_dates_are_the_same_from_every_file(tmp_path):
    days = columns()["day"][:N_ROWS]
    cost = columns()["cost"][:N_ROWS]
    pq.write_table(pa.table({"day": [day.date() for day in days], "cost": cost}), tmp_path / "d.parquet")
    pq.write_table(
        pa.table({"day": pa.array(days, pa.timestamp("ns")), "cost": cost}), tmp_path / "t.parquet"
    )
    lines = [json.dumps({"day": f"{day:%Y-%m-%d}", "cost": c}) for day, c in zip(days, cost)]
    (tmp_path / "l.jsonl").write_text("\n".join(lines), encoding="utf-8")
    csvs = {"day": dated("%d.%m.%Y"), "cost": list}
    tables = [
        read_table(path, "cost")
        for path in (tmp_path / "d.parquet", tmp_path / "t.parquet", tmp_path / "l.jsonl",
                     written(tmp_path / "c.csv", csvs, slice(N_ROWS)))
    ]  # fmt: skip
    for table in tables[1:]:
        np.testing.assert_array_equal(table.X, tables[0].X)
        np.testing.assert_array_equal(table.y, tables[0].y)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$1,234.50", "$5", "-$7.25", "($3.00)"], [1234.5, 5, -7.25, -3]),
        (["1.234,50 €", "5,5 €", "-7 €", "1.000.000 €"], [1234.5, 5.5, -7, 1e6]),
        (["12 %", "0.5 %", "100 %", "3%"], [12, 0.5, 100, 3]),
        (["1,234,567", "12", "1,000", "7"], [1234567, 12, 1000, 7]),
        (["1 234,5", "2,25", "3", "12 000,0"], [1234.5, 2.25, 3, 12000]),
        (["CHF 1'234.50", "CHF 5", "CHF 7", "CHF 8"], [1234.5, 5, 7, 8]),
    ],
)
def test_written_numbers_are_understood_with_a_note(tmp_path, cells, numbers):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f'"{cell}",{i}.5\n' for i, cell in enumerate(cells)), encoding="utf-8")
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.X[:, 0], numbers)
    assert any("'x' was read as numbers" in note for note in table.notes)


@pytest.mark.parametrize(
    ("cells", "numbers", "unit"),
    [
        (["89.4 kg", "75 kg", "102.25 kg", "8 kg"], [89.4, 75, 102.25, 8], "kg"),
        (["12cm", "7cm", "-3.5cm", "9cm"], [12, 7, -3.5, 9], "cm"),
        (["1,250 km/h", "90 km/h", "n.a.", "70 km/h"], [1250, 90, np.nan, 70], "km/h"),
        (["21 °C", "19.5 °C", "-2 °C", "8 °C"], [21, 19.5, -2, 8], "°C"),
        (["2 doors", "4 doors", "4 doors", "2 doors"], [2, 4, 4, 2], "doors"),
        (["1.5 m²", "7 m²", "8 m²", "3 m²"], [1.5, 7, 8, 3], "m²"),
    ],
)
def test_numbers_that_share_one_unit_are_understood_with_a_note(tmp_path, cells, numbers, unit):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f'"{cell}",{i}.5\n' for i, cell in enumerate(cells)), encoding="utf-8")
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.values[:, 0], numbers)
    assert table.verdicts["x"] == f"number, in {unit}"
    assert any(f"'x' was read as numbers: '{cells[0]}' is {numbers[0]:g}" in note for note in table.notes)
    assert Encoder.from_dict(json.loads(json.dumps(table.encoder.to_dict()))) == table.encoder


@pytest.mark.parametrize(
    "cells",
    [
        ["1st", "2nd", "1st", "2nd"],
        ["5 kg", "500 g", "5 kg", "500 g"],
        ["12a", "12b", "12a", "12b"],
        ["size 5", "size 6", "size 5", "size 6"],
        ["5 of them", "6 of them", "5 of them", "6 of them"],
        ["12:30 PM", "1:30 PM", "12:30 PM", "1:30 PM"],
    ],
)
def test_texts_without_one_unit_stay_categories(tmp_path, cells):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f'"{cell}",{i}.5\n' for i, cell in enumerate(cells)), encoding="utf-8")
    assert read_table(path, "y").verdicts["x"] == "category of 2 levels"


def test_new_rows_are_in_the_unit_of_training(tmp_path):
    rows = "".join(f"{50 + i}.5 kg,{i % 3}.5\n" for i in range(20))
    (tmp_path / "a.csv").write_text("weight,y\n" + rows, encoding="utf-8")
    encoder = read_table(tmp_path / "a.csv", "y").encoder

    def read(*cells):
        lines = ["weight,other", *(f"{cell},1" for cell in cells)]
        (tmp_path / "new.csv").write_text("\n".join(lines), encoding="utf-8")
        (table,) = read_new(tmp_path / "new.csv", encoder)
        return table.values[:, 0].tolist()

    assert read("60 kg", "61kg", "62") == [60, 61, 62]
    with pytest.raises(DataError, match=r"column 'weight' is in g, and was in kg in training\. Convert it"):
        read("60500 g", "61000 g")
    with pytest.raises(DataError, match=r"line 3, column 'weight': expected a number .*, got '61000 g'"):
        read("60 kg", "61000 g")


def complaint(capsys):
    """The last line on stderr, which must not be a traceback."""
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said.splitlines()[-1]


@pytest.fixture
def model(tmp_path, capsys):
    """A model of dates, dollars and a column that names the rows."""
    table = {"id": list, "day": dated("%Y-%m-%d"), "amount": lambda v: list(map(us, v)), "cost": list}
    train = written(tmp_path / "train.csv", table, slice(N_ROWS))
    path = str(tmp_path / "model.skops")
    assert run(["tune", str(train), "--target", "cost", "--id", "id", *FIT, "--save", path]) == 0
    capsys.readouterr()
    return path


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "id,day,amount\n1,2024-01-01,$5\n2,2024-02-30,$5\n",
            ["line 3", "'day'", "expected a date", "2024-02-30"],
        ),
        ("id,day,amount\n1,9999-12-31,$5\n", ["line 2", "'day'", "9999-12-31"]),
        ("day,amount\n2024-01-01,$5\n", ["no column 'id'"]),
        ("id,amount\n1,$5\n", ["needs the column 'day', which is not there"]),
        ("id,day,amount\n1,2024-01-01,5 €\n", ["'amount'", "€", "$"]),
        ("", ["empty"]),
        ("id,day,amount\n", ["no rows"]),
    ],
)
def test_what_is_wrong_with_new_rows_is_one_line(model, tmp_path, capsys, rows, words):
    path = tmp_path / "new.csv"
    path.write_text(rows, encoding="utf-8")
    assert run(["predict", model, str(path)]) == 2
    said = complaint(capsys)
    assert all(word in said for word in words), said


def test_a_gap_in_new_rows_is_filled_as_in_training_and_told(model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text("id,day,amount\n1,,$5\n2,2024-01-01,$5\n", encoding="utf-8")
    assert run(["predict", model, str(path)]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert "column 'day': missing values were filled with" in said.err
    assert "none was missing in training" in said.err


def test_a_date_that_was_not_in_training_is_predicted_and_the_name_comes_back(model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text('id,day,amount\nZ-9,2031-07-04,"$1,000.00"\n', encoding="utf-8")
    assert run(["predict", model, str(path)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header == "id,cost"
    assert row.startswith("Z-9,")
    assert run(["predict", model, str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "Z-9"


def test_all_complaints_come_at_once_with_a_verdict_on_every_column(tmp_path, capsys):
    table = {"note": list, "id": list, "amount": with_gaps, "age": list, "late": list}
    path = written(tmp_path / "a.csv", table, slice(N_ROWS))
    assert run(["tune", str(path), "--target", "late", "--no-impute"]) == 2
    *verdicts, last = capsys.readouterr().err.splitlines()
    assert "free text" in next(line for line in verdicts if "'note'" in line)
    assert "identifiers" in next(line for line in verdicts if "'id'" in line)
    assert "missing" in next(line for line in verdicts if "'amount'" in line)
    assert next(line for line in verdicts if "'age'" in line).endswith("'age': number")
    assert "--drop-unusable" in last
    # Missing values are not a reason to leave out a column in silence.
    assert run(["tune", str(path), "--target", "late", "--no-impute", "--drop-unusable"]) == 2
    assert "--no-impute" in complaint(capsys)


def test_the_target_is_complained_about_together_with_the_other_columns(tmp_path, capsys):
    table = {"id": list, "amount": with_gaps, "always": lambda _: [1] * N_ROWS, "late": with_gaps}
    cells = columns() | {"always": [1] * (N_ROWS + N_NEW)}
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(write(cells[name][:N_ROWS]) for name, write in table.items())))
    assert run(["tune", str(path), "--target", "late", "--no-impute"]) == 2
    said = complaint(capsys)
    assert "3 columns need attention: 'late', 'id', 'amount'" in said
    everything = ["--drop-missing-target", "--drop-unusable", *FIT_CLASSES]
    assert run(["tune", str(path), "--target", "late", *everything]) == 0
    notes = capsys.readouterr().err
    assert "column 'always' is always 1 and has no influence" in notes
    # What was left out is not to be left out once more.
    assert "--drop 'id'" not in notes


def test_a_table_without_a_target_is_asked_for_one_before_anything_else(tmp_path, capsys):
    path = written(tmp_path / "a.csv", {"id": list, "note": list, "amount": with_gaps}, slice(N_ROWS))
    assert run(["tune", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"foldless: {path}: which column is to be predicted? Name it: --target COLUMN. "
        "The columns are 'id', 'note', 'amount'.\n"
    )


def test_rows_without_target_are_counted(tmp_path, capsys):
    table, _ = TABLES["gaps"]
    path = written(tmp_path / "a.csv", table, slice(N_ROWS))
    assert run(["tune", str(path), "--target", "late"]) == 2
    said = complaint(capsys)
    assert "2 missing values (first: line 5)" in said
    assert "--drop-missing-target" in said
    table = read_table(path, "late", impute=True, drop_missing_target=True)
    assert table.n_rows == N_ROWS - 2
    assert table.places.tolist() == [i for i in range(N_ROWS) if i not in (3, 7)]


def test_dates_whose_day_and_month_can_be_exchanged_are_named(tmp_path, capsys):
    rows = "".join(f"{1 + i % 9:02}/{1 + i % 7:02}/2024,{i}\n" for i in range(20))
    path = tmp_path / "a.csv"
    path.write_text("day,y\n" + rows, encoding="utf-8")
    assert run(["tune", str(path), "--target", "y"]) == 2
    assert "YYYY-MM-DD" in complaint(capsys)


def test_the_report_has_one_line_per_original_column_and_the_names_of_the_rows(tmp_path, capsys):
    table = {"id": list, "day": dated("%Y-%m-%d"), "colour": list, "cost": list}
    path = written(tmp_path / "a.csv", table, slice(N_ROWS))
    page = tmp_path / "out.html"
    asked = [
        "tune",
        str(path),
        "--target",
        "cost",
        "--id",
        "id",
        *FIT,
        "--report",
        str(page),
        "--no-baselines",
    ]
    assert run(asked) == 0
    content = page.read_text(encoding="utf-8")
    assert "as numbers: days, year, month, weekday" in content
    assert "row,id,cost,predicted" in content
    assert "1,A-1000," in content
    assert f"{min(columns()['day'][:N_ROWS]):%Y-%m-%d} to " in content


def test_json_lines_with_nested_values_can_leave_them_out(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    rows = [{"x": i, "tags": ["a"], "y": i % 2} for i in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run(["tune", str(path), "--target", "y"]) == 2
    assert "'tags' holds list" in complaint(capsys)
    assert read_table(path, "y", drop=["tags"]).feature_names == ["x"]
    assert read_table(path, "y", drop_unusable=True).feature_names == ["x"]


@pytest.mark.parametrize("content", ["[1, 2]\n", '{"a": 1\n', '[{"a": 1}]', '{"a": 1}\n{"a": "b"}\n', "nil"])
def test_what_is_not_json_lines_is_one_line(tmp_path, content, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text(content, encoding="utf-8")
    assert run(["tune", str(path), "--target", "a"]) == 2
    said = complaint(capsys)
    assert "not JSON lines" in said
    assert "Expected an object on every line" in said


def test_one_line_only_is_too_few_rows(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n", encoding="utf-8")
    assert run(["tune", str(path), "--target", "y"]) == 2
    assert "0 rows" in complaint(capsys)


def test_latin_1_is_read_with_a_note(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("x,y\n1,café\n2,thé\n3,café\n5,thé\n".encode("latin-1"))
    table = read_table(path, "y")
    assert table.y.tolist() == ["café", "thé", "café", "thé"]
    assert any("Latin-1" in note for note in table.notes)


def test_standard_input_is_read(tmp_path, monkeypatch):
    content = b"x,y\n" + b"".join(b"%d.5,%d\n" % (i, i % 2) for i in range(10))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    np.testing.assert_array_equal(read_table("-", "y").X[:, 0], np.arange(10) + 0.5)


def test_a_workbook_is_read_like_the_same_csv(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, data = openpyxl.Workbook(), columns()
    names = ["day", "amount", "colour", "late"]
    book.active.append(names)
    for row in list(zip(*(data[name] for name in names)))[:N_ROWS]:
        book.active.append([value.item() if isinstance(value, np.generic) else value for value in row])
    book.save(tmp_path / "a.xlsx")
    table = {"day": dated("%Y-%m-%d"), "amount": list, "colour": list, "late": list}
    ours = read_table(tmp_path / "a.xlsx", "late")
    csvs = read_table(written(tmp_path / "a.csv", table, slice(N_ROWS)), "late")
    assert ours.feature_names == csvs.feature_names
    np.testing.assert_array_equal(ours.X, csvs.X)


def test_without_openpyxl_a_workbook_is_refused_with_the_way_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK\x03\x04 xl/workbook.xml")
    assert run(["tune", str(path), "--target", "y"]) == 2
    said = complaint(capsys)
    assert "CSV" in said
    assert "pip install 'foldless[excel]'" in said


def test_identifiers_are_offered_to_name_the_rows_and_free_text_is_not(tmp_path, capsys):
    table = {"id": list, "amount": list, "late": list}
    assert run(["tune", str(written(tmp_path / "a.csv", table, slice(N_ROWS))), "--target", "late"]) == 2
    assert "Leave it out: --drop 'id'. Or let it name the rows: --id 'id'." in complaint(capsys)
    table = {"note": list, "amount": list, "late": list}
    assert run(["tune", str(written(tmp_path / "b.csv", table, slice(N_ROWS))), "--target", "late"]) == 2
    said = complaint(capsys)
    assert "--drop 'note'." in said
    assert "--id" not in said


def test_a_target_in_a_currency_is_told(tmp_path):
    table = {"age": list, "amount": lambda v: list(map(european, v))}
    notes = read_table(written(tmp_path / "a.csv", table, slice(N_ROWS), delimiter=";"), "amount").notes
    first = columns()["amount"][0]
    assert f"the target 'amount' was read as numbers: '{european(first)}' is {first:.10g}" in notes


def test_a_column_that_counts_rows_is_pointed_out_also_if_rows_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{i},{i * i},{'' if i in (1, 7) else i % 3 + 0.5}\n" for i in range(1, 30))
    path.write_text("number,a,y\n" + rows, encoding="utf-8")
    notes = read_table(path, "y", drop_missing_target=True).notes
    assert [note for note in notes if "'number' only counts the rows" in note]
    assert not [note for note in notes if "'a' only" in note]


def test_tuning_a_file_is_tuning_its_numbers_in_python(tmp_path, capsys):
    table = {"amount": list, "age": list, "share": list, "colour": list, "late": list}
    path = written(tmp_path / "a.csv", table, slice(N_ROWS))
    model = str(tmp_path / "model.skops")
    assert run(["tune", str(path), "--target", "late", "--save", model, "--no-baselines", "--json"]) == 0
    capsys.readouterr()
    read = read_table(path, "late")
    ours = KernelClassifier(random_state=0, categorical_features=read.encoder.categorical)
    expected = ours.fit(read.values, read.y).predict_proba(read.values)
    np.testing.assert_array_equal(load(model).predict_proba(read.values), expected)


@pytest.mark.parametrize("labels", [("3 doors", "5 doors"), ("10 %", "20 %")])
def test_classes_keep_their_names_even_if_they_write_numbers(tmp_path, labels):
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{labels[i % 2]}" for i in range(30)]
    path.write_text("\n".join(["a,kind", *lines]), encoding="utf-8")
    table = read_table(path, target="kind")
    assert table.task == "classification"
    assert sorted(set(table.y)) == sorted(labels)
    assert not any("read as numbers" in text for text in table.notes)


def test_numbers_with_a_unit_are_predicted_as_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,mass", *(f"{i},{i / 8 + 40:.2f} kg" for i in range(30))]), encoding="utf-8")
    table = read_table(path, target="mass")
    np.testing.assert_allclose(table.y, np.round(np.arange(30) / 8 + 40, 2))
    assert any("'40.00 kg' is 40" in text for text in table.notes)
