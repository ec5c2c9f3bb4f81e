"""
I have a grid search already. What do I change?
===============================================

One line. scikit-learn's guide tunes an RBF support vector machine on the iris data by a grid of refits, and a kernel
ridge regression on a noisy sine by another. ``KernelSearch`` takes the place of ``GridSearchCV``, around the same
estimators, with the same grid or with none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless import KernelSearch
from foldless.inspection import SurfaceDisplay

# %%
# The support vector machine. The changed line was ``GridSearchCV(SVC(), grid, cv=5)``.

X, y = load_iris(return_X_y=True)
X, y = X[y > 0, :2], y[y > 0]
X = StandardScaler().fit_transform(X)
grid = {"C": np.logspace(-2, 4, 7), "gamma": np.logspace(-4, 2, 7)}

search = KernelSearch(SVC(), grid)
search.fit(X, y)
print("the grid's best:", search.best_params_, "criterion", -search.best_score_)

# %%
# Without a grid the criterion is followed downhill until a step no longer changes it by a ten-thousandth. The valley is long
# and flat, C up and gamma down: a third of the evaluations end at nearly the same value.

free = KernelSearch(SVC()).fit(X, y)
print("free of the grid:", free.best_params_, "criterion", -free.best_score_)
print(f"{search.n_evaluations_} evaluations against {free.n_evaluations_}, none of them on folds")
SurfaceDisplay.from_estimator(free)

# %%
# The kernel ridge regression of the guide; the changed line was
# ``GridSearchCV(KernelRidge(kernel="rbf", gamma=0.1), param_grid={...})``.

rng = np.random.RandomState(0)
X = 5 * rng.rand(100, 1)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - rng.rand(20))

ridge = KernelSearch(
    KernelRidge(kernel="rbf"), {"alpha": [1e0, 0.1, 1e-2, 1e-3], "gamma": np.logspace(-2, 2, 5)}
)
ridge.fit(X, y)
print("kernel ridge:", ridge.best_params_, "leave-one-out mean squared error", -ridge.best_score_)

line = np.linspace(0, 5, 200)[:, None]
fig, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
axes.plot(X, y, ".", color="0.6")
axes.plot(line, np.sin(line), "k--", lw=1, label="truth")
axes.plot(line, ridge.predict(line), label="kernel ridge, tuned")
axes.legend()

# %%
# Pipelines keep their names.

pipe = KernelSearch(make_pipeline(StandardScaler(), SVC())).fit(*load_iris(return_X_y=True))
print(pipe.best_params_)
