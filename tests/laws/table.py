"""The table that the laws of criteria run over: every criterion of the registry, every machine, and the pairs of them.

A new criterion joins by having a name. A line in ``OPTIONS`` adds one with options that change a formula, a line in
``MACHINES`` adds a machine. The smallest eigenvalue of ``K`` is at least 0.3, so that K plus a small symmetric matrix is
still a kernel matrix; its diagonal has no ties.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from foldless.core.contracts import Machine
from foldless.core.errors import Undefined, UnsuitableBias
from foldless.core.linalg import symmetric
from foldless.core.targets import is_pm1, one_versus_rest
from foldless.criteria import (
    ABIC,
    BY_NAME,
    CV,
    FSM,
    GACV,
    KRIC,
    LOO,
    SIC,
    CalibratedLOO,
    Criterion,
    EigenvalueRatio,
    Evidence,
    EvidenceEP,
    EvidenceHMC,
    HyperPrior,
    JaakkolaHaussler,
    KFold,
    KRICSollich,
    Mallows,
    RadiusMargin,
    SmoothedSpan,
    Span,
    Spectral,
    XiAlpha,
)
from foldless.grams import DenseGram
from foldless.machines import (
    LSSVM,
    HingeSVM,
    NoMachine,
    Ridge,
    SmoothMachine,
    SoftmaxMachine,
    SquaredHingeSVM,
    Subset,
)
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.losses import LogCosh, Logistic, Poisson, SmoothSquaredHinge, Squared
from foldless.machines.svm import SupportVectorMachine

N, RANK = 24, 7
rng = np.random.default_rng(11)

X = rng.normal(size=(N, 2))
DISTANCES = np.sum((X[:, None] - X) ** 2, axis=2)
AMPLITUDES = rng.uniform(0.7, 1.4, N)
K = np.outer(AMPLITUDES, AMPLITUDES) * np.exp(-DISTANCES / 2) + 0.3 * np.eye(N)
THIN = rng.normal(size=(N, RANK)) / np.sqrt(RANK)

f = X[:, 0] + 0.6 * X[:, 1] ** 2 - 0.4
SIGNS = np.where(f + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)[:, None]
LABELS = np.argmax(np.column_stack([f, -f, X[:, 1]]) + 0.5 * rng.normal(size=(N, 3)), axis=1)
CLASSES = one_versus_rest(LABELS, 3)
NUMBERS = np.column_stack([np.sin(2 * f), np.cos(f)]) + 0.3 * rng.normal(size=(N, 2))
COUNTS = rng.poisson(np.exp(0.5 * f))[:, None].astype(float)

WEIGHTS = rng.uniform(0.4, 2.0, N)
COPIES = rng.integers(1, 4, N).astype(float)
PENALTY = symmetric(rng.normal(size=(N, N)) / 20) + 2 * np.eye(N)
ROOT = np.linalg.qr(rng.normal(size=(N, N)))[0][:, : N - 3]
SINGULAR = ROOT @ ROOT.T
REFERENCE = K @ K / 4 + np.eye(N)


def smooth(loss, C=1.3, **options):
    return SmoothMachine(loss, C, **options)


MACHINES = {
    "logistic": (smooth(Logistic()), SIGNS),
    "logistic without bias": (smooth(Logistic(), bias=False), SIGNS),
    "logistic, weights": (smooth(Logistic(), weights=WEIGHTS), SIGNS),
    "logistic, copies": (smooth(Logistic(), weights=COPIES, row_counts=COPIES), SIGNS),
    "logistic, classes": (smooth(Logistic()), CLASSES),
    "poisson": (smooth(Poisson(), 0.3), COUNTS),
    "poisson without bias": (smooth(Poisson(), 0.3, bias=False), COUNTS),
    "squared": (smooth(Squared()), NUMBERS),
    "log cosh": (smooth(LogCosh()), NUMBERS),
    "smooth squared hinge": (smooth(SmoothSquaredHinge()), SIGNS),
    "softmax": (SoftmaxMachine(1.3), CLASSES),
    "softmax without bias": (SoftmaxMachine(1.3, bias=False), CLASSES),
    "softmax, copies": (SoftmaxMachine(1.3, weights=COPIES, row_counts=COPIES), CLASSES),
    "hinge": (HingeSVM(1.3), SIGNS),
    "hinge without bias": (HingeSVM(1.3, False), SIGNS),
    "hinge, weights": (HingeSVM(1.3, weights=WEIGHTS), SIGNS),
    "hinge, classes": (HingeSVM(1.3, False), CLASSES),
    "squared hinge": (SquaredHingeSVM(1.3), SIGNS),
    "squared hinge without bias": (SquaredHingeSVM(1.3, False), SIGNS),
    "squared hinge, weights": (SquaredHingeSVM(1.3, weights=WEIGHTS), SIGNS),
    "squared hinge, classes": (SquaredHingeSVM(1.3, False), CLASSES),
    "lssvm": (LSSVM(1.3), SIGNS),
    "lssvm without bias": (LSSVM(1.3, bias=False), SIGNS),
    "lssvm, weights": (LSSVM(1.3, weights=WEIGHTS), SIGNS),
    "lssvm, balanced": (LSSVM(1.3, weights="balanced"), SIGNS),
    "lssvm, copies": (LSSVM(1.3, weights=COPIES, row_counts=COPIES), SIGNS),
    "lssvm, costs": (LSSVM(1.3, costs=WEIGHTS), SIGNS),
    "lssvm, classes": (LSSVM(1.3), CLASSES),
    "lssvm, numbers": (LSSVM(1.3), NUMBERS),
    "lssvm by eigenpairs": (LSSVM(1.3, route="spectrum"), SIGNS),
    "ridge": (Ridge(0.3, route="spectrum"), NUMBERS),
    "ridge by a factor": (Ridge(0.3, route="factor"), NUMBERS),
    "ridge, bias": (Ridge(0.3, bias=True, route="spectrum"), NUMBERS),
    "ridge by a factor, bias, weights": (Ridge(0.3, True, WEIGHTS, route="factor"), NUMBERS),
    "ridge, weights": (Ridge(0.3, weights=WEIGHTS), NUMBERS),
    "ridge, copies": (Ridge(0.3, True, COPIES, row_counts=COPIES, route="spectrum"), NUMBERS),
    "ridge, penalty I": (Ridge(0.3, penalty="I"), NUMBERS),
    "ridge, penalty I, bias, weights": (Ridge(0.3, True, WEIGHTS, "I"), NUMBERS),
    "ridge, penalty matrix": (Ridge(0.3, penalty=PENALTY), NUMBERS),
    "ridge, penalty matrix, bias, weights": (Ridge(0.3, True, WEIGHTS, PENALTY), NUMBERS),
    "ridge, singular penalty": (Ridge(0.3, True, penalty=SINGULAR), NUMBERS),
    "subset": (Subset([1, 4, 9]), NUMBERS),
    "subset, bias, weights": (Subset([1, 4, 9, 12], True, WEIGHTS), NUMBERS),
    "no machine": (NoMachine(), SIGNS),
    "no machine, classes": (NoMachine(), CLASSES),
}

OPTIONS = [
    LOO(refit_rows=(2, 5, 11)),
    KFold([np.arange(i, N, 6) for i in range(6)]),
    ABIC(tuned=2, sigma2=0.3),
    Evidence(bias_prior=None),
    Evidence(a=0.1),
    EvidenceEP(tolerance=1e-12),
    Mallows(0.3),
    Mallows("per-model"),
    SIC(sigma2=0.3, gamma=0.2),
    SIC(sigma2="per-model"),
    SIC("paper", 0.3),
    SIC("e", 0.3),
    SIC("e", "per-model"),
    SIC("fixed", 0.3, reference=REFERENCE),
    SIC("fixed", 0.2, reference=DenseGram(REFERENCE)),
    KRIC(bias_in_penalty=False),
    KRIC(eta=1.7),
    KRICSollich("hybrid"),
    RadiusMargin("smallest"),
    SmoothedSpan(0.01, 2.0, 0.5),
    XiAlpha(1.0),
    EigenvalueRatio(2, 0.7, 0.3),
    HyperPrior("evidence"),
]
OPTIONS += [
    Spectral(normaliser, r, weighted)
    for normaliser in ("trace", "sum", "frobenius")
    for r in (1, 3, 5, 1.5, 2.5)
    for weighted in (True, False)
]
# The default number of draws is for results; laws of form need few.
DEFAULTS = {"evidence-hmc": EvidenceHMC(chains=4, number=8, nodes=2, batches=2)}


def label(criterion: Criterion) -> str:
    """The name of a criterion, with the options that are not the default ones."""
    default = DEFAULTS.get(criterion.name) or type(criterion)()
    options = {option.name: getattr(criterion, option.name) for option in fields(criterion)}
    changed = [name for name, value in options.items() if not np.array_equal(value, getattr(default, name))]
    short = (str, int, float)
    texts = [f"{name}={options[name]}" if isinstance(options[name], short) else name for name in changed]
    return f"{type(criterion).__name__}({', '.join(texts)})"


CRITERIA = {label(c): c for c in [*(DEFAULTS.get(name) or BY_NAME[name]() for name in BY_NAME), *OPTIONS]}


@dataclass(frozen=True)
class Pair:
    """A criterion and a machine that it reads."""

    criterion_label: str
    machine_label: str

    def __str__(self) -> str:
        return f"{self.criterion_label} of {self.machine_label}"

    @cached_property
    def criterion(self) -> Criterion:
        """With its estimates from the data fixed, as in a search."""
        return CRITERIA[self.criterion_label].with_data_estimates(self.machine, [DenseGram(K)], self.Y)

    @property
    def machine(self) -> Machine:
        return MACHINES[self.machine_label][0]

    @property
    def Y(self) -> np.ndarray:
        return MACHINES[self.machine_label][1]


def is_readable(criterion: Criterion, solution) -> bool:
    """Whether a criterion has a formula for a solution, or for the columns of it."""
    kinds = type(getattr(criterion, "inner_criterion", criterion)).readable()
    columns = solution.columns[:1] if isinstance(solution, ColumnwiseSolutions) else ()
    return any(isinstance(one, kinds) for one in (solution, *columns))


def is_repetition(criterion: Criterion, machine: Machine) -> bool:
    """Whether the pair tests nothing new: options of a criterion that ignores the machine are read without one."""
    return criterion.ignores_machine and criterion in OPTIONS and not isinstance(machine, NoMachine)


SOLUTIONS = {name: machine.solve(DenseGram(K), Y) for name, (machine, Y) in MACHINES.items()}
READABLE = [
    Pair(c, m)
    for c in CRITERIA
    for m in MACHINES
    if is_readable(CRITERIA[c], SOLUTIONS[m]) and not is_repetition(CRITERIA[c], MACHINES[m][0])
]
UNREADABLE = [Pair(c, m) for c in CRITERIA for m in MACHINES if not is_readable(CRITERIA[c], SOLUTIONS[m])]


def has_free_bias(pair):
    return isinstance(pair.machine, SupportVectorMachine) and pair.machine.bias


def has_numbers(pair):
    return not is_pm1(pair.Y) and getattr(CRITERIA[pair.criterion_label], "weighted", True)


def has_penalty_matrix(pair):
    return isinstance(pair.machine, Ridge) and not isinstance(pair.machine.penalty, str)


def has_other_loss(pair):
    return isinstance(pair.machine, SmoothMachine) and not isinstance(pair.machine.loss, Logistic)


# Criteria, the pairs that they refuse, the error, and words of its message.
REFUSALS = [
    ((EvidenceEP, EvidenceHMC, JaakkolaHaussler), has_free_bias, UnsuitableBias, "bias='kernel'"),
    ((FSM, Spectral), has_numbers, ValueError, "needs class labels coded -1 and 1"),
    ((CalibratedLOO, JaakkolaHaussler, KRICSollich, XiAlpha), has_numbers, Undefined, "criterion='loo'"),
    ((GACV,), has_other_loss, Undefined, "gacv is defined for the logistic loss"),
    ((CV,), has_penalty_matrix, Undefined, "a penalty matrix has no meaning"),
    (
        (Evidence, ABIC, HyperPrior),
        lambda pair: pair.machine_label == "ridge, singular penalty",
        Undefined,
        "the penalty matrix is singular",
    ),
]


def refusal(pair: Pair):
    """Return the error and the words with which a pair is refused, or None."""
    criterion = CRITERIA[pair.criterion_label]
    rules = (
        (error, words)
        for kinds, refuses, error, words in REFUSALS
        if isinstance(criterion, kinds) and refuses(pair)
    )
    return next(rules, None)


PAIRS = [pair for pair in READABLE if refusal(pair) is None]
REFUSED = [pair for pair in READABLE if refusal(pair) is not None]


def has_derivative(pair: Pair, full_rank: bool = True) -> bool:
    """Whether a pair is differentiable in K: counts of errors are not, nor are pseudo-inverses where K is singular."""
    criterion, machine = pair.criterion, pair.machine
    if isinstance(criterion, LOO):
        return not isinstance(machine, SupportVectorMachine)
    if isinstance(criterion, RadiusMargin | SmoothedSpan):
        return not isinstance(machine, HingeSVM)
    if isinstance(criterion, SIC) and criterion.norm in ("paper", "e"):
        return full_rank
    return not isinstance(criterion, CV | JaakkolaHaussler | Span | XiAlpha)
