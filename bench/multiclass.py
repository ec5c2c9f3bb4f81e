"""More than two classes: one-versus-rest and multinomial kernel logistic regression beside scikit-learn's.

    python -m bench.multiclass --data DIR [--splits 3] [--sets NAME ...] [--contenders NAME ...]

Each set is a sample of up to 3000 rows, a third of which train (glass: 70 of 100). One line per set and contender: error
on the other rows and bits of information about a label (:func:`foldless.inspection.metrics.target_information`), mean over the
splits ± standard error, and seconds over those of the first contender.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression
from foldless.inspection.metrics import target_information

ROWS = 3000
SETS = {"glass": 0.7, "usps": 1 / 3, "letter": 1 / 3}  # and the part that trains


def one_versus_rest(X):
    return KernelLogisticRegression()


def own_kernels(X):
    return OneVsRestClassifier(KernelLogisticRegression())


def multinomial(X):
    return KernelLogisticRegression(multi_class="multinomial")


def gaussian_process(X):
    width = np.sqrt(X.shape[1])
    return GaussianProcessClassifier(ConstantKernel(10.0, (1e-3, 1e5)) * RBF(width, (width / 30, width * 30)))


CONTENDERS = {
    "one-versus-rest, one kernel": one_versus_rest,
    "one-versus-rest, a kernel each": own_kernels,
    "multinomial": multinomial,
    "GaussianProcessClassifier": gaussian_process,
}


def draw(data, name, split):
    """Return training and test rows of one split, standardised by the training rows."""
    with np.load(Path(data) / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    rows = np.random.default_rng(split).permutation(len(y))[:ROWS]
    train, test = train_test_split(rows, train_size=SETS[name], random_state=split, stratify=y[rows])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def measure(contender, X, y, new, t):
    """Return error in %, bits and seconds."""
    begun = time.perf_counter()
    model = contender(X).fit(X, y)
    seconds = time.perf_counter() - begun
    proba = model.predict_proba(new)
    known = np.isin(t, model.classes_)
    bits = target_information(t[known], proba[known], model.classes_)
    return 100 * np.mean(model.classes_[np.argmax(proba, axis=1)] != t), bits, seconds


def doubt(values, form):
    """Return the standard error of a mean as text; nothing for one value."""
    return f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):{form}}" if len(values) > 1 else ""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.multiclass", description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS))
    asked = parser.parse_args(arguments)
    print("| set | rows | classes | contender | error (%) | bits | seconds over the first |\n|" + "---|" * 7)
    for name in asked.sets:
        splits = [draw(asked.data, name, split) for split in range(asked.splits)]
        first = None
        for label in asked.contenders:
            found = np.array([measure(CONTENDERS[label], *split) for split in splits])
            error, bits, seconds = found.mean(axis=0)
            first = first or seconds
            X, y = splits[0][:2]
            print(
                f"| {name} | {len(X)} | {len(np.unique(y))} | {label} | {error:.2f}{doubt(found[:, 0], '.2f')} "
                f"| {bits:.3f}{doubt(found[:, 1], '.3f')} | {seconds / first:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
