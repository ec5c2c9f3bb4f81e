"""The whole of Gold and Sollich's tables, a trial at a time, with a record that a killed run goes on from.

    python -m bench.gold DATA RECORD [--folds] METHOD=TRIALS ...

appends a line of JSON per trial to RECORD, trial by trial over all sets, and leaves out what stands there already. With
``--folds`` the trials are folds of the training rows: what chooses among our columns. The tables come from
``foldless.reproduce.gold.recorded``.
"""

import sys
import warnings
from pathlib import Path

from foldless.errors import CriterionWarning, JitterWarning
from foldless.reproduce import gold


def main(data, record, folds, trials):
    watch, done = gold.record(record), _done(record)
    splits = {name: gold.Split.of(data, name) for name in gold.SIZES}
    parts = {name: list(split.folds()) for name, split in splits.items()} if folds else None
    for trial in range(max(trials.values())):
        for name, split in splits.items():
            for method in trials:
                if trial < trials[method] and (name, method, trial) not in done:
                    watch(
                        name, method, trial, gold.score(method, parts[name][trial] if folds else split, trial)
                    )


def _done(record):
    if not Path(record).exists():
        return set()
    scores = gold.recorded(record)
    return {(name, method, trial) for (name, method), found in scores.items() for trial in range(len(found))}


if __name__ == "__main__":
    for category in (CriterionWarning, JitterWarning):
        warnings.simplefilter("ignore", category)
    words = [word for word in sys.argv[1:] if word != "--folds"]
    pairs = [word.rsplit("=", 1) for word in words[2:]] or [(method, gold.FOLDS) for method in gold.OURS]
    main(words[0], words[1], "--folds" in sys.argv, {method: int(count) for method, count in pairs})
