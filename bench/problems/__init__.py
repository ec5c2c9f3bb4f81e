"""Problems, one file each: ``draw(n, split, data)`` gives training and test rows."""

from bench.problems import banana, diabetes, heart, ringnorm, twonorm

ALL = {module.NAME: module for module in (twonorm, ringnorm, banana, diabetes, heart)}
