"""Excel workbooks, by openpyxl if it is installed: the first sheet, its values and not its formulas."""

import io
import zipfile
from datetime import date
from typing import Any

from foldless.cli.files.formats.delimited import sheet_of_rows
from foldless.cli.files.raw_bytes import UNPACKED_MAX_BYTES
from foldless.cli.files.sheet import PathLike, Sheet
from foldless.core.errors import DataError, MissingExtra, reason
from foldless.core.optional_imports import import_extra


def is_xlsx(path: PathLike, raw: bytes) -> bool:
    """Return True for an Excel workbook, by its content or its name."""
    return (raw.startswith(b"PK\x03\x04") and b"xl/workbook.xml" in raw) or str(path).lower().endswith(
        ".xlsx"
    )


def read_xlsx(path: PathLike, raw: bytes) -> Sheet:
    """Read the first sheet; a first row without any number is taken for the header, and empty rows are skipped."""
    try:
        openpyxl = import_extra("openpyxl")
    except MissingExtra:
        raise DataError(
            f"{path}: reading Excel workbooks needs openpyxl. Save the table as CSV, or: pip install 'foldless[excel]'"
        ) from None
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > UNPACKED_MAX_BYTES:
            raise ValueError(f"it would unpack to {size / 2**30:.0f} GiB")
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        rows = [[_text(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        names = book.sheetnames
    except Exception as error:  # a damaged workbook fails in many ways inside zipfile and openpyxl
        raise DataError(f"{path}: not a readable Excel workbook ({reason(error)}).") from None
    lines = [i for i, row in enumerate(rows, 1) if any(row)]
    if not lines:
        raise DataError(f"{path}: the first sheet is empty. Expected a table with at least four rows.")
    width = max(j for row in rows for j, cell in enumerate(row, 1) if cell)
    padded = [(rows[i - 1] + [""] * width)[:width] for i in lines]
    note = f"read the sheet {names[0]!r}, the first of {len(names)}" if len(names) > 1 else ""
    return sheet_of_rows(path, lines, padded, note=note)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, date) else str(value).strip()
