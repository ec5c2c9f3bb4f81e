"""
What about more than two classes?
=================================

Nothing changes. By default one machine is tuned for each class against the rest, all with the same kernel and C;
``multi_class="multinomial"`` fits one softmax machine instead, whose probabilities belong together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from foldless import KernelLogisticRegression

centres = [(-2, 0), (0, 1.6), (2, 0), (0, -0.6)]
kinds = np.array(["ash", "beech", "cedar", "ash"])  # one class in two places
X, group = make_blobs([60, 60, 60, 60], centers=centres, cluster_std=0.8, random_state=0)
X_new, group_new = make_blobs([2500] * 4, centers=centres, cluster_std=0.8, random_state=1)
y, y_new = kinds[group], kinds[group_new]

models = {name: KernelLogisticRegression(multi_class=name).fit(X, y) for name in ("ovr", "multinomial")}
for name, model in models.items():
    p = model.predict_proba(X_new)[np.arange(len(y_new)), np.searchsorted(model.classes_, y_new)]
    print(
        f"{name:11s} width {model.kernel_.length_scale:.2f}, C {model.C_:.3g}: "
        f"error {1 - model.score(X_new, y_new):.3f}, cross-entropy {-np.log(p).mean():.3f} on new rows"
    )

# %%
# The colour is the mixture of the three probabilities: pure where the machine is sure, pale where it is not.

palette = np.array([[0.12, 0.47, 0.71], [0.85, 0.37, 0.01], [0.17, 0.63, 0.17]])
grid = np.meshgrid(np.linspace(-4.2, 4.2, 160), np.linspace(-3, 4, 130))
points = np.column_stack([g.ravel() for g in grid])
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items()):
    p = model.predict_proba(points)
    sure = (p.max(axis=1, keepdims=True) - 1 / 3) * 1.5
    colours = 0.55 * ((p @ palette) * sure + (1 - sure)) + 0.45
    ax.imshow(
        colours.reshape(*grid[0].shape, 3).clip(0, 1),
        extent=(-4.2, 4.2, -3, 4),
        origin="lower",
        aspect="auto",
    )
    for k, label in enumerate(model.classes_):
        ax.scatter(*X[y == label].T, color=palette[k], edgecolor="white", linewidth=0.5, s=22, label=label)
    ax.set(title=name, xticks=[], yticks=[])
axes[0].legend(loc="upper left")

# %%
# The confusion matrix of the left-out outputs: every training row is predicted without itself, and nothing is refitted.

model = models["multinomial"]
given = model.classes_[model.loo_decision_.argmax(axis=1)]
for label in model.classes_:
    called = ", ".join(f"{other} {np.sum(given[y == label] == other)}" for other in model.classes_)
    print(f"{label:6s} was called: {called}")
