"""The whole of Gold and Sollich's tables, a trial at a time; a split is a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bench.contenders import Contender, Measurement
from bench.markdown import grid, number
from bench.measure import timed
from bench.problems import Problem, Split, Task
from bench.results import Results
from bench.storage import Record
from bench.tables.base import Table
from foldless.cli.papers import gold
from foldless.cli.papers.gold_methods import METHODS, score
from foldless.cli.papers.split import Score, Scores
from foldless.cli.papers.split import Split as PaperSplit
from foldless.inspection import HistogramDisplay

# The sets of the paper's figures 2 to 4.
FIGURES = ("Twonorm", "Pima", "WDBC")
OURS = "EP averaged mean"
SHOWN = (*gold.PAPER_METHODS[:5], "EP", OURS)
PAPER_BEST = {"Crabs": 5.5, "Pima": 19.7, "WDBC": 2.4, "Twonorm": 3.7, "Ringnorm": 3.2}
SCORES = ("mean", "best", "fit", "value", "steps")


@dataclass(frozen=True)
class GoldProblem(Problem):
    """A set cut as the paper did; the trial matters where the paper made a draw."""

    data: Path

    def split(self, number: int, rows: int | None = None) -> Split:
        """Return training and test rows, standardised together."""
        found = gold.load_split(self.data, self.name, number)
        return Split(found.X, found.y, found.X_test, found.y_test, number)


@dataclass(frozen=True)
class GoldMethod(Contender):
    """A column of the tables: a machine, what tunes it, and how."""

    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = SCORES
    # Seconds are processor seconds of the search alone.
    warms_up: ClassVar[bool] = False

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Tune, and judge on the test rows."""
        rows = PaperSplit(split.X, split.y, split.X_test, split.y_test)
        found, clock = timed(lambda: score(self.name, rows, split.number))
        steps = int(found.more["steps"])
        return Measurement(
            clock.seconds, found.seconds, found.error, evaluations=steps, details={**found.more}
        )

    def takes(self, task: Task, rows: int, number: int) -> bool:
        """Return whether the trial is one of the paper's: 25 for a random walk, 10 for an ascent."""
        return number < gold.n_trials(None, self.name)


class Gold(Table):
    """docs/reproduction/gold_record.md and its histograms."""

    name = "gold"
    title = "Gold and Sollich's tables 2 to 4, trial by trial (a split is a trial)"
    cases = tuple((name, None) for name in gold.SIZES)
    splits = range(gold.WALK_TRIALS)
    block_names = ("gold",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """The paper's methods and ours."""
        return [GoldMethod(name) for name in METHODS]

    def find_problem(self, name: str, data: Path | None) -> Problem:
        """Return a set of the paper."""
        if data is None:
            raise ValueError("gold reads its sets from files: give --data DIR.")
        return GoldProblem(name, "classes", data)

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the page."""
        scores = scores_of(results.records)
        columns = gold.columns(scores)
        errors = gold.errors_table(scores)
        sections = {
            "Trials": trials(scores),
            "Table 3: test errors (%), mean ± standard deviation (the paper's)": body(errors),
            "Table 4: best single trial (%)": body(gold.best_table(scores)),
            "Table 2: processor seconds per step, ± standard error (the paper's)": body(
                gold.steps_table(scores)
            ),
            "Processor seconds of a whole search": search_seconds(scores),
            "Is the paper's column met?": verdicts(errors.cells),
            "The best of ours against the best of the paper": against_paper(columns),
            "Histograms (the paper's figures 2 to 4, bins of 2 %)": "\n\n".join(map(picture, FIGURES)),
            "How it was made": results.origin(self.command),
        }
        return {"gold": "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())}

    def figures(self, results: Results) -> dict[str, Any]:
        """Return the histograms of the test errors."""
        columns, found = gold.columns(scores_of(results.records)), {}
        for name in FIGURES:
            errors = {m: columns[name, m] for m in SHOWN if (name, m) in columns}
            if errors:
                found[f"gold_{name.lower()}.png"] = HistogramDisplay(errors).plot(name).figure_
        return found


def scores_of(records: Sequence[Record]) -> Scores:
    """Return the scores by set and method, in the order of the paper's."""
    found: dict[tuple[str, str], dict[int, Score]] = {}
    for record in records:
        found.setdefault((record.set, record.contender), {})[record.split] = score_of(record)
    keys = [(name, method) for name in gold.SIZES for method in METHODS]
    return {key: [score for _, score in sorted(found[key].items())] for key in keys if key in found}


def score_of(record: Record) -> Score:
    """Return the score of a record; what a method does not have is not a number."""
    error, *more = (np.nan if (v := record.value(name)) is None else v for name in ("error", *SCORES))
    return Score(error, record.cpu_seconds, dict(zip(SCORES, more, strict=True)))


def methods_of(scores: Scores) -> list[str]:
    """Return the methods that were run."""
    return [name for name in METHODS if any(method == name for _, method in scores)]


def body(table: Any) -> str:
    """Return the Markdown of a table without its title."""
    return str(table).split("\n", 2)[2].strip()


def trials(scores: Scores) -> str:
    """Return how many trials of each method each set has."""
    rows = [
        [method, *(str(len(scores.get((name, method), ()))) for name in gold.SIZES)]
        for method in methods_of(scores)
    ]
    return grid(["trials", *gold.SIZES], rows)


def search_seconds(scores: Scores) -> str:
    """Return the mean processor seconds of a whole search."""
    mean = {key: float(np.mean([score.seconds for score in found])) for key, found in scores.items()}
    methods = methods_of(scores)
    rows = [[name, *(number(mean.get((name, m), np.nan), ".1f") for m in methods)] for name in gold.SIZES]
    return grid(["set", *methods], rows)


def verdicts(cells: Mapping[tuple[str, str], Any]) -> str:
    """Return whether each mean is at or below the paper's, to the digit it prints."""
    rows = [
        [method, *(_verdict(cells.get((name, method))) for name in gold.SIZES)]
        for method in gold.PAPER_METHODS
    ]
    return grid(["", *gold.SIZES], rows)


def _verdict(cell: Any) -> str:
    if cell is None:
        return "not run"
    ours = round(cell.ours, 1)
    return "yes" if ours <= cell.paper else f"**no**, {ours} against {cell.paper}"


def against_paper(columns: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """Return the error of the column we stand for beside the paper's best, and of the best of ours in hindsight."""
    means = {key: float(np.mean(errors)) for key, errors in columns.items() if not key[1].endswith(" best")}
    rows = []
    for name, paper in PAPER_BEST.items():
        known = [key for key in means if key[0] == name]
        hindsight = min(known, key=lambda key: means[key], default=None)
        error = means.get((name, OURS), np.nan)
        met = "" if np.isnan(error) or round(error, 1) <= paper else " (**not met**)"
        best = "" if hindsight is None else f"{means[hindsight]:.1f}, {hindsight[1]}"
        rows.append([name, str(paper), number(error, ".1f") + met, best])
    return grid(["", "the paper's best", OURS, "best of ours in hindsight"], rows)


def picture(name: str) -> str:
    """Return the line that shows a histogram."""
    return f"![Test errors on {name}](../_static/gold_{name.lower()}.png)"
