"""
How do I tune a classifier without folds?
=========================================

Call ``fit``. The width of the kernel and C minimise a leave-one-out estimate that one fit gives almost for free, along its
exact gradient. There is no grid and nothing is refitted.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from foldless import KernelLogisticRegression
from foldless.datasets import make_ripley
from foldless.inspection import evaluate_surface

X, y = make_ripley(250, random_state=0)
X_test, y_test = make_ripley(5000, random_state=1)
model = KernelLogisticRegression().fit(X, y)

print(f"kernel {model.kernel_}, C = {model.C_:.3g}, after {model.n_evaluations_} evaluations")
print(f"error on new points {1 - model.score(X_test, y_test):.3f}; the best possible rule has 0.089")

# %%
# On the left the criterion over width and C, with every point that the search evaluated. On the right the result: the
# probability of the second class.

landscape = evaluate_surface(model.selection_, seconds=2.0)
evaluated = np.exp([step.theta for step in model.trace_])
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")

levels = np.linspace(landscape.value.min(), np.quantile(landscape.value, 0.6), 16)
left.contourf(landscape.x, landscape.y, landscape.value, levels=levels, cmap="Blues_r", extend="max")
left.plot(*evaluated.T, "o", color="tab:orange", markersize=4, label="evaluations")
left.plot(
    *np.exp(model.selection_.outcome.best.theta), "*", color="gold", markersize=15, mec="k", label="choice"
)
left.set(xscale="log", yscale="log", xlabel="width", ylabel="C", title="leave-one-out loss")
left.set(xlim=landscape.x[[0, -1]], ylim=landscape.y[[0, -1]])
left.legend(loc="lower right")

grid = np.meshgrid(np.linspace(-1.3, 1.0, 120), np.linspace(-0.3, 1.2, 100))
p = model.predict_proba(np.column_stack([g.ravel() for g in grid]))[:, 1].reshape(grid[0].shape)
shades = right.contourf(*grid, p, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
right.contour(*grid, p, levels=[0.5], colors="k", linewidths=1)
right.scatter(*X.T, c=y, cmap="RdBu_r", s=10, edgecolor="k", linewidth=0.3)
right.set(title="probability of the second class", xticks=[], yticks=[])
fig.colorbar(shades, ax=right)

if len(sys.argv) > 1:  # python examples/plot_tune_without_folds.py docs/_static/picture.png
    fig.savefig(sys.argv[1], dpi=110)
