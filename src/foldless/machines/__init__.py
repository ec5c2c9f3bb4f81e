"""Machines: a Gram and targets in, a solution out.

The solutions are in the module of their machine, such as ``foldless.machines.ridge.RidgeSolution``.
"""

from foldless.core.contracts import Machine
from foldless.machines.lssvm import LSSVM
from foldless.machines.ridge import Ridge
from foldless.machines.smooth import SmoothMachine
from foldless.machines.softmax import SoftmaxMachine
from foldless.machines.subset import Forward, Subset, forward
from foldless.machines.svm import HingeSVM, SquaredHingeSVM
from foldless.machines.untrained import NoMachine

__all__ = [
    "Forward",
    "HingeSVM",
    "LSSVM",
    "Machine",
    "NoMachine",
    "Ridge",
    "SmoothMachine",
    "SoftmaxMachine",
    "SquaredHingeSVM",
    "Subset",
    "forward",
]
