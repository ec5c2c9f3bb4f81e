"""The page: a template, its style and script, and plotly.js, in one file that loads nothing from the network.

Two things keep a hostile file harmless: every text is escaped where it enters the page, and a content security policy
lets the browser run the two scripts whose hashes it names and nothing else, and fetch nothing.
"""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from foldless.cli.report.plotly_json import Figure
from foldless.core.optional_imports import import_extra


@dataclass(frozen=True)
class Panel:
    """One figure with its heading and the sentence below it.

    ``narrow`` is the layout that differs on a phone; ``wide`` panels take both columns.
    """

    name: str
    title: str
    caption: str
    figure: Figure
    narrow: dict[str, Any] = field(default_factory=dict)
    wide: bool = False


def render(panels: list[Panel], **words: Any) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    panels : list of Panel
    **words
        The other variables of the template ``page.html``.
    """
    jinja = import_extra("jinja2", "report")
    library, script = plotly_script(), resource("page.js")
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True)
    return environment.from_string(resource("page.html")).render(
        panels=panels,
        policy=policy(library, script),
        style=trusted(resource("page.css")),
        library=trusted(library),
        script=trusted(script),
        data=trusted(embedded({panel.name: {**panel.figure, "narrow": panel.narrow} for panel in panels})),
        **words,
    )


def resource(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """Return plotly.js with the line ends that a browser sees when it computes the hash."""
    return import_extra("plotly.offline", "report").get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")


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
    """Return the content security policy: these scripts, inline styles, images made on the page; no network."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
