"""What is in a data frame is read as what is in a file."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import foldless
from foldless import KernelClassifier
from foldless.cli import ColumnReader, read_table
from foldless.cli.main import run
from foldless.core.errors import DataError

N = 80


@pytest.fixture
def sales(rng):
    """A frame of texts as people write them, and whether something was sold."""
    price, share = rng.uniform(500, 5000, N), rng.uniform(0, 100, N)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D")
    colour = rng.choice(["red", "green", "blue"], N)
    frame = pd.DataFrame(
        {
            "price": [f"${value:,.2f}" for value in price],
            "share": [f"{value:.1f} %" for value in share],
            "day": days.strftime("%d.%m.%Y"),
            "colour": colour,
            "size": rng.normal(size=N).round(3).astype(str),
            "shop": "here",
        },
        dtype=object,
    )
    frame = frame.mask(rng.random(frame.shape) < 0.05).assign(shop="here")
    return frame, np.where((price > 2500) ^ (colour == "red"), "yes", "no")


def test_a_pipeline_in_python_is_the_model_of_the_command_line(sales, tmp_path, capsys):
    frame, y = sales
    path, model = tmp_path / "sales.csv", tmp_path / "model.skops"
    frame.assign(sold=y).to_csv(path, index=False)
    assert run(["tune", str(path), "--target", "sold", "--save", str(model), "--no-baselines", "--json"]) == 0
    capsys.readouterr()
    assert run(["predict", str(model), str(path), "--json"]) == 0
    theirs = [row["probabilities"]["yes"] for row in json.loads(capsys.readouterr().out)]
    ours = make_pipeline(ColumnReader(), KernelClassifier(random_state=0)).fit(frame, y)
    np.testing.assert_array_equal(ours.predict_proba(frame)[:, 1], theirs)
    foldless.save(ours, model)
    np.testing.assert_array_equal(foldless.load(model).predict_proba(frame), ours.predict_proba(frame))


def test_frames_of_all_kinds_and_the_file_have_the_same_values(sales, tmp_path):
    frame, y = sales
    frame.assign(sold=y).to_csv(tmp_path / "sales.csv", index=False)
    table = read_table(tmp_path / "sales.csv", "sold")
    typed = frame.assign(
        day=pd.to_datetime(frame["day"], format="%d.%m.%Y"),
        colour=frame["colour"].astype("category"),
        size=frame["size"].astype(float),
    )
    texts = pl.DataFrame({name: [None if v != v else v for v in frame[name]] for name in frame.columns})
    for kind in (frame, typed, texts):
        reader = ColumnReader().fit(kind)
        read = reader.transform(kind)
        assert list(read.columns) == table.encoder.value_names == reader.get_feature_names_out().tolist()
        for place, name in enumerate(read.columns):
            if name != "colour":
                np.testing.assert_array_equal(np.asarray(read[name], dtype=float), table.values[:, place])
        codes = {"blue": 0, "green": 1, "red": 2}
        place = table.encoder.value_names.index("colour")
        found = [codes.get(colour, np.nan) for colour in read["colour"].to_list()]
        np.testing.assert_array_equal(found, table.values[:, place])


def test_every_column_gets_a_verdict(sales):
    reader = ColumnReader().fit(sales[0])
    assert reader.verdicts_["price"] == "number, in $"
    assert reader.verdicts_["day"].startswith("date, as days")
    assert reader.verdicts_["colour"] == "category of 3 levels"
    assert reader.verdicts_["shop"] == "left out: always 'here'"
    assert clone(reader).get_params() == {"drop_unusable": False}


def test_rows_keep_their_index_and_columns_are_found_by_name(sales):
    frame = sales[0].set_axis([f"row {i}" for i in range(N)])
    reader = ColumnReader().fit(frame)
    turned = frame[frame.columns[::-1]].assign(other=1)
    pd.testing.assert_frame_equal(reader.transform(turned), reader.transform(frame))
    assert reader.transform(frame).index.tolist() == frame.index.tolist()


# What bad input gets.


def test_identifiers_are_named_with_advice_for_python(sales):
    frame = sales[0].assign(who=[f"p{i}" for i in range(N)])
    with pytest.raises(DataError, match=r"column 'who' has 80 different texts .* X\.drop") as told:
        ColumnReader().fit(frame)
    assert "--" not in str(told.value)
    reader = ColumnReader(drop_unusable=True).fit(frame)
    assert "who" not in reader.get_feature_names_out()
    assert reader.verdicts_["who"].startswith("not used")


def test_new_rows_that_cannot_be_read_are_named(sales):
    frame = sales[0]
    reader = ColumnReader().fit(frame)
    with pytest.raises(DataError, match="X lacks 'price'"):
        reader.transform(frame.drop(columns="price"))
    with pytest.raises(DataError, match=r"column 'price' is in €, and was in \$ in training"):
        reader.transform(frame.assign(price="€5"))
    with pytest.raises(
        DataError, match=r"row 3, column 'size': expected a number .* make it missing"
    ) as told:
        reader.transform(frame.assign(size=[*frame["size"][:2], "tall", *frame["size"][3:]]))
    assert "--" not in str(told.value)
    with pytest.raises(DataError, match="must be a data frame of pandas or polars, got ndarray"):
        reader.transform(np.eye(3))
