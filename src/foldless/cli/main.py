"""The command line: arguments in, exit code out. A user's mistake is one line on stderr and exit code 2.

The commands are in :mod:`foldless.cli.commands`; they are imported when they are called, because they need packages that
the core does without.
"""

import os
import sys
import warnings

from foldless.cli.report import say
from foldless.core.errors import BROKEN_PIPE, INTERRUPTED, MISTAKE, FoldlessError


def main(arguments=None):
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process. With the environment variable ``FOLDLESS_DEBUG`` set, errors show where they
        arose.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments):
    """Run the command line and return its exit code; warnings are notes on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _warn
        return _run(arguments)


def _run(arguments):
    try:
        from foldless.cli.commands import app

        code = app(args=list(arguments), prog_name="foldless", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt:
        say("interrupted before anything was found.")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more can be said there
        return BROKEN_PIPE
    except Exception as error:
        return _mistake(error)


def _mistake(error):
    """Say what a user did wrong; raise what a user cannot have done."""
    if os.environ.get("FOLDLESS_DEBUG"):
        raise error
    if hasattr(error, "format_message"):  # of the parser of arguments; empty after it showed the help
        say(f"{error.format_message()} See: foldless --help".strip())
        return MISTAKE
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    if isinstance(error, (FoldlessError, ValueError, OSError, MemoryError)):
        say(_sentence(error))
        return MISTAKE
    raise error


def _sentence(error):
    """What an exception says; of the operating system's, without the number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _warn(message, category, filename, lineno, file=None, line=None):
    say(f"note: {message}")
