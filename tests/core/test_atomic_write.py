"""Files are written whole or not at all: an old file survives a write that fails."""

import errno
import os
import resource
import threading
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from foldless import KernelLogisticRegression
from foldless.cli import run
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.model_file import load_model, save_model
from foldless.cli.papers.table import Cell, PaperTable
from foldless.cli.report import write as report
from foldless.core.atomic_write import written_whole
from foldless.core.errors import DataError
from foldless.estimators.preparation import ColumnScaler

OLD = b"the old file"
ENCODER = Encoder(tuple(Code(name, "number") for name in "abc"), "y", "classification")


@contextmanager
def file_size_limit():
    """The operating system refuses to write more than a thousand bytes to a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def full_disk():
    """The disk is full, which is noticed when the content is flushed to it."""
    return patch("os.fsync", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


class Writers:
    """Everything the command line writes, to a path."""

    def __init__(self, folder, model):
        self.model, self.folder = model, folder
        save_model(folder / "model.skops", model, ENCODER)
        rows = "\n".join(f"{i},{i % 7},{i % 5}" for i in range(50))
        (folder / "new.csv").write_text(f"a,b,c\n{rows}\n")

    def report(self, path):
        with (
            patch.object(report, "page", return_value="<html>" + 5000 * "x"),
            patch.object(report, "find_out"),
        ):
            report.write_report(None, path)

    def saved_model(self, path):
        save_model(path, self.model, ENCODER)

    def predictions(self, path):
        data = [str(self.folder / name) for name in ("model.skops", "new.csv")]
        if run(["predict", *data, "--output", str(path)]) == 2:
            raise DataError("one line on stderr")

    def figure(self, path):
        samples = {"case": {"method": np.arange(10.0)}}
        PaperTable("t", "t", {("a", "b"): Cell(1.0)}, samples=samples).draw(path)


OUTPUTS = {"report": "r.html", "saved_model": "m.skops", "predictions": "p.csv", "figure": "f.png"}


@pytest.fixture
def writers(tmp_path, two_classes):
    model = make_pipeline(ColumnScaler(), KernelLogisticRegression(C=1.0)).fit(*two_classes)
    return Writers(tmp_path, model)


def hidden(folder):
    """Temporary files that were left behind."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("failure", [full_disk, file_size_limit])
@pytest.mark.parametrize("what", OUTPUTS)
def test_an_old_file_survives_a_failed_write(what, failure, writers, tmp_path):
    path = tmp_path / OUTPUTS[what]
    path.write_bytes(OLD)
    with pytest.raises(DataError), failure():
        getattr(writers, what)(path)
    assert path.read_bytes() == OLD
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("what", OUTPUTS)
def test_a_write_that_succeeds_replaces_the_old_file(what, writers, tmp_path):
    path = tmp_path / OUTPUTS[what]
    path.write_bytes(OLD)
    getattr(writers, what)(path)
    assert path.stat().st_size > len(OLD)
    assert hidden(tmp_path) == []


def test_a_full_disk_is_one_line_on_the_terminal(writers, tmp_path, capsys):
    path = tmp_path / "p.csv"
    with pytest.raises(DataError), full_disk():
        writers.predictions(path)
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "p.csv: could not be written (No space left on device)" in said
    assert not path.exists()


def test_an_interrupted_block_leaves_nothing(tmp_path):
    def write():
        with written_whole(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def test_the_new_file_has_the_permissions_of_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with written_whole(path) as temporary:
        temporary.write_text("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with written_whole(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_directly(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with written_whole(pipe) as path:
        path.write_text("through")
    reader.join()
    assert received == ["through"]


def test_a_model_file_is_never_seen_half_written(writers, tmp_path):
    """The plain part is added after the model: both appear at once."""
    path, seen = tmp_path / "new.skops", []
    with patch("zipfile.ZipFile.writestr", side_effect=lambda *_: seen.append(path.exists())):
        writers.saved_model(path)
    assert seen == [False] * len(seen)
    writers.saved_model(path)
    assert load_model(path).encoder == ENCODER
