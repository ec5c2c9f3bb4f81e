"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.least_squares.penalty import penalty_roots
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.lssvm import LSSVM, LSSVMSolution
from foldless.machines.ridge import Ridge, RidgeSolution
from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions
from foldless.machines.softmax import SoftmaxMachine, SoftmaxSolution
from foldless.machines.subset import Forward, Subset, SubsetSolution, forward
from foldless.machines.svm import (
    HingeSVM,
    SquaredHingeSolution,
    SquaredHingeSVM,
    SupportSolutions,
    SVMSolution,
)
from foldless.machines.untrained import NoMachine, NoMachineSolution

__all__ = [
    "Forward",
    "HingeSVM",
    "LSSVM",
    "LSSVMSolution",
    "LinearSolution",
    "Ridge",
    "RidgeSolution",
    "SmoothMachine",
    "SmoothSolution",
    "SmoothSolutions",
    "Subset",
    "SubsetSolution",
    "forward",
    "SoftmaxMachine",
    "SoftmaxSolution",
    "SquaredHingeSolution",
    "SquaredHingeSVM",
    "SupportSolutions",
    "SVMSolution",
    "NoMachine",
    "NoMachineSolution",
    "penalty_roots",
]
