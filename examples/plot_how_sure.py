"""
How sure is this probability?
=============================

A model that says 80 % should be right eight times in ten. To check that on the training rows one needs outputs of
machines that have not seen the row; ``loo_decision_`` has them, without a single refit.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from foldless import KernelLogisticRegression
from foldless.datasets import make_banana

X, y = make_banana(400, random_state=0)
X_new, y_new = make_banana(20000, random_state=1)
model = KernelLogisticRegression().fit(X, y)


def reliability(p, came_true, bins=8):
    """Mean probability given, and share that came true, per bin."""
    group = np.minimum((p * bins).astype(int), bins - 1)
    filled = [g for g in range(bins) if np.sum(group == g) >= 10]
    return np.array([(p[group == g].mean(), came_true[group == g].mean()) for g in filled]).T


fig, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
axes.plot([0, 1], [0, 1], "--", color="grey", label="as they say")
axes.plot(*reliability(expit(model.loo_decision_), y == 1), "o-", label="leave-one-out, 400 training rows")
axes.plot(*reliability(model.predict_proba(X_new)[:, 1], y_new == 1), "s-", label="20000 new rows")
axes.plot(
    *reliability(model.predict_proba(X)[:, 1], y == 1), ":", color="tab:red", label="training rows, seen"
)
axes.set(xlabel="probability given", ylabel="share that came true")
axes.legend()

# %%
# The leave-one-out curve is what one may look at when there are no new rows: like them it keeps to the diagonal. The
# dotted one is from rows the machine has seen, and says nothing about others.

loss = np.mean(np.logaddexp(0, -np.where(y == 1, 1, -1) * model.loo_decision_))
new = -np.mean(np.log(model.predict_proba(X_new)[np.arange(len(y_new)), y_new]))
print(f"cross-entropy: leave-one-out {loss:.3f}, on new rows {new:.3f}")
