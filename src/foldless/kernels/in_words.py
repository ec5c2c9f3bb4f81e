"""Kernels in words, for people who read a table or a report; ``repr`` is for those who write Python."""

import re
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    KernelOperator,
    Matern,
    Product,
    WhiteKernel,
)

from foldless.kernels.categorical import Categorical
from foldless.kernels.columns import Columns
from foldless.kernels.evaluate import shown
from foldless.kernels.laplacian import Laplacian
from foldless.kernels.metric import Metric
from foldless.kernels.softened import Softened

MATERN_NAMES = {0.5: "Laplacian", 1.5: "Matérn 3/2", 2.5: "Matérn 5/2", np.inf: "RBF"}

# What a kernel is, and then its numbers.
Words = tuple[str, ...]


def in_words(kernel: Kernel) -> str:
    """Return a kernel in words.

    Examples
    --------
    >>> in_words(RBF(2.0))
    'RBF, width 2'
    >>> in_words(Columns(Softened(Matern([0.5, 30.0], nu=1.5)), [0, 2]) * Columns(Categorical(3.0), [1]))
    '(Matérn 3/2 of softened columns, a width per column from 0.5 to 30, strength 1, on 2 columns) × (same category, width 3, on 1 column)'
    >>> in_words(Metric(24.1, 0.94, [10.0, 0.1, 0.1], np.eye(3)))
    'RBF with a learned metric, in which about 1 of 3 directions counts, width 24.1'
    """
    return ", ".join(_words(kernel))


@singledispatch
def _words(kernel: Kernel) -> Words:
    """Return what Python writes, with the number of values in the place of a long list of them."""
    return (re.sub(r"\[([^\]]*)\]", lambda found: f"[{found[1].count(',') + 1} values]", str(kernel)),)


@_words.register
def _(kernel: RBF) -> Words:
    return "RBF", _width(kernel.length_scale)


@_words.register
def _(kernel: Matern) -> Words:
    return MATERN_NAMES.get(kernel.nu, f"Matérn {kernel.nu:g}"), _width(kernel.length_scale)


@_words.register
def _(kernel: Laplacian) -> Words:
    return "Laplacian" if kernel.norm == 2 else "Laplacian column by column", _width(kernel.length_scale)


@_words.register
def _(kernel: Categorical) -> Words:
    return "same category", _width(kernel.length_scale)


@_words.register
def _(kernel: Metric) -> Words:
    name = MATERN_NAMES[kernel.nu]
    if kernel.eigenvalues is None:
        return name, _width(kernel.length_scale)
    g = kernel.scales
    # The number of equal directions that would be as unequal in all.
    n = round(float(np.sum(g) ** 2 / np.sum(g**2)))
    counted = f"in which about {n} of {len(g)} directions {'counts' if n == 1 else 'count'}"
    return f"{name} with a learned metric", counted, _width(kernel.length_scale)


@_words.register
def _(kernel: DotProduct) -> Words:
    return ("linear", f"offset {shown(kernel.sigma_0)}") if kernel.sigma_0 else ("linear",)


@_words.register
def _(kernel: ConstantKernel) -> Words:
    return (shown(kernel.constant_value),)


@_words.register
def _(kernel: WhiteKernel) -> Words:
    return (f"noise {shown(kernel.noise_level)}",)


@_words.register
def _(kernel: Softened) -> Words:
    name, *numbers = _one(kernel.kernel)
    return f"{name} of softened columns", *numbers, f"strength {shown(kernel.strength)}"


@_words.register
def _(kernel: Columns) -> Words:
    n = np.size(kernel.columns)
    counted = isinstance(kernel.columns, list | tuple | np.ndarray)
    where = f"on {n} column{'' if n == 1 else 's'}" if counted else f"on {kernel.columns!r}"
    return *_one(kernel.kernel), where


@_words.register
def _(kernel: KernelOperator) -> Words:
    if isinstance(kernel, Product):
        return (" × ".join(map(_enclosed, (kernel.k1, kernel.k2))),)
    return (
        " + ".join(
            _enclosed(part) if len(_words(part)) > 1 else in_words(part) for part in (kernel.k1, kernel.k2)
        ),
    )


def _one(kernel: Kernel) -> Words:
    """Return the words of a kernel to which more is added; a sum or product is put in brackets."""
    return (_enclosed(kernel),) if isinstance(kernel, KernelOperator) else _words(kernel)


def _enclosed(kernel: Kernel) -> str:
    """Return a kernel as a factor: in brackets if it has several words of its own."""
    alone = isinstance(kernel, ConstantKernel | DotProduct) and len(_words(kernel)) == 1
    return in_words(kernel) if alone else f"({in_words(kernel)})"


def _width(length_scale: float | ArrayLike) -> str:
    low, high = shown(np.min(length_scale)), shown(np.max(length_scale))
    return f"width {low}" if low == high else f"a width per column from {low} to {high}"
