"""Where rows come from: sets on disk by the name of their file, generated and shipped ones by their name."""

from pathlib import Path

from bench.problems.base import Problem, Split, Task
from bench.problems.generated import GENERATED
from bench.problems.stored import SHIPPED, StoredProblem

__all__ = ["GENERATED", "SHIPPED", "Problem", "Split", "StoredProblem", "Task", "find_problem"]


def find_problem(name: str, data: Path | None) -> Problem:
    """Return the problem of a name; ``data`` is the directory of the ``.npz`` files."""
    without_files = GENERATED | SHIPPED
    if name in without_files:
        return without_files[name]
    if data is None:
        raise ValueError(f"{name} is read from a file: give --data DIR, the directory with {name}.npz.")
    if not (data / f"{name}.npz").exists():
        known = ", ".join(without_files)
        raise ValueError(f"there is no {name}.npz in {data}, and no other set of that name ({known}).")
    return StoredProblem.named(name, data)
