r"""The threshold on the probability of a class that costs least.

With a miss that costs :math:`c_m` and a false alarm that costs :math:`c_f`, a calibrated probability p is answered by the class at
least expected cost if :math:`p \ge c_f / (c_m + c_f)` (Elkan, *The foundations of cost-sensitive learning*, 2001, eq. 2).
"""

from typing import Any

import numpy as np

from foldless.cli.numbers import percent
from foldless.cli.report.scores import Unseen

COST_PAIRS = ((10, 1), (5, 1), (2, 1), (1, 1), (1, 2), (1, 5), (1, 10))
THRESHOLDS = 200


def cost_table(unseen: Unseen) -> list[list[Any]]:
    """Return a line per pair of costs: costs, threshold, misses, false alarms, share that is right."""
    return [_line(unseen, miss, alarm) for miss, alarm in COST_PAIRS]


def _line(unseen: Unseen, miss: int, alarm: int) -> list[Any]:
    threshold = alarm / (miss + alarm)
    positive, reported = unseen.codes == 1, np.asarray(unseen.probabilities)[:, 1] >= threshold
    missed, false = int(np.sum(positive & ~reported)), int(np.sum(~positive & reported))
    right = percent(1 - (missed + false) / len(positive))
    return [
        str(miss),
        str(alarm),
        f"{threshold:.2f}",
        f"{missed} of {positive.sum()}",
        f"{false} of {(~positive).sum()}",
        right,
    ]


def threshold_counts(unseen: Unseen) -> dict[str, Any]:
    """Return misses and false alarms at evenly spaced thresholds from 0 to 1, for the page's script."""
    p, positive = np.asarray(unseen.probabilities)[:, 1], unseen.codes == 1
    grid = np.arange(THRESHOLDS + 1) / THRESHOLDS
    missed = np.searchsorted(np.sort(p[positive]), grid, side="left")
    false = np.sum(~positive) - np.searchsorted(np.sort(p[~positive]), grid, side="left")
    return {
        "missed": missed.tolist(),
        "false": false.tolist(),
        "positive": int(positive.sum()),
        "negative": int(np.sum(~positive)),
    }
