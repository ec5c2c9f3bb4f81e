"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.lssvm import LSSVM, LSSVMSolution
from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions

__all__ = ["LSSVM", "LSSVMSolution", "SmoothMachine", "SmoothSolution", "SmoothSolutions"]
