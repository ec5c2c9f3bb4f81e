"""Sphinx configuration. The reference is written from the public names, so that a new one cannot be forgotten."""

import inspect
import re
import warnings
from importlib import import_module
from pathlib import Path

import foldless

HERE = Path(__file__).parent
project, author = "foldless", "foldless developers"
version = release = foldless.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without the network, for readers on a train
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "reproduction/gold_record.md",
    "**/README.rst",
    "auto_examples/**/*.ipynb",
    "auto_examples/**/*.py",
]
html_theme = "pydata_sphinx_theme"
html_title = "foldless"
html_static_path = ["_static"]
html_theme_options = {
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = [
    "config.cache",  # the gallery's settings hold functions
    "myst.xref_missing",  # links to files of the repository, for readers there
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
}
warnings.filterwarnings("ignore", category=UserWarning, message="FigureCanvasAgg is non-interactive")

GROUPS = [name for name in foldless.__all__ if inspect.ismodule(getattr(foldless, name))]
MODULES = {name: import_module(f"foldless.{name}") for name in GROUPS}


def _section(title, names, module):
    lines = [title, "-" * len(title), "", inspect.getdoc(module).splitlines()[0], ""]
    lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*lines, *(f"   {name}" for name in names), ""]


def _is_own(thing):
    return callable(thing) and getattr(thing, "__module__", "").startswith("foldless")


def _write_reference():
    own = [name for name in foldless.__all__ if name not in GROUPS]
    lines = ["Reference", "=========", "", ".. currentmodule:: foldless", ""]
    lines += _section("Estimators and functions", own, foldless)
    for group, module in MODULES.items():
        named = [name for name in getattr(module, "__all__", vars(module)) if _is_own(getattr(module, name))]
        lines += _section(f"foldless.{group}", [f"{group}.{name}" for name in named], module)
    text = "\n".join(lines)
    path = HERE / "reference.rst"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


_write_reference()


def _borrow_references(app, what, name, obj, options, lines):
    """Give a docstring that cites the references of its module a copy of them."""
    text = "\n".join(lines)
    cited = set(re.findall(r"\[(\d+)\]_", text))
    module = inspect.getmodule(obj)
    if not cited or re.search(r"^\s*\.\. \[\d+\]", text, re.MULTILINE) or module is None:
        return
    _, found, references = (inspect.getdoc(module) or "").partition("References\n----------\n")
    if found:
        lines += ["", "References", "----------", *references.splitlines()]


def setup(app):
    """Borrow before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", _borrow_references, priority=100)
