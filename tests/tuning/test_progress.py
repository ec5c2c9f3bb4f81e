"""verbose=1 leaves one line behind; the logger "foldless" has every evaluation."""

import builtins
import logging

import pytest

from foldless import KernelLSSVC
from foldless.core.errors import UnknownName
from foldless.kernels.by_name import NAMED


def test_verbose_leaves_one_line_behind(two_classes, capsys):
    model = KernelLSSVC(verbose=1).fit(*two_classes)
    said = capsys.readouterr()
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert last.startswith("tuned in ")
    assert f"{model.n_evaluations_} evaluations" in last


def test_verbose_without_rich(two_classes, capsys, monkeypatch):
    imports = builtins.__import__

    def without_rich(name, *arguments, **options):
        if name.startswith("rich"):
            raise ImportError(name)
        return imports(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    KernelLSSVC(verbose=1).fit(*two_classes)
    assert "tuned in " in capsys.readouterr().err.splitlines()[-1]


def test_silence_is_the_default(two_classes, capsys):
    KernelLSSVC().fit(*two_classes)
    assert capsys.readouterr() == ("", "")


def test_the_logger_has_every_evaluation_and_the_end(two_classes, caplog):
    with caplog.at_level(logging.DEBUG, logger="foldless"):
        model = KernelLSSVC().fit(*two_classes)
    levels = [record.levelname for record in caplog.records]
    assert levels.count("DEBUG") == model.n_evaluations_
    assert levels[-1] == "INFO"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("RBF", "rbf"), ("matern_ard", "matern-ard"), ("laplace", "laplacian"), ("rfb", "rbf")],
)
def test_a_misspelt_name_is_answered_by_a_question(wrong, right):
    assert str(UnknownName("kernel", wrong, NAMED)).endswith(f"Did you mean '{right}'?")
    assert "Did you mean" not in str(UnknownName("kernel", "cosine", ["rbf"]))
