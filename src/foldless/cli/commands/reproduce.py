"""``foldless reproduce``: a table of a paper beside ours."""

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

from foldless.cli import papers
from foldless.cli.options import Json, completing, typer
from foldless.cli.papers.table import PaperTable
from foldless.cli.report import print_message
from foldless.cli.terminal import check_writable, print_json, waiting
from foldless.core.errors import DataError, UnknownName


def table_names() -> list[str]:
    """Return the names of the tables: ``li-2`` is ``table_2`` of ``foldless.cli.papers.li``."""
    modules = [info.name for info in iter_modules(papers.__path__)]
    return [f"{module}-{number}" for module in modules for number in _numbers(module)]


def _numbers(module: str) -> list[str]:
    functions = vars(import_module(f"foldless.cli.papers.{module}"))
    return sorted(name.removeprefix("table_") for name in functions if name.startswith("table_"))


def table_function(name: str) -> Callable[..., PaperTable]:
    """Return the function that computes a table."""
    module, _, number = name.rpartition("-")
    return getattr(import_module(f"foldless.cli.papers.{module}"), f"table_{number}")


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="For instance li-2.",
            autocompletion=lambda incomplete: completing(table_names())(incomplete),
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Directory with the data sets as .npz files; not needed for simulated data."),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Fewer splits than the paper, for a quick check.", min=1)
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw it, where the paper does: a .png, .svg or .pdf file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a table of a paper, ours beside theirs."""
    if name not in table_names():
        raise UnknownName("TABLE", name, table_names())
    function = table_function(name)
    if data is None and signature(function).parameters["data"].default is Parameter.empty:
        raise DataError(f"{name} needs data sets. Name their directory: --data DIR.")
    if data is not None and not data.is_dir():
        raise DataError(f"--data {data}: there is no such directory.")
    check_writable(figure)
    with waiting(f"computing {name}"):
        found = function(data, **({} if splits is None else {"splits": splits}))
    if as_json:
        print_json({"table": name, "markdown": str(found)})
    else:
        print(found)
    if figure is not None:
        print_message(f"wrote {', '.join(map(str, found.draw(figure)))}")
