"""Seconds for a path of twenty values of C of a hinge machine, against cold fits of the same problems by libsvm.

    python bench/svm_path.py [n ...]

Same Gram matrix, free bias, same run. Ours solves each C to rounding, warm-started at the one before; libsvm solves them
at its own tolerance. The target is a path in less than five mean fits of libsvm, so that 20 fits / path is above 4.
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from foldless.datasets import make_twonorm
from foldless.grams import DenseGram
from foldless.labels import as_columns
from foldless.machines import HingeSVM
from foldless.machines.svm import path
from foldless.verbs import gram

STRENGTHS = np.logspace(-2, 2, 20)
WIDTH = 4.0


def along(K, y):
    return [s.columns[0].support.size for s in path(HingeSVM(), DenseGram(K), y[:, None], STRENGTHS)]


def cold(K, y):
    return [SVC(C=C, kernel="precomputed", cache_size=500).fit(K, y).support_.size for C in STRENGTHS]


def main(sizes):
    for n in sizes:
        X, y = make_twonorm(n, random_state=0)
        K, y, times = gram(RBF(WIDTH), X), as_columns(y)[:, 0], {}
        for name, method in {"path": along, "libsvm": cold}.items():
            begun = time.process_time()
            support = method(K, y)
            times[name] = time.process_time() - begun
            print(
                f"n = {n:6d}  {name:6s} {times[name]:8.3f} s  {support[0]} to {support[-1]} support vectors"
            )
        fits = times["path"] / (times["libsvm"] / len(STRENGTHS))
        print(f"n = {n:6d}  path = {fits:.1f} fits of libsvm (target 5)", flush=True)


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [500, 1000, 2000])
