"""Hostile files: each gives the right table, or one line that names the fault; none keeps the reader busy."""

import gzip
import io
import json
import os
import signal
import threading
import zipfile
from collections import Counter
from contextlib import suppress

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.pipeline import make_pipeline

from foldless import KernelLogisticRegression, KernelRidgeRegressor
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.model_file import load_model, save_model
from foldless.cli.files.read_table import read_table
from foldless.cli.main import run
from foldless.core.errors import DataError, ModelFileError
from foldless.estimators.archive import PLAIN_NAME
from foldless.estimators.preparation import ColumnScaler
from foldless.estimators.prepared_columns import PreparedColumns
from oracles.hostile import mutations

MUTATIONS = 200
TIME_LIMIT_SECONDS = 60

X = np.array(
    [[1.0, 0.5], [2.0, -1.5], [3.0, 20.0], [4.0, 0.25], [5.0, 7.0], [6.0, -3.0], [7.5, 1.0], [8.0, 2.0]]
)
LABELS = ["u", "v", "u", "v", "u", "v", "v", "u"]


@pytest.fixture(autouse=True)
def time_limit():
    """Fail, rather than wait, if a reader does not end."""

    def stop(*_):
        raise TimeoutError(f"not done after {TIME_LIMIT_SECONDS} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIME_LIMIT_SECONDS)
    yield
    signal.alarm(0)


def csv_file():
    rows = [f'{a},{b},"{c}"' for (a, b), c in zip(X, LABELS)]
    return "\n".join(["a,b,y", *rows, ""]).encode()


def arff_file():
    head = ["@relation r", "@attribute a real", "@attribute 'b' numeric", "@attribute y {u, 'v'}", "@data"]
    return "\n".join([*head, *(f"{a}, {b}, '{c}'" for (a, b), c in zip(X, LABELS)), ""]).encode()


def libsvm_file():
    rows = [f"{'uv'.index(c)} 1:{a} 2:{b} # row" for (a, b), c in zip(X, LABELS)]
    return "\n".join([*rows, ""]).encode()


def npz_file(**changes):
    file = io.BytesIO()
    arrays = {"X": X, "y": np.array(LABELS), "feature_names": np.array(["a", "b"])}
    np.savez(file, **{**arrays, **changes})
    return file.getvalue()


def parquet_file():
    file = io.BytesIO()
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": LABELS}), file)
    return file.getvalue()


def json_lines_file():
    return "".join(json.dumps({"a": a, "b": b, "y": c}) + "\n" for (a, b), c in zip(X, LABELS)).encode()


def xlsx_file():
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in [("a", "b", "y"), *((a, b, c) for (a, b), c in zip(X.tolist(), LABELS))]:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


FORMATS = {
    "data.csv": csv_file(),
    "data.jsonl": json_lines_file(),
    "data.xlsx": xlsx_file(),
    "data.csv.gz": gzip.compress(csv_file(), mtime=0),
    "data.arff": arff_file(),
    "data.svm": libsvm_file(),
    "data.npz": npz_file(),
    "data.parquet": parquet_file(),
}


def check_message(path, error):
    """A refusal is one short line that opens with the file."""
    message = str(error)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    assert len(message) < len(str(path)) + 400


def outcome(path):
    """What became of a file: "table" or "refused"; anything else is an error of the reader."""
    try:
        table = read_table(path, "y")
    except DataError as error:
        check_message(path, error)
        return "refused"
    assert table.X.shape == (len(table.y), len(table.feature_names))
    assert np.isfinite(table.X).all()
    assert len(np.unique(table.y)) > 1
    json.dumps(table.encoder.to_dict())
    "".join(table.feature_names).encode("utf-8")
    return "table"


@pytest.mark.parametrize("name", FORMATS)
def test_the_whole_file_gives_the_right_table(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FORMATS[name])
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.X, X)
    assert len(np.unique(table.y)) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutated_file_gives_a_table_or_one_line(name, tmp_path):
    path = tmp_path / name
    found = Counter()
    for raw in mutations(FORMATS[name], MUTATIONS, seed=14):
        path.write_bytes(raw)
        found[outcome(path)] += 1
    assert found.total() == MUTATIONS
    assert found["refused"] > 0


def test_mutated_text_inside_gzip_gives_a_table_or_one_line(tmp_path):
    path = tmp_path / "data.csv.gz"
    for raw in mutations(csv_file(), MUTATIONS // 4, seed=15):
        path.write_bytes(gzip.compress(raw, mtime=0))
        outcome(path)


def archive(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


HUGE = npy(np.zeros(1)).replace(b"(1,), }", b"(9" + b"0" * 12 + b",), }")

NPZ_MEMBERS = {
    "a text": {"X": b"hello"},
    "a text called npy": {"X.npy": b"hello"},
    "an empty member": {"X.npy": b""},
    "a cut array": {"X.npy": npy(X)[:-20]},
    "a header that promises too much": {"X.npy": HUGE},
    "an object": {"X.npy": npy(np.array([[{}]]), allow_pickle=True)},
    "a text for y": {"X.npy": npy(X), "y": b"hello"},
    "names that are no array": {"X.npy": npy(X), "feature_names": b"ab"},
    "names that are bytes beyond ASCII": {
        "X.npy": npy(X),
        "feature_names.npy": npy(np.array([b"\xff", b"a"])),
    },
    "names with half a character": {"X.npy": npy(X), "feature_names.npy": npy(np.array(["\ud800", "a"]))},
    "records": {"X.npy": npy(np.zeros((8, 2), dtype=[("f", float)]))},
    "too many columns": {"X.npy": npy(np.zeros((4, 200_000)))},
}


@pytest.mark.parametrize("case", NPZ_MEMBERS)
def test_an_npz_member_that_is_not_an_array_of_the_kind_is_one_line(case, tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(archive(**NPZ_MEMBERS[case]))
    assert outcome(path) == "refused"


LONG = {
    "blanks in ARFF": ("data.arff", arff_file() + b"1," + b" " * 300_000 + b"2 'x\n"),
    "blanks between ARFF cells": ("data.arff", arff_file() + (b"1," + b" " * 30_000) * 50 + b"'\n"),
    "an ARFF attribute of blanks": ("data.arff", b"@relation r\n@attribute" + b" " * 300_000 + b"x\n"),
    "an open quote in ARFF": ("data.arff", arff_file() + b"'" + b"\\a" * 200_000 + b"\n"),
    "levels in ARFF": (
        "data.arff",
        b"@relation r\n@attribute a {" + b",".join(b"l%d" % i for i in range(60_000)) + b"}\n@attribute y {u,v}\n@data\n"
        + b"".join(b"l%d,u\n" % i for i in range(59_000, 60_000)),
    ),
    "digits and then a letter": ("data.csv", b"a,y\n" + (b"1" * 130_000 + b"x,1\n") * 8),
    "digits of ARFF": ("data.arff", arff_file() + b"1" * 1_000_000 + b"x,2,u\n"),
    "a line that is almost LIBSVM": ("data.txt", b"1" + b" 1:1" * 100_000 + b" " * 300_000 + b"x\n"),
    "an index of millions": ("data.svm", b"".join(b"%d 1:%d 6000000:1\n" % (i % 2, i) for i in range(40))),
    "an index of billions": ("data.svm", libsvm_file() + b"1 1:1 2000000000:1\n"),
    "as many columns as cells": (
        "data.svm",
        b"".join(b"1 " + b" ".join(b"%d:1" % (60_000 * i + j) for j in range(60_000)) + b"\n" for i in range(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LONG)
def test_the_time_grows_no_faster_than_the_file(case, tmp_path):
    name, raw = LONG[case]
    path = tmp_path / name
    path.write_bytes(raw)
    outcome(path)


def test_a_libsvm_file_has_a_column_for_every_index_it_writes_and_no_other(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{i % 2} 3:{i} 6000000:{i * i}\n" for i in range(6)))
    table = read_table(path)
    assert table.feature_names == ["x3", "x6000000"]
    np.testing.assert_array_equal(table.X, [[i, i * i] for i in range(6)])


@pytest.mark.parametrize("device", ["/dev/urandom", "/dev/zero", "/dev/full", "/dev/null"])
def test_a_device_is_refused_in_one_line(device, capsys):
    if not os.path.exists(device):
        pytest.skip(f"no {device} here")
    assert run(["tune", device, "--target", "y"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "expected a file or a pipe" in said.err
    assert len(said.err.splitlines()) == 1


def test_a_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(csv_file(),))
    writer.start()
    table = read_table(pipe, "y")
    writer.join()
    np.testing.assert_array_equal(table.X, X)


def test_a_pipe_that_never_ends_is_refused_at_its_beginning(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write_without_end():
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(range(256)) * 16)

    writer = threading.Thread(target=write_without_end)
    writer.start()
    with pytest.raises(DataError, match="not a text file"):
        read_table(pipe)
    writer.join()


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("foldless.cli.files.raw_bytes.UNPACKED_MAX_BYTES", 1000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 100_000))
    with pytest.raises(DataError, match="more than"):
        read_table(path)
    monkeypatch.setattr("foldless.cli.files.formats.npz.UNPACKED_MAX_BYTES", 100)
    path = tmp_path / "bomb.npz"
    path.write_bytes(npz_file())
    with pytest.raises(DataError, match="would unpack"):
        read_table(path)


def test_a_parquet_file_of_very_many_equal_rows_is_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr("foldless.cli.files.formats.parquet.TABLE_MAX_CELLS", 10_000)
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": np.zeros(100_000)}), path)
    assert path.stat().st_size < 10_000
    assert read_table(path).n_rows == 10_000


# Model files

ENCODER = Encoder((Code("a", "number"), Code("b", "number")), "y", "classification")


@pytest.fixture(scope="module", params=["classes", "numbers", "prepared"])
def model(request, tmp_path_factory):
    """The bytes of a model file."""
    path = tmp_path_factory.mktemp("model") / "model.skops"
    numbers = request.param == "numbers"
    estimator = KernelRidgeRegressor(alpha=1.0) if numbers else KernelLogisticRegression(C=1.0)
    y = X[:, 0] ** 2 if numbers else np.array(LABELS)
    step = PreparedColumns() if request.param == "prepared" else ColumnScaler()
    fitted = make_pipeline(step, estimator).fit(X, y)
    save_model(path, fitted, ENCODER, getattr(estimator, "classes_", None))
    return path.read_bytes()


def members(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as made:
        return {name: made.read(name) for name in made.namelist()}


def loads_or_refuses(path):
    """Load a model file: it predicts finite numbers, or one line says what is wrong."""
    try:
        loaded = load_model(path)
    except ModelFileError as error:
        check_message(path, error)
        return "refused"
    with np.errstate(all="ignore"):
        assert loaded.model.predict(X[:3]).shape == (3,)
    return "loaded"


def test_a_mutated_model_file_loads_or_gives_one_line(model, tmp_path):
    path = tmp_path / "model.skops"
    found = Counter()
    for raw in mutations(model, MUTATIONS // 2, seed=16):
        path.write_bytes(raw)
        found[loads_or_refuses(path)] += 1
    assert found["refused"] > 0.8 * MUTATIONS / 2


def test_a_model_file_with_a_mutated_member_loads_or_gives_one_line(model, tmp_path):
    """The archive is whole, with the right checksums, but one of its members is another."""
    path = tmp_path / "model.skops"
    parts = members(model)
    for name, content in parts.items():
        for changed in mutations(content, MUTATIONS // 40, seed=len(name)):
            path.write_bytes(archive(**{**parts, name: changed}))
            loads_or_refuses(path)


def replacements(array):
    """Arrays that do not fit in the place of ``array``."""
    yield array[:1] if len(array) > 1 else array[:0]
    yield array[..., :1] if array.ndim > 1 and array.shape[1] > 1 else array[None]
    yield np.full(array.shape, "text")
    if array.dtype.kind == "f":
        yield np.full(array.shape, np.nan)
        yield array.astype(complex) * 1j


def scaling(step):
    """The arrays by which a step scales columns."""
    if isinstance(step, ColumnScaler):
        return [step.mean_, step.scale_]
    return [step.preparation_.center, step.preparation_.scale, step.preparation_.kept]


def test_arrays_that_were_cut_or_replaced_by_texts_are_one_line(model, tmp_path):
    path = tmp_path / "model.skops"
    parts = members(model)
    arrays = {name: np.load(io.BytesIO(content)) for name, content in parts.items() if name.endswith(".npy")}
    path.write_bytes(model)
    *_, step, estimator = load_model(path).model
    right = load_model(path).model.predict(X)
    used = [*scaling(step), estimator.X_fit_, estimator.dual_coef_, estimator.intercept_]
    needed = {name for name, array in arrays.items() if any(np.array_equal(array, one) for one in used)}
    assert len(needed) >= len(used)
    for name, array in arrays.items():
        for other in replacements(array) if array.ndim else ():
            path.write_bytes(archive(**{**parts, name: npy(other)}))
            if loads_or_refuses(path) == "loaded" and name in needed:
                np.testing.assert_array_equal(load_model(path).model.predict(X), right)


@pytest.mark.parametrize("name", [PLAIN_NAME, "schema.json"])
def test_deep_json_is_one_line(model, name, tmp_path):
    path = tmp_path / "model.skops"
    for deep in (
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"[" * 900 + b"]" * 900,
        b"null",
        b'{"format": 1}',
        b"1e999",
    ):
        path.write_bytes(archive(**{**members(model), name: deep}))
        assert loads_or_refuses(path) == "refused"


@pytest.mark.parametrize(
    "column",
    [
        {"name": 3, "kind": "number", "levels": [], "fill": None},
        {"name": "a", "kind": "other", "levels": [], "fill": None},
        {"name": "a", "kind": "number", "levels": [], "fill": "text"},
        {"name": "a", "kind": "category", "levels": [1, 2], "fill": None},
        {"name": "a", "kind": "number"},
        ["a", "number"],
    ],
)
def test_an_encoder_that_is_none_is_one_line(model, column, tmp_path):
    path = tmp_path / "model.skops"
    parts = members(model)
    plain = json.loads(parts[PLAIN_NAME])
    plain["encoder"]["columns"][0] = column
    path.write_bytes(archive(**{**parts, PLAIN_NAME: json.dumps(plain)}))
    assert loads_or_refuses(path) == "refused"
