"""Files that are written whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from foldless.core.errors import DataError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it replaces ``path`` when the block ends without an error.

    If the block fails, the disk is full or the process is stopped, an old file at ``path`` stays as it was. A pipe or a
    device is written directly.

    Raises
    ------
    DataError
        If the operating system cannot write the file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{target.stem[:100]}-{token_hex(4)}{target.suffix}")
    try:
        yield temporary
        _flush_to_disk(temporary)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise DataError(
            f"{path}: could not be written ({error.strerror or error}). An old file there is unchanged."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _flush_to_disk(path: Path) -> None:
    """Wait until the content is on the disk: a full disk may be noticed only now."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
