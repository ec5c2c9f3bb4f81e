"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions

__all__ = ["SmoothMachine", "SmoothSolution", "SmoothSolutions"]
