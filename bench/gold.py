"""The whole of Gold and Sollich's tables, a trial at a time, with a record that a killed run goes on from.

    python -m bench.gold DATA RECORD METHOD=TRIALS ...

appends a line of JSON per trial to RECORD, trial by trial over all sets, and leaves out what stands there already. The
tables come from ``foldless.cli.papers.gold.recorded``.
"""

import sys
import warnings
from pathlib import Path

from foldless.cli.papers import gold
from foldless.core.errors import CriterionWarning, JitterWarning


def main(data, record, trials):
    watch, done = gold.record(record), _done(record)
    for trial in range(max(trials.values())):
        for name in gold.SIZES:
            split = gold.load_split(data, name, trial)
            for method in trials:
                if trial < trials[method] and (name, method, trial) not in done:
                    watch(name, method, trial, gold.score(method, split, trial))


def _done(record):
    if not Path(record).exists():
        return set()
    scores = gold.recorded(record)
    return {(name, method, trial) for (name, method), found in scores.items() for trial in range(len(found))}


if __name__ == "__main__":
    for category in (CriterionWarning, JitterWarning):
        warnings.simplefilter("ignore", category)
    pairs = [word.rsplit("=", 1) for word in sys.argv[3:]]
    main(sys.argv[1], sys.argv[2], {method: int(count) for method, count in pairs})
