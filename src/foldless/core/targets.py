"""What losses ask of their targets."""

import numpy as np


def check_numbers(y):
    """Raise unless all targets are finite."""
    if not np.all(np.isfinite(y)):
        raise ValueError("y must hold finite numbers, got NaN or infinity.")


def check_signs(y):
    """Raise unless all targets are -1 or 1."""
    bad = np.abs(y) != 1
    if np.any(bad):
        raise ValueError(f"y must hold class labels -1 and 1 for this loss, got {np.asarray(y)[bad][0]:g}.")
