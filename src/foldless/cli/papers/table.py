"""A table of a paper with our numbers beside it; it prints itself as Markdown."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cell:
    """Ours and the paper's, each with its spread (a standard error or deviation; the table says which)."""

    ours: float
    spread: float
    count: int  # splits ours comes from
    paper: float = np.nan
    paper_spread: float = np.nan

    @classmethod
    def of(cls, values, paper=(np.nan, np.nan), error=True):
        """Return the mean of ``values`` with its standard error, or with their deviation."""
        values = np.asarray(values, float)
        n = len(values)
        deviation = values.std(ddof=1) if n > 1 else np.nan
        return cls(float(values.mean()), float(deviation / np.sqrt(n) if error else deviation), n, *paper)

    def show(self, form):
        """Return ``ours ± spread (paper ± spread)``."""
        theirs = "" if np.isnan(self.paper) else f" ({_pair(self.paper, self.paper_spread, form)})"
        return _pair(self.ours, self.spread, form) + theirs


def _pair(mean, spread, form):
    return f"{mean:{form}}" + ("" if np.isnan(spread) else f" ± {spread:{form}}")


@dataclass(frozen=True)
class PaperTable:
    """Cells by set (rows) and method (columns).

    Attributes
    ----------
    name, title : str
    cells : dict
        ``(set, method) -> Cell``.
    form : str
        Format of the numbers.
    remarks : tuple of str
    """

    name: str
    title: str
    cells: dict
    form: str = ".3f"
    remarks: tuple[str, ...] = ()

    def __str__(self):
        sets, methods = (list(dict.fromkeys(key[i] for key in self.cells)) for i in (0, 1))
        lines = ["| set | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
        for name in sets:
            shown = (self.cells[name, m].show(self.form) if (name, m) in self.cells else "" for m in methods)
            lines.append(f"| {name} | " + " | ".join(shown) + " |")
        return "\n".join([f"{self.name}: {self.title}", "", *lines, "", *self.remarks])
