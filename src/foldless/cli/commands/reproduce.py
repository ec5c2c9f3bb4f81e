"""``foldless reproduce``: a paper's table beside ours."""

from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

from foldless.cli import papers as papers
from foldless.cli.files.read_table import DataError
from foldless.cli.options import Json, listed, typer
from foldless.cli.report import say
from foldless.cli.terminal import print_json, waiting
from foldless.core.errors import UnknownName


def tables():
    """Names of the tables that can be reproduced: ``li-2`` is ``table_2`` of ``foldless.cli.papers.li``."""
    modules = [info.name for info in iter_modules(papers.__path__)]
    return [f"{module}-{number}" for module in modules for number in _numbers(module)]


def _numbers(module):
    functions = vars(import_module(f"foldless.cli.papers.{module}"))
    return sorted(name.removeprefix("table_") for name in functions if name.startswith("table_"))


def table_function(name):
    """Return the function that computes a table."""
    module, _, number = name.rpartition("-")
    return getattr(import_module(f"foldless.cli.papers.{module}"), f"table_{number}")


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="For instance li-2.",
            autocompletion=lambda incomplete: listed(tables())(incomplete),
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Directory with the data sets as .npz files; not for data that are drawn."),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Fewer splits than the paper, for a quick look.", min=1)
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw it, where the paper does: a .png, .svg or .pdf file.")
    ] = None,
    as_json: Json = False,
):
    """Print a table of a paper, ours beside theirs."""
    if name not in tables():
        raise UnknownName("TABLE", name, tables())
    function = table_function(name)
    if data is None and signature(function).parameters["data"].default is Parameter.empty:
        raise DataError(f"{name} needs data sets. Name their directory: --data DIR.")
    if data is not None and not data.is_dir():
        raise DataError(f"--data {data}: there is no such directory.")
    with waiting(f"computing {name}"):
        found = function(data, **({} if splits is None else {"splits": splits}))
    if as_json:
        print_json({"table": name, "markdown": str(found)})
    else:
        print(found)
    if figure is not None:
        _draw(found, name, figure)


def _draw(found, name, path):
    if not hasattr(found, "draw"):
        raise DataError(f"--figure {path}: the paper draws no figure for {name}.")
    say(f"wrote {', '.join(map(str, found.draw(path)))}")
