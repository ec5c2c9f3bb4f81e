"""A file -> its columns. Delimited text, JSON lines, ARFF, LIBSVM, npz, Parquet and Excel; text may be gzipped.

The content decides where it is unmistakable, the suffix otherwise. No pickle is ever read.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from foldless.cli.files.formats.arff import read_arff
from foldless.cli.files.formats.delimited import read_delimited
from foldless.cli.files.formats.json_lines import read_json_lines
from foldless.cli.files.formats.libsvm import is_libsvm_line, read_libsvm
from foldless.cli.files.formats.npz import read_npz
from foldless.cli.files.formats.parquet import Source, parquet_files, parquet_sheets, read_parquet
from foldless.cli.files.formats.xlsx import is_xlsx, read_xlsx
from foldless.cli.files.raw_bytes import read_bytes
from foldless.cli.files.sheet import PathLike, Sheet, show
from foldless.core.errors import DataError

__all__ = ["read_sheet", "read_sheets"]

JSON_SUFFIXES = {".jsonl", ".ndjson", ".json"}
LIBSVM_SUFFIXES = {".libsvm", ".svmlight", ".svm"}


def read_sheet(
    path: PathLike,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    max_rows: int | None = None,
    max_memory: float | None = None,
    wanted: Sequence[str] = (),
) -> Sheet:
    """Read a file in any of the formats, or a directory of Parquet files.

    Parameters
    ----------
    path : str or path-like
    delimiter : str, optional
        The one character between fields of delimited text (also ``"tab"``); recognised when not given.
    header : bool, optional
        Whether delimited text opens with column names; recognised when not given.
    max_rows : int, optional
        Rows of Parquet files to keep, drawn at random. Other files are read whole.
    max_memory : float, optional
        Gigabytes that a fit to rows of Parquet files may take; by default 8.
    wanted : sequence of str
        Columns that there should be: a first row that holds their names is the header of delimited text.
    """
    files = _parquet_paths(Path(path))
    if files:
        return _checked(read_parquet(path, files, max_rows, max_memory))
    raw = read_bytes(Path(path))
    if raw.startswith(b"PAR1"):
        sheet = read_parquet(path, [raw], max_rows, max_memory)
    elif is_xlsx(path, raw):
        sheet = read_xlsx(path, raw)
    elif raw.startswith(b"PK\x03\x04"):
        sheet = read_npz(path, raw)
    else:
        text, note = _decode(path, raw)
        sheet = replace(_text(path, text, delimiter, header), note=note)
        sheet = sheet.named_by_first_row(wanted if header is None else ())
    return _checked(sheet)


def read_sheets(path: PathLike, rows: int, wanted: Sequence[str]) -> Iterator[Sheet]:
    """Yield the rows of a file: those of Parquet files at most ``rows`` at a time, of other formats all at once; see :func:`read_sheet`."""
    files = _parquet_paths(Path(path))
    return (
        map(_checked, parquet_sheets(path, files, rows)) if files else iter([read_sheet(path, wanted=wanted)])
    )


def _parquet_paths(path: Path) -> list[Source]:
    """Return the Parquet files that a path names: those of a directory, the file itself, or none."""
    if path.is_dir():
        return [*parquet_files(path)]
    if not path.is_file():
        return []
    with path.open("rb") as file:
        return [path] if file.read(4) == b"PAR1" else []


def _decode(path: PathLike, raw: bytes) -> tuple[str, str]:
    """Return the text in some bytes, and a note if it is not UTF-8."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: the text is UTF-16, expected UTF-8. Save it again as UTF-8.")
    if b"\x00" in raw:
        raise DataError(f"{path}: not a text file (byte {raw.index(0)} is zero), nor Parquet or npz.")
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        with suppress(UnicodeDecodeError):
            return raw.decode("cp1252"), "the text is not UTF-8; it was read as Latin-1 (Windows-1252)"
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{raw[error.start]:02x} on line {line}"
        raise DataError(f"{path}: expected UTF-8 text, got {byte}. Save the file as UTF-8.") from None


def _text(path: PathLike, text: str, delimiter: str | None, header: bool | None) -> Sheet:
    suffix = Path(str(path).removesuffix(".gz")).suffix.lower()
    stripped = (line.strip() for line in text.splitlines())
    first = next((line for line in stripped if line and line[0] not in "%#"), "")
    if suffix == ".arff" or first.lower().startswith("@relation"):
        return read_arff(path, text)
    if suffix in JSON_SUFFIXES or (first.startswith('{"') and first.endswith("}")):
        return read_json_lines(path, text)
    if suffix in LIBSVM_SUFFIXES or (delimiter is None and is_libsvm_line(first)):
        return read_libsvm(path, text)
    return read_delimited(path, text, delimiter, header)


def _checked(sheet: Sheet) -> Sheet:
    twice = [name for name, count in Counter(sheet.names).items() if count > 1]
    if twice:
        raise DataError(
            f"{sheet.path}: the column name {show(twice[0])} occurs twice. Rename one of the two."
        )
    return sheet
