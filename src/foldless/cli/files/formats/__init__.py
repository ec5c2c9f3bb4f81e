"""A file on disk -> its columns. Delimited text, ARFF, LIBSVM, npz and Parquet; text may be gzipped.

The content decides where it is unmistakable, the suffix otherwise. No pickle is ever read.
"""

import gzip
import re
import zlib
from collections import Counter
from pathlib import Path

from foldless.cli.files.formats.arff import arff
from foldless.cli.files.formats.delimited import delimited
from foldless.cli.files.formats.libsvm import libsvm
from foldless.cli.files.formats.npz import npz
from foldless.cli.files.formats.parquet import parquet
from foldless.cli.files.sheet import Sheet, show
from foldless.core.errors import DataError

__all__ = ["read_sheet"]

_LIBSVM_LINE = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?(\s+(qid:\d+|\d+:\S+))+\s*(#.*)?", re.IGNORECASE)
_NOT_READ = {".xls", ".xlsx", ".ods", ".pkl", ".pickle", ".joblib"}


def read_sheet(path, *, delimiter: str | None = None, header: bool | None = None) -> Sheet:
    """Read a file in any of the formats.

    Parameters
    ----------
    path : str or path-like
        The file.
    delimiter : str, optional
        The one character between fields of delimited text (also ``"tab"``); recognised when not given.
    header : bool, optional
        Whether delimited text opens with column names; recognised when not given.
    """
    raw = _bytes(Path(path))
    if raw.startswith(b"PAR1"):
        sheet = parquet(path, raw)
    elif raw.startswith(b"PK\x03\x04"):
        sheet = npz(path, raw)
    else:
        sheet = _text(path, _decode(path, raw), delimiter, header)
    return _checked(sheet)


def _bytes(path: Path) -> bytes:
    if path.is_dir():
        raise DataError(f"{path}: expected a file, this is a directory. Name one of the files in it.")
    if path.suffix.lower() in _NOT_READ:
        raise DataError(f"{path}: {path.suffix} files are not read. Save the table as CSV or Parquet.")
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Check the name and the directory.") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}).") from None
    if not raw.strip():
        raise DataError(f"{path}: the file is empty. Expected a table with at least four rows.")
    return raw


def _decode(path, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: the text is UTF-16, expected UTF-8. Save it again as UTF-8.")
    if b"\x00" in raw:
        raise DataError(f"{path}: not a text file (byte {raw.index(0)} is zero), nor Parquet or npz.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{raw[error.start]:02x} on line {line}"
        raise DataError(f"{path}: expected UTF-8 text, got {byte}. Save the file as UTF-8.") from None


def _text(path, text: str, delimiter: str | None, header: bool | None) -> Sheet:
    suffix = Path(str(path).removesuffix(".gz")).suffix.lower()
    first = next(
        (line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "%#"), ""
    )
    if suffix == ".arff" or first.lower().startswith("@relation"):
        return arff(path, text)
    if suffix in {".libsvm", ".svmlight", ".svm"} or (delimiter is None and _LIBSVM_LINE.fullmatch(first)):
        return libsvm(path, text)
    return delimited(path, text, delimiter, header)


def _checked(sheet: Sheet) -> Sheet:
    twice = [name for name, count in Counter(sheet.names).items() if count > 1]
    if twice:
        raise DataError(
            f"{sheet.path}: the column name {show(twice[0])} occurs twice. Rename one of the two."
        )
    return sheet
