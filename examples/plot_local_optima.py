"""
What if the criterion has several optima?
=========================================

Gold and Sollich found that the criteria for support vector machines have many local optima. They have a reason: each is
a different explanation of the data. Here a slow and a fast wave add up, and ninety points can be explained by a wide
kernel, which calls the fast wave noise, or by a narrow one, which follows both.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from foldless import KernelSearch
from foldless.inspection import evaluate_surface


def waves(n, seed):
    """Classes by the sign of two waves and some noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=n)
    return x[:, None], np.sin(2 * x) + 0.8 * np.sin(25 * x) + 0.3 * rng.normal(size=n) > 0


X, y = waves(90, 1)
X_new, y_new = waves(20000, 2)
search = KernelSearch(SVC(), ensemble=True, n_starts=12).fit(X, y)

# %%
# Twelve descents from different places, and every optimum they ended in is kept: a line for each, the lowest criterion
# first. Optima with nearly the same criterion cannot be told apart on ninety points, though their errors on new points
# may differ.

optima, ensemble = search.selection_.outcome.optima, search.ensemble_
for step, member, weight in zip(optima, ensemble.members, ensemble.weights):
    width, C = np.exp(step.theta)
    error = 1 - member.score(X_new, y_new)
    print(
        f"width {width:6.3f}, C {C:7.2g}: criterion {step.value:.3f}, weight {weight:.2f}, error {error:.3f}"
    )
print(f"the lowest alone: error {1 - search.best_estimator_.score(X_new, y_new):.3f}")
print(f"all, by weight:   error {1 - search.score(X_new, y_new):.3f}")

# %%
# On the left the criterion over the width, with C at its best for each: two valleys. The ensemble need not choose one. It
# averages the outputs of all optima, each weighted by how low its criterion is, and keeps some of the fast wave.

landscape = evaluate_surface(search.selection_)
widths, values = np.exp([step.theta[0] for step in optima]), [step.value for step in optima]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(landscape.x, landscape.value.min(axis=0), color="0.4")
left.plot(widths, values, "o", color="tab:orange", label="local optima")
left.plot(widths[0], values[0], "*", color="gold", mec="k", ms=15, label="lowest")
left.set(xscale="log", xlabel="width", ylabel=search.selection_.criterion.name, title="two valleys")
left.set(xlim=(0.01, 3))
left.legend()

line = np.linspace(-1, 1, 400)[:, None]
narrow = ensemble.members[int(np.argmin(widths))]
right.plot(
    line, ensemble.members[0].decision_function(line), color="tab:green", label=f"width {widths[0]:.2f}"
)
right.plot(line, narrow.decision_function(line), color="tab:purple", lw=1, label=f"width {widths.min():.2f}")
right.plot(line, ensemble.decision_function(line), "k", lw=2, label="ensemble")
right.plot(X[y], np.full(y.sum(), 1.9), "|", color="tab:red", ms=9)
right.plot(X[~y], np.full((~y).sum(), -1.9), "|", color="tab:blue", ms=9)
right.axhline(0, color="0.7", lw=1, zorder=0)
right.set(ylim=(-2.2, 2.2), xlabel="x", ylabel="output", title="two explanations of the same points")
right.legend(loc="lower right")
