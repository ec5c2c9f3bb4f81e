"""Fit and predict with liquidSVM, run by the interpreter that has it: ``worker SENT RECEIVED TASK THREADS CELLS``."""

import resource
import sys
import sysconfig
import time

import numpy as np

# liquidSVM looks for its library under a suffix that Python no longer defines.
sysconfig.get_config_vars()["SO"] = sysconfig.get_config_vars()["EXT_SUFFIX"]
import liquidSVM  # noqa: E402


def main(sent: str, received: str, task: str, threads: str, cells: str) -> None:
    """Fit the rows of one file, and write predictions and times into another."""
    with np.load(sent) as file:
        X, y, X_test = file["X"], file["y"], file["X_test"]
    kind = liquidSVM.mcSVM if task == "classes" else liquidSVM.lsSVM
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, begun = time.process_time(), time.perf_counter()
    model = kind(X, y, threads=int(threads), display=0, folds=5, useCells=bool(int(cells)))
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The test asks for labels that occur in training, though the predictions do not depend on them.
    labels = np.resize(np.unique(y), len(X_test))
    prediction = model.test(X_test, labels)[0][:, 0]
    megabytes = (peak - before) / 1024
    np.savez(received, prediction=prediction, seconds=seconds, cpu_seconds=cpu_seconds, megabytes=megabytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
