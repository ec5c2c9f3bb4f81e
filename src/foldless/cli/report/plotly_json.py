"""Plain data for plotly.js: axes, figures, and texts that stay texts.

Plotly reads a small HTML in every text (``<b>``, ``<a href>``) and a template language in hover texts. Names from a
file therefore pass through :func:`escape_for_plotly`, are never part of a template, and stand on numbered axes, where
they cannot be taken for dates or merged.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foldless.cli.report.console import printable

BLUE, ORANGE, GREY = "#3b7dd8", "#e0772f", "#8a94a3"
NAME_MAX_CHARACTERS, PHONE_NAME_MAX_CHARACTERS = 22, 10

Figure = dict[str, Any]


def escape_for_plotly(name: object, max_characters: int = NAME_MAX_CHARACTERS) -> str:
    """Return a text that plotly shows letter by letter."""
    text = printable(name)
    text = text if len(text) <= max_characters else text[: max_characters - 1] + "…"
    return html.escape(text, quote=False).replace("$", "&#36;")


def to_json_numbers(values: ArrayLike) -> list[Any]:
    """Return numbers as JSON holds them: six digits, and None for infinity or NaN."""
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:
        return [to_json_numbers(row) for row in values]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def axis(title: str, **options: Any) -> dict[str, Any]:
    """Return an axis with a title and enough room for its tick labels."""
    return {"title": {"text": title, "standoff": 10}, "automargin": True, "zeroline": False, **options}


def log_axis(title: str, **options: Any) -> dict[str, Any]:
    """Return a logarithmic axis labelled by powers of ten."""
    return axis(title, type="log", exponentformat="power", dtick=1, minor={"showgrid": False}, **options)


def named_axis(title: str, names: Sequence[object] | NDArray[Any], **options: Any) -> dict[str, Any]:
    """Return an axis with one tick per name, counted from 0."""
    return axis(
        title, tickvals=list(range(len(names))), ticktext=list(map(escape_for_plotly, names)), **options
    )


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure of data and layout; the page chooses the colours of text and lines."""
    return {
        "data": data,
        "layout": {
            "showlegend": len(data) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            **layout,
        },
    }


def diagonal(ends: list[float], name: str) -> dict[str, Any]:
    """Return a dashed line along which both axes are equal."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": {"color": GREY, "dash": "dash", "width": 1},
        "name": name,
        "hoverinfo": "skip",
    }
