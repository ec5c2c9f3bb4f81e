r"""
How is a row left out without refitting?
========================================

Leave-one-out predicts every training row by a model that has not seen it. Refitting n models would be slow. But the fit to
all rows is an excellent start for each of them: one Newton step from there, which costs one number per row once the
fit is known, nearly reaches the refit.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-3, 3, 24))
y = np.where(np.sin(x) + 0.7 * rng.normal(size=x.size) > 0, 1, -1)
kernel, C = RBF(1.0, "fixed"), 1.0


def fit(rows):
    """Return the model of some rows; width and C are fixed, so that nothing is tuned."""
    return KernelLogisticRegression(kernel, C).fit(x[rows, None], y[rows])


everything = np.arange(x.size)
model = fit(everything)
refits = [fit(np.delete(everything, i)) for i in everything]
refitted = np.array([m.decision_function(x[i : i + 1, None])[0] for i, m in zip(everything, refits)])

# %%
# ``loo_decision_`` holds the outputs of all rows when left out, by one Newton step each. We draw the row for which leaving it
# out matters most.

fitted, one_step = model.decision_function(x[:, None]), model.loo_decision_
row = int(np.argmax(np.abs(fitted - refitted)))
print(f"row {row}: output {fitted[row]:.2f} in the fit, {refitted[row]:.2f} refitted without it,")
print(
    f"{one_step[row]:.2f} by one Newton step; largest difference of all rows {np.max(np.abs(one_step - refitted)):.2f}"
)

# %%
# The step itself, written out. A kernel machine minimises J = C * sum of the losses + a' K a / 2 over the outputs K a + b. Without
# the row its loss is missing; the parabola that touches J at the fit has its lowest point at the Newton step.

K, others = kernel(x[:, None]), everything != row


def objective(a, b):
    """Return what the machine without the row minimises."""
    return C * np.sum(np.logaddexp(0, -y * (K @ a + b))[others]) + a @ K @ a / 2


slope = -y / (1 + np.exp(y * fitted))  # derivatives of the losses
curvature = np.abs(slope) * (1 - np.abs(slope))
a, w = -C * slope, C * curvature * others  # at the fit every coefficient is minus the slope of its loss
b = np.mean(fitted - K @ a)
system = np.block([[np.eye(x.size) + w[:, None] * K, w[:, None]], [np.ones((1, x.size)), np.zeros((1, 1))]])
step = np.linalg.solve(system, np.append(np.where(others, 0.0, -a), 0.0))
t = np.linspace(-0.4, 2.0, 100)
along = np.array([objective(a + s * step[:-1], b + s * step[-1]) for s in t])
start, h = objective(a, b), 1e-4
up, down = (objective(a + s * step[:-1], b + s * step[-1]) for s in (h, -h))
parabola = start + (up - down) / (2 * h) * t + (up - 2 * start + down) / (2 * h**2) * t**2

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")

grid = np.linspace(-3.2, 3.2, 200)
K_grid = kernel(grid[:, None], x[:, None])
probability = lambda outputs: 1 / (1 + np.exp(-outputs))
left.plot(grid, probability(model.decision_function(grid[:, None])), color="0.6", label="fit to all rows")
left.plot(
    grid, probability(refits[row].decision_function(grid[:, None])), "k", lw=1, label="refit without the row"
)
left.plot(
    grid,
    probability(K_grid @ (a + step[:-1]) + b + step[-1]),
    "--",
    color="tab:orange",
    lw=2,
    label="one Newton step",
)
left.scatter(x, y > 0, c=np.where(others, "tab:blue", "tab:red"), s=np.where(others, 14, 50), zorder=3)
left.annotate("the row", (x[row], y[row] > 0), (x[row] + 0.25, 0.04 + 0.88 * (y[row] > 0)), color="tab:red")
left.set(xlabel="x", ylabel="probability of class 1", title="1. Leave one row out")
left.legend(fontsize=8, loc=(0.02, 0.6), frameon=False)

middle.plot(t, along, "k", lw=1, label="what the other rows minimise")
middle.plot(t, parabola, "--", color="tab:orange", label="its parabola at the fit")
middle.plot(0, start, "o", color="0.6", markersize=8, label="fit to all rows")
middle.plot(1, np.interp(1, t, parabola), "o", color="tab:orange", markersize=8, label="one Newton step")
middle.plot(t[np.argmin(along)], along.min(), "kx", markersize=8, label="lowest point")
middle.set(
    xlabel="from the fit (0) to the Newton step (1)",
    title="2. Step to the bottom of the parabola",
    ylabel="loss without the row",
)
middle.legend(fontsize=8, frameon=False)

ends = [min(refitted) - 0.3, max(refitted) + 0.3]
right.plot(ends, ends, ":", color="0.5")
right.plot(refitted, fitted, "o", color="0.6", markersize=4, label="fit to all rows")
right.plot(refitted, one_step, "o", color="tab:orange", markersize=4, label="one Newton step")
right.set(xlabel="output, refitted without the row", ylabel="output", title="3. All rows, without a refit")
right.legend(fontsize=8, frameon=False)

if len(sys.argv) > 1:  # python examples/plot_leave_one_row_out.py docs/_static/left_out.png
    fig.savefig(sys.argv[1], dpi=90)
print(
    f"the step by hand: {(K @ (a + step[:-1]) + b + step[-1])[row]:.4f}, loo_decision_: {one_step[row]:.4f}"
)
