"""Which criterion should tune a support vector machine? Test errors and seconds on splits that nothing was chosen by.

    python -m bench.svc_criteria DATA RECORD [FIRST LAST]

Splits FIRST to LAST (60 to 79) of the archive of Raetsch, RBF kernel with one width, every criterion and a grid search
of libsvm with five folds over 8 x 8 values. A line of JSON per fit goes to RECORD; what stands there is not run again. At the
end the table: mean error over the splits, their mean over the sets, mean rank, and processor seconds.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from foldless import KernelSVC
from foldless.core.errors import CriterionWarning, JitterWarning
from foldless.criteria import KRIC

SETS = ("banana", "breast_cancer", "diabetes", "flare_solar", "heart", "ringnorm", "titanic", "twonorm")
GRID = {"C": np.logspace(-1, 3, 8), "gamma": np.logspace(-3, 1, 8)}
MODELS = {
    "smoothed-span, squared": KernelSVC(criterion="smoothed-span"),
    "gacv, squared": KernelSVC(criterion="gacv"),
    "evidence, squared": KernelSVC(criterion="evidence"),
    "evidence-ep, squared": KernelSVC(criterion="evidence-ep"),
    "loo, squared": KernelSVC(criterion="loo"),
    "gacv, hinge": KernelSVC(loss="hinge", criterion="gacv"),
    "evidence, hinge": KernelSVC(loss="hinge", criterion="evidence"),
    "evidence-ep, hinge": KernelSVC(loss="hinge", criterion="evidence-ep"),
    "xi-alpha, hinge": KernelSVC(loss="hinge", criterion="xi-alpha"),
    "span, hinge": KernelSVC(loss="hinge", criterion="span"),
    "kric, hinge": KernelSVC(loss="hinge", criterion=KRIC(tune_kernel=True)),
    "grid search": GridSearchCV(SVC(), GRID, cv=5),
}


def rows(record):
    path = Path(record)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(data, record, splits):
    done = {(row["set"], row["split"], row["model"]) for row in rows(record)}
    for split in splits:
        for name in SETS:
            file = np.load(Path(data) / f"raetsch_{name}.npz")
            for label in MODELS:
                if (name, split, label) not in done:
                    found = {"set": name, "split": split, "model": label, **fit(file, split, MODELS[label])}
                    with open(record, "a") as out:
                        out.write(json.dumps(found) + "\n")


def fit(file, split, model):
    X, y, train, test = file["X"], file["y"], file["train"][split], file["test"][split]
    begun = time.process_time()
    model = clone(model).fit(X[train], y[train])
    seconds = time.process_time() - begun
    return {"error": 100 * float(np.mean(model.predict(X[test]) != y[test])), "seconds": seconds}


def table(found):
    """Return the lines of the table, over the splits that every model has."""
    wanted = {(row["set"], row["split"]) for row in found}
    for label in MODELS:
        wanted &= {(row["set"], row["split"]) for row in found if row["model"] == label}
    kept = [row for row in found if (row["set"], row["split"]) in wanted]
    mean = lambda key, **where: np.mean([r[key] for r in kept if all(r[k] == v for k, v in where.items())])
    errors = {label: [mean("error", model=label, set=name) for name in SETS] for label in MODELS}
    ranks = np.mean(np.apply_along_axis(rankdata, 0, np.array(list(errors.values()))), axis=1)
    lines = ["| | " + " | ".join(SETS) + " | mean | rank | seconds |", "|---" * (len(SETS) + 4) + "|"]
    for (label, found_errors), rank in zip(errors.items(), ranks, strict=True):
        shown = " | ".join(f"{error:.2f}" for error in found_errors)
        seconds = mean("seconds", model=label)
        lines.append(f"| {label} | {shown} | {np.mean(found_errors):.2f} | {rank:.1f} | {seconds:.2f} |")
    return [*lines, "", f"{len({split for _, split in wanted})} splits."]


if __name__ == "__main__":
    for category in (CriterionWarning, JitterWarning):
        warnings.simplefilter("ignore", category)
    first, last = map(int, sys.argv[3:5] or (60, 79))
    run(sys.argv[1], sys.argv[2], range(first, last + 1))
    print("\n".join(table(rows(sys.argv[2]))))
