r"""The threshold on the probability of a class that costs least.

With a miss that costs :math:`c_m` and a false alarm that costs :math:`c_f`, a calibrated probability p is answered by the class at
least expected cost if :math:`p \ge c_f / (c_m + c_f)` (Elkan, *The foundations of cost-sensitive learning*, 2001, eq. 2).
"""

from typing import Any

import numpy as np

from foldless.cli.numbers import percent
from foldless.cli.report.scores import Unseen
from foldless.core.contracts import Vector

COST_PAIRS = ((10, 1), (5, 1), (2, 1), (1, 1), (1, 2), (1, 5), (1, 10))
# Probabilities of each kind of row that the page holds.
COUNTED_MAX_ROWS = 5000


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


def threshold_data(unseen: Unseen) -> dict[str, Any]:
    """Return what the page's script counts misses and false alarms from: the probabilities of each kind of row, sorted.

    Of many rows, evenly spaced ones stand for all; ``n_positive`` and ``n_negative`` are the numbers of all rows.
    """
    p, positive = np.asarray(unseen.probabilities)[:, 1], unseen.codes == 1
    sizes = {"n_positive": int(positive.sum()), "n_negative": int(np.sum(~positive))}
    return {"positive": _thinned(p[positive]), "negative": _thinned(p[~positive]), **sizes}


def _thinned(p: Vector) -> list[float]:
    kept = (
        np.linspace(0, len(p) - 1, COUNTED_MAX_ROWS).round().astype(int) if len(p) > COUNTED_MAX_ROWS else ...
    )
    return np.sort(p)[kept].tolist()
