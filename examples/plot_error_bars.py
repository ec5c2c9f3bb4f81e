"""
How sure is this curve?
=======================

``KernelRidgeRegressor`` chooses the width of the kernel and the ridge by the exact leave-one-out error. The same fit is
the mean of a Gaussian process, and ``predict`` gives its standard deviation as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelRidgeRegressor, criteria


def truth(x):
    return np.sin(1.5 * x) + 0.3 * x


rng = np.random.default_rng(3)
x = np.sort(np.concatenate([rng.uniform(0, 4, 45), rng.uniform(6.5, 10, 30)]))
y = truth(x) + 0.25 * rng.normal(size=x.size)
X, line = x[:, None], np.linspace(-0.5, 10.5, 300)

model = KernelRidgeRegressor(criterion="evidence").fit(X, y)
mean, sd = model.predict(line[:, None], return_std=True)
noise = np.sqrt(model.noise_variance_[0])
print(f"width {model.kernel_.length_scale:.2f}, alpha {model.alpha_:.3g}, noise {noise:.2f} (it was 0.25)")

# %%
# The dark band is where the curve may be, the light one where the next measurement may fall. In the gap, where nothing
# was measured, the first grows. Error bars need the scale of the kernel to be right, and leave-one-out does not see that
# scale: choose by ``"evidence"`` when you want them.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
reach = 2 * np.sqrt(sd**2 + noise**2)
ax.fill_between(
    line, mean - reach, mean + reach, color="tab:blue", alpha=0.12, label="next measurement, 95 %"
)
ax.fill_between(line, mean - 2 * sd, mean + 2 * sd, color="tab:blue", alpha=0.3, label="the curve, 95 %")
ax.plot(line, mean, color="tab:blue")
ax.plot(line, truth(line), "k--", lw=1, label="truth")
ax.plot(x, y, ".", color="0.3")
ax.set(xlabel="x", ylabel="y")
ax.legend(loc="upper left")

# %%
# With the kernel given, only the ridge is left to choose. Each dot is one draw of the noise, each bar a median. ``mallows``
# and ``sic`` are told the noise variance and are unbiased then; ``loo`` and ``gcv`` are not told and do as well. ``sic``
# measures the error in a norm that belongs to the kernel: it may choose a ridge, never a width.

kernel = RBF(0.8, "fixed")
named = {
    "loo": "loo",
    "gcv": "gcv",
    "evidence": "evidence",
    "mallows": criteria.Mallows(sigma2=0.25**2),
    "sic": criteria.SIC(sigma2=0.25**2),
}
draws = [truth(x) + 0.25 * rng.normal(size=x.size) for _ in range(15)]
ridges = np.logspace(-3, 1, 40)
fits = [KernelRidgeRegressor(kernel, alpha) for alpha in ridges]
best = [ridges[np.argmin([np.mean((f.fit(X, y).predict(X) - truth(x)) ** 2) for f in fits])] for y in draws]
chosen = {
    n: [KernelRidgeRegressor(kernel, criterion=c).fit(X, y).alpha_ for y in draws] for n, c in named.items()
}
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for row, alphas in enumerate([best, *chosen.values()]):
    heights = row + np.linspace(-0.25, 0.25, len(alphas))
    ax.plot(alphas, heights, ".", color="k" if row == 0 else f"C{row - 1}", ms=7)
    ax.plot(np.median(alphas), row, "|", color="0.4", ms=18)
ax.set(xscale="log", xlabel="chosen alpha")
ax.set_yticks(range(1 + len(named)), ["least true error", *named])
ax.invert_yaxis()
