"""Tune kernel machines without cross-validation folds."""

__version__ = "0.1.0"
