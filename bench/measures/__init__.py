"""Measures, one file each: ``measure(run)`` gives a number, ``combine(ours, theirs)`` sets two side by side."""

from bench.measures import error, seconds

ALL = {module.NAME: module for module in (error, seconds)}
