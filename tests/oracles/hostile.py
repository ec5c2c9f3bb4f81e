"""An experiment whose every name tries to break out of the page."""

from pathlib import Path

import numpy as np

from foldless.cli import Experiment, read_table, run_experiment

NAMES = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "{{ 7 * 7 }} {% raw %}",
    "%{x} <b>bold</b> <a href='javascript:alert(4)'>link</a> $x$ &lt;",
)
LABELS = ("<script>alert(5)</script>", "<b>&amp;</b>")


def hostile_experiment(folder: Path, kernel: str = "rbf-ard") -> Experiment:
    """Write a CSV with these names, read it as a user's file, and tune."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(NAMES)))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60) > 0, *LABELS)
    quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in (*NAMES, "<i>target</i>")]
    rows = [",".join([*map(str, row), f'"{label}"']) for row, label in zip(X, y)]
    path = folder / "<img src=x onerror=alert(6)>.csv"
    path.write_text("\n".join([",".join(quoted), *rows]), encoding="utf-8")
    table = read_table(path, "<i>target</i>")
    command = f"foldless tune '{path.name}' --target '</code><script>alert(7)'"
    return run_experiment(
        table, holdout=0.2, source=path.name, command=command, kernel=kernel, search="lbfgs", time_budget=3.0
    )
