"""
How do I keep a model and use it later?
=======================================

``foldless tune --save`` writes a model file, ``foldless predict`` uses it: on another machine, months later, without a line
of Python. The file is a skops archive, so opening one runs no code; it knows the names of the columns, the
categories it has seen and the labels.
"""

import json
import tempfile
import zipfile
from contextlib import chdir
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from foldless.cli import run

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())


def table(name, n, with_answer):
    """Write flowers as a CSV file: two lengths, a colour, and perhaps the kind."""
    long = rng.uniform(3, 8, n)
    wide, colour = rng.uniform(1, 4, n), rng.choice(["white", "yellow"], n)
    kind = np.where((long - 5.5) ** 2 + 2 * (wide - 2.5) ** 2 + rng.normal(size=n) / 3 < 2, "daisy", "lily")
    rows = [f"{a:.2f},{b:.2f},{c}" + f",{k}" * with_answer for a, b, c, k in zip(long, wide, colour, kind)]
    (folder / name).write_text("\n".join(["length,width,colour" + ",kind" * with_answer, *rows]) + "\n")


def shell(command):
    """Do in that folder what a shell would do."""
    print("$", command)
    with chdir(folder):
        run(command.split()[1:])


table("flowers.csv", 150, with_answer=True)
table("new.csv", 200, with_answer=False)

# %%
# Tune, keep the model, and write the predictions.

shell("foldless tune flowers.csv --target kind --save flowers.skops")
shell("foldless predict flowers.skops new.csv --output predicted.csv")
lines = (folder / "predicted.csv").read_text().splitlines()
print(*lines[:4], sep="\n")

# %%
# What the file says about itself can be read without loading it.

with zipfile.ZipFile(folder / "flowers.skops") as archive:
    plain = json.loads(archive.read("foldless.json"))
print({name: plain[name] for name in ("foldless", "feature_names", "classes")})

# %%
# The new rows, each with the probability it was given.

new = [line.split(",") for line in (folder / "new.csv").read_text().splitlines()[1:]]
p = np.array([float(line.split(",")[1]) for line in lines[1:]])
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
dots = ax.scatter(
    *np.array([row[:2] for row in new], dtype=float).T, c=p, cmap="RdBu_r", vmin=0, vmax=1, s=28
)
ax.set(xlabel="length", ylabel="width")
fig.colorbar(dots, label=lines[0].split(",")[1])
