"""When a length scale per feature over-fits the criterion, and what helps.

    python -m bench.overfitting --data DIR [--splits 10] [--sets sonar ionosphere]

Held-out error (mean and standard deviation over random 70 : 30 splits, in %) of kernel logistic regression with one
width, with a length scale per feature, with a prior on their spread, stopped early, and averaged over local optima.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression, KernelSearch
from foldless.criteria import HyperPrior
from foldless.searches import LBFGS, EarlyStopping

MODELS = {
    "one width": KernelLogisticRegression(),
    "one width, ensemble": KernelSearch(KernelLogisticRegression(), ensemble=True),
    "ard": KernelLogisticRegression("rbf-ard"),
    "ard, prior 0.1": KernelLogisticRegression("rbf-ard", criterion=HyperPrior("loo", 0.1)),
    "ard, prior 1": KernelLogisticRegression("rbf-ard", criterion=HyperPrior("loo", 1.0)),
    "ard, prior 10": KernelLogisticRegression("rbf-ard", criterion=HyperPrior("loo", 10.0)),
    "ard, stopped early": KernelLogisticRegression("rbf-ard", search=EarlyStopping(LBFGS())),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.overfitting", description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=["sonar", "ionosphere"])
    asked = parser.parse_args(arguments)
    for name in asked.sets:
        with np.load(Path(asked.data) / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
        X = X[:, X.std(axis=0) > 0]
        errors = {label: [] for label in MODELS}
        for split in range(asked.splits):
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=split, stratify=y)
            scaler = StandardScaler().fit(X[train])
            for label, model in MODELS.items():
                model.fit(scaler.transform(X[train]), y[train])
                errors[label].append(100 * np.mean(model.predict(scaler.transform(X[test])) != y[test]))
        for label, found in errors.items():
            print(f"{name:12s} {label:22s} {np.mean(found):6.2f} ({np.std(found):.2f})", flush=True)


if __name__ == "__main__":
    main()
