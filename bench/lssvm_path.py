"""Seconds for a whole path of C: LS-SVM with exact leave-one-out against GridSearchCV over KernelRidge.

    python bench/lssvm_path.py [n ...]

Same kernel, same thirty values of the regularisation, same run. Ours has a bias, and leaves out one point at a time.
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from foldless.core.targets import as_columns
from foldless.datasets import make_twonorm
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import LSSVM

STRENGTHS = np.logspace(-4, 4, 30)
WIDTH = 4.0


def path(X, y):
    solutions = LSSVM().path(DenseGram(gram(RBF(WIDTH), X)), as_columns(y), STRENGTHS)
    press = [np.mean(s.loo_residuals**2) for s in solutions]
    return STRENGTHS[int(np.argmin(press))]


def grid(X, y):
    search = GridSearchCV(KernelRidge(kernel="rbf", gamma=0.5 / WIDTH**2), {"alpha": 1 / STRENGTHS}, cv=5)
    return 1 / search.fit(X, as_columns(y)[:, 0]).best_params_["alpha"]


def main(sizes):
    for n in sizes:
        X, y = make_twonorm(n, random_state=0)
        times = {}
        for name, method in {"path": path, "grid": grid}.items():
            begun = time.perf_counter()
            C = method(X, y)
            times[name] = time.perf_counter() - begun
            print(f"n = {n:6d}  {name:5s} {times[name]:9.2f} s  C = {C:.3g}", flush=True)
        print(f"n = {n:6d}  grid / path = {times['grid'] / times['path']:.1f}", flush=True)


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [500, 1000, 2000])
