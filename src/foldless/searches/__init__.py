"""Searches: a function and a box in, an outcome out."""

from foldless.searches.base import Search
from foldless.searches.early_stopping import EarlyStopping
from foldless.searches.elliptical_slice import EllipticalSlice
from foldless.searches.grid import Grid
from foldless.searches.hierarchical_grid import HierarchicalGrid
from foldless.searches.hmc_ascent import HMCAscent
from foldless.searches.lbfgs import LBFGS
from foldless.searches.multi_start import MultiStart
from foldless.searches.nelder_mead import NelderMead
from foldless.searches.random_walk import RandomWalk
from foldless.searches.run import SearchRun

BY_NAME = {
    search.name: search for search in (LBFGS, NelderMead, Grid, HierarchicalGrid, RandomWalk, HMCAscent)
}

__all__ = [
    "BY_NAME",
    "LBFGS",
    "NelderMead",
    "EarlyStopping",
    "EllipticalSlice",
    "Grid",
    "HierarchicalGrid",
    "MultiStart",
    "RandomWalk",
    "HMCAscent",
    "Search",
    "SearchRun",
]
