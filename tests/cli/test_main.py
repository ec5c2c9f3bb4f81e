"""The command line, driven as a user drives it."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread

import numpy as np
import pytest

from foldless import __version__
from foldless.cli.commands.compare import _short
from foldless.cli.experiment import split_table
from foldless.cli.files.model_file import load_model
from foldless.cli.files.read_table import read_table
from foldless.cli.main import run
from foldless.cli.numbers import number
from foldless.datasets import make_ripley

ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100", "FOLDLESS_DEBUG": ""}


def foldless(*arguments, cwd=None, **options):
    """Run `python -m foldless` in a process of its own."""
    command = [sys.executable, "-m", "foldless", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **options
    )


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ripley(tmp_path_factory):
    """Two hundred points of two classes, and ten more without their class."""
    folder = tmp_path_factory.mktemp("ripley")
    X, y = make_ripley(210, random_state=1)
    names = np.array(["left", "right"])[y]
    write(folder / "train.csv", "first,second,side", zip(X[:200, 0], X[:200, 1], names[:200]))
    write(folder / "new.csv", "second,first", zip(X[200:, 1], X[200:, 0]))
    return folder


@pytest.fixture(scope="module")
def tuned(ripley):
    """One run that asks for everything: JSON, a report, a model."""
    done = foldless(
        "tune", "train.csv", "--target", "side", "--json", "--holdout", "0.2", "--seed", "3",
        "--report", "out.html", "--save", "model.skops", "--machine", "logistic", cwd=ripley,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_the_default_chooses_machine_and_kernel(ripley, monkeypatch, capsys):
    monkeypatch.chdir(ripley)
    asked = ["tune", "train.csv", "--target", "side", "--json", "--seed", "3", "--save", "auto.skops"]
    found = []
    for more in ([], ["--machine", "auto"]):
        assert run([*asked, *more, "--report", "auto.html"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["kernel"] == found[1]["kernel"]
    assert found[0]["machine"] == "kernel logistic regression"
    assert found[0]["loo_error"] < 0.15
    assert run(["predict", "auto.skops", "new.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_tune_prints_one_json_object_and_nothing_else(tuned):
    found = json.loads(tuned.stdout)
    assert found["task"] == "classification"
    assert found["rows"] == 160
    assert found["held_out_rows"] == 40
    assert found["parameters"].keys() == {"length_scale", "C"}
    assert 0 < found["held_out_error"] < 0.25
    assert 0.03 < found["loo_error"] < 0.2  # the best rule has 8.9 %
    assert found["evaluations"] == len(found["trace"])
    assert found["command"].startswith("foldless tune train.csv --target side --json")
    assert found["versions"]["foldless"] == __version__


def test_the_chosen_value_is_the_lowest_of_the_trace(tuned):
    found = json.loads(tuned.stdout)
    own = [step["value"] for step in found["trace"] if step["why"] != "scan"]
    lowest = min(value for value in own if value is not None)
    assert found["criterion"]["value"] == pytest.approx(lowest, rel=1e-4)


def test_the_same_seed_gives_the_same_choice(tuned, ripley, capsys):
    path = str(ripley / "train.csv")
    options = ["--machine", "logistic", "--json", "--holdout", "0.2", "--seed", "3"]
    assert run(["tune", path, "--target", "side", *options]) == 0
    first, second = json.loads(tuned.stdout), json.loads(capsys.readouterr().out)
    assert first["parameters"] == second["parameters"]
    assert first["held_out_error"] == second["held_out_error"]


def test_progress_is_silent_where_stderr_is_no_terminal(tuned):
    assert tuned.stderr.splitlines() == ["foldless: wrote out.html", "foldless: wrote model.skops"]


def test_predict_gives_a_line_per_row_with_probabilities(tuned, ripley):
    done = foldless("predict", "model.skops", "new.csv", cwd=ripley)
    assert done.returncode == 0, done.stderr
    header, *lines = done.stdout.splitlines()
    assert header == "side,probability of left,probability of right"
    assert len(lines) == 10
    for line in lines:
        label, left, right = line.split(",")
        assert float(left) + float(right) == pytest.approx(1)
        assert label == ("left" if float(left) > 0.5 else "right")


def test_predict_writes_to_a_file(tuned, ripley, capsys):
    assert (
        run(
            [
                "predict",
                str(ripley / "model.skops"),
                str(ripley / "new.csv"),
                "--output",
                str(ripley / "p.csv"),
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == ""
    assert len((ripley / "p.csv").read_text().splitlines()) == 11


def test_tune_prints_a_table(ripley, capsys):
    assert run(["tune", str(ripley / "train.csv"), "--target", "side", "--kernel", "rbf, linear"]) == 0
    said = capsys.readouterr()
    for word in ("width", "C", "leave-one-out error", "evaluations", "seconds"):
        assert word in said.out
    assert "--task overrides" in said.err


def test_version():
    done = foldless("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"foldless {__version__}")


@pytest.mark.parametrize("command", ["demo", "tune", "compare", "predict", "reproduce"])
def test_help_names_every_command(command, capsys):
    assert run(["--help"]) == 0
    assert command in capsys.readouterr().out
    assert run([command, "--help"]) == 0


def test_compare_prints_every_pair_best_first(ripley, capsys):
    options = ["--machine", "logistic,lssvc", "--criterion", "loo, evidence", "--repeats", "2"]
    assert run(["compare", str(ripley / "train.csv"), "--target", "side", "--json", *options]) == 0
    lines = json.loads(capsys.readouterr().out)
    pairs = {(machine, criterion) for machine in ("logistic", "lssvc") for criterion in ("loo", "evidence")}
    baselines = {("constant", ""), ("linear model", ""), ("boosted trees", "")}
    assert {(line["machine"], line["criterion"]) for line in lines} == pairs | baselines
    errors = [line["error"] for line in lines]
    assert errors == sorted(errors)
    assert run(["compare", str(ripley / "train.csv"), "--target", "side", *options]) == 0
    said = capsys.readouterr().out
    for word in ("lssvc", "evidence", "±", "seconds", "constant"):
        assert word in said
    assert max(map(len, said.splitlines())) <= 80
    # A line for the title, its blank, the headings and their rule, and one for every pair and baseline.
    assert len(said.rstrip().splitlines()) == 4 + len(lines)


def test_compare_keeps_long_names_on_one_line_of_eighty_columns(ripley, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    options = ["--criterion", "jaakkola-haussler,centered-alignment,eigenvalue-ratio", "--repeats", "1"]
    assert (
        run(["compare", str(ripley / "train.csv"), "--target", "side", "--machine", "logistic", *options])
        == 0
    )
    said = capsys.readouterr().out
    for name in ("jaakkola-haussler", "centered-alignment", "eigenvalue-ratio"):
        assert sum(line.startswith(f"  logistic {name} ") for line in said.splitlines()) == 1
    assert max(map(len, said.splitlines())) <= 80


def test_the_parameters_of_a_comparison_leave_room_for_names():
    texts = [_short(value) for value in (1e7, 123456.0, 2700.0, 0.11, 1e-5, 0.000123, -3.0)]
    assert texts == ["1e7", "1.2e5", "2700", "0.11", "1e-5", "1.2e-4", "-3"]


def test_compare_shows_what_tune_would_do_by_itself(ripley, capsys):
    options = ["--repeats", "1", "--json", "--target", "side"]
    assert run(["compare", str(ripley / "train.csv"), *options]) == 0
    lines = {line["machine"]: line for line in json.loads(capsys.readouterr().out)}
    assert lines["auto"]["error"] <= lines["constant"]["error"]
    assert lines["auto"]["seconds"] > 0


def test_a_name_that_does_not_exist_is_told_before_the_file_is_read(tmp_path, capsys):
    for option, near in (("machine", "lssvc"), ("kernel", "rbf"), ("criterion", "loo"), ("search", "lbfgs")):
        for command in ("tune", "compare"):
            assert run([command, str(tmp_path / "none.csv"), "--target", "y", f"--{option}", near + "x"]) == 2
            said = capsys.readouterr().err
            assert f"--{option} must be one of" in said
            assert f"Did you mean '{near}'?" in said


def test_a_mistyped_option_points_to_the_help_of_its_command(capsys):
    assert run(["tune", "a.csv", "--traget", "y"]) == 2
    assert "See: foldless tune --help" in capsys.readouterr().err


def test_compare_leaves_out_criteria_that_a_machine_has_no_use_for(tmp_path, capsys):
    rng = np.random.default_rng(0)
    path = write(
        tmp_path / "visits.csv", "x,visits", [(x, rng.poisson(3 + x * x)) for x in rng.normal(size=60)]
    )
    options = ["--target", "visits", "--machine", "poisson", "--repeats", "1", "--no-baselines"]
    assert run(["compare", str(path), *options]) == 0
    said = capsys.readouterr()
    assert "poisson loo" in said.out
    assert not {"nan", "undefined", "xi-alpha"} & set(said.out.split())
    assert "is defined at none" not in said.err
    assert run(["compare", str(path), *options, "--criterion", "loo,gacv"]) == 0
    said = capsys.readouterr()
    assert "undefined" in said.out
    assert "gacv is defined for the logistic loss" in said.err


def test_compare_knows_numbers_from_classes(tmp_path, capsys):
    path = write(tmp_path / "data.csv", "x,y", [(i / 7, i * i % 90) for i in range(40)])
    options = ["--task", "regression", "--criterion", "loo", "--machine", "ridge", "--repeats", "1", "--json"]
    assert run(["compare", str(path), "--target", "y", "--no-baselines", *options]) == 0
    assert [line["machine"] for line in json.loads(capsys.readouterr().out)] == ["ridge"]


def test_ctrl_c_in_compare_prints_what_is_done(ripley, monkeypatch, capsys):
    from foldless.inspection import compare as module

    measure, fits = module._measure, []

    def interrupted(*arguments):
        fits.append(measure(*arguments))
        if len(fits) == 4:
            raise KeyboardInterrupt
        return fits[-1]

    monkeypatch.setattr(module, "_measure", interrupted)
    options = ["--machine", "logistic,lssvc", "--criterion", "evidence", "--repeats", "3"]
    assert run(["compare", str(ripley / "train.csv"), "--target", "side", *options]) == 130
    said = capsys.readouterr()
    assert "over 1 split\n" in re.sub(r" +\n", "\n", said.out)
    assert "interrupted after 3 of 6 fits" in said.err


def test_options_list_the_names_that_exist():
    from foldless import criteria, searches
    from foldless.cli import options
    from foldless.cli.commands.reproduce import names
    from foldless.estimators.registry import MACHINES
    from foldless.kernels.by_name import NAMED
    from foldless.tuning.last_fit import GRAMS

    assert set(options.MACHINE_NAMES) == set(MACHINES)
    assert set(options.CRITERION_NAMES) == set(criteria.BY_NAME)
    assert set(options.KERNEL_NAMES) == set(NAMED)
    assert {*options.SEARCH_NAMES, *options.SEARCHES_OF_PAPERS} == set(searches.BY_NAME)
    assert set(options.REPRODUCED_NAMES) == set(names())
    # A cluster is for Python.
    assert {*options.GRAM_NAMES, "dask"} == set(GRAMS)


@pytest.mark.parametrize("command", ["tune", "compare"])
def test_help_fits_eighty_columns_and_names_every_value(command, monkeypatch, capsys):
    from foldless.cli import options

    monkeypatch.setenv("COLUMNS", "80")
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    words = set(re.findall(r"[\w-]+", text))
    assert words >= {*options.CRITERION_NAMES, *options.KERNEL_NAMES, *options.MACHINE_NAMES, *options.Task}
    # What only the reproduction of papers needs is accepted, and not advertised.
    assert not words & set(options.SEARCHES_OF_PAPERS)


def test_help_imports_neither_scikit_learn_nor_numpy():
    code = "import sys; from foldless.cli.main import run; run(sys.argv[1:]); print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code, "tune", "--help"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "smoothed-span" in done.stdout.replace("\n", "")
    assert not {"sklearn", "scipy", "numpy", "pyarrow"} & {*done.stdout.splitlines()}


@pytest.mark.parametrize("option", ["--machine", "--criterion", "--holdout"])
def test_a_mistake_in_compare_is_one_line(option, ripley, capsys):
    value = "2" if option == "--holdout" else "nil"
    assert run(["compare", str(ripley / "train.csv"), "--target", "side", option, value]) == 2
    assert len([line for line in capsys.readouterr().err.splitlines() if "note:" not in line]) == 1


def test_reproduce_prints_the_papers_numbers_beside_ours(tmp_path, capsys, monkeypatch):
    from foldless.cli.papers import li

    monkeypatch.setattr(li, "PAPER", {"wdbc": li.PAPER["wdbc"]})  # the set that comes with scikit-learn
    monkeypatch.setattr(li, "KERNELS", li.KERNELS[18:22])
    assert run(["reproduce", "li-2", "--data", str(tmp_path), "--splits", "1"]) == 0
    said = capsys.readouterr().out
    assert "li-2: test errors" in said
    assert "(2.29 ± 1.15)" in said


def test_reproduce_lists_the_tables_it_knows(tmp_path, capsys):
    assert run(["reproduce", "li-9", "--data", str(tmp_path)]) == 2
    assert "li-2" in capsys.readouterr().err
    assert run(["reproduce", "li-2", "--data", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_reproduce_draws_its_own_data_and_a_figure(tmp_path, capsys):
    picture = tmp_path / "boxes.png"
    assert run(["reproduce", "sugiyama-2", "--splits", "2", "--figure", str(picture)]) == 0
    said = capsys.readouterr()
    assert "p-values, ours (the paper's)" in said.out
    assert picture.stat().st_size > 1000
    assert run(["reproduce", "li-2"]) == 2
    assert "--data DIR" in capsys.readouterr().err


def test_reproduce_draws_a_figure_of_a_paper_under_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", "sugiyama-fig4"]) == 0
    said = capsys.readouterr()
    assert "The paper: the target and 50 training examples" in said.out
    assert "wrote sugiyama-fig4.svg" in said.err
    assert "training examples" in (tmp_path / "sugiyama-fig4.svg").read_text(encoding="utf-8")
    assert run(["reproduce", "sugiyama-fig4", "--splits", "3"]) == 2
    assert "has no splits" in capsys.readouterr().err


def test_shell_completion_is_offered():
    done = subprocess.run(
        [sys.executable, "-m", "foldless"],
        env={
            **ENVIRONMENT,
            "_FOLDLESS_COMPLETE": "complete_bash",
            "COMP_WORDS": "foldless tu",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "tune" in done.stdout


GOOD = [(0.1 * i, (i * 7) % 5, "ab"[i % 2]) for i in range(12)]

MISTAKES = {
    "missing file": (None, ["--target", "y"], ["nothing.csv", "no such file"]),
    "missing column": (GOOD, ["--target", "Z"], ["'Z'"]),
    "no target": (GOOD, [], ["--target"]),
    "non-numeric feature": ([*GOOD[:-1], ("oops", 1, "a")], ["--target", "y"], ["'x1'", "oops", "line 13"]),
    "one class": ([(*row[:2], "a") for row in GOOD], ["--target", "y"], ["one class"]),
    "too few rows": (GOOD[:3], ["--target", "y"], ["3 rows", "4"]),
    "missing value": ([("", 1, "a"), *GOOD], ["--target", "y", "--no-impute"], ["--no-impute"]),
    "infinite value": ([("inf", 1, "a"), *GOOD], ["--target", "y"], ["infinite"]),
    "unknown machine": (GOOD, ["--target", "y", "--machine", "nil"], ["--machine", "logistic", "'nil'"]),
    "unknown criterion": (GOOD, ["--target", "y", "--criterion", "nil"], ["criterion", "loo", "'nil'"]),
    "unknown kernel": (GOOD, ["--target", "y", "--kernel", "nil"], ["kernel", "rbf", "'nil'"]),
    "unknown search": (GOOD, ["--target", "y", "--search", "nil"], ["search", "lbfgs", "'nil'"]),
    "unknown task": (GOOD, ["--target", "y", "--task", "nil"], ["--task", "nil"]),
    "unknown option": (GOOD, ["--target", "y", "--nil"], ["--nil"]),
    "holdout of everything": (GOOD, ["--target", "y", "--holdout", "1"], ["--holdout"]),
    "unwritable report": (GOOD, ["--target", "y", "--report", "no/such/folder/r.html"], ["no/such/folder"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(name, tmp_path, monkeypatch, capsys):
    rows, options, words = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    if rows is not None:
        write(tmp_path / "data.csv", "x1,x2,y", rows)
    code = run(["tune", "nothing.csv" if rows is None else "data.csv", *options])
    said = capsys.readouterr()
    complaint = [line for line in said.err.splitlines() if "note:" not in line]
    assert code == 2
    assert len(complaint) == 1
    for word in words:
        assert word in complaint[0]


HOSTILE = {
    "empty": b"",
    "zeros": b"\x00" * 5000,
    "random": bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)),
    "cut parquet": b"PAR1" + b"\x00" * 40,
    "cut zip": b"PK\x03\x04" + b"\x00" * 40,
    "cut gzip": b"\x1f\x8b\x08\x00",
    "ragged": b"a,b,y\n1,2\n3,4,5,6\n1,2,3\n",
    "terminal codes": b"a,\x1b[31mb,y\n" + b"1,\x1b]0;x\x07,0\n" * 6,
    "utf-16": "a,b,y\n1,2,3\n".encode("utf-16"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_line_and_exit_code_2(name, tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_bytes(HOSTILE[name])
    code = run(["tune", str(path), "--target", "y"])
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "\x1b" not in said.err
    assert "Traceback" not in said.err


def test_a_mistake_in_a_process_of_its_own(tmp_path):
    done = foldless("tune", "nothing.csv", "--target", "y", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "foldless: nothing.csv: there is no such file. Check the name and the directory.\n"


def test_markup_in_names_is_printed_as_text(tmp_path, capsys):
    write(
        tmp_path / "data.csv",
        "a,b,[bold red]y[/]",
        [(*row[:2], "[link=x]" if row[2] == "a" else "b") for row in GOOD],
    )
    assert run(["tune", str(tmp_path / "data.csv"), "--target", "[bold red]y[/]"]) == 0
    assert "[bold red]y[/]" in capsys.readouterr().out


def test_categories_and_missing_values(tmp_path, capsys):
    rows = [(i, "" if i == 5 else "uvw"[i % 3], "yes" if i > 20 else "no") for i in range(40)]
    path = write(tmp_path / "data.csv", "age,kind,y", rows)
    assert run(["tune", str(path), "--target", "y", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["features"] == ["age", "kind"]
    assert "column 'kind': 1 missing value; the model is told where" in found["notes"]
    assert run(["tune", str(path), "--target", "y", "--json", "--machine", "lssvc"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["features"] == ["age", "kind=u", "kind=v", "kind=w", "kind is missing"]


def test_a_time_budget_ends_the_search(ripley, capsys):
    assert run(["tune", str(ripley / "train.csv"), "--target", "side", "--json", "--time-budget", "0"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["stop"] == "time"
    assert "time budget was spent" in said.err


def _read_to_the_end(terminal):
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_prints_the_best_so_far_and_exits_130(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 40))
    y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=900) > 0, "p", "q")
    path = write(
        tmp_path / "wide.csv", ",".join([*(f"x{j}" for j in range(40)), "y"]), [(*a, b) for a, b in zip(X, y)]
    )
    mine, theirs = pty.openpty()  # a terminal, so that there is a bar to wait for
    command = [
        sys.executable,
        "-m",
        "foldless",
        "tune",
        str(path),
        "--target",
        "y",
        "--search",
        "grid",
        "--json",
    ]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=theirs) as process:
        seen, begun = "", time.monotonic()
        while "best" not in seen and time.monotonic() - begun < 60:
            seen += os.read(mine, 4096).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        # A terminal that nobody reads stops whoever writes to it.
        Thread(target=_read_to_the_end, args=[mine], daemon=True).start()
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    os.close(theirs)
    os.close(mine)
    found = json.loads(out)
    assert process.returncode == 130
    assert found["stop"] == "interrupted"
    assert re.search("tuning", seen)


def test_ctrl_c_before_anything_was_found_says_so(ripley, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("foldless.cli.commands.tune.run_experiment", interrupted)
    assert run(["tune", str(ripley / "train.csv"), "--target", "side"]) == 130
    assert capsys.readouterr().err == "foldless: interrupted before anything was found.\n"


def test_a_closed_pipe_is_no_error(ripley):
    command = f"{sys.executable} -m foldless predict model.skops new.csv | true"
    done = subprocess.run(
        command, shell=True, cwd=ripley, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr


LATE = {
    "report in no folder": ["tune", "train.csv", "--target", "side", "--report", "none/r.html"],
    "report on a folder": ["tune", "train.csv", "--target", "side", "--report", "."],
    "model in no folder": ["tune", "train.csv", "--target", "side", "--save", "none/m.skops"],
    "predictions in no folder": ["predict", "model.skops", "new.csv", "--output", "none/p.csv"],
}


@pytest.mark.parametrize("name", LATE)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(name, tuned, ripley, monkeypatch, capsys):
    monkeypatch.chdir(ripley)
    monkeypatch.setattr("foldless.cli.commands.tune.run_experiment", None)  # the work would fail loudly
    monkeypatch.setattr("foldless.cli.commands.predict.load_model", None)
    assert run(LATE[name]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "directory" in said.err
    assert "Errno" not in said.err


def test_predictions_as_json_are_those_of_the_csv(tuned, ripley, monkeypatch, capsys):
    monkeypatch.chdir(ripley)
    assert run(["predict", "model.skops", "new.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert run(["predict", "model.skops", "new.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(row["probabilities"]) for row in found] == [["left", "right"]] * len(lines)
    assert [
        f"{row['prediction']},{row['probabilities']['left']},{row['probabilities']['right']}" for row in found
    ] == lines


def test_a_column_with_the_answer_is_passed_over_in_silence(tuned, ripley, monkeypatch, capsys):
    monkeypatch.chdir(ripley)
    assert run(["predict", "model.skops", "train.csv"]) == 0
    assert capsys.readouterr().err == ""


def four_scores(data, seed):
    """Made-up scores on two splits; the first model is clearly better than the last one only."""
    from foldless.cli.demo_data import Scores

    names = ("foldless", "grid", "linear", "boosting")
    sign = 1 if data.task == "classification" else -1
    score = sign * np.array([[0.10, 0.20], [0.12, 0.18], [0.08, 0.22], [0.30, 0.41]])
    return [Scores(name, np.array([0.1, 0.2]), one, np.ones(2)) for name, one in zip(names, score)]


def test_the_demonstration_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("foldless.cli.commands.demo.measure", four_scores)
    assert run(["demo", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "note:" not in printed.err
    assert found["foldless"]["target"] == "y"
    assert found["tables"].keys() == {"digit", "y"}
    assert found["tables"]["y"]["models"]["boosting"]["r2"] == [-0.3, -0.41]
    for table, metric in zip(found["tables"].values(), ("log loss", "R2")):
        won = (
            f"foldless has a clearly better {metric} than boosting; no clear difference from grid and linear."
        )
        assert table["verdict"] == f"{won} foldless and the grid take about the same time."


@pytest.mark.parametrize(
    "seconds, words",
    [
        ((1.0, 3.0), "The grid takes 3 times as long."),
        ((4.0, 1.0), "foldless takes 4 times as long as the grid."),
    ],
)
def test_the_demonstration_says_what_was_lost(seconds, words):
    from foldless.cli.demo_data import Scores, verdict

    scores = [np.array([0.3, 0.41]), np.array([0.1, 0.2])]
    ours, grid = (Scores(n, s, s, np.full(2, t)) for n, s, t in zip(("foldless", "grid"), scores, seconds))
    assert (
        verdict([ours, grid], "classification") == f"foldless has a clearly worse log loss than grid. {words}"
    )


def test_the_demonstration_measures_all_models_on_the_same_splits(monkeypatch):
    from foldless.cli import demo_data
    from foldless.estimators import KernelRidgeRegressor

    data = demo_data.friedman().table
    monkeypatch.setattr(
        demo_data, "models", lambda _: {"a": KernelRidgeRegressor(), "b": KernelRidgeRegressor()}
    )
    monkeypatch.setattr(demo_data, "WORKER_PROCESSES", 1)
    first, second = demo_data.measure(data, seed=0, n_splits=2)
    assert np.array_equal(first.score, second.score)
    assert first.score[0] != first.score[1]
    assert 0.7 < first.score.mean() < 0.95


def test_a_reproduced_table_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("foldless.cli.papers.li.table_2", lambda data, splits=50: f"| {splits} |")
    assert run(["reproduce", "li-2", "--data", str(tmp_path), "--splits", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"table": "li-2", "markdown": "| 7 |"}


def test_a_missing_data_set_is_named_without_the_number_of_the_error(tmp_path, capsys):
    assert run(["reproduce", "li-2", "--data", str(tmp_path), "--splits", "1"]) == 2
    assert capsys.readouterr().err == f"foldless: {tmp_path / 'a1a.npz'}: No such file or directory.\n"


def test_a_machine_for_counts_makes_small_counts_numbers(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [(x, rng.poisson(np.exp(x / 2))) for x in rng.normal(size=60)]
    path = write(tmp_path / "visits.csv", "x,visits", rows)
    assert len({count for _, count in rows}) <= 6  # few enough to be taken for classes
    assert run(["tune", str(path), "--target", "visits", "--machine", "poisson", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "regression"


def test_a_filled_number_is_told_in_three_digits(tmp_path, capsys):
    rows = [("" if i == 5 else i / 7, i % 3, "yes" if i > 20 else "no") for i in range(40)]
    path = write(tmp_path / "data.csv", "age,kind,y", rows)
    assert run(["tune", str(path), "--target", "y"]) == 0
    assert "filled with 2.84\n" in capsys.readouterr().err


def test_without_a_command_the_help_is_all_that_is_said(capsys):
    assert run([]) == 2
    said = capsys.readouterr()
    assert "Usage: foldless" in said.out
    assert said.err == ""


def test_compare_takes_auto_by_name_alone_or_beside_machines(ripley, capsys):
    options = ["--repeats", "1", "--json", "--target", "side", "--no-baselines", "--criterion", "loo"]
    for machine, names in (("auto", ["auto"]), ("lssvc,auto", ["auto", "lssvc"])):
        assert run(["compare", str(ripley / "train.csv"), *options, "--machine", machine]) == 0
        assert sorted(line["machine"] for line in json.loads(capsys.readouterr().out)) == names


def test_pure_noise_is_told_once_and_the_chosen_kernel_is_not_blamed(tmp_path, capsys):
    rng = np.random.default_rng(3)
    path = write(tmp_path / "noise.csv", "x,y", [(rng.normal(), rng.normal()) for _ in range(100)])
    assert run(["tune", str(path), "--target", "y"]) == 0
    said = capsys.readouterr()
    assert "caution: Always predicting the mean is as good" in said.err
    assert said.err.count("no better") == said.err.count("bound") == 0
    assert "not clearly better than always answering the mean" in said.out


@pytest.mark.parametrize("machine", [[], ["--machine", "ridge"]])
def test_missing_numbers_are_filled_with_the_mean_of_the_rows_that_train(machine, tmp_path, capsys):
    rows = [("" if i % 9 == 5 else i**3, i % 4, i / 3) for i in range(40)]
    path, model = write(tmp_path / "data.csv", "age,kind,y", rows), tmp_path / "model.skops"
    table = read_table(path, "y")
    train, _ = split_table(table, 0.5, 0)
    mean = np.nanmean(table.values[train, 0])
    assert mean != pytest.approx(np.nanmean(table.values[:, 0]), rel=0.05)
    options = ["--holdout", "0.5", "--save", str(model), *machine]
    assert run(["tune", str(path), "--target", "y", *options]) == 0
    said = capsys.readouterr().err
    assert f"column 'age': 4 missing values filled with {number(mean)}\n" in said
    prepared = load_model(model).model[:-1]
    gap, filled = prepared.transform(np.array([[np.nan, 1.0], [mean, 1.0]]))
    assert gap[0] == pytest.approx(filled[0], abs=1e-12)


def test_a_table_without_headings_has_no_empty_line_for_them(ripley, capsys):
    assert run(["tune", str(ripley / "train.csv"), "--target", "side"]) == 0
    facts = capsys.readouterr().out.partition("On rows that")[0]
    title, *lines = facts.rstrip().splitlines()
    assert title.split() == ["train.csv:", "side"]
    assert next(line.split()[0] for line in lines if line.strip()) == "leave-one-out"
    assert not any("──" in line for line in lines)


def test_a_negative_seed_is_a_mistake(ripley, capsys):
    assert run(["tune", str(ripley / "train.csv"), "--target", "side", "--seed", "-1"]) == 2
    assert "--seed" in capsys.readouterr().err


def test_cautions_are_printed_once_on_the_terminal(tmp_path, capsys):
    rng = np.random.default_rng(1)
    write(
        tmp_path / "noise.csv",
        "a,b,c,y",
        zip(*rng.normal(size=(3, 50)), np.where(rng.normal(size=50) > 0, "p", "q")),
    )
    asked = [
        "tune",
        str(tmp_path / "noise.csv"),
        "--target",
        "y",
        "--machine",
        "logistic",
        "--kernel",
        "rbf-ard-free",
    ]
    assert run(asked) == 0
    shown = capsys.readouterr()
    assert shown.err.count("parameters were chosen on 50 rows") == 1
    assert "parameters were tuned on" not in shown.err
    assert "caution: " in shown.err


def test_the_verdict_is_printed_with_and_without_a_report(ripley, monkeypatch, capsys):
    monkeypatch.chdir(ripley)
    asked = ["tune", "train.csv", "--target", "side", "--machine", "logistic"]
    assert run(asked) == 0
    printed = capsys.readouterr().out
    for words in ("commonest class", "logistic regression", "boosted trees", "log loss", "AUC", "Useful: "):
        assert words in printed
    assert run([*asked, "--report", "verdict.html"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == printed.splitlines()[-1]
    assert run([*asked, "--no-baselines", "--report", "verdict.html"]) == 0
    assert "on rows it has not seen." in capsys.readouterr().out
    assert "boosted trees" not in (ripley / "verdict.html").read_text(encoding="utf-8")


def test_the_verdict_and_its_scores_are_in_the_json(ripley, capsys):
    assert (
        run(["tune", str(ripley / "train.csv"), "--target", "side", "--machine", "logistic", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"].startswith("Useful: ")
    assert list(found["models"]) == ["this model", "commonest class", "logistic regression", "boosted trees"]
    error = found["models"]["this model"]["error"]
    assert error["value"] == found["loo_error"]
    assert error["low"] < error["value"] < error["high"]


def test_models_that_would_take_long_are_left_to_the_report(ripley, monkeypatch, capsys):
    monkeypatch.setattr("foldless.cli.report.baselines.QUICK_MAX_CELLS", 10)
    assert run(["tune", str(ripley / "train.csv"), "--target", "side", "--machine", "logistic"]) == 0
    said = capsys.readouterr()
    assert "boosted trees" not in said.out
    assert "logistic regression" in said.out
    assert "--report fits them" in said.err


def test_standard_input_has_a_name(ripley, monkeypatch, capsys):
    table = (ripley / "train.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(table))))
    assert run(["tune", "-", "--target", "side", "--machine", "logistic"]) == 0
    assert capsys.readouterr().out.startswith("standard input: side")
