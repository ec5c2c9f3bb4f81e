import numpy as np

NAME = "seconds"


def measure(run):
    return run.seconds


def combine(ours, theirs):
    """How many times faster, as a geometric mean."""
    return float(np.exp(np.mean(np.log(np.array(theirs) / np.array(ours)))))
