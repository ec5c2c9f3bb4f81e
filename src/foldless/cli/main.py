"""The command line: arguments in, exit code out. A user's mistake is one line on stderr and exit code 2.

The commands and their options are declared in :mod:`foldless.cli.app`, imported when the command line runs, because they
need packages that the rest of foldless does without. What a command does is imported when it is called, so that help
takes no time.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

from foldless.cli.console import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_MISTAKE,
    print_message,
    say_interrupted,
)
from foldless.core.errors import FoldlessError, UnseenLevelWarning


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process. With the environment variable ``FOLDLESS_DEBUG`` set, errors show their
        traceback.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; warnings are printed as notes on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # Notes on the file tell the same, with its names of columns and levels in the place of their numbers.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        warnings.showwarning = _print_warning
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        from foldless.cli.app import app

        code = app(args=list(arguments), prog_name="foldless", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt:
        return say_interrupted()
    except BrokenPipeError:
        # The reader of stdout is gone; give Python another stdout to flush when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:
        return _exit_code(error)


def _exit_code(error: Exception) -> int:
    """Print what a user did wrong and return the exit code; raise again what no user can have caused."""
    if os.environ.get("FOLDLESS_DEBUG"):
        raise error
    # Mistakes in the arguments; the message is empty when typer has printed the help already.
    if hasattr(error, "format_message"):
        if error.format_message():
            print_message(f"{error.format_message()} See: {_help_command(error)}")
        return EXIT_MISTAKE
    if type(error).__name__ == "Abort":
        return EXIT_INTERRUPTED
    if isinstance(error, (FoldlessError, ValueError, OSError, MemoryError)):
        print_message(_sentence(error))
        return EXIT_MISTAKE
    raise error


def _help_command(error: Any) -> str:
    """Return what to type for help on the command that was mistyped."""
    context = getattr(error, "ctx", None)
    return f"{'foldless' if context is None else context.command_path} --help"


def _sentence(error: Exception) -> str:
    """Return the message of an exception; for one of the operating system, without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print_message(f"note: {message}")
