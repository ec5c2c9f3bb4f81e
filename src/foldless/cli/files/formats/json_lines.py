"""JSON lines, by pyarrow: one object with the same flat fields on every line."""

from typing import Any

from foldless.cli.files.formats.arrow import arrow_column
from foldless.cli.files.sheet import PathLike, Sheet, check_size
from foldless.core.errors import DataError, reason
from foldless.core.optional_imports import import_extra

PANDAS_ADVICE = 'pandas writes them by to_json(path, orient="records", lines=True).'
ADVICE = 'Expected an object on every line, such as {"age": 42, "class": "yes"}.'


def read_json_lines(path: PathLike, text: str) -> Sheet:
    """Read the fields of the objects as columns; a field that an object lacks is missing."""
    pa, json = import_extra("pyarrow", "cli"), import_extra("pyarrow.json", "cli")
    if text.lstrip().startswith("["):
        raise DataError(f"{path}: a JSON array, not JSON lines. {ADVICE} {PANDAS_ADVICE}")
    raw = text.encode()
    # One block, because an object must not straddle two.
    options = json.ReadOptions(use_threads=False, block_size=len(raw) + 1)
    try:
        table: Any = json.read_json(pa.BufferReader(raw), options)
        check_size(path, table.num_rows, table.num_columns)
        columns = zip(table.column_names, table.columns)
        return Sheet(str(path), tuple(arrow_column(pa, *item) for item in columns))
    except DataError:
        raise
    except Exception as error:  # damaged JSON fails in many ways inside pyarrow
        raise DataError(f"{path}: not JSON lines ({reason(error)}). {ADVICE}") from None
