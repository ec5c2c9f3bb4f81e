"""README and docs: what stands between two markers is written from records.

``<!-- bench:NAME:start -->`` and ``<!-- bench:NAME:end -->`` enclose the block NAME of a table. A block whose table has no
records stays as it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench import storage
from bench.tables import TABLES
from bench.tables.base import Table

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- bench:([\w-]+):start -->\n)(.*?)(<!-- bench:\2:end -->)", re.DOTALL)
MARKER = re.compile(r"<!-- bench:([\w-]+):(?:start|end) -->")


def documents(root: Path = ROOT) -> list[Path]:
    """Return the files that may hold blocks."""
    pages = (page for page in (root / "docs").glob("**/*.md") if "_build" not in page.parts)
    return [root / "README.md", *sorted(pages)]


def blocks(tables: Sequence[Table] = tuple(TABLES.values())) -> dict[str, str]:
    """Return the text of every block whose table has records."""
    found: dict[str, str] = {}
    for table in tables:
        made = storage.read(storage.path_of(table.name))
        if made:
            found |= table.blocks(table.results(made))
    return found


def rendered(text: str, texts: Mapping[str, str]) -> str:
    """Return a document with its blocks replaced by those that are known."""

    def replace(match: re.Match[str]) -> str:
        start, name, old, end = match.groups()
        return start + (texts[name].strip() + "\n" if name in texts else old) + end

    return BLOCK.sub(replace, text)


def names(text: str) -> list[str]:
    """Return the names of the blocks of a document; raise an error if a marker has no partner."""
    found = [match[2] for match in BLOCK.finditer(text)]
    alone = [name for name in MARKER.findall(text) if found.count(name) * 2 != len(_markers(text, name))]
    if alone:
        raise ValueError(f"bench:{alone[0]} has a marker without its partner, start and end must alternate.")
    return found


def _markers(text: str, name: str) -> list[str]:
    return [found for found in MARKER.findall(text) if found == name]


def stale(root: Path = ROOT) -> Iterator[Path]:
    """Yield the documents that are not what the records give."""
    texts = blocks()
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        if rendered(text, texts) != text:
            yield path


def write(root: Path = ROOT) -> list[Path]:
    """Write all documents and figures; return those that changed."""
    texts, changed = blocks(), list(stale(root))
    for path in changed:
        path.write_text(rendered(path.read_text(encoding="utf-8"), texts), encoding="utf-8")
    return changed + list(_write_figures(root / "docs" / "_static"))


def _write_figures(folder: Path) -> Iterator[Path]:
    for table in TABLES.values():
        made = storage.read(storage.path_of(table.name))
        for name, figure in table.figures(table.results(made)).items() if made else ():
            figure.savefig(folder / name, dpi=90)
            yield folder / name
