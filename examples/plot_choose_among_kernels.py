"""
Which kernel suits my data?
===========================

Give a list. Every candidate is tuned, and the criterion, which means the same for all of them, chooses one. Where even
that is too slow, ``select_kernel`` compares kernels by criteria that need no machine at all.
"""

import matplotlib.pyplot as plt

from foldless import KernelLogisticRegression, select_kernel
from foldless.datasets import make_twonorm

X, y = make_twonorm(200, random_state=0)
X_test, y_test = make_twonorm(5000, random_state=1)
names = ["rbf", "matern", "poly", "linear"]

model = KernelLogisticRegression(kernel=names).fit(X, y)
print("chosen:", model.kernel_)

# %%
# What each candidate would have given, estimated from the training rows and measured on new ones:

fitted = {name: KernelLogisticRegression(kernel=name).fit(X, y) for name in names}
estimated = [m.criterion_value_ for m in fitted.values()]
measured = [1 - m.score(X_test, y_test) for m in fitted.values()]

fig, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
axes.scatter(estimated, measured)
for name, point in zip(names, zip(estimated, measured)):
    axes.annotate(name, point, textcoords="offset points", xytext=(6, 4))
axes.set(xlabel="leave-one-out cross-entropy per row", ylabel="error on new points")

# %%
# The same question to a criterion without a machine; it takes a product of the matrix with the labels per candidate. It is
# made for kernels of one family: among several it prefers the linear kernel too often.

choice = select_kernel(X, y, names, "spectral")
print("spectral measure:", choice.kernel)
