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
html_css_files = ["manual.css"]
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
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
# What users hold without having made it, and where it is defined.
RESULTS = (
    *(
        "tuning.result.Selection",
        "tuning.result.Trials",
        "tuning.trace.Trace",
        "tuning.select_kernel.KernelChoice",
    ),
    *("core.contracts.Outcome", "core.contracts.Step", "core.contracts.Stop", "core.contracts.Reading"),
    *("estimators.uncertainty.score.LooScore", "estimators.uncertainty.learning_curve.LearningCurve"),
)
# Searches that only the reproduction of papers needs: they come last, so that nobody chooses one by accident.
FOR_PAPERS = ("HierarchicalGrid", "RandomWalk", "HMCAscent")


def _section(title, names, sentence):
    lines = [title, "-" * len(title), "", sentence, ""]
    lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [*lines, *(f"   {name}" for name in names), ""]


def _sentence(module):
    return inspect.getdoc(module).splitlines()[0]


def _errors():
    """Return the names of all errors and warnings."""
    module = import_module("foldless.core.errors")
    return [
        f"core.errors.{name}"
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and _is_own(thing)
    ]


def _is_own(thing):
    return callable(thing) and getattr(thing, "__module__", "").startswith("foldless")


def _write_reference():
    own = [name for name in foldless.__all__ if name not in GROUPS]
    lines = ["Reference", "=========", "", ".. currentmodule:: foldless", ""]
    lines += _section("Estimators and functions", own, "What most people need.")
    lines += _section(
        "What comes back",
        RESULTS,
        "Objects that a fitted estimator, or one of the functions above, gives you.",
    )
    for group, module in MODULES.items():
        named = [name for name in getattr(module, "__all__", vars(module)) if _is_own(getattr(module, name))]
        shown = [f"{group}.{name}" for name in named if name not in FOR_PAPERS]
        lines += _section(f"foldless.{group}", shown, _sentence(module))
    lines += _section(
        "Errors and warnings", _errors(), "All errors are FoldlessError, all warnings FoldlessWarning."
    )
    lines += _section(
        "For reproducing papers",
        [f"searches.{name}" for name in FOR_PAPERS],
        "Searches as the papers describe them.",
    )
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
