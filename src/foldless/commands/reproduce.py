"""``foldless reproduce``: a paper's table beside ours."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

from foldless import reproduce as papers
from foldless.data import DataError
from foldless.errors import UnknownName
from foldless.options import Json, listed, typer
from foldless.terminal import print_json, waiting


def tables():
    """Names of the tables that can be reproduced: ``li-2`` is ``table_2`` of ``foldless.reproduce.li``."""
    modules = [info.name for info in iter_modules(papers.__path__)]
    return [f"{module}-{number}" for module in modules for number in _numbers(module)]


def _numbers(module):
    functions = vars(import_module(f"foldless.reproduce.{module}"))
    return sorted(name.removeprefix("table_") for name in functions if name.startswith("table_"))


def table_function(name):
    """Return the function that computes a table."""
    module, _, number = name.rpartition("-")
    return getattr(import_module(f"foldless.reproduce.{module}"), f"table_{number}")


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="For instance li-2.",
            autocompletion=lambda incomplete: listed(tables())(incomplete),
        ),
    ],
    data: Annotated[Path, typer.Option(help="Directory with the data sets as .npz files.")],
    splits: Annotated[
        int | None, typer.Option(help="Fewer splits than the paper, for a quick look.", min=1)
    ] = None,
    as_json: Json = False,
):
    """Print a table of a paper, ours beside theirs."""
    if name not in tables():
        raise UnknownName("TABLE", name, tables())
    if not data.is_dir():
        raise DataError(f"--data {data}: there is no such directory.")
    with waiting(f"computing {name}"):
        found = str(table_function(name)(data, **({} if splits is None else {"splits": splits})))
    if as_json:
        print_json({"table": name, "markdown": found})
    else:
        print(found)
