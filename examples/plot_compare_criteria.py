"""
Which criterion would have served my data?
==========================================

Ask all of them. ``compare`` tunes a machine by every criterion it can read, on the same random splits, and measures the
error on the rows each split held out.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from foldless import compare
from foldless.datasets import make_ripley

X, y = make_ripley(200, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some criteria say on the way that they should not choose a width
    result = compare(X, y, "logistic", holdout=0.5, repeats=4)
print(result)

# %%
# A dozen estimates of the same thing choose widths and strengths that differ by powers of ten, and end in nearly the
# same error: a wide kernel with a large C and a narrower one with a smaller C give nearly the same rule. One does
# not: ``fsm`` prefers the narrowest kernel it is offered, which knows the training rows and nothing else.

lines = sorted(result.lines(), key=lambda line: -line["error"])
rows = np.arange(len(lines))
fig, axes = plt.subplots(1, 3, figsize=(10, 4.4), layout="constrained", sharey=True)
axes[0].errorbar(
    [100 * line["error"] for line in lines], rows, xerr=[100 * line["sd"] for line in lines], fmt="o"
)
axes[1].plot([line["length_scale"] for line in lines], rows, "o", color="tab:orange")
axes[2].plot([line["C"] for line in lines], rows, "o", color="tab:green")
axes[0].set(xlabel="held-out error (%), mean and deviation", xscale="log", xticks=[10, 20, 50])
axes[0].xaxis.set_major_formatter("{x:g}")
axes[0].xaxis.set_minor_formatter("")
axes[1].set(xlabel="chosen width (median)", xscale="log")
axes[2].set(xlabel="chosen C (median)", xscale="log")
axes[0].set_yticks(rows, [line["criterion"] for line in lines])
for ax in axes:
    ax.grid(axis="y", color="0.9")

# %%
# The best of many is partly luck. ``p_t`` in the table is the corrected t test of Nadeau and Bengio against the first line,
# and ``result.plot_ranks()`` draws which of them so few splits can tell apart.
