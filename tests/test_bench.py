"""The bench: every table runs, renders and is what the documents show; records give back what was written."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("bench", reason="the bench is not part of an installation")

from bench import documents, storage
from bench.__main__ import main, splits
from bench.contenders import LOGISTIC, RIDGE, Contender, Measurement
from bench.contenders.grids import pipeline_and_grid
from bench.problems import GENERATED, Problem, Split, StoredProblem, find_problem
from bench.problems.evidence import EVIDENCE, SPENT
from bench.results import Difference, Results, mean_ranks
from bench.run import Case, Conditions, run
from bench.tables import TABLES
from bench.tables.base import Table


@dataclass(frozen=True)
class Tiny(Problem):
    """Thirty rows under any name."""

    def split(self, number, rows=None):
        X = np.random.default_rng(number).normal(size=(30, 2))
        y = (X[:, 0] > 0).astype(int) if self.task == "classes" else X[:, 0]
        return Split(X, y, X, y, number)


@dataclass(frozen=True)
class Stub(Contender):
    """Measures nothing: seconds and errors follow from its name."""

    named: tuple[str, ...] = ()
    warms_up = False

    def run(self, split, task, jobs):
        value = 1.0 + len(self.name) % 7 + 0.1 * split.number
        return Measurement(value, 2 * value, value, value / 10, 7, 12.0, dict.fromkeys(self.named, value))


def stubs(table):
    return [Stub(contender.name, contender.details) for contender in table.contenders]


def measure(table, path, numbers=(0, 1)):
    """Run a table with stubs on two of its sets."""
    names = list(dict.fromkeys(name for name, _ in table.cases))[:2]
    task = "numbers" if table.name.startswith("ridge") else "classes"
    cases = [Case(Tiny(name, task), None, number) for number in numbers for name in names]
    return run(cases, stubs(table), path, Conditions(jobs=1))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_runs_and_renders_all_its_blocks(name, tmp_path):
    table, path = TABLES[name], tmp_path / "records.jsonl"
    assert measure(table, path) == 0
    found = storage.read(path)
    assert {record.contender for record in found} == {stub.name for stub in stubs(table)}
    blocks = table.blocks(table.results(found))
    assert tuple(blocks) == table.block_names
    assert "|---" in "".join(blocks.values())
    assert "nan" not in "".join(blocks.values()).replace("banana", "")


@pytest.mark.parametrize("name", TABLES)
def test_figures_are_drawn_from_records(name, tmp_path):
    table, path = TABLES[name], tmp_path / "records.jsonl"
    measure(table, path)
    for file, figure in table.figures(table.results(storage.read(path))).items():
        figure.savefig(tmp_path / file)
        assert (tmp_path / file).stat().st_size > 1000


def test_records_give_back_what_was_written(tmp_path):
    path = tmp_path / "records.jsonl"
    measure(TABLES["gold"], path)
    found = storage.read(path)
    assert [record.to_json() for record in found] == path.read_text(encoding="utf-8").splitlines()
    assert storage.Record.from_json(found[0].to_json()) == found[0]


def test_numbers_that_are_not_finite_become_null(tmp_path):
    path = tmp_path / "records.jsonl"
    measure(TABLES["gold"], path)
    record = replace(storage.read(path)[0], error=np.nan, details={"mean": np.inf, "why": "x"})
    assert json.loads(record.to_json())["error"] is None
    assert storage.Record.from_json(record.to_json()).details == {"mean": None, "why": "x"}


def test_a_record_with_an_unknown_field_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a record has no host"):
        storage.Record.from_json('{"host": "x"}')


def test_an_interrupted_run_goes_on_where_the_file_ends(tmp_path):
    path, table = tmp_path / "records.jsonl", TABLES["kernel_search"]
    measure(table, path)
    whole = {record.key for record in storage.read(path)}
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    measure(table, path)
    found = path.read_text(encoding="utf-8").splitlines()
    assert found[:3] == lines[:3]
    assert len(found) == len(lines)
    assert {record.key for record in storage.read(path)} == whole


@dataclass(frozen=True)
class Failing(Stub):
    def run(self, split, task, jobs):
        raise MemoryError("too many rows")


def test_a_failure_is_told_and_the_run_goes_on(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    case = Case(Tiny("set", "classes"), None, 0)
    assert run([case], [Failing("one"), Stub("two")], path, Conditions()) == 1
    assert [record.contender for record in storage.read(path)] == ["two"]
    assert "one: MemoryError: too many rows" in capsys.readouterr().err


def test_a_contender_that_took_too_long_gets_no_more_rows_or_splits(tmp_path):
    path, problem = tmp_path / "records.jsonl", GENERATED["ripley"]
    cases = [Case(problem, rows, split) for split in (0, 2) for rows in (20, 40)]
    # The stubs take about 1 and 5 seconds.
    run(cases, [Stub("seven c"), Stub("four")], path, Conditions(max_seconds=2.0))
    found = [(record.contender, record.rows, record.split) for record in storage.read(path)]
    quick = [("seven c", rows, split) for split in (0, 2) for rows in (20, 40)]
    assert found == [quick[0], ("four", 20, 0), *quick[1:]]


def test_every_block_of_the_documents_belongs_to_a_table():
    known = [name for table in TABLES.values() for name in table.block_names]
    assert len(known) == len(set(known))
    shown = [name for path in documents.documents() for name in documents.names(path.read_text("utf-8"))]
    assert set(shown) <= set(known)
    assert {"speed", "kernel_search", "overfitting", "many_rows", "tables", "workers", "growth"} <= set(shown)


def test_the_documents_are_what_the_records_give():
    assert list(documents.stale()) == []


def test_a_block_is_replaced_and_the_rest_of_the_document_stays():
    text = "a\n<!-- bench:one:start -->\nold\n<!-- bench:one:end -->\nb\n<!-- bench:two:start -->\nkept\n<!-- bench:two:end -->\n"
    new = documents.rendered(text, {"one": "new\n"})
    assert new == text.replace("old", "new")
    assert documents.rendered(new, {"one": "new\n"}) == new


def test_a_marker_without_its_partner_is_an_error():
    with pytest.raises(ValueError, match="bench:one has a marker without its partner"):
        documents.names("<!-- bench:one:start -->\n<!-- bench:two:start -->\n<!-- bench:two:end -->")


@pytest.fixture
def data(tmp_path):
    """A set of sixty rows with ten splits of its own, the fourth row twice, and a column that is constant."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    rows = np.array([rng.permutation(np.r_[np.arange(60), 3]) for _ in range(10)])
    y = np.arange(60) % 2
    np.savez(tmp_path / "small.npz", X=X, y=y, train=rows[:, :40], test=rows[:, 40:])
    np.savez(tmp_path / "abalone.npz", X=X, y=5.0 + 2 * y)
    return tmp_path


def test_a_set_s_own_splits_come_first_and_draws_keep_their_size(data):
    problem = find_problem("small", data)
    with np.load(data / "small.npz") as file:
        own, X = file["train"][3], file["X"]
    np.testing.assert_array_equal(problem.split(3).X, X[own][:, 1:])
    drawn = problem.split(85)
    assert (len(drawn.y), len(drawn.y_test)) == (40, 21)
    assert abs(np.mean(drawn.y) - 0.5) < 0.05
    np.testing.assert_array_equal(drawn.X, problem.split(85).X)
    assert not np.array_equal(drawn.X, problem.split(86).X)


def test_a_split_of_more_rows_than_there_are_is_none(data):
    problem = find_problem("small", data)
    assert problem.split(80, 11) is not None
    assert problem.split(80, 12) is None


def test_numbers_are_scaled_by_the_training_rows(data):
    split = find_problem("abalone", data).split(80)
    assert split.y.mean() == pytest.approx(0)
    assert split.y.std() == pytest.approx(1)


@pytest.mark.parametrize("spent", SPENT)
def test_splits_that_chose_a_default_are_refused(spent, data):
    for table in TABLES.values():
        # A table with problems of its own repeats the trials of a paper.
        cuts_sets = type(table).find_problem is Table.find_problem
        stored = cuts_sets and any(name not in GENERATED for name, _ in table.cases)
        assert not stored or not set(spent) & set(table.splits)
    with pytest.raises(ValueError, match="cannot be evidence: they chose"):
        find_problem("small", data).check_splits(range(spent.stop - 1, spent.stop + 3))
    find_problem("small", data).check_splits(EVIDENCE)
    GENERATED["ripley"].check_splits(spent)


def test_a_set_without_its_file_says_what_to_do(data):
    with pytest.raises(ValueError, match="give --data DIR"):
        find_problem("small", None)
    with pytest.raises(
        ValueError, match=r"there is no other.npz in .*, and no other set of that name \(ripley"
    ):
        find_problem("other", data)


def test_a_set_that_scikit_learn_ships_needs_no_file():
    problem = find_problem("diabetes_progression", None)
    split = problem.split(80, 200)
    assert split.X.shape == (200, 10)
    assert len(split.X_test) == 442 - 200
    assert np.mean(split.y) == pytest.approx(0)
    assert np.std(split.y) == pytest.approx(1)
    with pytest.raises(ValueError, match="cannot be evidence"):
        problem.check_splits([76])


@pytest.mark.parametrize("name", GENERATED)
def test_generators_give_the_rows_asked_for(name):
    split, again = GENERATED[name].split(3, 50), GENERATED[name].split(3, 50)
    assert len(split.y) == 50
    assert len(split.y_test) == 3000
    np.testing.assert_array_equal(split.X, again.X)


def test_the_grid_has_a_hundred_points_for_either_task():
    for task in ("classes", "numbers"):
        assert np.prod([len(values) for values in pipeline_and_grid(task)[1].values()]) == 100


def test_a_contender_is_measured_on_the_test_rows():
    split = GENERATED["ripley"].split(0, 60)
    found = LOGISTIC.run(split, "classes", 1)
    model = LOGISTIC.build("classes", 1).fit(split.X, split.y)
    assert found.error == pytest.approx(100 * np.mean(model.predict(split.X_test) != split.y_test))
    assert found.log_loss == pytest.approx(
        -np.mean(np.log(model.predict_proba(split.X_test)[range(3000), split.y_test]))
    )
    assert found.evaluations == model[-1].n_evaluations_
    assert found.seconds > 0
    assert found.cpu_seconds > 0


def test_contenders_take_their_own_task_and_no_more_rows_than_they_can():
    assert LOGISTIC.takes("classes", 10**6, 0)
    assert not LOGISTIC.takes("numbers", 10, 0)
    assert RIDGE.takes("numbers", 10, 0)
    assert not replace(RIDGE, max_rows=9).takes("numbers", 10, 0)


def test_the_paired_test_is_that_of_a_textbook():
    found = Difference(np.array([1.0, 2.0, 3.0, 2.0]))
    assert found.mean == 2.0
    assert found.standard_error == pytest.approx(np.sqrt(2 / 3) / 2)
    # t = 4.899 with three degrees of freedom.
    assert found.p == pytest.approx(0.01628, abs=1e-5)
    assert Difference(np.zeros(3)).p == 1.0
    assert Difference(np.ones(1)).p == 1.0


def test_differences_and_ratios_use_the_splits_that_both_have(tmp_path):
    path, problem = tmp_path / "records.jsonl", Tiny("set", "classes")
    run([Case(problem, None, 0), Case(problem, None, 2)], [Stub("a")], path, Conditions())
    run([Case(problem, None, 2)], [Stub("abc")], path, Conditions())
    results = Results(storage.read(path))
    (place,) = results.problems
    assert results.difference(place, "abc", "a").values.tolist() == [pytest.approx(2.0)]
    assert results.ratio(place, "abc", "a") == pytest.approx(4.2 / 2.2)


def test_the_verdict_counts_the_sets_that_were_compared(tmp_path):
    path, table = tmp_path / "records.jsonl", TABLES["kernel_search"]
    cases = [Case(Tiny(name, "classes"), None, split) for name in ("sonar", "breast_w") for split in (0, 1)]
    run(cases, [Stub("KernelSearch"), Stub("GridSearchCV")], path, Conditions())
    equal = storage.read(path)
    # The errors of the grid are 6.0 and 6.1: three points less, and three points less with much noise.
    worse = [replace(r, error=9.0 + 0.1 * r.split) if r.contender == "KernelSearch" else r for r in equal]
    noisy = [replace(r, error=9.0 + 2.0 * r.split) if r.contender == "KernelSearch" else r for r in equal]
    verdict = lambda records: table.blocks(table.results(records))["kernel_search"]
    assert "higher error than GridSearchCV on none of 2 sets." in verdict(equal)
    assert "higher error than GridSearchCV on none of 2 sets." in verdict(noisy)
    assert "higher error than GridSearchCV on 2 of 2 sets (sonar, breast_w)." in verdict(worse)


def test_the_summary_of_many_rows_shows_the_default_where_it_was_measured(tmp_path):
    path, table = tmp_path / "records.jsonl", TABLES["many_rows"]
    default, other, boosting = map(
        Stub, ("KernelClassifier, KernelRegressor", "KernelLSSVC", "HistGradientBoosting")
    )
    run([Case(Tiny("abalone", "classes"), None, 0)], [default, other, boosting], path, Conditions())
    run([Case(Tiny("usps", "classes"), None, 0)], [other, boosting], path, Conditions())
    found = table.blocks(table.results(storage.read(path)))["many_rows_summary"].splitlines()
    assert "| abalone | 30 | `KernelClassifier` | 6.00 (6.00 s) | 7.00 (7.00 s) |" in found
    assert "| usps | 30 | `KernelLSSVC` | 5.00 (5.00 s) | 7.00 (7.00 s) |" in found


def test_mean_ranks_leave_out_sets_that_a_contender_lacks():
    table = np.array([[1.0, 2.0, np.nan], [2.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
    np.testing.assert_allclose(mean_ranks(table), [(1 + 2.5) / 2, (2 + 2.5) / 2, (3 + 1) / 2])


def test_the_list_names_every_table(capsys):
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: {table.title}" in shown for name, table in TABLES.items())


def test_the_command_line_measures_and_prints_a_table(tmp_path, capsys, monkeypatch):
    table = TABLES["overfitting"]
    monkeypatch.setattr(type(table), "contenders", [Stub("one width"), Stub("free")])
    path = tmp_path / "records.jsonl"
    options = ["--sets", "ripley", "--sizes", "20", "--splits", "0:2", "--record", str(path)]
    assert main(["overfitting", *options]) == 0
    assert "| ripley | 20 |" in capsys.readouterr().out
    assert len(storage.read(path)) == 4


@pytest.mark.parametrize("text", ["3", "5:5", "a:b", "9:3"])
def test_a_wrong_range_of_splits_is_refused(text):
    with pytest.raises(Exception, match="expected a:b"):
        splits(text)


def test_no_record_names_a_machine_or_a_path():
    for path in storage.FOLDER.glob("*.jsonl"):
        assert path.stem in TABLES
        text = path.read_text(encoding="utf-8")
        assert "/" not in "".join(line.replace("://", "") for line in text.splitlines())


def test_the_bench_is_not_part_of_the_wheel():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'packages = ["src/foldless"]' in text
    assert StoredProblem.__module__.startswith("bench.")


def test_the_best_rank_on_sets_of_middle_size_comes_first(tmp_path):
    path, table = tmp_path / "records.jsonl", TABLES["tables"]
    measure(table, path)
    block = table.blocks(table.results(storage.read(path)))["tables"]
    _, *lines = [line for line in block.splitlines() if line.startswith("| ")]
    ranks = [float(line.split("|")[3]) for line in lines]
    assert ranks == sorted(ranks)
    assert len(ranks) == len(stubs(table))
