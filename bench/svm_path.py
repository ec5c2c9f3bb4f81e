"""Seconds for a path of twenty values of C of a hinge machine, against cold fits of the same problems by libsvm.

    python bench/svm_path.py [n ...]

Same kernel, free bias, same run, two problems: twonorm, and noisy labels in the plane, where no set is like the one
before. Ours forms the matrix and solves each C to rounding, warm-started at the one before; libsvm solves each at its
own tolerance, with its own kernel ("libsvm") or with the matrix given ("given", the matrix not counted; then it should
not be counted for ours either, see "path alone"). The target is a path in less than five mean fits. Processor seconds,
one thread: libsvm has no more, and a second one of BLAS would count while it waits. Each side runs twice, the first is not counted.
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from foldless.core.targets import as_columns
from foldless.datasets import make_twonorm
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import HingeSVM

STRENGTHS = np.logspace(-2, 2, 20)


def twonorm(n):
    X, y = make_twonorm(n, random_state=0)
    return X, as_columns(y)[:, 0], 4.0


def noisy(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0), 0.5


def along(K, y):
    HingeSVM().path(DenseGram(K, semidefinite=True), y[:, None], STRENGTHS)


def cold(X, y, **kernel):
    for C in STRENGTHS:
        SVC(C=C, cache_size=500, **kernel).fit(X, y)


def seconds(method, *args, **options):
    method(*args, **options)
    begun = time.process_time()
    method(*args, **options)
    return time.process_time() - begun


def main(sizes):
    for n in sizes:
        for problem in (twonorm, noisy):
            X, y, width = problem(n)
            K = gram(RBF(width), X)
            ours, forming = seconds(along, K, y), seconds(gram, RBF(width), X)
            theirs = seconds(cold, X, y, gamma=0.5 / width**2) / len(STRENGTHS)
            given = seconds(cold, K, y, kernel="precomputed") / len(STRENGTHS)
            print(
                f"n = {n:5d} {problem.__name__:8s} path {ours + forming:.3f} s, libsvm {theirs:.4f} s: "
                f"{(ours + forming) / theirs:.1f} fits; path alone {ours:.3f} s, given {given:.4f} s: "
                f"{ours / given:.1f} fits (target 5)",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main([int(n) for n in sys.argv[1:]] or [500, 1000, 2000])
