"""What the documents say is so: examples run, quoted code is the code, docstrings match their signatures."""

import doctest
import inspect
import re
import runpy
import tomllib
from importlib import import_module
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest

import foldless
from foldless import criteria, inspection, searches
from foldless.cli.main import run
from foldless.datasets import make_ripley
from foldless.kernels.by_name import NAMED

ROOT = Path(__file__).parents[1]
GROUPS = [name for name in foldless.__all__ if inspect.ismodule(getattr(foldless, name))]
MODULES = {name: import_module(f"foldless.{name}") for name in GROUPS}
LONG = {"plot_twenty_thousand_rows.py"}  # `make docs` runs them all


def public_objects():
    """Names and objects a user may import: those of foldless, and those of its public modules."""
    for name in foldless.__all__:
        if name not in GROUPS:
            yield name, getattr(foldless, name)
    for group, module in MODULES.items():
        for name in getattr(module, "__all__", vars(module)):
            if is_own(getattr(module, name)):
                yield f"{group}.{name}", getattr(module, name)


def is_own(thing):
    """Whether a name is a function or class of ours."""
    return callable(thing) and getattr(thing, "__module__", "").startswith("foldless")


PUBLIC = dict(public_objects())


def documented(text):
    """Parameters of a numpydoc docstring, name -> what is said of its type."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}\n|\Z)", text, re.DOTALL | re.MULTILINE)
    found = {}
    for line in section[1].splitlines() if section else ():
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            found |= {name.strip().lstrip("*"): kind for name in names.split(",")}
    return found


def signature(thing):
    """Parameters of a public object."""
    return inspect.signature(thing).parameters


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_object_says_what_it_is(name):
    text = inspect.getdoc(PUBLIC[name])
    assert text
    assert PUBLIC[name].__doc__, "an inherited docstring does not count"
    assert not text.startswith(f"{name.rpartition('.')[2]}("), "a dataclass says more than its signature"


@pytest.mark.parametrize("name", PUBLIC)
def test_documented_parameters_are_those_of_the_signature(name):
    said = documented(inspect.getdoc(PUBLIC[name]))
    assert set(said) <= set(signature(PUBLIC[name]))


# What functions return: their docstrings list attributes, not parameters.
RECORDS = ("Solution", "Solutions", "Forward", "Surface", "Comparison")
FUNCTIONS_OF_FORMULAS = ("criteria.loo_",)
CONFIGURED = [
    name
    for name in PUBLIC
    if not name.endswith(RECORDS)
    and not name.startswith(FUNCTIONS_OF_FORMULAS)
    and name != "inspection.ReliabilityDisplay"  # scikit-learn's, and made by from_estimator
]


@pytest.mark.parametrize("name", CONFIGURED)
def test_every_parameter_of_what_a_user_configures_is_documented(name):
    assert set(documented(inspect.getdoc(PUBLIC[name]))) == set(signature(PUBLIC[name]))


@pytest.mark.parametrize("name", PUBLIC)
def test_documented_defaults_are_those_of_the_signature(name):
    actual = signature(PUBLIC[name])
    for parameter, kind in documented(inspect.getdoc(PUBLIC[name])).items():
        said = re.search(r"default=(.+)$", kind)
        if said:
            assert said[1] == repr(actual[parameter].default).replace("'", '"'), parameter


def unsaid(thing):
    """Documented parameters with a default that is not told; lists without a type refer to another class."""
    actual, said = signature(thing), documented(inspect.getdoc(thing))
    return [
        parameter
        for parameter, kind in said.items()
        if actual[parameter].default is not inspect.Parameter.empty
        and kind
        and not re.search("default=|optional", kind)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_documented_parameter_tells_its_default(name):
    assert unsaid(PUBLIC[name]) == []


def test_a_default_that_is_not_told_is_found():
    def f(a, b=1, c=2):
        """Do.

        Parameters
        ----------
        a : int
        b : int, default=1
        c : int
        """

    assert unsaid(f) == ["c"]


ESTIMATORS = [
    name
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing) and hasattr(thing, "fit") and "search" in signature(thing)
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_shared_descriptions_are_written_into_the_docstring(name):
    text = inspect.getdoc(PUBLIC[name])
    assert ":shared:" not in text
    assert 'search : str or object, default="lbfgs"\n    Search strategy, by name or object' in text
    assert "n_starts : int, default=None\n    Number of local searches." in text


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(PUBLIC[name])])
def test_documented_defaults_of_methods_are_those_of_the_signature(name):
    for method, member in vars(PUBLIC[name]).items():
        if method.startswith("_") or not inspect.isfunction(member):
            continue
        for parameter, kind in documented(inspect.getdoc(member) or "").items():
            said = re.search(r"default=(.+)$", kind)
            assert parameter in signature(member), f"{method}: {parameter}"
            if said:
                assert said[1] == repr(signature(member)[parameter].default).replace("'", '"'), (
                    f"{method}: {parameter}"
                )


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(PUBLIC[name])])
def test_every_public_method_says_what_it_does(name):
    for method, member in vars(PUBLIC[name]).items():
        if not method.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            assert inspect.getdoc(getattr(PUBLIC[name], method)), method


def test_the_docstring_reader_reads_numpydoc():
    text = "Sum.\n\nParameters\n----------\na, b : int, default=3\n    Two.\nc\n    Free.\n\nReturns\n-------\nd : int\n"
    assert documented(text) == {"a": "int, default=3", "b": "int, default=3", "c": ""}


def test_there_is_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = re.search(
        r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert foldless.__version__ == project["version"] == citation[1]


def test_the_function_compare_and_its_module_do_not_fight():
    module = import_module("foldless.inspection.compare")
    assert foldless.compare is module.compare
    assert foldless.inspection.compare is module
    assert inspect.isfunction(foldless.compare)


@pytest.mark.filterwarnings("error::foldless.core.errors.AdviceWarning")
def test_the_lines_of_the_readme_run():
    found = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 9
    assert found.failed == 0


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a table to tune on and rows to predict."""
    X, y = make_ripley(60, random_state=0)
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X, y)]
    (tmp_path / "data.csv").write_text("\n".join(["first,second,y", *rows]), encoding="utf-8")
    (tmp_path / "new.csv").write_text("first,second\n0.1,0.2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return X, y


def test_the_commands_of_the_readme_run(desk, capsys):
    commands = re.findall(
        r"^    foldless (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) == 2
    assert [run(command.split()) for command in commands] == [0, 0]
    assert capsys.readouterr().out.splitlines()[-1].startswith(("0,", "1,"))


def blocks(name):
    """Python code of a page of the manual."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.DOTALL)


PAGES = [
    p.relative_to(ROOT / "docs").as_posix()
    for p in sorted((ROOT / "docs").glob("**/*.md"))
    if "_build" not in p.parts
]


@pytest.mark.parametrize("name", [name for name in PAGES if blocks(name)])
@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
def test_the_code_of_the_manual_runs(name, desk, capsys):
    matplotlib.use("agg", force=True)
    X, y = desk
    names = {"X": X, "y": y, "X_new": X[:3], **{n: getattr(foldless, n) for n in foldless.__all__}}
    for block in blocks(name):
        exec(compile(block, name, "exec"), names)  # noqa: S102 - our own pages
    matplotlib.pyplot.close("all")


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def agree(shown, found, tolerance=0.05):
    """Whether two texts have the same words, and numbers that differ by a few percent; seconds may differ."""
    shown, found = (re.sub(r"(seconds +)[\d.]+", r"\1", text) for text in (shown, found))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", found).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(found), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=tolerance, abs=1.0) for a, b in pairs)


class Agreement(doctest.OutputChecker):
    """A checker of examples by :func:`agree`."""

    def check_output(self, want, got, optionflags):
        return agree(want, got)


def test_shown_numbers_may_differ_a_little_and_words_not():
    assert agree("error  2980 rows\nseconds 3.1", "error 2990 rows seconds 8")
    assert not agree("error 2980 rows", "error 3290 rows")
    assert not agree("error 2980 rows", "error 2980 lines")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
def test_the_tutorial_shows_what_happens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/guide/tutorial.md").read_text(encoding="utf-8")
    exec(compile(*blocks("guide/tutorial.md"), "tutorial.md", "exec"), {})  # noqa: S102 - our own page
    assert (
        (tmp_path / "diabetes.csv")
        .read_text()
        .startswith(re.search(r"```text\n(.*?)```", text, re.DOTALL)[1])
    )
    for session in re.findall(r"```console\n\$ foldless (.*?)```", text, re.DOTALL):
        command, *shown = session.splitlines()
        assert run(command.split()) == 0
        found = capsys.readouterr()
        messages = [line for line in shown if line.startswith("foldless:")]
        assert agree("\n".join(messages), found.err if messages else "")
        assert agree("\n".join(line for line in shown if line not in messages), found.out)
    examples = doctest.DocTestParser().get_doctest(
        "".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)), {}, "tutorial", None, 0
    )
    assert doctest.DocTestRunner(Agreement()).run(examples).failed == 0


def test_files_that_documents_point_to_exist():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/guide").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def guide():
    """All pages of the guide as one text."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/guide").glob("*.md")))


def named(text):
    """What stands in backticks, with calls and strings reduced to their names."""
    return {
        word.strip('"')
        for code in re.findall(r"`([^`\n]+)`", text)
        for word in re.findall(r'"?[\w-]+"?', code)
    }


@pytest.mark.parametrize("name", criteria.BY_NAME)
def test_the_guide_explains_every_criterion(name):
    page = (ROOT / "docs/guide/criteria.md").read_text(encoding="utf-8")
    assert name in named(page)


@pytest.mark.parametrize(
    "name",
    [
        *(n for n in foldless.__all__ if n not in GROUPS),
        *searches.BY_NAME,
        *NAMED,
        *inspection.__all__,
        "HyperPrior",
    ],
)
def test_the_guide_mentions_every_estimator_function_search_kernel_and_display(name):
    assert name in named(guide())


def test_every_page_of_the_guide_is_in_its_table_of_contents():
    text = (ROOT / "docs/guide/index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in (ROOT / "docs/guide").glob("*.md")} - {"index"}
    listed = [
        page for block in re.findall(r":maxdepth: 1\n\n(.*?)```", text, re.DOTALL) for page in block.split()
    ]
    assert sorted(listed) == sorted(pages)


def test_code_quoted_in_contributing_is_the_code():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    quotes = re.findall(r"From\s+`(src/[^`]+)`[^`]*?```python\n(.*?)```", text, re.DOTALL)
    assert len(quotes) >= 5
    for path, code in quotes:
        assert code in (ROOT / path).read_text(encoding="utf-8"), path


def test_files_named_in_contributing_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:src|tests)/[^`]+)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda path: path.name)
def test_examples_run(path, monkeypatch, capsys):
    if path.name in LONG:
        pytest.skip("takes long; `make docs` runs it")
    matplotlib.use("agg", force=True)
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    matplotlib.pyplot.close("all")
    assert capsys.readouterr().out
