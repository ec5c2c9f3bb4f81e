"""
Can a killed search go on?
==========================

Yes: give it a file. Every evaluation is appended to it as it is taken, and the same call continues from there: after a
power cut, the end of a time slot on a cluster, or a change of mind about the budget.
"""

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from foldless import KernelLogisticRegression, KernelSearch
from foldless.datasets import make_twonorm

X, y = make_twonorm(200, random_state=0)
file = Path(tempfile.mkdtemp()) / "search.jsonl"
machine = KernelLogisticRegression(kernel="rbf-ard-free", gram="dense")


def search(budget):
    """Tune 21 parameters, by at most so many evaluations; None sets no limit."""
    return KernelSearch(machine, max_evaluations=budget, checkpoint=file)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says that the budget was spent
    cut = search(20).fit(X, y)
print(f"cut off:   {cut.n_evaluations_} evaluations, criterion {-cut.best_score_:.3f}")
print(f"the file:  {len(file.read_text().splitlines())} lines")

# %%
# The same call without the limit. The steps of the file are recalled, not computed, and the end is the one of a
# search that was never cut.

resumed = search(None).fit(X, y)
whole = KernelSearch(machine).fit(X, y)
print(f"resumed:   {resumed.n_evaluations_} evaluations, criterion {-resumed.best_score_:.3f}")
print(f"never cut: {whole.n_evaluations_} evaluations, criterion {-whole.best_score_:.3f}")

values = np.array([step.value for step in resumed.trace_])
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.axvspan(0.5, 20.5, color="0.93", label="recalled from the file")
ax.plot(np.arange(1, len(values) + 1), values, "o", ms=4, label="a look")
ax.step(np.arange(1, len(values) + 1), np.minimum.accumulate(values), where="post", label="best so far")
ax.set(xlabel="evaluation", ylabel="leave-one-out loss")
ax.legend()
