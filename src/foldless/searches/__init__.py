"""Searches: a function and a box in, an outcome out."""

from foldless.searches.lbfgs import LBFGS
from foldless.walk import Search, Walk

BY_NAME = {search.name: search for search in (LBFGS,)}

__all__ = ["BY_NAME", "LBFGS", "Search", "Walk"]
