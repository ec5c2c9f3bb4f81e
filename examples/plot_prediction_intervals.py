"""
Where will the next value lie?
==============================

``predict_interval`` gives intervals that hold a new value with a given probability. They come from the models without one
training row each, all of which one solve gives.
"""

import matplotlib.pyplot as plt
import numpy as np

from foldless import KernelRidgeRegressor
from foldless.inspection import IntervalDisplay, SuspiciousRowsDisplay

rng = np.random.default_rng(0)


def draw(n):
    """Few rows on the right, and noise everywhere."""
    X = np.sort(rng.beta(1, 3, size=n) * 6)[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


X, y = draw(80)
X_new, y_new = draw(400)
model = KernelRidgeRegressor().fit(X, y)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, method in zip(axes, ("jackknife+", "studentized")):
    display = IntervalDisplay.from_estimator(model, X_new, y_new, level=0.9, method=method, ax=ax)
    ax.set_title(f"{method}: {100 * display.coverage:.0f} % inside")

# %%
# Both hold about 90 % of the new values on average. The studentized ones are wider on the right, where the rows are few. What
# is promised, and why no more than "about" after tuning on the same rows:

print(model.guarantee_)
print(model.guarantee(method="minmax"))

# %%
# The same models find the rows that do not fit the others. One value is typed in wrong:

wrong = y.copy()
wrong[20] += 3
display = SuspiciousRowsDisplay.from_estimator(KernelRidgeRegressor().fit(X, wrong), n_rows=8)
print("row to look at first:", display.rows[0])
