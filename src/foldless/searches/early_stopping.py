"""Any search, ended where rows that it does not see say so."""

from dataclasses import dataclass, replace
from typing import ClassVar

from foldless.searches.base import Search


@dataclass(frozen=True)
class EarlyStopping(Search):
    """Run another search on a part of the rows, and keep the step of its path that is best on the others.

    A criterion with many parameters (a length scale per feature) can be over-fitted: late in a descent it still
    falls while the machine gets worse. :func:`foldless.tuning.select.select` holds ``validation`` of the rows out of the
    search, looks at them at every step that improved the criterion, and fits all rows with the parameters of the best
    of these steps.

    Parameters
    ----------
    search : Search
        What to run, such as ``LBFGS()``.
    validation : float, default=0.25
        Share of the rows held out of the search.
    seed : int, default=0
        Draws them, stratified by class.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.

    Examples
    --------
    >>> from foldless import KernelLogisticRegression
    >>> from foldless.searches import LBFGS, EarlyStopping
    >>> model = KernelLogisticRegression("rbf-ard", search=EarlyStopping(LBFGS()))
    """

    search: Search
    validation: float = 0.25
    seed: int = 0
    name: ClassVar[str] = "early-stopping"

    def __post_init__(self):
        if not 0 < self.validation < 1:
            raise ValueError(
                f"validation must be a share of the rows between 0 and 1, got {self.validation!r}."
            )

    def run(self, walk, box, starts):
        """Run the search itself."""
        return self.search.run(walk, box, starts)

    @property
    def with_search_accuracy(self):
        """The same with a rough search."""
        return replace(self, search=self.search.with_search_accuracy)

    @property
    def near_optimum(self):
        """The same with a polishing search."""
        return replace(self, search=self.search.near_optimum)
