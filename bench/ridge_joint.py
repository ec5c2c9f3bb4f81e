"""Width and alpha together: KernelRidgeRegressor as it comes, against a grid with folds and against a Gaussian process.

The grid has 10 widths and 10 ridge parameters (5 folds, 2 jobs), the process has an amplitude, a width and a noise level and
climbs its marginal likelihood. Same data, one run; the error is that of the noiseless function at 2000 new points.

    python -m bench.ridge_joint           # n = 500, 1000, 2000
    python -m bench.ridge_joint 500
"""

import sys
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from foldless import KernelRidgeRegressor

GRID = {"gamma": np.logspace(-4, 2, 10), "alpha": np.logspace(-6, 3, 10)}
PROBLEMS = {"plane": 2, "eight inputs": 8}


def truth(X):
    return np.sin(2 * X[:, 0]) + np.sin(X[:, 0]) * X[:, 1] + 0.5 * X[:, -1]


def problem(n, d):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(2000, d))
    return X, truth(X) + 0.3 * rng.normal(size=n), new


def contenders():
    """The four, by name."""
    process = ConstantKernel(1.0) * RBF(1.0, (1e-2, 1e3)) + WhiteKernel(0.1)
    return {
        "leave-one-out": KernelRidgeRegressor(),
        "evidence": KernelRidgeRegressor(criterion="evidence"),
        "grid, 5 folds": GridSearchCV(KernelRidge(kernel="rbf"), GRID, cv=5, n_jobs=2),
        "Gaussian process": GaussianProcessRegressor(process, normalize_y=True),
    }


def main(sizes):
    warnings.simplefilter("ignore")
    KernelRidgeRegressor().fit(*problem(300, 2)[:2])  # warm up
    print(f"{'n':>6} {'problem':>13} {'contender':>17} {'seconds':>8} {'over ours':>9} {'error':>9}")
    for n in sizes:
        for name, d in PROBLEMS.items():
            X, y, new = problem(n, d)
            base = None
            for contender, model in contenders().items():
                begun = time.perf_counter()
                model.fit(X, y)
                seconds = time.perf_counter() - begun
                base = base or seconds
                error = np.mean((model.predict(new) - truth(new)) ** 2)
                line = f"{n:6d} {name:>13} {contender:>17} {seconds:8.2f} {seconds / base:9.1f} {error:9.5f}"
                print(line, flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [500, 1000, 2000])
