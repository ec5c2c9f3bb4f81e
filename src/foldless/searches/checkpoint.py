r"""The file a search writes its steps to, so that a killed run continues where it was.

One line of JSON per step, appended as it is taken. Searches that share a file have a section each; a section opens with
a line that holds its box. The file is read once, when a search begins: its steps are then recalled instead of
evaluated, and must be the ones the search asks for.
"""

import json
from pathlib import Path
from threading import Lock

import numpy as np

from foldless.core.contracts import Step

LOCK = Lock()  # searches that run side by side may share a file


class Checkpoint:
    """One section of a checkpoint file.

    Parameters
    ----------
    file : path
        Made if it does not exist.
    box : Box
    section : str or int
    """

    def __init__(self, file, box, section=0):
        self.file, self.box, self.section = Path(file), box, str(section)
        with LOCK:
            self._past = self._open()
        self._recalled = 0

    def part(self, number):
        """Return a section within this one, for a search that is part of this search."""
        return Checkpoint(self.file, self.box, f"{self.section}.{number}")

    def recall(self, theta):
        """Return the next step of the file, which must be at ``theta``; ``None`` when all were recalled."""
        if self._recalled == len(self._past):
            return None
        step = self._past[self._recalled]
        self._recalled += 1
        if np.array_equal(step.theta, theta):
            return step
        raise ValueError(
            f"checkpoint {self.file} holds another search: its step {self._recalled} is at {step.theta}, "
            f"this one at {theta}. Name another file, or delete that one."
        )

    def write(self, step):
        """Append a step."""
        with LOCK:
            self._append(_row(step))

    def _append(self, row):
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"section": self.section, **row}) + "\n")

    def _open(self):
        """Return the steps the file holds of this section; begin it if there are none."""
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


def _row(step):
    gradient = None if step.gradient is None else list(step.gradient)
    sampled = {} if step.error is None else {"error": list(step.error)}
    return {
        "theta": list(step.theta),
        "value": step.value,
        "seconds": step.seconds,
        "why": step.why,
        "gradient": gradient,
        "note": step.note,
        **sampled,
    }


def _step(row):
    gradient = None if row["gradient"] is None else np.array(row["gradient"], dtype=float)
    theta = np.array(row["theta"], dtype=float)
    error = np.array(row["error"], dtype=float) if "error" in row else None
    return Step(theta, float(row["value"]), float(row["seconds"]), row["why"], gradient, row["note"], error)


def _rows(file):
    """Read a checkpoint; a last line cut short by a kill is dropped from the file, but only if the file is ours."""
    if not file.exists():
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        rows = [json.loads(line) for line in whole]
        if not all(_ours(row) for row in rows) or (lines and not whole and not _ours_cut_short(lines[0])):
            raise ValueError
    except ValueError:
        raise ValueError(f"{file} is no checkpoint of a foldless search. Name another file.") from None
    if len(whole) < len(lines):
        file.write_text("".join(whole), encoding="utf-8")
    return rows


def _ours(row):
    return isinstance(row, dict) and "section" in row and ("low" in row or "theta" in row)


def _ours_cut_short(line):
    """Tell whether a file of one unfinished line may be our opening line."""
    opening = '{"section": "'
    return line.startswith(opening) or opening.startswith(line)
