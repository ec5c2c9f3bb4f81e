"""
Can I tune on twenty thousand rows?
===================================

A kernel matrix of 20 000 rows has 400 million entries; one factorisation takes minutes. Only its directions above the
regularisation matter, and a few hundred landmarks span those. ``gram="auto"`` starts with few, estimates what the
approximation hides, and adds more only while that matters.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from foldless import KernelLogisticRegression
from foldless.datasets import make_banana

X_test, y_test = make_banana(20000, random_state=1)
sizes, seconds, errors, landmarks = [1000, 5000, 20000], [], [], []
for n in sizes:
    X, y = make_banana(n, random_state=0)
    begun = time.perf_counter()
    model = KernelLogisticRegression().fit(X, y)
    seconds.append(time.perf_counter() - begun)
    errors.append(1 - model.score(X_test, y_test))
    landmarks.append(len(model.X_fit_))
    print(f"n = {n:6d}: {seconds[-1]:5.1f} s, error {errors[-1]:.4f}, expansion of {landmarks[-1]} points")

# %%
# The time grows with n, not with its cube, and what the approximation hides is on record: ``selection_.approximation_gap`` is the
# part of the effective number of parameters, per row, that it may have lost.

print(f"gap at n = {sizes[-1]}: {model.selection_.approximation_gap:.1e}")
fig, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
axes.loglog(sizes, seconds, "o-", label="foldless")
axes.loglog(sizes, seconds[0] * (np.array(sizes) / sizes[0]) ** 3, "--", color="grey", label="cubic growth")
axes.set(xlabel="rows", ylabel="seconds", title="tuning and fitting")
axes.legend()
