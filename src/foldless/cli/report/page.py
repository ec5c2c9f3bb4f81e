"""The page: a template, its style and its script, in one file that loads nothing from the network.

Two things keep a hostile file harmless: every text is escaped where it enters the page, and a content security policy
lets the browser run the one script whose hash it names and nothing else, and fetch nothing.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from foldless.cli.report.parts import Drawn, Measured, Section
from foldless.cli.report.svg import draw
from foldless.core.optional_imports import import_extra


def render(sections: Sequence[Section], data: Any, **words: Any) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    sections : sequence of Section
    data : dictionaries, lists, texts and numbers
        What the page's script needs.
    **words
        The other variables of the template ``page.html``.
    """
    jinja = import_extra("jinja2", "report")
    script = resource("page.js")
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True)
    return environment.from_string(resource("page.html")).render(
        sections=sections,
        draw=lambda panel: trusted(draw(panel.chart, panel.title)),
        is_drawn=lambda cell: isinstance(cell, Drawn),
        is_measured=lambda cell: isinstance(cell, Measured),
        trusted=lambda cell: trusted(cell.svg),
        policy=policy(script),
        style=trusted(resource("page.css")),
        script=trusted(script),
        data=trusted(embedded(data)),
        **words,
    )


def resource(name: str) -> str:
    """Return the text of a file of this folder, with the line ends that a browser sees when it computes a hash."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def trusted(text: str) -> Any:
    """Mark a text of ours as HTML, so that the template does not escape it."""
    return import_extra("markupsafe", "report").Markup(text)


def embedded(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(*scripts: str) -> str:
    """Return the content security policy: these scripts and inline styles; no network, no frames, no forms."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
