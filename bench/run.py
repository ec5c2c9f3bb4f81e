"""Measure what a table asks for, in one run: the same splits for all contenders, which take turns."""

import multiprocessing
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

from bench import storage
from bench.contenders import Contender, Measurement
from bench.problems import Problem, Split, Task
from bench.storage import Key, Record

WARM_UP_ROWS = 60


@dataclass(frozen=True)
class Case:
    """One split of a problem with so many training rows (``None``: the usual number)."""

    problem: Problem
    rows: int | None
    split: int


@dataclass(frozen=True)
class Conditions:
    """How the fits of a run are made.

    Attributes
    ----------
    jobs : int
        Workers or threads that a contender may use.
    isolated : bool
        Whether every fit has a process of its own, which measures memory.
    max_seconds : float or None
        A contender that took longer on a set is not run on its other splits, nor on more rows of it.
    """

    jobs: int = 2
    isolated: bool = False
    max_seconds: float | None = None


def run(cases: Iterable[Case], contenders: Sequence[Contender], path: Path, conditions: Conditions) -> int:
    """Measure what the file of records does not have yet; return the number of failures, which are printed."""
    known = storage.read(path)
    done = {record.key for record in known}
    made_with, commit = storage.versions(), storage.commit()
    failures = 0
    for case, contender, split in _work(cases, contenders):
        key = Key(case.problem.name, len(split.y), split.number, contender.name)
        if key in done or _too_slow(known, key, conditions.max_seconds):
            continue
        try:
            found = _measure(contender, split, case.problem.task, conditions)
        except Exception as failure:
            failures += 1
            print(f"{_words(key)}: {type(failure).__name__}: {failure}", file=sys.stderr, flush=True)
            continue
        record = Record(
            **vars(found),
            **key._asdict(),
            task=case.problem.task,
            jobs=conditions.jobs,
            versions=made_with | contender.versions(),
            commit=commit,
        )
        storage.append(path, record)
        known.append(record)
        done.add(key)
        shown = "" if found.error is None else f", error {found.error:.4g}"
        print(f"{_words(key)}: {found.seconds:.3g} s{shown}", file=sys.stderr, flush=True)
    return failures


def _work(cases: Iterable[Case], contenders: Sequence[Contender]) -> Iterator[tuple[Case, Contender, Split]]:
    """Yield what is to be measured; every other split has the contenders in reverse order."""
    for case in cases:
        split = case.problem.split(case.split, case.rows)
        if split is None:
            continue
        for contender in contenders if case.split % 2 == 0 else contenders[::-1]:
            if contender.takes(case.problem.task, len(split.y), case.split):
                yield case, contender, split


def _too_slow(known: Sequence[Record], key: Key, max_seconds: float | None) -> bool:
    """Return whether the contender took too long on another split of the set, or on fewer rows of it."""
    return max_seconds is not None and any(
        record.contender == key.contender
        and record.set == key.set
        and record.rows <= key.rows
        and record.seconds > max_seconds
        for record in known
    )


def _words(key: Key) -> str:
    return f"{key.set}, {key.rows} rows, split {key.split}, {key.contender}"


def _measure(contender: Contender, split: Split, task: Task, conditions: Conditions) -> Measurement:
    """Return the measurement of one fit, here or in a process of its own."""
    if not conditions.isolated:
        return measure(contender, split, task, conditions.jobs)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(measure_memory, contender, split, task, conditions.jobs).result()


def measure(contender: Contender, split: Split, task: Task, jobs: int) -> Measurement:
    """Return the measurement of one fit; the first one of a contender follows a small one that is not counted."""
    with warnings.catch_warnings(), threadpool_limits(jobs):
        warnings.simplefilter("ignore")
        _warm_up(contender, task, jobs)
        return contender.run(split, task, jobs)


def measure_memory(contender: Contender, split: Split, task: Task, jobs: int) -> Measurement:
    """Return a measurement with the growth of memory in megabytes; for a process that does nothing else."""
    import resource

    with warnings.catch_warnings(), threadpool_limits(jobs):
        warnings.simplefilter("ignore")
        _warm_up(contender, task, jobs)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = contender.run(split, task, jobs)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # A process that is asked to end waits for its idle workers, which would stay for five minutes.
    get_reusable_executor().shutdown(wait=True)
    return found if found.megabytes is not None else replace(found, megabytes=(peak - before) / 1024)


_warm: set[tuple[str, Task]] = set()


def _warm_up(contender: Contender, task: Task, jobs: int) -> None:
    """Make imports and worker processes ready, once for a contender."""
    if contender.warms_up and (contender.name, task) not in _warm:
        X = np.random.default_rng(0).normal(size=(WARM_UP_ROWS, 2))
        y = np.arange(WARM_UP_ROWS) % 2 if task == "classes" else X.sum(axis=1)
        contender.run(Split(X, y, X, y), task, jobs)
        _warm.add((contender.name, task))
