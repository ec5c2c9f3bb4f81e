"""Model files: what is saved comes back, and nothing else is let in."""

import json
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from foldless import KernelLogisticRegression
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.model_file import load_model, save_model
from foldless.cli.files.read_table import read_new, read_table
from foldless.cli.main import run
from foldless.core.errors import ModelFileError
from foldless.estimators.archive import PLAIN_NAME, trusted_types
from foldless.estimators.preparation import ColumnScaler

ENCODER = Encoder((Code("a", "number"), Code("b", "number"), Code("c", "number")), "y", "classification")


@pytest.fixture
def fitted(two_classes):
    X, y = two_classes
    return make_pipeline(ColumnScaler(), KernelLogisticRegression(C=1.0)).fit(
        X, np.where(y > 0, "up", "down")
    )


@pytest.fixture
def saved(fitted, tmp_path):
    save_model(tmp_path / "model.skops", fitted, ENCODER, fitted.classes_)
    return tmp_path / "model.skops"


def rewrite(path, change):
    """Rewrite an archive with its members passed through ``change(name, bytes) -> bytes or None``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            changed = change(name, content)
            if changed is not None:
                archive.writestr(name, changed)
    return path


def with_plain(path, **changes):
    return rewrite(
        path,
        lambda name, content: (
            json.dumps({**json.loads(content), **changes}).encode() if name == PLAIN_NAME else content
        ),
    )


@pytest.mark.parametrize("kernel", ["rbf", "rbf-ard", "matern", "poly", "linear", ["rbf", "linear"]])
@pytest.mark.parametrize("scale", [True, False])
def test_a_loaded_model_predicts_the_same(two_classes, tmp_path, kernel, scale):
    X, y = two_classes
    model = make_pipeline(
        ColumnScaler() if scale else "passthrough",
        KernelLogisticRegression(kernel=kernel, max_evaluations=3),
    )
    with pytest.warns(UserWarning, match="budget"):
        model.fit(X, y)
    save_model(tmp_path / "model.skops", model, ENCODER)
    loaded = load_model(tmp_path / "model.skops")
    assert np.array_equal(loaded.model.predict_proba(X), model.predict_proba(X))
    assert loaded.encoder == ENCODER
    assert loaded.note == ""


def test_three_classes_and_integer_labels(three_classes, tmp_path):
    X, y = three_classes
    encoder = Encoder((Code("a", "number"), Code("b", "number")), "y", "classification")
    model = make_pipeline(ColumnScaler(), KernelLogisticRegression(C=1.0)).fit(X, y)
    save_model(tmp_path / "model.skops", model, encoder, model.classes_)
    assert np.array_equal(load_model(tmp_path / "model.skops").model.predict(X), model.predict(X))


def test_the_plain_part_names_version_features_and_labels(saved):
    with zipfile.ZipFile(saved) as archive:
        plain = json.loads(archive.read(PLAIN_NAME))
    assert plain["feature_names"] == ["a", "b", "c"]
    assert plain["classes"] == ["down", "up"]
    assert plain["encoder"]["task"] == "classification"
    assert {"format", "foldless", "scikit-learn"} <= plain.keys()


def test_no_pickle_is_inside(saved):
    with zipfile.ZipFile(saved) as archive:
        endings = {name.rpartition(".")[2] for name in archive.namelist()}
    assert endings <= {"json", "npy", "npz"}


def test_an_encoded_table_survives_the_journey(tmp_path, capsys):
    lines = ["size,kind,y", *(f"{i},{'uvw'[i % 3]},{'no' if i < 20 else 'yes'}" for i in range(40))]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("kind,other,size\nu,1,3\nw,2,35\nz,3,10\n")
    model = str(tmp_path / "model.skops")
    assert run(["tune", str(tmp_path / "train.csv"), "--target", "y", "--save", model]) == 0
    capsys.readouterr()
    assert run(["predict", model, str(tmp_path / "new.csv")]) == 0
    said = capsys.readouterr()
    assert [line.split(",")[0] for line in said.out.splitlines()] == ["y", "no", "yes", "no"]
    assert (
        "column 'kind': 'z' did not occur in training; 1 row is predicted from its other columns" in said.err
    )
    assert "'other'" in said.err
    table = read_table(tmp_path / "train.csv", "y", impute=True)
    assert load_model(model).encoder == table.encoder


@pytest.mark.parametrize("machine", [[], ["--machine", "logistic"]])
@pytest.mark.parametrize("levels", ["uv", "uvw"])
def test_an_unseen_level_is_told_with_its_rows_and_predicted(machine, levels, tmp_path, capsys):
    lines = [
        "size,kind,y",
        *(f"{i},{levels[i % len(levels)]},{'no' if i < 20 else 'yes'}" for i in range(40)),
    ]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("size,kind\n3,u\n35,x\n10,x\n36,z\n")
    model = str(tmp_path / "model.skops")
    assert run(["tune", str(tmp_path / "train.csv"), "--target", "y", "--save", model, *machine]) == 0
    capsys.readouterr()
    assert run(["predict", model, str(tmp_path / "new.csv")]) == 0
    said = capsys.readouterr()
    assert [line.split(",")[0] for line in said.out.splitlines()] == ["y", "no", "yes", "no", "yes"]
    told = (
        "column 'kind': 'x' and 'z' did not occur in training; 3 rows are predicted from their other columns"
    )
    assert said.err == f"foldless: note: {told}\n"


def test_a_model_of_indicators_as_earlier_versions_saved_it_goes_on_working(rng, tmp_path):
    """Scaling and machine for columns of 0 and 1, without the step that makes them."""
    rows = [(f"{i % 13}" if i % 9 else "", "uvw"[i % 3] if i % 7 else "", "ab"[i % 2]) for i in range(60)]
    lines = [
        "size,kind,side,y",
        *(f"{','.join(row)},{'no' if i < 30 else 'yes'}" for i, row in enumerate(rows)),
    ]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("size,kind,side\n3,u,a\n,,b\n5,z,a\n")
    table = read_table(tmp_path / "train.csv", "y")
    model = make_pipeline(ColumnScaler(), KernelLogisticRegression(C=1.0)).fit(table.X, table.y)
    save_model(tmp_path / "model.skops", model, table.encoder)
    loaded = load_model(tmp_path / "model.skops")
    assert loaded.plain["feature_names"] == table.feature_names
    (new,) = read_new(tmp_path / "new.csv", loaded.encoder)
    assert np.isnan(new.values).any()
    np.testing.assert_array_equal(loaded.model.predict_proba(new.values), model.predict_proba(new.X))


def test_every_trusted_type_exists():
    for name in trusted_types():
        module, _, kind = name.rpartition(".")
        assert hasattr(__import__(module, fromlist=[kind]), kind), name


def test_untrusted_types_are_refused_by_name(saved):
    def poison(name, content):
        return content.replace(b"ColumnScaler", b"MyColumnScaler") if name == "schema.json" else content

    with pytest.raises(ModelFileError, match=r"refused.*MyColumnScaler"):
        load_model(rewrite(saved, poison))


def test_a_function_of_the_system_is_refused_by_name(saved):
    """What a pickle would run: a reference to os.system in the place of a class."""

    def poison(name, content):
        if name != "schema.json":
            return content
        return content.replace(b'"ColumnScaler"', b'"system"').replace(
            b"foldless.estimators.preparation", b"os"
        )

    with pytest.raises(ModelFileError, match=r"os\.system"):
        load_model(rewrite(saved, poison))


def test_a_model_of_another_kind_is_refused(saved, two_classes):
    X, y = two_classes
    with zipfile.ZipFile(saved) as archive:
        plain = archive.read(PLAIN_NAME)
    skops.io.dump(make_pipeline(ColumnScaler(), LogisticRegression()).fit(X, y), saved)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(PLAIN_NAME, plain)
    with pytest.raises(ModelFileError, match="expected a model saved by foldless"):
        load_model(saved)


def test_a_file_that_foldless_did_not_write(saved, two_classes):
    skops.io.dump(KernelLogisticRegression(C=1.0).fit(*two_classes), saved)
    with pytest.raises(ModelFileError, match="did not write it"):
        load_model(saved)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_says_so(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match="not a whole model file"):
        load_model(saved)


def test_a_flipped_byte_is_noticed(saved):
    whole = bytearray(saved.read_bytes())
    place = whole.index(b"NUMPY") + 200
    whole[place] ^= 0xFF
    saved.write_bytes(bytes(whole))
    with pytest.raises(ModelFileError, match="not a whole model file"):
        load_model(saved)


def test_a_member_taken_out_is_noticed(saved):
    with pytest.raises(ModelFileError):
        load_model(rewrite(saved, lambda name, content: None if name.endswith(".npy") else content))


def test_the_encoder_must_fit_the_model(saved):
    fewer = Encoder(ENCODER.codes[:2], "y", "classification").to_dict()
    with pytest.raises(ModelFileError, match="expected a model"):
        load_model(with_plain(saved, encoder=fewer))


def test_another_version_loads_with_a_note(saved):
    loaded = load_model(with_plain(saved, foldless="0.0.1"))
    assert "written by foldless 0.0.1" in loaded.note


def test_a_newer_format_says_what_to_do(saved):
    with pytest.raises(ModelFileError, match="Update foldless"):
        load_model(with_plain(saved, format=99))


def test_a_model_that_cannot_be_built_names_both_versions(saved, monkeypatch):
    def gone(*arguments, **options):
        raise AttributeError("module has no attribute 'OldName'")

    monkeypatch.setattr("skops.io.load", gone)
    with pytest.raises(ModelFileError, match=r"written by foldless 9\.0 .* cannot build it .*OldName"):
        load_model(with_plain(saved, foldless="9.0"))


def test_a_file_that_would_fill_the_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("foldless.estimators.archive.UNPACKED_MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match="would unpack"):
        load_model(saved)


def test_the_command_line_refuses_in_one_line(saved, tmp_path, capsys):
    saved.write_bytes(saved.read_bytes()[:300])
    (tmp_path / "new.csv").write_text("a,b,c\n1,2,3\n")
    assert run(["predict", str(saved), str(tmp_path / "new.csv")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_column_the_model_needs_is_named(saved, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    assert run(["predict", str(saved), str(tmp_path / "new.csv")]) == 2
    assert "'c'" in capsys.readouterr().err
