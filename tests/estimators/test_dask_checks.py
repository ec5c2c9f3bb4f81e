"""Files that do not fit together: one clear error that names file and column, or the right answer."""

import numpy as np
import pandas as pd
import pytest

from foldless import KernelClassifier, KernelLSSVC
from foldless.core.errors import DataError

dd = pytest.importorskip("dask.dataframe", reason="Dask collections need foldless[dask]")
pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.usefixtures("time_limit")]

N_FILES, ODD = 5, 3


def rows(seed, n=60):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return table.assign(y=np.where(table.a + 0.3 * rng.normal(size=n) > 0, "no", "yes"))


def holed(column, value):
    table = rows(ODD)
    table[column] = table[column].mask(table.index == 7, value)
    return table


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Write files of which one may be odd, and return rows and targets as a collection."""
    monkeypatch.setattr("foldless.estimators.dask_fit.PULLED_MAX_ROWS", 120)
    monkeypatch.setattr("foldless.estimators.dask_fit.TUNED_MAX_ROWS", 100)
    monkeypatch.setattr("foldless.estimators.choice.TUNED_MAX_ROWS", 100)

    def write(odd, columns=("a", "b")):
        for i in range(N_FILES):
            (odd if i == ODD else rows(i)).to_parquet(tmp_path / f"part{i}.parquet")
        table = dd.read_parquet(tmp_path)
        return table[list(columns)], table["y"]

    return write


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (rows(ODD).drop(columns="b"), r"part3\.parquet.* cannot be read .*'b'.*same columns"),
        (rows(ODD).assign(a="x"), r"part3\.parquet.*, column 'a' holds text .* it holds numbers"),
        (rows(ODD).assign(y=1), r"part3\.parquet.*, the target holds numbers .* it holds text"),
        (holed("a", np.nan), r"part3\.parquet.*, column 'a' contains NaN in one row"),
        (holed("b", np.inf), r"part3\.parquet.*, column 'b' contains infinity in one row"),
        (holed("y", None), r"part3\.parquet.*, the target is missing .* in one row"),
    ],
    ids=["missing column", "text", "other target", "NaN", "infinity", "no target"],
)
@pytest.mark.parametrize("gram", ["lowrank", "cells"])
def test_an_odd_file_is_named_with_its_column(odd, message, gram, read):
    with pytest.raises(DataError, match=message):
        KernelLSSVC(gram=gram).fit(*read(odd))


@pytest.mark.parametrize(
    "odd",
    [rows(ODD, n=0), rows(ODD).assign(y="yes"), rows(ODD).assign(a=1), rows(ODD).assign(more=1.0)],
    ids=["empty", "one class", "whole numbers", "one more column"],
)
def test_a_file_that_can_be_used_is_used(odd, read):
    X, y = read(odd)
    model = KernelLSSVC(gram="cells", cell_size=100).fit(X, y)
    assert model.partitions_.n_rows == (N_FILES - 1) * 60 + len(odd)
    together = pd.concat([odd if i == ODD else rows(i) for i in range(N_FILES)])
    assert np.mean(model.predict(together[["a", "b"]]) == together.y) > 0.8


def test_missing_numbers_of_one_file_are_filled_by_the_default_estimators(read):
    X, y = read(holed("a", np.nan))
    model = KernelClassifier().fit(X, y)
    assert model.best_estimator_.partitions_.n_rows == N_FILES * 60


def test_files_without_rows_are_refused(tmp_path):
    rows(0, n=0).to_parquet(tmp_path / "part.parquet")
    table = dd.read_parquet(tmp_path)
    with pytest.raises(DataError, match="no rows"):
        KernelLSSVC().fit(table[["a", "b"]], table["y"])


def test_numbers_of_partitions_count_the_empty_ones(read):
    X, y = read(rows(ODD, n=0))
    with_hole = X.assign(b=X.b.where(X.b != rows(4).b.iloc[0], np.nan))
    with pytest.raises(DataError, match=r"partition 4 of the collection.*, column 'b' contains NaN"):
        KernelLSSVC().fit(with_hole, y)
