"""Which splits of the sets on disk may be shown as evidence, and which have served to choose something.

A split that a default was chosen by is training data for that default: its test error is too low. The list below holds
every choice that is known to have been made on splits; a new choice adds its line here *before* it is made.
"""

from collections.abc import Iterable

EVIDENCE = range(80, 100)

SPENT = {
    range(12): "the second look behind label_quality_, and the share of wrong labels that it assumes",
    range(40): "how left-out residuals of tuned regressors are corrected for the tuning",
    range(
        40, 50
    ): "KernelSearch's least-squares machine in place of SVC, its factor 2 and its tolerance; and (40 to 47) codes of "
    "categories in place of 0/1 columns for the default model of the command line",
    range(
        50, 55
    ): "the starts of a search, their scan by a least-squares machine with two classes, the tolerance of a descent, and "
    "(50 to 53) an even number of blocks of rows",
    range(
        50, 53
    ): "the kernel of the least-squares pilot, and four classes for C, where there are several classes; the largest C of "
    "support vector machines",
    range(
        55, 59
    ): "how accurate the first stage of a search is, and searches on parts of the rows; how many landmarks suffice; from "
    "which loss on residuals are compared, and how many rows of them",
    range(
        60, 71
    ): "the default criterion of KernelSVC for either loss, and (70) when landmarks are as good as the whole matrix",
    range(76, 80): "the candidates of KernelClassifier and KernelRegressor",
}


def check_evidence(name: str, numbers: Iterable[int]) -> None:
    """Raise an error if one of the splits has served to choose a default."""
    asked = set(numbers)
    for spent, choice in SPENT.items():
        if asked & set(spent):
            raise ValueError(
                f"splits {spent.start} to {spent.stop - 1} of {name} cannot be evidence: they chose {choice}. "
                f"Splits {EVIDENCE.start} to {EVIDENCE.stop - 1} chose nothing: "
                f"--splits {EVIDENCE.start}:{EVIDENCE.stop}."
            )
