"""Plain data for plotly.js: axes, figures, and texts that stay texts.

Plotly reads a small HTML in every text (``<b>``, ``<a href>``) and a template language in hover texts. Names from a
file therefore pass through :func:`inert`, are never part of a template, and stand on numbered axes, where they cannot
be taken for dates or merged.
"""

import html

import numpy as np

BLUE, ORANGE, GREY = "#3b7dd8", "#e0772f", "#8a94a3"
LONGEST, SHORT = 22, 10  # characters of a name in a figure, and in one on a phone


def inert(name, longest=LONGEST):
    """A text that plotly shows letter by letter."""
    text = "".join(c if c.isprintable() else "�" for c in str(name))
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return html.escape(text, quote=False).replace("$", "&#36;")


def finite(values):
    """Numbers for JSON: three-digit accuracy is not enough to redraw, six is; no number where there is none."""
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:
        return [finite(row) for row in values]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def axis(title, **options):
    """An axis with a title and room for its numbers."""
    return {"title": {"text": title, "standoff": 10}, "automargin": True, "zeroline": False, **options}


def log_axis(title, **options):
    """A logarithmic axis labelled by powers of ten."""
    return axis(title, type="log", exponentformat="power", dtick=1, minor={"showgrid": False}, **options)


def figure(data, **layout):
    """Data and layout; colours of text and lines are the page's."""
    return {
        "data": data,
        "layout": {
            "showlegend": len(data) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            **layout,
        },
    }


def named_axis(title, names, **options):
    """An axis with one tick per name, counted from 0."""
    return axis(title, tickvals=list(range(len(names))), ticktext=list(map(inert, names)), **options)


def diagonal(ends, name):
    """A dashed line where both axes are equal."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": {"color": GREY, "dash": "dash", "width": 1},
        "name": name,
        "hoverinfo": "skip",
    }
