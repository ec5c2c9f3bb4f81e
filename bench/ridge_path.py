"""The whole path of 50 ridge parameters with leave-one-out, against GridSearchCV over KernelRidge (5 folds, 2 jobs).

Same data, same grid, same kernel, one run; prints seconds, the ratio, and both choices.

    python bench/ridge_path.py            # n = 500, 1000, 2000, 4000
    python bench/ridge_path.py 500 1000
"""

import sys
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from foldless.criteria import LOO
from foldless.machines import Ridge
from foldless.representation import Dense

ALPHAS = np.logspace(-6, 3, 50)
WIDTH, D = 2.0, 8


def problem(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D))
    return X, np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)


def path(X, y):
    """Seconds and the chosen alpha: one Gram, one eigendecomposition, 50 readings, the final fit."""
    begun = time.perf_counter()
    K, Y = Dense(X).gram(RBF(WIDTH, "fixed")), y[:, None]
    values = [LOO()(Ridge(alpha, route="spectrum").solve(K, Y)).value for alpha in ALPHAS]
    alpha = ALPHAS[int(np.argmin(values))]
    Ridge(alpha, route="spectrum").solve(K, Y).alpha  # noqa: B018
    return time.perf_counter() - begun, alpha


def grid(X, y):
    """The same with five folds and refits."""
    begun = time.perf_counter()
    model = KernelRidge(kernel="rbf", gamma=1 / (2 * WIDTH**2))
    search = GridSearchCV(model, {"alpha": ALPHAS}, cv=5, n_jobs=2, scoring="neg_mean_squared_error").fit(
        X, y
    )
    return time.perf_counter() - begun, search.best_params_["alpha"]


def main(sizes):
    path(*problem(200))  # warm up
    print(f"{'n':>6} {'path s':>9} {'grid s':>9} {'ratio':>7}   alpha path, grid")
    for n in sizes:
        X, y = problem(n)
        (ours, a), (theirs, b) = path(X, y), grid(X, y)
        print(f"{n:6d} {ours:9.3f} {theirs:9.2f} {theirs / ours:7.1f}   {a:.3g}, {b:.3g}", flush=True)


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [500, 1000, 2000, 4000])
