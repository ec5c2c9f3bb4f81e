"""Files around the package agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_linter_of_the_hooks_is_the_linter_of_make():
    (pinned,) = [name for name in PROJECT["dependency-groups"]["dev"] if "ruff" in name]
    hooks = text(".pre-commit-config.yaml")
    assert f"rev: v{pinned.removeprefix('ruff==')}\n" in hooks


def test_the_newest_heading_of_the_changelog_is_the_version():
    heading = re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)
    assert heading[1] == PROJECT["project"]["version"]


def test_notes_of_changes_are_found_by_the_release():
    settings = PROJECT["tool"]["towncrier"]
    assert settings["start_string"] in text(settings["filename"])
    assert (ROOT / settings["template"]).exists()
    kinds = "|".join(kind["directory"] for kind in settings["type"])
    for path in (ROOT / settings["directory"]).iterdir():
        if path.name not in ("README.md", Path(settings["template"]).name):
            assert re.fullmatch(rf"(\+[a-z0-9-]+|[0-9]+)\.({kinds})\.md", path.name), path.name
            assert path.read_text(encoding="utf-8").rstrip().endswith("."), path.name


def test_the_workflow_tests_every_python_that_is_promised():
    workflow = ROOT / ".github/workflows/tests.yml"
    if not workflow.exists():
        pytest.skip("an sdist has no workflows")
    prefix = "Programming Language :: Python :: 3."
    promised = [name.removeprefix(prefix) for name in PROJECT["project"]["classifiers"] if prefix in name]
    tested = re.search(r"python: \[(.*)\]", workflow.read_text(encoding="utf-8"))[1]
    assert [f'"3.{minor}"' for minor in promised] == tested.split(", ")
    assert PROJECT["project"]["requires-python"] == f">=3.{promised[0]}"


def test_make_targets_that_documents_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    documents = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    named = {
        word
        for document in documents
        for call in re.findall(r"(?:`|run: )make ((?:[a-z-]+ ?)+)", document.read_text(encoding="utf-8"))
        for word in call.split()
    }
    assert named - targets == set()
    assert {"test", "lint", "dist"} <= named
