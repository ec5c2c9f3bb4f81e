"""Two questions about kernel logistic regression, in processor seconds on one thread.

    python bench/klr_criteria.py [rows of the first table] [largest n of the second]

1. What does reading every criterion off one fit cost, beside fitting and reading one?
2. How does the Nyström KRIC grow with n?
"""

import sys
import time
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from foldless import criteria
from foldless.grams import DenseGram
from foldless.grams.builders import leading_nystrom
from foldless.grams.landmarks import uniform_landmarks
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic

SHARED = ("loo", "kfold", "kric", "kric-sollich", "aicd", "gacv", "jaakkola-haussler")
READ = (*SHARED, "evidence", "abic")


def data(n, seed=0):
    """Two overlapping classes in five dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 - 1 + rng.normal(size=n) > 0, 1.0, -1.0)


def seconds(work):
    """Processor seconds of a call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def read(names, X, y, derive):
    """Fit and read the named criteria, with their derivatives if asked."""
    solution = SmoothMachine(Logistic(), C=2.0).solve(DenseGram(RBF(2.0)(X)), y[:, None])
    for name in names:
        reading = criteria.BY_NAME[name]()(solution)
        _ = (reading.adjoint, reading.slope) if derive else None


def sharing(n):
    """Table 1."""
    X, y = data(n)
    for derive in (False, True):
        one = min(seconds(partial(read, ["loo"], X, y, derive)) for _ in range(3))
        print(f"n = {n}: fit and read loo {'with' if derive else 'without'} its derivative {one:.3f} s")
        for names, what in (
            (SHARED, "those at the same fit"),
            (READ, "the evidence under a prior too, refitted"),
        ):
            spent = min(seconds(partial(read, names, X, y, derive)) for _ in range(3))
            print(f"  {what} ({len(names)} criteria): {spent / one:.2f} times that")


def nystrom_kric(X, y, m):
    """Fit and read through m random landmarks."""
    gram = leading_nystrom(RBF(2.0), X, uniform_landmarks(X, m, np.random.default_rng(0)))
    return criteria.KRIC()(SmoothMachine(Logistic(), C=2.0).solve(gram, y[:, None]))


def growth(largest, m=100):
    """Table 2."""
    n = 3125
    while n <= largest:
        spent = seconds(partial(nystrom_kric, *data(n), m))
        print(f"n = {n:6d}, m = {m}: fit and KRIC {spent:.2f} s, {1e9 * spent / (n * m**2):.2f} ns per n m^2")
        n *= 2


if __name__ == "__main__":
    sharing(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
    growth(int(sys.argv[2]) if len(sys.argv) > 2 else 50_000)
