"""What was measured: a line of JSON per (set, rows, split, contender), appended as it is made.

A record names versions and commit, never a machine or a path. A run that was interrupted goes on where the file ends: what
stands there is not measured again.
"""

import importlib.metadata
import json
import math
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench.contenders.base import Measurement
from bench.problems import Task

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).with_name("records")


class Key(NamedTuple):
    """What a record is about."""

    set: str
    rows: int
    split: int
    contender: str


@dataclass(frozen=True, kw_only=True)
class Record(Measurement):
    """A measurement, what it is of, and what it was made with; see :class:`Measurement` for the units."""

    set: str
    rows: int
    split: int
    contender: str
    task: Task
    jobs: int
    versions: Mapping[str, str]
    commit: str

    @property
    def key(self) -> Key:
        """What the record is about."""
        return Key(self.set, self.rows, self.split, self.contender)

    def value(self, name: str) -> float | None:
        """Return a number of the measurement, or one of its details."""
        found = self.details.get(name) if name in self.details else getattr(self, name, None)
        return None if found is None or isinstance(found, str) else float(found)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Return the record of a line."""
        found = json.loads(line)
        unknown = set(found) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"a record has no {', '.join(sorted(unknown))}: {line.strip()[:80]}")
        return cls(**found)

    def to_json(self) -> str:
        """Return one line, which begins with the key; numbers that are not finite become null."""
        found = self.key._asdict() | asdict(self)
        found["details"] = {name: _finite(value) for name, value in self.details.items()}
        return json.dumps({name: _finite(value) for name, value in found.items()}, allow_nan=False)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def path_of(table: str) -> Path:
    """Return the file with the records of a table that the documents are written from."""
    return FOLDER / f"{table}.jsonl"


def read(path: Path) -> list[Record]:
    """Return the records of a file; none if there is no such file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Record.from_json(line) for line in lines if line]


def append(path: Path, record: Record) -> None:
    """Write one more line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(record.to_json() + "\n")


def versions() -> dict[str, str]:
    """Return the versions of what every fit uses."""
    packages = ("foldless", "scikit-learn", "numpy", "scipy")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def commit() -> str:
    """Return the commit of the sources, with a plus if they were changed since; nothing outside a repository."""
    described = _git("describe", "--always", "--abbrev=10", "--exclude=*")
    return described + ("+" if described and _git("status", "--porcelain", "--", "src") else "")


def _git(*words: str) -> str:
    done: Any = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
