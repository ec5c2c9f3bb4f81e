"""Packages the core does without: imported where they are used, with an error that names the extra."""

from importlib import import_module
from typing import Any

from foldless.core.errors import MissingExtra


def import_extra(module: str, extra: str = "") -> Any:
    """Import ``module`` and return it.

    Parameters
    ----------
    module : str
        Dotted name, e.g. ``"rich.table"``.
    extra : str
        The extra of foldless that brings it; empty if none does and the package is installed by its own name.

    Raises
    ------
    MissingExtra
        If the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there; something it needs in turn is not
        raise MissingExtra(module.partition(".")[0], extra) from None
