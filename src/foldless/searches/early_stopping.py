"""Any search, ended where rows that it does not see get worse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from foldless.core.contracts import Box, Step, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.run import SearchRun


@dataclass(frozen=True)
class EarlyStopping(Search):
    """Run another search on part of the rows, and keep the step that is best on the others.

    A criterion with many parameters (a length scale per feature) can be over-fitted: late in a descent it still
    falls while the machine gets worse. :func:`foldless.tuning.select.select` holds ``validation`` of the rows out of the
    search, measures the loss on them at every step that improved the criterion, and fits all rows with the parameters
    of the best of these steps.

    Parameters
    ----------
    search : Search
        The search to run, such as ``LBFGS()``.
    validation : float, default=0.25
        Fraction of the rows held out of the search.
    seed : int, default=0
        Draws these rows, stratified by class.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.

    Examples
    --------
    >>> from foldless import KernelLogisticRegression
    >>> from foldless.searches import LBFGS, EarlyStopping
    >>> model = KernelLogisticRegression("rbf-ard-free", search=EarlyStopping(LBFGS()))
    """

    search: Search
    validation: float = 0.25
    seed: int = 0
    name: ClassVar[str] = "early-stopping"

    def __post_init__(self) -> None:
        if not 0 < self.validation < 1:
            raise ValueError(
                f"validation must be a share of the rows between 0 and 1, got {self.validation!r}."
            )

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Run the inner search."""
        return self.search.run(run, box, starts)

    @property
    def without_early_stopping(self) -> Search:
        """The inner search."""
        return self.search

    def with_search_accuracy(self, n_rows: int) -> Search:
        """Return early stopping of the inner search at a lower accuracy."""
        return replace(self, search=self.search.with_search_accuracy(n_rows))

    def near_optimum(self, steps: Sequence[Step]) -> Search:
        """Return early stopping of the inner search near an optimum."""
        return replace(self, search=self.search.near_optimum(steps))
