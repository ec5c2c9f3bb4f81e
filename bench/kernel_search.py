"""KernelSearch, GridSearchCV, HalvingGridSearchCV and optuna around the same SVC: error and time in one run.

    python -m bench.kernel_search --data DIR [--splits 3] [--first 40] [--sets NAME ...]

One line of a Markdown table per set: mean held-out error in %, seconds, and times over those of KernelSearch. Splits
are the archive's own where there are any, else 70 : 30; foldless's choices were never tuned on those from 40 on. A star
marks an error that differs from GridSearchCV's at the level 0.05 by the paired t test.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bench.contenders.grid_svc import GRID
from foldless import KernelSearch
from foldless.inspection.comparison import SIGNIFICANCE_LEVEL, corrected_t

SETS = [
    "raetsch_banana",
    "raetsch_diabetes",
    "raetsch_heart",
    "raetsch_ringnorm",
    "raetsch_twonorm",
    "sonar",
    "ionosphere",
    "breast_w",
]
TRIALS = 50


def machine():
    return make_pipeline(StandardScaler(), SVC(kernel="rbf"))


def kernel_search(X, y):
    return KernelSearch(machine()).fit(X, y)


def grid(X, y):
    return GridSearchCV(machine(), GRID, cv=10, n_jobs=2).fit(X, y)


def halving(X, y):
    return HalvingGridSearchCV(machine(), GRID, cv=10, n_jobs=2, random_state=0).fit(X, y)


def optuna_sampler(X, y):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folds = StratifiedKFold(10)

    def cost(trial):
        C, gamma = (
            trial.suggest_float("C", 1e-2, 1e4, log=True),
            trial.suggest_float("gamma", 1e-4, 10, log=True),
        )
        return cross_val_score(
            machine().set_params(svc__C=C, svc__gamma=gamma), X, y, cv=folds, n_jobs=2
        ).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(cost, n_trials=TRIALS)
    return (
        machine().set_params(**{f"svc__{name}": value for name, value in study.best_params.items()}).fit(X, y)
    )


def contenders():
    found = {"KernelSearch": kernel_search, "GridSearchCV": grid, "HalvingGridSearchCV": halving}
    try:
        import optuna  # noqa: F401
    except ImportError:
        return found
    return found | {"optuna": optuna_sampler}


def draw(file, split):
    X, y = file["X"], file["y"]
    if "train" in file and len(file["train"]) > split:
        train, test = file["train"][split], file["test"][split]
    else:
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split, stratify=y)
    return X[train], y[train], X[test], y[test]


def measure(file, splits, fits):
    errors, seconds = {name: [] for name in fits}, {name: [] for name in fits}
    for split in splits:
        X, y, X_test, y_test = draw(file, split)
        for name, fit in fits.items():
            begun = time.perf_counter()
            model = fit(X, y)
            seconds[name].append(time.perf_counter() - begun)
            errors[name].append(100 * np.mean(model.predict(X_test) != y_test))
    return len(y), errors, seconds


def differs(a, b):
    return (
        corrected_t(np.array(a) - np.array(b), 0.0) < SIGNIFICANCE_LEVEL
    )  # the plain paired test: stricter than the corrected one


def row(name, n, errors, seconds):
    ours = np.mean(seconds["KernelSearch"])
    cells = [
        f"{np.mean(errors[m]):.2f}{'*' if differs(errors[m], errors['GridSearchCV']) else ''} "
        f"({np.mean(seconds[m]):.2f} s, x {np.mean(seconds[m]) / ours:.1f})"
        for m in errors
    ]
    return f"| {name} | {n} | " + " | ".join(cells) + " |"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m bench.kernel_search", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=40)
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args(arguments)
    fits = contenders()
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    for fit in fits.values():  # imports and worker processes
        fit(X, y)
    print("| set | n | " + " | ".join(fits) + " |\n|" + "---|" * (2 + len(fits)), flush=True)
    ratios = {name: [] for name in fits}
    for name in asked.sets:
        with np.load(Path(asked.data) / f"{name}.npz") as file:
            splits = range(asked.first, asked.first + asked.splits)
            n, errors, seconds = measure(file, splits, fits)
        print(row(name, n, errors, seconds), flush=True)
        for m in fits:
            ratios[m].append(np.mean(seconds[m]) / np.mean(seconds["KernelSearch"]))
    means = " | ".join(f"x {np.exp(np.mean(np.log(ratios[m]))):.1f}" for m in fits)
    print(f"| geometric mean | | {means} |")


if __name__ == "__main__":
    main()
