"""The map of the package: which folder may import which, and no cycle anywhere."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import foldless

SOURCE = Path(__file__).parents[1] / "src" / "foldless"

# A folder imports only what is named here. The docstring of foldless shows the same table.
MAY_IMPORT = {
    "core": "",
    "datasets": "core",
    "kernels": "core",
    "grams": "core kernels",
    "machines": "core grams",
    "criteria": "core grams machines",
    "searches": "core",
    "tuning": "core kernels grams machines criteria searches",
    "estimators": "core kernels grams machines criteria searches tuning",
    "inspection": "core kernels grams criteria tuning estimators",
    "cli": "core datasets kernels grams machines criteria searches tuning estimators inspection",
}
# foldless itself gathers the public names; `python -m foldless` is the command line.
GATHERS_ALL = {"__init__", "__main__"}


def room(name: str) -> str:
    """The folder of a dotted name below foldless, or the file at the top."""
    return name.partition(".")[0]


def modules(source: Path) -> dict[str, Path]:
    """Dotted name below foldless -> file; a folder's __init__.py has the folder's name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def imported(node: ast.AST, package: list[str]) -> list[str]:
    """Dotted names below foldless that an import statement reaches for; `package` is where it stands."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        return [name.partition(".")[2] for name in names if room(name) == "foldless"]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = (node.module or "").split(".")
    if node.level:
        base = package[: len(package) - node.level + 1] + base
    elif base.pop(0) != "foldless":
        return []
    return [".".join(part for part in [*base, alias.name] if part) for alias in node.names]


def imports(path: Path, source: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and dotted names of all our imports in a file, also those inside functions."""
    package = list(path.relative_to(source).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name in imported(node, package):
            yield node.lineno, name


def violations(source: Path, table: dict[str, str]) -> list[str]:
    """Every import that the table does not allow, as `file:line: sentence`."""
    found = []
    for name, path in modules(source).items():
        own, place = room(name), path.relative_to(source)
        if own in GATHERS_ALL:
            continue
        if own not in table:
            found.append(f"{place}:1: {own} is not on the map; add it to MAY_IMPORT with what it may import")
            continue
        for line, other in imports(path, source):
            if room(other) != own and room(other) not in table[own].split() and other != "__version__":
                allowed = table[own].replace(" ", ", ") or "nothing of ours"
                found.append(
                    f"{place}:{line}: imports foldless.{other}, but {own} may import only: {allowed}"
                )
    return found


def edges(source: Path) -> dict[str, set[str]]:
    """Module -> the modules it imports from."""
    known = modules(source)
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        graph[name] = set()
        for _, other in imports(path, source):
            target = other if other in known else other.rpartition(".")[0]
            if target in known and target != name:
                graph[name].add(target)
    return graph


def cycle(source: Path) -> list[str]:
    """A cycle of modules that import each other, or an empty list."""
    try:
        tuple(graphlib.TopologicalSorter(edges(source)).static_order())
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_every_import_is_on_the_map():
    found = violations(SOURCE, MAY_IMPORT)
    assert not found, "\n".join(["the map is broken:", *found])


def test_no_modules_import_each_other():
    assert not cycle(SOURCE)


def test_the_package_shows_twelve_entries():
    shown = {path.name for path in SOURCE.iterdir() if not path.name.startswith("__")} - {"py.typed"}
    assert {name.removesuffix(".py") for name in shown} == set(MAY_IMPORT)


def test_the_docstring_of_the_package_shows_the_map():
    for name, allowed in MAY_IMPORT.items():
        assert any(line.split() == [name, *allowed.split()] for line in foldless.__doc__.splitlines())


def test_no_module_has_the_name_of_one_a_level_up():
    names = modules(SOURCE)
    for name in names:
        *parents, own = name.split(".")
        assert ".".join([*parents[:-1], own]) not in names or not parents, (
            f"{name} has a namesake one level up"
        )


# The checker itself, on a small tree that is right, and on ways of breaking it.

TABLE = {"core": "", "machines": "core"}
RIGHT = {
    "__init__.py": "from foldless.machines import ridge\n",
    "core/__init__.py": "",
    "core/errors.py": "import numpy\n",
    "core/linalg.py": "from foldless.core.errors import FoldlessError\nfrom foldless import __version__\n",
    "machines/__init__.py": "from foldless.machines.ridge import Ridge\nfrom .svm import SVM\n",
    "machines/ridge.py": "import foldless.core.linalg\nfrom ..core.errors import FoldlessError\n",
    "machines/svm.py": "from foldless.core import linalg\nfrom foldless.machines.ridge import Ridge\n",
}


def grow(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_checker_passes_a_right_tree(tmp_path):
    tree = grow(tmp_path, RIGHT)
    assert violations(tree, TABLE) == []
    assert cycle(tree) == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "core/linalg.py",
            "import numpy\nfrom foldless.machines import R\n",
            ["core/linalg.py:2", "machines.R", "nothing of ours"],
        ),
        ("core/errors.py", "import foldless.machines.svm as m\n", ["core/errors.py:1", "foldless.machines"]),
        ("core/errors.py", "def f():\n    from foldless import machines\n", ["core/errors.py:2"]),
        ("core/linalg.py", "from .. import machines\n", ["core/linalg.py:1", "foldless.machines"]),
        ("machines/svm.py", "from foldless import Ridge\n", ["machines/svm.py:1", "only: core"]),
        ("utils.py", "", ["utils.py:1", "not on the map"]),
        ("extras/one.py", "", ["extras/one.py:1", "extras is not on the map"]),
    ],
)
def test_the_checker_names_file_line_and_import(tmp_path, name, text, words):
    found = violations(grow(tmp_path, {**RIGHT, name: text}), TABLE)
    assert len(found) == 1
    for word in words:
        assert word in found[0].replace("\\", "/")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("core/errors.py", "from foldless.core.linalg import solve\n"),
        ("machines/ridge.py", "def late():\n    from .svm import SVM\n"),
    ],
)
def test_the_checker_finds_a_cycle(tmp_path, name, text):
    assert len(cycle(grow(tmp_path, {**RIGHT, name: text}))) >= 2
