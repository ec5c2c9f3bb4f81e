"""``foldless tune`` on files larger than the memory it may take: it says how much that is, and keeps to it."""

import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foldless.cli.files.memory import USUAL_BYTES, affordable_rows, as_text, memory_at_most
from foldless.cli.files.read_table import read_table
from foldless.core.errors import DataError

ROWS, COLUMNS, FILES = 500_000, 20, 16
# Runs the command in a process whose libraries are loaded, and prints by how much its largest memory grew.
CHILD = """
import resource, sys
import pyarrow.parquet, sklearn.ensemble, sklearn.linear_model, foldless.cli.commands.tune
from foldless.cli.main import run

def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

before = largest()
code = run(sys.argv[1:])
print("growth", largest() - before)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A directory with eight million rows, 1.3 GB of numbers: one file under many names."""
    place = tmp_path_factory.mktemp("big")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).round(2)
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=ROWS) > 0, "up", "down")
    pq.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y}), place / "0.parquet")
    for i in range(1, FILES):
        os.link(place / "0.parquet", place / f"{i}.parquet")
    return place


def bytes_of(text):
    value, unit = re.search(r"at most ([\d.]+) ([GM]B) of memory", text).groups()
    return float(value) * {"GB": 1e9, "MB": 1e6}[unit]


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED: memory of a process on Windows")
def test_a_table_larger_than_the_stated_memory_is_tuned_within_it(big, tmp_path):
    line = [
        "tune",
        str(big),
        "--target",
        "y",
        "--max-memory",
        "0.7",
        "--report",
        str(tmp_path / "report.html"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *line], capture_output=True, text=True, check=True, timeout=280
    )
    stated = bytes_of(done.stderr)
    assert stated <= 0.7e9
    assert 1.5 * stated < ROWS * FILES * COLUMNS * 8
    growth = int(re.search(r"growth (\d+)", done.stdout)[1])
    assert growth < stated
    n = int(re.search(rf"used (\d+) of {ROWS * FILES} rows, drawn at random", done.stderr)[1])
    assert n == affordable_rows(0.7e9, COLUMNS + 1, 8 * COLUMNS + 80)
    said = " ".join(done.stdout.split())
    assert f"rows of the fit {n}" in said
    assert re.search(r"rows of the search \d+", said)


def test_rows_are_as_many_as_the_memory_allows_and_no_more():
    for n_columns, row_bytes in ((1, 8), (18, 144), (500, 4000), (30, 2400)):
        for memory in (5e9, USUAL_BYTES, 20e9):
            n = affordable_rows(memory, n_columns, row_bytes)
            assert (
                memory_at_most(n, n_columns, row_bytes)
                <= memory
                < memory_at_most(n + 1, n_columns, row_bytes)
            )


def test_too_little_memory_is_refused_with_what_is_needed(tmp_path):
    table = pa.table({"x": np.arange(100.0), "y": np.resize([0.5, 1.5, 2.0], 100)})
    pq.write_table(table, tmp_path / "table.parquet")
    with pytest.raises(
        DataError, match=r"may take 100 MB of memory, and needs at least 460 MB\. Raise --max-memory"
    ):
        read_table(tmp_path / "table.parquet", "y", max_memory=0.1)
    note = f"used all 100 rows, and at most {as_text(memory_at_most(100, 2, 16))} of memory"
    assert note in read_table(tmp_path / "table.parquet", "y").notes
