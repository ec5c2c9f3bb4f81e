"""A length scale per feature and alpha by gradient, against GaussianProcessRegressor's L-BFGS: seconds and peak memory.

Each contender runs in its own process, which reports its peak resident memory above that of the imports. The first row is
the same criterion on the same dense matrix; the second is ``KernelRidgeRegressor`` as it comes.

    python bench/ridge_ard.py             # n = 2000, d = 20
    python bench/ridge_ard.py 500 10
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from foldless import KernelRidgeRegressor


def problem(n, d):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(1000, d))
    f = lambda X: np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, f(X) + 0.2 * rng.normal(size=n), new, f(new)


def ours_dense(d):
    return KernelRidgeRegressor(RBF(np.full(d, np.sqrt(d)), (1e-2, 1e3)), criterion="evidence", gram="dense")


def ours(d):
    return KernelRidgeRegressor("rbf-ard", criterion="evidence")


def theirs(d):
    kernel = ConstantKernel(1.0) * RBF(np.full(d, np.sqrt(d)), (1e-2, 1e3)) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


CONTENDERS = {"ours, dense": ours_dense, "ours": ours, "GaussianProcessRegressor": theirs}


def run(name, n, d):
    """Fit one contender and report; for the subprocess."""
    X, y, new, truth = problem(n, d)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    model = CONTENDERS[name](d).fit(X, y)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    error = float(np.mean((model.predict(new) - truth) ** 2))
    return {"seconds": seconds, "megabytes": peak / 1024, "error": error}


def main(n, d):
    found = {}
    for name in CONTENDERS:
        command = [sys.executable, __file__, "--run", name, str(n), str(d)]
        found[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    base = found["GaussianProcessRegressor"]
    print(f"n = {n}, d = {d}")
    print(f"{'':26} {'seconds':>9} {'MB':>8} {'error':>9} {'time ratio':>11} {'memory ratio':>13}")
    for name, r in found.items():
        ratios = f"{base['seconds'] / r['seconds']:11.1f} {base['megabytes'] / r['megabytes']:13.1f}"
        print(f"{name:26} {r['seconds']:9.2f} {r['megabytes']:8.0f} {r['error']:9.4f} {ratios}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main(*([int(a) for a in sys.argv[1:]] or [2000, 20]))
