"""liquidSVM, which lives in an environment of its own: its package is old and wants the interpreter adjusted.

``make liquidsvm`` makes that environment, ``.venv-liquidsvm`` beside ``.venv``; ``LIQUIDSVM_PYTHON`` names the interpreter of
another one. Without it the contender is left out.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from bench.contenders.base import Contender, Measurement
from bench.measure import error, timed
from bench.problems import Split, Task

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("liquidsvm_worker.py")


@dataclass(frozen=True)
class LiquidSVM(Contender):
    """``mcSVM`` or ``lsSVM`` with five folds over their own grid; with ``cells`` also their own cells.

    With ``max_seconds`` it is stopped after so many; the time it took until then is all that is measured.
    """

    name: str = "liquidSVM"
    cells: bool = False
    max_seconds: float | None = None

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Fit and predict in a process of the other environment, which takes the time itself."""
        scaler = StandardScaler().fit(split.X)
        labels, y = _coded(task, split.y)
        with tempfile.TemporaryDirectory() as folder:
            sent, received = Path(folder, "sent.npz"), Path(folder, "received.npz")
            np.savez(sent, X=scaler.transform(split.X), y=y, X_test=scaler.transform(split.X_test))
            options = [task, str(jobs), str(int(self.cells))]
            command = [str(interpreter()), str(WORKER), str(sent), str(received), *options]
            done, times = timed(partial(_finished, command, self.max_seconds))
            if done is None:
                return Measurement(*times)
            if done.returncode:
                raise RuntimeError(f"liquidSVM ended with {done.returncode}: {done.stderr.strip()[-500:]}")
            with np.load(received) as file:
                found = {key: file[key] for key in file}
        wrong = error(task, split.y_test, _decoded(labels, found["prediction"]))
        return Measurement(
            float(found["seconds"]),
            float(found["cpu_seconds"]),
            wrong,
            megabytes=float(found["megabytes"]),
        )

    def missing(self) -> str | None:
        """Return how to install it if it is not there."""
        return None if interpreter().exists() else "liquidSVM is not installed: make liquidsvm"

    def versions(self) -> dict[str, str]:
        """Return the version of liquidSVM."""
        ask = "import importlib.metadata as m; print(m.version('liquidSVM'))"
        found = subprocess.run([str(interpreter()), "-c", ask], capture_output=True, text=True, check=True)
        return {"liquidSVM": found.stdout.strip()}


def _finished(command: list[str], max_seconds: float | None) -> subprocess.CompletedProcess[str] | None:
    """Return the process that ran a command, None if it was stopped."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=max_seconds)
    except subprocess.TimeoutExpired:
        return None


def interpreter() -> Path:
    """Return the interpreter that has liquidSVM."""
    folder = "Scripts" if sys.platform == "win32" else "bin"
    return Path(os.environ.get("LIQUIDSVM_PYTHON", ROOT / ".venv-liquidsvm" / folder / "python"))


def _coded(task: Task, y: NDArray[Any]) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Return the labels and their codes: -1 and 1, or 1, 2, 3, ...; numbers stay as they are."""
    if task == "numbers":
        return None, y
    labels, codes = np.unique(y, return_inverse=True)
    return labels, 2.0 * codes - 1 if len(labels) == 2 else codes + 1.0


def _decoded(labels: NDArray[Any] | None, prediction: NDArray[Any]) -> NDArray[Any]:
    """Return labels for codes."""
    if labels is None:
        return prediction
    codes = (prediction + 1) / 2 if len(labels) == 2 else prediction - 1
    return np.asarray(labels[np.round(codes).astype(int)])
