"""Time and held-out error of ``KernelLogisticRegression()`` against a 10 x 10 grid of 10-fold refits of an SVC.

    python -m bench [--data DIR] [--sizes 250 500 1000 2000] [--splits 3] [--problems twonorm ...]

All in one process run, on the same splits, contenders in turn; every contender is warmed up first (imports, worker
processes). BLAS has its threads: leave OPENBLAS_NUM_THREADS alone. Without ``--data`` the problems are generated.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import contenders, measures, problems


@dataclass(frozen=True)
class Run:
    """One contender on one split."""

    model: Any
    seconds: float
    X_test: Any
    y_test: Any


def run(contender, X, y, X_test, y_test):
    model = contender.build()
    begun = time.perf_counter()
    model.fit(X, y)
    return Run(model, time.perf_counter() - begun, X_test, y_test)


def compete(problem, n, splits, data):
    """Return from measure and contender to one number per split; empty if the problem has no such size."""
    found = {measure: {name: [] for name in contenders.ALL} for measure in measures.ALL}
    for split in range(splits):
        rows = problem.draw(n, split, data)
        if rows is None:
            return 0, {}
        turn = list(contenders.ALL.items())
        for name, contender in turn if split % 2 == 0 else turn[::-1]:
            result = run(contender, *rows)
            for measure, module in measures.ALL.items():
                found[measure][name].append(module.measure(result))
    return len(rows[1]), found


def warm_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    for contender in contenders.ALL.values():
        run(contender, X, y, X, y)


def line(name, n, found):
    ours, theirs = contenders.ALL
    cells = [f"{name:12s} {n:5d}"]
    for measure, module in measures.ALL.items():
        a, b = found[measure][ours], found[measure][theirs]
        ratio = module.combine(a, b)
        text = f"{ratio:+6.2f} points" if measure == "error %" else f"x {ratio:6.1f}"
        cells.append(f"{np.mean(a):7.2f} ({np.std(a):4.2f})  {np.mean(b):7.2f} ({np.std(b):4.2f})  {text}")
    return "   ".join(cells)


def header():
    ours, theirs = contenders.ALL
    parts = [f"{m}: {ours} (sd), {theirs} (sd), together" for m in measures.ALL]
    return "problem          n   " + "   ".join(part.ljust(46) for part in parts)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="directory with raetsch_*.npz; without it problems are generated")
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000, 2000])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--problems", nargs="+", default=list(problems.ALL), choices=list(problems.ALL))
    asked = parser.parse_args(arguments)
    warm_up()
    print(header(), flush=True)
    for n in asked.sizes:
        ratios = []
        for name in asked.problems:
            size, found = compete(problems.ALL[name], n, asked.splits, asked.data)
            if found:
                print(line(name, size, found), flush=True)
                ratios.append(measures.ALL["seconds"].combine(*found["seconds"].values()))
        if ratios:
            print(
                f"{'all':12s} {n:5d}   geometric mean of the speed ratios: {np.exp(np.mean(np.log(ratios))):.1f}\n"
            )


if __name__ == "__main__":
    main()
