"""A directory of Parquet files of which one is odd: one error that names file and column, or the right answer."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from foldless.cli.files.read_table import read_table
from foldless.cli.main import run
from foldless.core.errors import DataError

N_FILES, ODD, N = 4, "more/part2.parquet", 60


def rows(seed, n=N):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return table.assign(y=np.where(table.a + 0.3 * rng.normal(size=n) > 0, "no", "yes"))


def holed(column, value):
    table = rows(2)
    table[column] = table[column].mask(table.index == 7, value)
    return table


@pytest.fixture
def write(tmp_path):
    """Write files of which the third is the one that is given; return their directory and all rows together."""

    def written(odd):
        (tmp_path / "big" / "more").mkdir(parents=True)
        tables = [rows(0), rows(1), odd, rows(3)]
        for i, table in enumerate(tables):
            table.to_parquet(tmp_path / "big" / "more" / f"part{i}.parquet")
        return tmp_path / "big", pd.concat(tables, ignore_index=True)

    return written


REFUSED = {
    "a column is missing": (rows(2).drop(columns="b"), "column 'b' is missing here and double in"),
    "another schema": (rows(2).rename(columns={"b": "c"}), "column 'b' is missing here and double in"),
    "text among numbers": (rows(2).assign(a="x"), "column 'a' is (large_)?string here and double in"),
    "another target": (rows(2).assign(y=1), "column 'y' is int64 here and (large_)?string in"),
    "infinity": (holed("b", np.inf), "row 8, column 'b': the value is infinite, or too large"),
    "no target": (holed("y", None), r"row 8\)\. It is never imputed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_used_is_named_with_its_column(name, write, capsys):
    odd, message = REFUSED[name]
    place, _ = write(odd)
    old = place.parent / "model.skops"
    old.write_text("an older model")
    line = ["tune", str(place), "--target", "y", "--save", str(old), "--report", str(place.parent / "r.html")]
    assert run(line) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    assert re.search(f"{ODD}.*{message}", said)
    # Nothing is written, not even half.
    assert old.read_text() == "an older model"
    assert sorted(path.name for path in place.parent.iterdir()) == ["big", "model.skops"]


@pytest.mark.parametrize("name", ["infinity", "no target"])
def test_of_rows_drawn_at_random_the_file_is_named(name, write):
    place, _ = write(REFUSED[name][0])
    with pytest.raises(DataError, match=ODD) as refused:
        read_table(place, "y", max_rows=N_FILES * N - 1)
    assert "row" not in str(refused.value).partition(ODD)[2].partition("It is")[0]


USED = {
    "empty": rows(2, n=0).astype({"y": "str"}),
    "one class": rows(2).assign(y="yes"),
    "NaN": holed("a", np.nan),
    "only NaN": rows(2).assign(a=np.nan),
}


@pytest.mark.parametrize("name", USED)
def test_a_file_that_can_be_used_is_read_as_if_there_were_one_file(name, write, tmp_path):
    place, together = write(USED[name])
    together.to_parquet(tmp_path / "one.parquet")
    parts, one = read_table(place, "y"), read_table(tmp_path / "one.parquet", "y")
    np.testing.assert_array_equal(parts.values, one.values)
    assert parts.y.tolist() == one.y.tolist() == together.y.tolist()
    assert parts.missing == one.missing
    assert parts.notes == one.notes


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("gram", ["dense", "lowrank", "cells"])
def test_every_form_is_fitted_to_such_files(name, gram, write, capsys):
    place, together = write(USED[name])
    line = [
        "tune",
        str(place),
        "--target",
        "y",
        "--machine",
        "lssvc",
        "--gram",
        gram,
        "--json",
        "--no-baselines",
    ]
    assert run([*line, *(["--cell-size", "80"] if gram == "cells" else [])]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == len(together)
    assert found["loo_error"] < 0.35


def test_rows_to_predict_are_named_with_their_file(write, monkeypatch, capsys):
    place, _ = write(rows(2))
    monkeypatch.chdir(place.parent)
    assert (
        run(["tune", "big", "--target", "y", "--machine", "lssvc", "--save", "m.skops", "--no-baselines"])
        == 0
    )
    holed("b", np.inf).to_parquet(place / "more" / "part2.parquet")
    monkeypatch.setattr("foldless.cli.files.read_table.PART_MAX_CELLS", 10)
    capsys.readouterr()
    assert run(["predict", "m.skops", "big", "--output", "out.csv"]) == 2
    assert f"{ODD}, row 8, column 'b'" in capsys.readouterr().err
    assert not (place.parent / "out.csv").exists()
