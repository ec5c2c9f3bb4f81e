"""Columns of data frames: kernels that choose some by name."""

from collections.abc import Sequence
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from foldless.kernels.columns import bind_columns


def bound_kernels(kernel: str | Kernel | Sequence[str | Kernel], X: Any) -> Any:
    """Return the kernel, or every kernel of a list, with the names of columns of ``X`` turned into numbers."""
    if isinstance(kernel, list | tuple):
        return [bound_kernels(one, X) for one in kernel]
    return bind_columns(kernel, X) if isinstance(kernel, Kernel) else kernel
