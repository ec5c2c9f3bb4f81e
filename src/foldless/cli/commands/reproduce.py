"""``foldless reproduce``: a table or a figure of a paper, and ours."""

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules

from foldless.cli import papers
from foldless.cli.console import print_message
from foldless.cli.papers.figure import PaperFigure
from foldless.cli.papers.table import PaperTable
from foldless.cli.terminal import check_writable, print_json, waiting
from foldless.core.errors import DataError, UnknownName

FIGURE_MARK = "-fig"


def names() -> list[str]:
    """Return the names of the tables and figures: ``li-2`` is ``table_2`` of ``papers.li``, ``li-fig1`` a figure."""
    return [name for module in _modules() for name in sorted(_functions(module))]


def _modules() -> list[str]:
    return [info.name for info in iter_modules(papers.__path__)]


def _functions(module: str) -> dict[str, Callable[..., PaperTable | PaperFigure]]:
    """Return the tables and figures of a module by name."""
    found, paper = vars(import_module(f"foldless.cli.papers.{module}")), module.removesuffix("_figures")
    tables = {f"{paper}-{n.removeprefix('table_')}": f for n, f in found.items() if n.startswith("table_")}
    figures = {n.removeprefix("figure_"): f for n, f in found.items() if n.startswith("figure_")}
    return tables | {f"{paper}{FIGURE_MARK}{number}": f for number, f in figures.items()}


def function_of(name: str) -> Callable[..., PaperTable | PaperFigure]:
    """Return the function that computes a table or a figure."""
    return next(functions[name] for functions in map(_functions, _modules()) if name in functions)


def reproduce(name: str, data: Path | None, splits: int | None, figure: Path | None, as_json: bool) -> None:
    """Print a table of a paper, ours beside theirs, or draw a figure of it."""
    if name not in names():
        raise UnknownName("NAME", name, names())
    function, is_figure = function_of(name), FIGURE_MARK in name
    if splits is not None and is_figure and "splits" not in signature(function).parameters:
        raise DataError(f"{name} has no splits to choose. Leave --splits out.")
    if data is None and signature(function).parameters["data"].default is Parameter.empty:
        raise DataError(f"{name} needs data sets. Name their directory: --data DIR.")
    if data is not None and not data.is_dir():
        raise DataError(f"--data {data}: there is no such directory.")
    if figure is None and is_figure:
        figure = Path(f"{name}.svg")
    check_writable(figure)
    with waiting(f"computing {name}"):
        found = function(data, **({} if splits is None else {"splits": splits}))
    if as_json:
        print_json({"figure" if is_figure else "table": name, "markdown": str(found)})
    else:
        print(found)
    if figure is not None:
        print_message(f"wrote {', '.join(map(str, found.draw(figure)))}")
