"""Machines: a Gram and targets in, a solution out."""

from foldless.machines.lssvm import LSSVM, LSSVMSolution
from foldless.machines.smooth import SmoothMachine, SmoothSolution, SmoothSolutions
from foldless.machines.softmax import SoftmaxMachine, SoftmaxSolution
from foldless.machines.svm import (
    HingeSVM,
    SquaredHingeSolution,
    SquaredHingeSVM,
    SupportSolutions,
    SVMSolution,
    path,
)
from foldless.machines.untrained import Untrained, UntrainedSolution

__all__ = [
    "HingeSVM",
    "LSSVM",
    "LSSVMSolution",
    "SmoothMachine",
    "SmoothSolution",
    "SmoothSolutions",
    "SoftmaxMachine",
    "SoftmaxSolution",
    "SquaredHingeSolution",
    "SquaredHingeSVM",
    "SupportSolutions",
    "SVMSolution",
    "Untrained",
    "UntrainedSolution",
    "path",
]
