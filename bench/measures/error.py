import numpy as np

NAME = "error %"


def measure(run):
    return 100 * float(np.mean(run.model.predict(run.X_test) != run.y_test))


def combine(ours, theirs):
    """Mean difference, in points."""
    return float(np.mean(np.array(ours) - np.array(theirs)))
