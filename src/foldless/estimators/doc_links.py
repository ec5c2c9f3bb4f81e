"""Links from the HTML of an estimator to its page in the manual."""

from collections.abc import Iterable
from importlib.metadata import metadata


def address(urls: Iterable[str], label: str) -> str:
    """Return the address with a label among the project URLs of a package; empty if there is none.

    Examples
    --------
    >>> address(
    ...     ["Issues, https://example.org/issues", "Documentation, https://example.org/manual/"],
    ...     "Documentation",
    ... )
    'https://example.org/manual'
    """
    found = (url.split(", ", 1) for url in urls)
    return next((pair[1].rstrip("/") for pair in found if pair[0] == label), "")


MANUAL = address(metadata("foldless").get_all("Project-URL") or (), "Documentation")


class DocLinkMixin:
    """Links the HTML of an estimator to its page; without an address in the package's metadata there is no link."""

    _doc_link_module = "foldless" if MANUAL else ""
    _doc_link_template = f"{MANUAL}/generated/foldless.{{estimator_name}}.html"
