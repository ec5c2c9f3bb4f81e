"""Held-out errors of what is tuned without folds, and of the SVC that a grid of refits chooses, on many splits.

    python -m bench.svc_errors --data DIR [--splits 20] [--first 80] [--sets NAME ...]

The grid is that of ``bench.kernel_search``: 10 x 10 points, 10 folds, scaled within each fold. Here its refits go straight to
libsvm on Gram matrices, which gives the choices of GridSearchCV in a tenth of its time: a line of the table takes seconds, not
minutes. p is that of the paired t test against the grid; a star marks p below 0.05.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import _libsvm as libsvm

from bench.contenders.grid_svc import GRID
from bench.kernel_search import SETS, draw, machine
from foldless import KernelLogisticRegression, KernelSearch
from foldless.inspection.comparison import SIGNIFICANCE_LEVEL, corrected_t

COSTS, GAMMAS = GRID["svc__C"], GRID["svc__gamma"]


def right(K, y, K_test, y_test, C):
    """Return the share of right answers of a machine with codes 0 and 1."""
    support, _, _, coefficients, b, *_ = libsvm.fit(
        K, y, svm_type=0, kernel="precomputed", C=C, cache_size=200
    )
    return np.mean(
        (K_test[:, support] @ coefficients[0] + b[0] < 0) == y_test
    )  # libsvm's sign is for the first class


def fold_scores(X, y, train, test):
    """Return the scores on one fold, (C, gamma)."""
    scaler = StandardScaler().fit(X[train])
    A, B = scaler.transform(X[train]), scaler.transform(X[test])
    D, E = euclidean_distances(A, squared=True), euclidean_distances(B, A, squared=True)
    grams = [(np.exp(-gamma * D), np.exp(-gamma * E)) for gamma in GAMMAS]
    return [[right(K, y[train], K_test, y[test], C) for K, K_test in grams] for C in COSTS]


def grid(X, y):
    """Return the parameters with the best mean score; of equals the first, as GridSearchCV does."""
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    folds = StratifiedKFold(10).split(X, y)
    scores = np.mean([fold_scores(X, codes, *fold) for fold in folds], axis=0)
    i, j = np.unravel_index(np.argmax(np.round(scores, 12)), scores.shape)
    return {"svc__C": COSTS[i], "svc__gamma": GAMMAS[j]}


def kernel_search(X, y):
    return KernelSearch(machine()).fit(X, y)


def logistic(X, y):
    return make_pipeline(StandardScaler(), KernelLogisticRegression()).fit(X, y)


def refits(X, y):
    return machine().set_params(**grid(X, y)).fit(X, y)


CONTENDERS = {"KernelSearch": kernel_search, "KernelLogisticRegression": logistic, "GridSearchCV": refits}


def errors(file, splits):
    """Return the number of rows and the errors in percent (splits, contenders)."""
    found = []
    for split in splits:
        X, y, X_test, y_test = draw(file, split)
        models = [fit(X, y) for fit in CONTENDERS.values()]
        found.append([100 * np.mean(model.predict(X_test) != y_test) for model in models])
    return len(y), np.array(found)


def cells(found):
    """Yield a cell per contender: mean, deviation and, but for the last, the p value against the last."""
    for column in found.T[:-1]:
        p = corrected_t(column - found[:, -1], 0.0)
        yield f"{column.mean():.2f} ({column.std(ddof=1):.2f}), p = {p:.2f}{'*' * (p < SIGNIFICANCE_LEVEL)}"
    yield f"{found[:, -1].mean():.2f} ({found[:, -1].std(ddof=1):.2f})"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.svc_errors", description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=80)
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args(arguments)
    libsvm.set_verbosity_wrap(0)
    print(f"| set | n | {' | '.join(CONTENDERS)} |\n|" + "---|" * (2 + len(CONTENDERS)), flush=True)
    for name in asked.sets:
        with np.load(Path(asked.data) / f"{name}.npz") as file:
            n, found = errors(file, range(asked.first, asked.first + asked.splits))
        print(f"| {name.removeprefix('raetsch_')} | {n} | {' | '.join(cells(found))} |", flush=True)


if __name__ == "__main__":
    main()
