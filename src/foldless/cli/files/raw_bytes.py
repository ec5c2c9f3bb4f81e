"""The bytes of a file: unpacked if it is gzipped, never from a device, and never more than a table can have.

pyarrow and pandas open and unpack files as well, but read a device or an archive that unpacks without end until memory is full. The
limits here come first, and whatever library reads the format gets bytes that it can hold.
"""

import gzip
import io
import stat
import sys
import zlib
from pathlib import Path
from typing import IO, Any

from foldless.core.errors import DataError, reason

PIPE_MAX_BYTES = 2**30
UNPACKED_MAX_BYTES = 2 * 2**30
CHUNK_BYTES = 2**20
# The first bytes of Parquet, npz and gzip.
BINARY_BEGINNINGS = (b"PAR1", b"PK\x03\x04", b"\x1f\x8b")
NOT_READ = {".xls", ".ods", ".pkl", ".pickle", ".joblib"}


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file, of a pipe such as ``/dev/stdin``, or of standard input, named ``-``.

    Raises
    ------
    DataError
        If there is no such file, if it is a directory or a device, or if it is empty or too large.
    """
    if path.suffix.lower() in NOT_READ:
        raise DataError(f"{path}: {path.suffix} files are not read. Save the table as CSV or Parquet.")
    try:
        raw = _read(path)
        if raw.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(raw)) as file:
                raw = _at_most(path, file, UNPACKED_MAX_BYTES)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Check the name and the directory.") from None
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise DataError(f"{path}: cannot be read ({reason(error)}).") from None
    if not raw.strip():
        raise DataError(f"{path}: the file is empty. Expected a table with at least four rows.")
    return raw


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return _piped(path, sys.stdin.buffer)
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: expected a file, this is a directory. Name one of the files in it.")
    if stat.S_ISREG(mode):
        return path.read_bytes()
    if not stat.S_ISFIFO(mode):
        raise DataError(f"{path}: expected a file or a pipe, this is a device. Name a file.")
    with path.open("rb") as pipe:
        return _piped(path, pipe)


def _piped(path: Path, pipe: Any) -> bytes:
    if pipe.isatty():
        raise DataError(
            f"{path}: standard input is a terminal. Send a table into it: foldless ... < data.csv"
        )
    head = pipe.peek(CHUNK_BYTES)
    # Zero bytes are no text: the beginning is enough to refuse a pipe that may never end.
    if b"\x00" in head and not head.startswith(BINARY_BEGINNINGS):
        return head
    return _at_most(path, pipe, PIPE_MAX_BYTES)


def _at_most(path: Path, file: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    """Return everything in a file; raise as soon as it is more than ``limit`` bytes."""
    content = bytearray()
    while chunk := file.read(CHUNK_BYTES):
        content += chunk
        if len(content) > limit:
            raise DataError(f"{path}: more than {limit / 2**30:.0f} GiB, expected a table. Take fewer rows.")
    return bytes(content)
