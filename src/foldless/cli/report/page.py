"""The page: a template, its style and script, and plotly.js, in one file that asks the network for nothing.

Two things keep a hostile file harmless: every text is escaped where it enters the page, and a content security policy
lets the browser run the two scripts whose hashes it names and nothing else, and fetch nothing.
"""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from foldless.core.optional_imports import import_extra


@dataclass(frozen=True)
class Panel:
    """One figure with its heading and the sentence below it."""

    name: str
    title: str
    caption: str
    figure: dict[str, Any]
    narrow: dict[str, Any] = field(default_factory=dict)  # axes as they are on a phone
    wide: bool = False  # whether it takes both columns


def render(panels, **words):
    """Return the page as a text.

    Parameters
    ----------
    panels : list of Panel
    **words
        What the template asks for; see ``page.html``.
    """
    jinja = import_extra("jinja2", "report")
    library, script = plotly_script(), part("page.js")
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True)
    return environment.from_string(part("page.html")).render(
        panels=panels,
        policy=policy(library, script),
        style=trusted(part("page.css")),
        library=trusted(library),
        script=trusted(script),
        data=trusted(embedded({panel.name: {**panel.figure, "narrow": panel.narrow} for panel in panels})),
        **words,
    )


def part(name):
    """Return a file of this folder as a text."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def plotly_script():
    """Return plotly.js; line ends as a browser counts them when it hashes."""
    return import_extra("plotly.offline", "report").get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")


def trusted(text):
    """Mark a text of ours as HTML, so that the template leaves it alone."""
    return import_extra("markupsafe", "report").Markup(text)


def embedded(data):
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(*scripts):
    """Content security policy: these scripts, inline styles, pictures made on the page; no network."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _digest(script):
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
