r"""The sentence that states what an interval or a set promises, chosen by its construction and what is known of the fit.

Let the training rows and the new row be exchangeable and the fit symmetric in its rows [1]_:

=============================================  ==================================  ====================================
construction                                   coverage                            condition
=============================================  ==================================  ====================================
jackknife+, studentized, sets; exact           :math:`\ge 1 - 2\alpha`             parameters fixed, or chosen on other rows
minmax; exact                                  :math:`\ge 1 - \alpha`              the same
jackknife                                      about :math:`1 - \alpha`            a stable fit and many rows
any, with approximate left-out models          about :math:`1 - \alpha`            many rows
any, parameters tuned on the same rows         about :math:`1 - \alpha`, measured  none that is proved
any, with many such parameters                 less, measured                      more than one for twenty rows
posterior                                      about :math:`1 - \alpha`            the Gaussian process is the truth
=============================================  ==================================  ====================================

References
----------
.. [1] Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021).
"""

from dataclasses import dataclass

from foldless.estimators.advice import ROWS_PER_PARAMETER

SETS = "sets"
MEASURED = "in simulations, 90 % intervals held 88 to 90 % with 30 to 120 rows"
MEASURED_SETS = "on eight real data sets with 150 or 200 rows, 90 % sets held 89 to 95 %"
MEASURED_MINMAX = "in simulations, 90 % intervals held 92 to 94 % with 30 to 120 rows"
MEASURED_WITH_MANY = (
    "in simulations, 90 % intervals of 60 rows held 86, 79 and 68 % with 5, 11 and 21 parameters"
)
MEASURED_SETS_WITH_MANY = (
    "in simulations, 90 % sets of 60 rows held 86, 78 and 66 % with 5, 11 and 21 parameters"
)
# The other sentences were measured with so many.
FEW_PARAMETERS = 2


@dataclass(frozen=True)
class Conditions:
    """What is known of a fit.

    Attributes
    ----------
    exact : bool
        Whether the left-out models are those of refits.
    tuned : bool
        Whether parameters were chosen on the rows that the left-out models leave out.
    approximated : bool
        Whether landmarks or cells, which were chosen among the same rows, stand for the whole kernel matrix.
    split : bool
        Whether parameters were chosen on rows that were set aside for it.
    n_parameters : int
        How many parameters were tuned on the same rows.
    n_rows : float
        How many rows these are.
    """

    exact: bool
    tuned: bool
    approximated: bool = False
    split: bool = False
    n_parameters: int = 0
    n_rows: float = 0.0

    @property
    def many_parameters(self) -> bool:
        """Whether more parameters were tuned than one for twenty rows, and more than a width and a regularisation."""
        return self.n_parameters > max(FEW_PARAMETERS, self.n_rows / ROWS_PER_PARAMETER)


def sentence(construction: str, level: float, conditions: Conditions) -> str:
    """Return one sentence about the coverage of a construction: a method for intervals, or ``"sets"``.

    Examples
    --------
    >>> text = sentence("minmax", 0.9, Conditions(exact=True, tuned=False))
    >>> text[:65]
    'At least 90 % of new targets lie in the 90 % minmax intervals, on'
    """
    subject = _subject(construction, level)
    least = _percent(level if construction == "minmax" else max(0.0, 2 * level - 1))
    if conditions.many_parameters:
        return (
            f"Probably fewer than {_percent(level)} of {subject}, because {conditions.n_parameters} parameters were tuned on the same "
            f"{conditions.n_rows:g} rows ({measured_with_many(construction)}), while calibration='split' tunes on other rows."
        )
    if construction == "posterior":
        return (
            f"About {_percent(level)} of {subject} if the Gaussian process with the fitted kernel and noise is the truth; "
            "nothing is promised otherwise."
        )
    if construction == "jackknife":
        return (
            f"About {_percent(level)} of {subject} if the fit hardly depends on any single row and there are many rows; no "
            "number of rows guarantees it."
        )
    if not conditions.exact:
        return (
            f"About {_percent(level)} of {subject} if there are many rows; this is not guaranteed, because the models without a row are "
            "approximate."
        )
    if conditions.tuned:
        measured = {"minmax": MEASURED_MINMAX, SETS: MEASURED_SETS}.get(construction, MEASURED)
        cure = "calibration='split'" + " with gram='dense'" * conditions.approximated
        return (
            f"About {_percent(level)} of {subject}; this is not guaranteed, because the parameters were tuned on the same rows "
            f"({measured}), while {cure} guarantees at least {least}."
        )
    if conditions.approximated:
        return (
            f"About {_percent(level)} of {subject}; this is not guaranteed, because landmarks or cells were chosen among the same rows, "
            f"while gram='dense' guarantees at least {least}."
        )
    condition = (
        "all rows are exchangeable: the parameters were tuned on other rows."
        if conditions.split
        else "all rows are exchangeable and kernel, regularisation and scaling were fixed before the rows were seen."
    )
    return f"At least {least} of {subject}, whatever the distribution and the number of rows, if {condition}"


def measured_with_many(construction: str) -> str:
    """Return what intervals or sets held in simulations with many tuned parameters."""
    return MEASURED_SETS_WITH_MANY if construction == SETS else MEASURED_WITH_MANY


def _subject(construction: str, level: float) -> str:
    what = (
        f"new rows have their true class in the {_percent(level)} set"
        if construction == SETS
        else f"new targets lie in the {_percent(level)} {construction} intervals"
    )
    return f"{what}, on average over training sets and new rows"


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
