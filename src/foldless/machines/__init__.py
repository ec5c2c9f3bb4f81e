"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions
from foldless.machines.svm import (
    HingeSVM,
    SquaredHingeSolution,
    SquaredHingeSVM,
    SupportSolutions,
    SVMSolution,
    path,
)

__all__ = [
    "SmoothMachine",
    "SmoothSolution",
    "SmoothSolutions",
    "HingeSVM",
    "SVMSolution",
    "SquaredHingeSVM",
    "SquaredHingeSolution",
    "SupportSolutions",
    "path",
]
