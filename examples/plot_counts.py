"""
How do I predict counts?
========================

Visits per day, defects per metre: whole numbers whose spread grows with their mean. ``KernelPoissonRegressor`` models
the logarithm of the expected count by a kernel and chooses the width and the ridge by the approximate leave-one-out
deviance. Least squares on the same rows believes every row equally, and may predict less than nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from foldless import KernelPoissonRegressor, KernelRidgeRegressor

rng = np.random.default_rng(0)
hour = np.sort(rng.uniform(0, 24, 80))


def rate(hour):
    """Expected number of visits: a morning and an evening rush, and hardly anybody at night."""
    return 0.3 + 20 * np.exp(-((hour - 8.5) ** 2) / 3) + 40 * np.exp(-((hour - 18) ** 2) / 5)


visits = rng.poisson(rate(hour))
X, line = hour[:, None], np.linspace(0, 24, 300)
counts, squares = KernelPoissonRegressor().fit(X, visits), KernelRidgeRegressor().fit(X, visits)

# %%
# Poisson deviance against the true rate; smaller is better.


def deviance(mean, model):
    expected = np.maximum(model, 1e-3)
    return 2 * np.mean(mean * np.log(mean / expected) - mean + expected)


for name, model in (("counts", counts), ("least squares", squares)):
    predicted = model.predict(line[:, None])
    print(
        f"{name:13s} deviance {deviance(rate(line), predicted):.3f}, least prediction {predicted.min():.2f}"
    )

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharex=True)
for ax in axes:
    ax.plot(hour, visits, ".", color="0.6", label="visits")
    ax.plot(line, rate(line), "k--", lw=1, label="true rate")
    ax.plot(line, counts.predict(line[:, None]), color="tab:blue", lw=2, label="KernelPoissonRegressor")
    ax.plot(line, squares.predict(line[:, None]), color="tab:orange", label="KernelRidgeRegressor")
    ax.set(xlabel="hour of the day", ylabel="visits", xticks=range(0, 25, 4))
axes[1].set(ylim=(-0.5, 5), title="the quiet hours, closer")
axes[1].axhline(0, color="0.8", lw=1, zorder=0)
axes[0].legend(loc="upper left")

# %%
# At night the counts say zero or one, and their spread is small: the Poisson machine knows, least squares does not. Read
# the expected count with ``predict``; ``foldless tune --machine poisson`` does the same on a table.
