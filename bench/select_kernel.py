"""Seconds to choose one of the paper's 31 widths: spectral measure against 5-fold refits and leave-one-out.

    python bench/select_kernel.py [n ...]

Same data, same machine (LS-SVM with a bias, lambda = 1), same run. The growth exponent is the slope of log seconds
against log n.
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from foldless import select_kernel
from foldless.core.targets import as_columns, error_fraction
from foldless.datasets import make_twonorm
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.kernels.pairs import Pairs
from foldless.machines import LSSVM

KERNELS = [RBF(np.sqrt(2.0**i), "fixed") for i in range(-15, 16)]


def spectral(X, y):
    return select_kernel(X, y, KERNELS, "spectral", gram="dense").kernel


def leave_one_out(X, y):
    pairs, Y = Pairs(X), as_columns(y)
    errors = [error_fraction(Y, LSSVM().solve(DenseGram(gram(k, pairs)), Y).loo_outputs) for k in KERNELS]
    return KERNELS[int(np.argmin(errors))]


def five_folds(X, y):
    pairs, Y = Pairs(X), as_columns(y)
    folds = np.arange(len(Y)) % 5
    errors = []
    for kernel in KERNELS:
        K = DenseGram(gram(kernel, pairs))
        errors.append(np.mean([_refit(K, Y, folds != f, folds == f) for f in range(5)]))
    return KERNELS[int(np.argmin(errors))]


def _refit(K, Y, train, test):
    solution = LSSVM().solve(K.subset(np.flatnonzero(train)), Y[train])
    return error_fraction(Y[test], K.K[np.ix_(test, train)] @ solution.alpha + solution.b)


def main(sizes):
    methods = {"spectral": spectral, "leave-one-out": leave_one_out, "5 folds": five_folds}
    seconds = {name: [] for name in methods}
    for n in sizes:
        X, y = make_twonorm(n, random_state=0)
        for name, method in methods.items():
            begun = time.perf_counter()
            kernel = method(X, y)
            seconds[name].append(time.perf_counter() - begun)
            ratio = seconds[name][-1] / seconds["spectral"][-1]
            print(f"n = {n:6d}  {name:14s} {seconds[name][-1]:9.2f} s  x {ratio:6.1f}  {kernel}", flush=True)
    if len(sizes) > 1:
        for name, s in seconds.items():
            print(f"{name:14s} grows like n^{np.polyfit(np.log(sizes), np.log(s), 1)[0]:.2f}")


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [1000, 2000, 5000])
