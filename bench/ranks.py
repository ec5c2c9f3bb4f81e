r"""Mean ranks of contenders, and which of them do not differ: the diagram of critical differences.

Of k contenders on N sets two mean ranks differ at the level 5 % if they are further apart than

.. math:: \mathrm{CD} = q \sqrt{\frac{k (k + 1)}{6 N}},  \tag{1}

with q the 95 % quantile of the range of k standard normal numbers over :math:`\sqrt2` (the test of Nemenyi [1]_).

References
----------
.. [1] Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7 (2006), section 3.2.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from bench.results import Results, mean_ranks


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the sets on which all of these contenders have a number.

    Attributes
    ----------
    names : list of str
        Contenders that have as many sets as any other.
    means : list of float
    n_sets : int
    """

    names: Sequence[str]
    means: Sequence[float]
    n_sets: int

    @classmethod
    def of(cls, results: Results, what: str, max_rows: float = np.inf) -> "Ranks":
        """Return the ranks by a number of the records, on sets of at most so many rows.

        Contenders that were left out on some of these sets take no part.
        """
        problems = [problem for problem in results.problems if problem.rows <= max_rows]
        values = {n: [results.mean(p, n, what) for p in problems] for n in results.contenders}
        counts = {name: int(np.isfinite(found).sum()) for name, found in values.items()}
        most = max(counts.values(), default=0)
        names = [name for name, count in counts.items() if count == most > 0]
        if not names:
            return cls([], [], 0)
        table = np.array([values[name] for name in names])
        return cls(names, mean_ranks(table).tolist(), int(np.all(np.isfinite(table), axis=0).sum()))

    def __getitem__(self, name: str) -> float:
        """Return a mean rank; not a number if the contender takes no part."""
        return dict(zip(self.names, self.means, strict=True)).get(name, np.nan)

    @property
    def critical_difference(self) -> float:
        """Eq. (1).

        Examples
        --------
        >>> round(Ranks(["a", "b", "c", "d"], [1.0, 2.0, 3.0, 4.0], 14).critical_difference, 2)
        1.25
        """
        k = len(self.names)
        quantile = float(stats.studentized_range.ppf(0.95, k, np.inf)) / np.sqrt(2)
        return float(quantile * np.sqrt(k * (k + 1) / (6 * self.n_sets)))

    def groups(self) -> list[tuple[float, float]]:
        """Return the first and last mean rank of every largest group that does not differ.

        Examples
        --------
        >>> Ranks(["a", "b", "c", "d"], [1.0, 2.0, 2.2, 3.5], 14).groups()
        [(1.0, 2.2)]
        """
        means = np.sort(self.means)
        ends = [float(means[means <= low + self.critical_difference][-1]) for low in means]
        pairs = [(float(low), end) for low, end in zip(means, ends, strict=True) if end > low]
        return [pair for i, pair in enumerate(pairs) if i == 0 or pair[1] > pairs[i - 1][1]]

    def draw(self, axis: Any, title: str) -> None:
        """Draw the ranks on a line, the best name lowest so that no line crosses a name, and a bar under every group."""
        order = np.argsort(self.means)[::-1]
        axis.set(xlim=(1, len(order) + 0.5), ylim=(-len(order) - 0.5, 1.2), title=title, yticks=[])
        axis.xaxis.tick_top()
        for place, i in enumerate(order):
            axis.plot([self.means[i]] * 2, [0.6, -place - 0.9], color="0.4", linewidth=0.8)
            axis.text(self.means[i], -place - 1.0, f" {self.names[i]} {self.means[i]:.1f}", fontsize="small")
        for i, (low, high) in enumerate(self.groups()):
            axis.plot([low, high], [0.9 - 0.25 * i] * 2, color="C0", linewidth=3)
        axis.spines[["left", "right", "bottom"]].set_visible(False)
