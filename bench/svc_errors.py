"""Held-out errors of the SVC that KernelSearch chooses and of the one that a grid of refits chooses, on many splits.

    python -m bench.svc_errors --data DIR [--splits 20] [--first 40] [--criterion auto] [--sets NAME ...]

The grid is that of ``bench.kernel_search``: 10 x 10 points, 10 folds, scaled within each fold. Here its refits go straight to
libsvm on Gram matrices, which gives the choices of GridSearchCV in a tenth of its time: a line of the table takes seconds, not
minutes. p is that of the paired t test; a star marks p below 0.05.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import _libsvm as libsvm

from bench.contenders.grid_svc import GRID
from bench.kernel_search import SETS, draw, machine
from foldless import KernelSearch
from foldless.comparison import LEVEL, corrected_t

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


def errors(file, splits, criterion):
    """Return the number of rows and the errors (splits, 2) in percent: ours, the grid's."""
    found = []
    for split in splits:
        X, y, X_test, y_test = draw(file, split)
        ours = KernelSearch(machine(), criterion=criterion).fit(X, y)
        theirs = machine().set_params(**grid(X, y)).fit(X, y)
        found.append([100 * np.mean(model.predict(X_test) != y_test) for model in (ours, theirs)])
    return len(y), np.array(found)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.svc_errors", description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=40)
    parser.add_argument("--criterion", default="auto")
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args(arguments)
    libsvm.set_verbosity_wrap(0)
    print("| set | n | KernelSearch | GridSearchCV | p |\n|---|---|---|---|---|", flush=True)
    for name in asked.sets:
        with np.load(Path(asked.data) / f"{name}.npz") as file:
            n, found = errors(file, range(asked.first, asked.first + asked.splits), asked.criterion)
        p = corrected_t(found[:, 0] - found[:, 1], 0.0)
        (a, b), (s, t) = found.mean(axis=0), found.std(axis=0, ddof=1)
        print(
            f"| {name} | {n} | {a:.2f} ({s:.2f}){'*' * (p < LEVEL)} | {b:.2f} ({t:.2f}) | {p:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
