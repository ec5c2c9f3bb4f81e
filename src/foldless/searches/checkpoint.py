r"""The file to which a search writes its steps, so that a killed search continues where it was.

The file has one line of JSON for every step, appended as the step is taken. Searches that share a file have a section
each, which begins with a line that holds the search's box. The file is read once, when a search begins. Its steps are
then returned instead of evaluated, and must be at the points for which the search asks.
"""

import json
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from foldless.core.contracts import Box, Step, Vector

# Searches that run side by side may share a file.
FILE_LOCK = Lock()


class Checkpoint:
    """One section of a checkpoint file.

    Parameters
    ----------
    file : path
        Created if it does not exist.
    box : Box
    section : str or int
    """

    def __init__(self, file: str | Path, box: Box, section: str | int = 0) -> None:
        self.file, self.box, self.section = Path(file), box, str(section)
        with FILE_LOCK:
            self._past = self._open()
        self._n_recalled = 0

    def part(self, number: int) -> "Checkpoint":
        """Return a section within this one, for a search that is part of this search."""
        return Checkpoint(self.file, self.box, f"{self.section}.{number}")

    def recall(self, theta: Vector) -> Step | None:
        """Return the next step of the file, which must be at ``theta``; ``None`` after the last one."""
        if self._n_recalled == len(self._past):
            return None
        step = self._past[self._n_recalled]
        self._n_recalled += 1
        if np.array_equal(step.theta, theta):
            return step
        raise ValueError(
            f"checkpoint {self.file} holds another search: its step {self._n_recalled} is at {step.theta}, "
            f"this one at {theta}. Name another file, or delete that one."
        )

    def write(self, step: Step) -> None:
        """Append a step."""
        with FILE_LOCK:
            self._append(_row(step))

    def _append(self, row: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"section": self.section, **row}) + "\n")

    def _open(self) -> list[Step]:
        """Return the steps that the file holds of this section; begin the section if there is none."""
        header = {"low": list(self.box.low), "high": list(self.box.high)}
        rows = [row for row in _rows(self.file) if row.pop("section") == self.section]
        if not rows:
            self._append(header)
            return []
        if rows[0] != header:
            raise ValueError(
                f"checkpoint {self.file} was written for another box. Name another file, or delete that one."
            )
        return [_step(row) for row in rows[1:]]


def _row(step: Step) -> dict[str, Any]:
    row = {
        "theta": list(step.theta),
        "value": step.value,
        "seconds": step.seconds,
        "why": step.why,
        "gradient": None if step.gradient is None else list(step.gradient),
        "note": step.note,
    }
    extra = {} if step.error is None else {"error": list(step.error)}
    return row | extra | ({} if step.n_rows is None else {"n_rows": step.n_rows})


def _step(row: dict[str, Any]) -> Step:
    gradient = None if row["gradient"] is None else np.array(row["gradient"], dtype=float)
    theta = np.array(row["theta"], dtype=float)
    error = np.array(row["error"], dtype=float) if "error" in row else None
    value, seconds = float(row["value"]), float(row["seconds"])
    return Step(theta, value, seconds, row["why"], gradient, row["note"], error, row.get("n_rows"))


def _rows(file: Path) -> list[dict[str, Any]]:
    """Read a checkpoint; a last line that a kill cut short is removed, provided that the file is a checkpoint."""
    if not file.exists():
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        rows = [json.loads(line) for line in whole]
        if not all(_is_row(row) for row in rows) or (lines and not whole and not _may_be_header(lines[0])):
            raise ValueError
    except ValueError:
        raise ValueError(f"{file} is no checkpoint of a foldless search. Name another file.") from None
    if len(whole) < len(lines):
        file.write_text("".join(whole), encoding="utf-8")
    return rows


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and "section" in row and ("low" in row or "theta" in row)


def _may_be_header(line: str) -> bool:
    """Return whether an unfinished line can be the beginning of a section's first line."""
    opening = '{"section": "'
    return line.startswith(opening) or opening.startswith(line)
