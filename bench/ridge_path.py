"""The whole path of 50 ridge parameters with leave-one-out, against GridSearchCV over KernelRidge (5 folds, 2 jobs).

Same data, same grid, same kernel, one run; prints seconds, the ratio, and both choices. How much there is to win
depends on the numerical rank r of the kernel matrix: four problems, from one input and a smooth kernel to eight inputs and
a kernel whose matrix has full rank, where the path costs a whole eigendecomposition.

    python -m bench.ridge_path            # n = 500, 1000, 2000, 4000
    python -m bench.ridge_path 500 1000
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from foldless.core.parallel import one_blas_thread
from foldless.criteria import LOO
from foldless.grams.builders import DenseBuilder
from foldless.machines import Ridge

ALPHAS = np.logspace(-6, 3, 50)
PROBLEMS = {"line": (1, 1.0), "plane": (2, 1.0), "space": (3, 2.0), "eight inputs": (8, 2.0)}  # inputs, width


def problem(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, -1] + 0.3 * rng.normal(size=n)
    return X, y + (np.sin(X[:, 0]) * X[:, 1] if d > 1 else 0)


def path(X, y, width):
    """Seconds, the chosen alpha and the rank: one Gram, one decomposition, 50 readings, the final fit."""
    begun = time.perf_counter()
    with one_blas_thread():
        K, Y = DenseBuilder(X).gram(RBF(width, "fixed")), y[:, None]
        fits = Ridge().path(K, Y, ALPHAS)
        best = min(fits, key=lambda fit: LOO()(fit).value)
        best.alpha  # noqa: B018
    return time.perf_counter() - begun, best.lam, len(best.smoother.basis.s)


def grid(X, y, width):
    """Seconds and the chosen alpha of five folds and refits."""
    begun = time.perf_counter()
    model = KernelRidge(kernel="rbf", gamma=1 / (2 * width**2))
    search = GridSearchCV(model, {"alpha": ALPHAS}, cv=5, n_jobs=2, scoring="neg_mean_squared_error")
    alpha = search.fit(X, y).best_params_["alpha"]
    return time.perf_counter() - begun, alpha


def main(sizes):
    for d, width in PROBLEMS.values():  # warm up
        path(*problem(400, d), width)
    print(f"{'n':>6} {'problem':>13} {'rank':>5} {'path s':>8} {'grid s':>8} {'ratio':>6}   alpha path, grid")
    for n in sizes:
        for name, (d, width) in PROBLEMS.items():
            X, y = problem(n, d)
            (ours, a, rank), (theirs, b) = path(X, y, width), grid(X, y, width)
            line = f"{n:6d} {name:>13} {rank:5d} {ours:8.3f} {theirs:8.2f} {theirs / ours:6.0f}   {a:.3g}, {b:.3g}"
            print(line, flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [500, 1000, 2000, 4000])
