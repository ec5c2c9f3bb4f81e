"""The commands: each reads its arguments, calls one function of the library and prints the result."""

from typing import Annotated

from foldless import __version__
from foldless.cli.commands import compare, demo, predict, reproduce, tune
from foldless.cli.options import typer

__all__ = ["app"]

app = typer.Typer(
    help="Tune kernel machines without cross-validation folds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"foldless {__version__}")
        raise typer.Exit()


@app.callback()
def foldless(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tune kernel machines without cross-validation folds."""


for command in (demo.demo, tune.tune, compare.compare, predict.predict, reproduce.reproduce):
    app.command()(command)
