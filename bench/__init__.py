"""Measured, beside GridSearchCV, in one run, as a ratio: ``python -m bench --help``."""
