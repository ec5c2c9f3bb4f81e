"""Two workers against one: starts, candidates, combinations of listed values, repeats of a comparison.

    python -m bench.workers [--rows 400] [--rounds 5]

Seconds of one worker over seconds of two, each the smallest of several rounds that take turns; and whether the results are the
same. A number above 1 says that the second worker helped.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.svm import SVC

from foldless import KernelLogisticRegression, KernelSearch, compare
from foldless.datasets import make_ripley


def starts(X, y, n_jobs):
    model = KernelLogisticRegression(n_starts=8, n_jobs=n_jobs).fit(X, y)
    return model.C_, model.criterion_value_


def candidates(X, y, n_jobs):
    model = KernelLogisticRegression(["rbf", "matern", "laplacian", "poly"], n_jobs=n_jobs).fit(X, y)
    return model.C_, model.criterion_value_


def combinations(X, y, n_jobs):
    space = {"kernel": ["rbf", "linear"], "C": (0.1, 100), "class_weight": [None, "balanced"]}
    return tuple(KernelSearch(SVC(), space, n_jobs=n_jobs).fit(X, y).cv_results_["mean_test_score"])


def repeats(X, y, n_jobs):
    found = compare(X, y, ["logistic", "lssvc"], ["loo", "evidence"], repeats=4, n_jobs=n_jobs)
    return tuple(found.errors.ravel())


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    X, y = make_ripley(asked.rows, random_state=0)
    print("| what | one worker | two | ratio | same result |\n|---|---|---|---|---|", flush=True)
    for task in (starts, candidates, combinations, repeats):
        seconds, results = {1: np.inf, 2: np.inf}, {}
        for _ in range(asked.rounds):
            for n_jobs in seconds:
                begun = time.perf_counter()
                results[n_jobs] = task(X, y, n_jobs)
                seconds[n_jobs] = min(seconds[n_jobs], time.perf_counter() - begun)
        same = "yes" if results[1] == results[2] else "no"
        ratio = seconds[1] / seconds[2]
        print(
            f"| {task.__name__} | {seconds[1]:.2f} s | {seconds[2]:.2f} s | x {ratio:.2f} | {same} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
