"""The map of the package: which line may import which. An import names only lines further up."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "foldless"

BELOW_GRAMS = {"contracts", "errors", "linalg", "features", "verbs", "kernels"}
BELOW_MACHINES = BELOW_GRAMS | {
    "columns",
    "labels",
    "targets",
    "losses",
    "grams",
    "boxqp",
    "rough_start",
    "box_solver",
    "basis",
    "smoother",
    "linear",
    "posterior",
}
BELOW_CRITERIA = BELOW_MACHINES | {"machines", "inference", "criterion", "folds"}
WALKING = {"jobs", "starts", "lattice", "simplex"}
BELOW_SELECTION = (
    BELOW_CRITERIA
    | WALKING
    | {
        "held_out",
        "criteria",
        "named",
        "representation",
        "extras",
        "cluster",
        "stages",
        "plan",
        "walk",
        "searches",
        "sharing",
        "objective",
    }
)
BELOW_ESTIMATORS = BELOW_SELECTION | {"calibration", "selection", "progress", "datasets"}
FILES = {"sheet", "formats", "encoding"}
SHELLS = {"catalogue", "compare", "data", "demo", "extras", "model_file", "report", "study"}

MAY_IMPORT = {
    "contracts": set(),
    "errors": set(),
    "columns": set(),
    "linalg": {"errors"},
    "features": {"contracts", "linalg"},
    "labels": {"errors"},
    "verbs": {"contracts", "errors", "linalg"},
    "jobs": set(),
    "checkpoint": {"contracts", "errors"},
    "walk": {"contracts", "errors", "checkpoint", "jobs"},
    "starts": {"contracts"},
    "space": {"contracts", "errors"},
    "lattice": {"contracts", "errors"},
    "simplex": {"contracts", "walk"},
    "criterion": {"contracts", "errors"},
    "targets": set(),
    "losses": {"errors", "targets"},
    "basis": BELOW_GRAMS | {"grams"},
    "smoother": {"contracts", "linalg", "basis"},
    "posterior": {"errors", "basis", "smoother"},
    "linear": {"contracts", "errors", "linalg", "features", "basis"},
    "folds": set(),
    "kernels": BELOW_GRAMS - {"kernels"},
    "named": BELOW_GRAMS,
    "grams": BELOW_GRAMS,
    "representation": BELOW_GRAMS | {"grams"},
    "boxqp": BELOW_GRAMS | {"grams"},
    "rough_start": BELOW_GRAMS | {"grams"},
    "box_solver": BELOW_GRAMS | {"boxqp", "rough_start"},
    "machines": BELOW_MACHINES,
    "inference": BELOW_MACHINES | {"machines", "fixed_point"},
    "fixed_point": set(),
    "criteria": BELOW_CRITERIA,
    "held_out": {"labels", "verbs"},
    "searches": {"contracts", "errors", "walk"} | WALKING,
    "sharing": set(),
    "objective": {"contracts", "errors", "sharing"},
    "cluster": BELOW_GRAMS | {"extras", "grams", "representation"},
    "stages": BELOW_GRAMS | {"grams", "representation", "cluster"},
    "plan": BELOW_SELECTION - {"plan"},
    "selection": BELOW_SELECTION,
    "choose": BELOW_SELECTION | {"selection"},
    "mixture": BELOW_SELECTION | {"selection"},
    "calibration": {"labels"},
    "progress": set(),
    "shell": BELOW_ESTIMATORS,
    "datasets": {"errors"},
    "tables": set(),
    "baselines": BELOW_CRITERIA | {"representation"},
    "measures": {"errors"},
    "sheet": {"errors"},
    "formats": {"errors", "sheet"},
    "encoding": {"errors", "sheet"},
    "data": {"errors"} | FILES,
    "refits": {"contracts", "space"},
    "ensemble": set(),
    "translation": BELOW_SELECTION | {"space"},
    "attempts": BELOW_ESTIMATORS | {"shell", "space", "refits", "translation"},
    "estimators": BELOW_ESTIMATORS | {"shell", "space", "attempts", "ensemble"},
    "comparison": {"extras"},
    "compare": BELOW_ESTIMATORS | {"comparison", "estimators"},
    "canvas": {"extras"},
    "displays": BELOW_SELECTION | {"canvas", "extras", "landscape"},
    "reproduce": BELOW_ESTIMATORS
    | {"choose", "mixture", "estimators", "measures", "tables", "baselines", "ensemble"},
    "extras": {"errors"},
    "landscape": BELOW_SELECTION | {"selection"},
    "catalogue": {"errors", "estimators"},
    "study": {"catalogue", "data", "errors", "shell"},
    "model_file": {"catalogue", "data", "errors", "extras", "kernels"},
    "demo": {"data", "encoding", "study"},
    "marks": set(),
    "report": {"contracts", "errors", "extras", "catalogue", "landscape", "marks"},
    "options": {"criteria", "searches", "catalogue", "extras", "named"},
    "terminal": {"catalogue", "data", "report"},
    "commands": SHELLS | {"contracts", "errors", "options", "reproduce", "terminal"},
    "cli": {"errors", "report", "commands"},
}
# foldless itself gathers the public names; `python -m foldless` is the command line.
ANYTHING = {"__init__", "__main__"}
GATHERS_ITS_FOLDER = {"__init__.py", "combine.py"}


def line_of(module: Path, source: Path) -> str:
    """The line of the map a file stands on: its folder in the package, or its own name."""
    first = module.relative_to(source).parts[0]
    return first.removesuffix(".py")


def targets(node: ast.AST, package: list[str]) -> list[str]:
    """Dotted names below foldless that an import statement reaches for; `package` is where it stands."""
    if isinstance(node, ast.Import):
        return [
            alias.name.partition(".")[2] for alias in node.names if alias.name.partition(".")[0] == "foldless"
        ]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.level:
        base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
    else:
        base = (node.module or "").split(".")
        if base.pop(0) != "foldless":
            return []
    base = [part for part in base if part]
    return [".".join([*base, alias.name]) for alias in node.names]


def imports(module: Path, source: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and dotted names of all our imports in a file, also those inside functions."""
    package = list(module.relative_to(source).parts[:-1])
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        for name in targets(node, package):
            yield node.lineno, name


def complaint(module: Path, source: Path, name: str, table: dict[str, set[str]]) -> str | None:
    """What is wrong with one import, or None."""
    own, other = line_of(module, source), name.partition(".")[0]
    if other == own:
        return _sibling(module, source, name)
    if other.startswith("__") and other.endswith("__"):  # foldless.__version__
        return None
    if other in table[own]:
        return None
    if other not in table:
        return (
            f"imports foldless.{name}, which names no line of the map; import from the module that defines it"
        )
    allowed = ", ".join(sorted(table[own])) or "nothing of ours"
    return f"imports foldless.{name}, but {own} may import only: {allowed}"


def _sibling(module: Path, source: Path, name: str) -> str | None:
    """Files of one folder do not import each other; its __init__.py and combine.py gather them."""
    if module.name in GATHERS_ITS_FOLDER:
        return None
    return f"imports foldless.{name} from its own folder; move what both need up a line, or use combine.py"


def violations(source: Path, table: dict[str, set[str]]) -> list[str]:
    """Everything in a tree that breaks the map, as `file:line: sentence`."""
    found = []
    for module in sorted(source.rglob("*.py")):
        own, place = line_of(module, source), module.relative_to(source)
        if own in ANYTHING:
            continue
        if own not in table:
            found.append(f"{place}:1: {own} is not on the map; add it to MAY_IMPORT with what it may import")
            continue
        for line, name in imports(module, source):
            if said := complaint(module, source, name, table):
                found.append(f"{place}:{line}: {said}")
    return found


def test_every_import_names_a_line_further_up():
    found = violations(SOURCE, MAY_IMPORT)
    assert not found, "\n".join(["the map is broken:", *found])


def test_the_map_has_no_cycle():
    above: dict[str, set[str]] = dict(MAY_IMPORT)
    while above:
        free = {line for line, needs in above.items() if not needs & above.keys()}
        assert free, f"a cycle among {sorted(above)}"
        above = {line: needs for line, needs in above.items() if line not in free}


# The checker itself, on a small tree that is right, and on ways of breaking it.

TABLE = {"errors": set(), "linalg": {"errors"}, "machines": {"errors", "linalg"}}
RIGHT = {
    "__init__.py": "from foldless.machines import ridge\n",
    "errors.py": "import numpy\n",
    "linalg.py": "from foldless.errors import FoldlessError\nfrom foldless import __version__\n",
    "machines/__init__.py": "from foldless.machines.ridge import Ridge\nfrom .svm import SVM\n",
    "machines/ridge.py": "import foldless.linalg\nfrom ..errors import FoldlessError\n",
    "machines/svm.py": "from foldless import linalg, errors\n",
    "machines/combine.py": "from foldless.machines.ridge import Ridge\n",
}


def grow(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_checker_passes_a_right_tree(tmp_path):
    assert violations(grow(tmp_path, RIGHT), TABLE) == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "linalg.py",
            "import numpy\nfrom foldless.machines import R\n",
            ["linalg.py:2", "machines.R", "only: errors"],
        ),
        (
            "errors.py",
            "import foldless.linalg as la\n",
            ["errors.py:1", "foldless.linalg", "nothing of ours"],
        ),
        ("errors.py", "def f():\n    from foldless import linalg\n", ["errors.py:2", "foldless.linalg"]),
        ("linalg.py", "from . import machines\n", ["linalg.py:1", "foldless.machines"]),
        (
            "linalg.py",
            "from .machines.ridge import Ridge\n",
            ["linalg.py:1", "foldless.machines.ridge.Ridge"],
        ),
        (
            "linalg.py",
            "from foldless import Ridge\n",
            ["linalg.py:1", "foldless.Ridge", "no line of the map"],
        ),
        (
            "machines/svm.py",
            "from foldless.machines.ridge import R\n",
            ["machines/svm.py:1", "own folder", "combine.py"],
        ),
        ("machines/svm.py", "from .ridge import R\n", ["machines/svm.py:1", "own folder"]),
        ("machines/svm.py", "from . import ridge\n", ["machines/svm.py:1", "own folder"]),
        ("utils.py", "", ["utils.py:1", "not on the map"]),
        ("extras/one.py", "", ["extras/one.py:1", "extras is not on the map"]),
    ],
)
def test_the_checker_names_file_line_and_import(tmp_path, name, text, words):
    found = violations(grow(tmp_path, {**RIGHT, name: text}), TABLE)
    assert len(found) == 1
    for word in words:
        assert word in found[0].replace("\\", "/")
