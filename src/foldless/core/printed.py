"""Small tables for people: plain text for a terminal, HTML for a notebook."""

from collections.abc import Iterable, Sequence
from html import escape


def shown(value: object) -> str:
    """Return a value as a table shows it: six digits of a number, nothing for NaN and None.

    Examples
    --------
    >>> shown(1 / 3), shown(12), shown(float("nan"))
    ('0.333333', '12', '')
    """
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return lines with aligned columns.

    Examples
    --------
    >>> print(text_table(["C", "value"], [[1.0, 0.25], [10.0, 0.125]]))
    C   value
    1   0.25
    10  0.125
    """
    cells = [list(header), *([shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in HTML; an empty ``header`` makes the first column the head of each row.

    Examples
    --------
    >>> html_table("a < b", [], [["C", 1.5]])
    '<table><caption>a &lt; b</caption><tr><th>C</th><td>1.5</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = [f"<tr>{head}</tr>"] if head else []
    for row in rows:
        cells = [escape(shown(value)) for value in row]
        first = f"<td>{cells[0]}</td>" if head else f"<th>{cells[0]}</th>"
        lines.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells[1:])}</tr>")
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"
