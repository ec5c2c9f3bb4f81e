"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.lssvm import LSSVM, LSSVMSolution
from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions
from foldless.machines.untrained import Untrained, UntrainedSolution

__all__ = [
    "LSSVM",
    "LSSVMSolution",
    "SmoothMachine",
    "SmoothSolution",
    "SmoothSolutions",
    "Untrained",
    "UntrainedSolution",
]
