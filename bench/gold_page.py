"""What docs/reproduction/gold.md includes: tables, verdicts and histograms, written from records of bench.gold.

    python -m bench.gold_page DOCS RECORD [RECORD ...]

Writes DOCS/reproduction/gold_record.md and DOCS/_static/gold_*.png.
"""

import sys
from pathlib import Path

import numpy as np

from foldless.cli.papers import gold
from foldless.inspection import HistogramDisplay

FIGURES = ("Twonorm", "Pima", "WDBC")  # the paper's figures 2 to 4
OURS = "EP averaged mean"
SHOWN = (*gold.PAPER_METHODS[:5], "EP", OURS)
PAPER_BEST = {"Crabs": 5.5, "Pima": 19.7, "WDBC": 2.4, "Twonorm": 3.7, "Ringnorm": 3.2}


def body(table):
    """Return the Markdown of a table without its title."""
    return str(table).split("\n", 2)[2].strip()


def trials(scores):
    """Return how many trials of each method each set has."""
    methods = [m for m in gold.METHODS if any(method == m for _, method in scores)]
    lines = ["| trials | " + " | ".join(gold.SIZES) + " |", "|---" * (len(gold.SIZES) + 1) + "|"]
    for method in methods:
        counts = (str(len(scores.get((name, method), ()))) for name in gold.SIZES)
        lines.append(f"| {method} | " + " | ".join(counts) + " |")
    return "\n".join(lines)


def verdicts(columns):
    """Return whether each mean is at or below the paper's, to the digit it prints."""
    lines = ["| | " + " | ".join(gold.SIZES) + " |", "|---" * (len(gold.SIZES) + 1) + "|"]
    for method in gold.PAPER_METHODS:
        cells = (
            _verdict(columns.get((name, method)), gold.paper_pair(name, method, 0)[0]) for name in gold.SIZES
        )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdict(errors, paper):
    if not errors:
        return "not run"
    ours = round(float(np.mean(errors)), 1)
    return "yes" if ours <= paper else f"**no**, {ours} against {paper}"


def against(columns):
    """Return the test error of the column we stand for beside the paper's best, and of the best of ours in hindsight."""
    lines = [f"| | the paper's best | {OURS} | best of ours in hindsight |", "|---" * 4 + "|"]
    means = {key: float(np.mean(errors)) for key, errors in columns.items() if not key[1].endswith(" best")}
    for name, paper in PAPER_BEST.items():
        hindsight = min((key for key in means if key[0] == name), key=means.get)
        error = means.get((name, OURS), np.nan)
        met = "" if round(error, 1) <= paper else " (**not met**)"
        lines.append(f"| {name} | {paper} | {error:.1f}{met} | {means[hindsight]:.1f}, {hindsight[1]} |")
    return "\n".join(lines)


def seconds(scores):
    """Return the mean processor seconds of a whole search."""
    cells = {key: np.mean([s.seconds for s in found]) for key, found in scores.items()}
    methods = [m for m in gold.METHODS if any(method == m for _, method in cells)]
    lines = ["| set | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name in gold.SIZES:
        shown = (f"{cells[name, m]:.1f}" if (name, m) in cells else "" for m in methods)
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def draw(columns, folder):
    """Write the histograms; return the lines that show them."""
    lines = []
    for name in FIGURES:
        errors = {m: columns[name, m] for m in SHOWN if (name, m) in columns}
        display = HistogramDisplay(errors).plot(name)
        display.figure_.savefig(folder / f"gold_{name.lower()}.png", dpi=90)
        lines.append(f"![Test errors on {name}](../_static/gold_{name.lower()}.png)")
    return "\n\n".join(lines)


def main(docs, records):
    scores, docs = gold.recorded(*records), Path(docs)
    columns = gold.columns(scores)
    sections = {
        "Trials": trials(scores),
        "Table 3: test errors (%), mean ± standard deviation (the paper's)": body(gold.errors_table(scores)),
        "Table 4: best single trial (%)": body(gold.best_table(scores)),
        "Table 2: processor seconds per step, ± standard error (the paper's)": body(gold.steps_table(scores)),
        "Processor seconds of a whole search": seconds(scores),
        "Is the paper's column met?": verdicts(columns),
        "The best of ours against the best of the paper": against(columns),
        "Histograms (the paper's figures 2 to 4, bins of 2 %)": draw(columns, docs / "_static"),
    }
    text = "\n\n".join(f"## {title}\n\n{content}" for title, content in sections.items())
    (docs / "reproduction" / "gold_record.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
