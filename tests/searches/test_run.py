"""What every search inherits: evaluations, budgets, interrupts, a complete trace, and a file to resume from."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from foldless.core.contracts import Box, Evaluation, Stop
from foldless.searches.base import Search
from foldless.searches.run import SearchRun

BOX = Box(np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
POINTS = [np.array(p) for p in ([1.0, 0.0], [0.5, 0.5], [0.0, 0.1], [-1.0, 1.0], [0.0, -2.0])]


def bowl(theta, warm_start=None):
    return Evaluation(float(theta @ theta), lambda: 2 * theta)


@dataclass(frozen=True)
class InTurn(Search):
    """Evaluates its starts in turn."""

    name: ClassVar[str] = "in-turn"

    def run(self, run, box, starts):
        for start in starts:
            run.evaluate(start, "in turn")
        return Stop.EXHAUSTED


@dataclass(frozen=True)
class SideBySide(Search):
    """Evaluates at each of its starts twice, the starts side by side."""

    name: ClassVar[str] = "side-by-side"

    def run(self, run, box, starts):
        def twice(part, start):
            part.evaluate(start, "first")
            part.evaluate(start / 2, "second")
            part.keep_optimum(start / 2)
            return Stop.CONVERGED

        run.run_parts([lambda part, start=start: twice(part, start) for start in starts])
        return Stop.CONVERGED


def same_trace(a, b):
    return len(a) == len(b) and all(
        np.array_equal(s.theta, t.theta) and s.value == t.value and s.why == t.why for s, t in zip(a, b)
    )


def counted(evaluate=bowl, interrupt_at=None):
    """The function, and a list that grows with every call."""
    calls = []

    def wrapped(theta, warm_start=None):
        if interrupt_at is not None and len(calls) == interrupt_at:
            raise KeyboardInterrupt
        calls.append(np.array(theta))
        return evaluate(theta, warm_start)

    return wrapped, calls


def test_the_trace_holds_every_evaluation_in_order():
    evaluate, calls = counted()
    outcome = InTurn()(evaluate, BOX, POINTS)
    assert np.array_equal([s.theta for s in outcome.trace], POINTS)
    assert np.array_equal(calls, POINTS)
    assert [s.value for s in outcome.trace] == [float(p @ p) for p in POINTS]
    assert all(np.array_equal(s.gradient, 2 * s.theta) for s in outcome.trace)
    assert all(s.seconds >= 0 and s.why == "in turn" for s in outcome.trace)
    assert outcome.best is outcome.trace[2]
    assert outcome.stop is Stop.EXHAUSTED


def test_watch_sees_every_step():
    seen = []
    outcome = InTurn()(bowl, BOX, POINTS, watch=seen.append)
    assert tuple(seen) == outcome.trace


def test_points_are_clipped_to_the_box():
    outcome = InTurn()(bowl, BOX, [np.array([5.0, -7.0])])
    assert np.array_equal(outcome.best.theta, [2.0, -2.0])


def test_a_value_alone_asks_for_no_gradient():
    def derive():
        raise AssertionError("a gradient was asked for")

    run = SearchRun(lambda theta, warm_start: Evaluation(1.0, derive), BOX)
    assert run.evaluate(np.zeros(2), "value", gradient=False).gradient is None


def test_the_warm_start_of_one_evaluation_reaches_the_next():
    seen = []

    def evaluate(theta, warm_start):
        seen.append(warm_start)
        return Evaluation(float(theta @ theta), warm_start=None if len(seen) == 2 else len(seen))

    InTurn()(evaluate, BOX, POINTS[:4])
    assert seen == [None, 1, 1, 3]  # an evaluation without one leaves the last


@pytest.mark.parametrize("budget", [1, 3, 5, 9])
def test_a_budget_of_evaluations_is_kept(budget):
    evaluate, calls = counted()
    outcome = InTurn()(evaluate, BOX, POINTS, max_evaluations=budget)
    assert len(calls) == len(outcome.trace) == min(budget, 5)
    assert outcome.stop is (Stop.BUDGET if budget < 5 else Stop.EXHAUSTED)
    assert outcome.best.value == min(float(p @ p) for p in POINTS[:budget])


@pytest.mark.parametrize("budget", [0, -1])
def test_one_evaluation_is_made_whatever_the_budget(budget):
    assert len(InTurn()(bowl, BOX, POINTS, max_evaluations=budget).trace) == 1
    assert len(InTurn()(bowl, BOX, POINTS, time_budget=budget).trace) == 1


def test_a_time_budget_is_kept():
    def slow(theta, warm_start):
        time.sleep(0.05)
        return bowl(theta)

    outcome = InTurn()(slow, BOX, POINTS * 10, time_budget=0.12)
    assert outcome.stop is Stop.TIME
    assert 1 <= len(outcome.trace) <= 3


def test_an_interrupt_returns_the_best_so_far():
    evaluate, _ = counted(interrupt_at=3)
    outcome = InTurn()(evaluate, BOX, POINTS)
    assert outcome.stop is Stop.INTERRUPTED
    assert len(outcome.trace) == 3
    assert outcome.best.value == pytest.approx(0.01)


def test_an_interrupt_before_the_first_evaluation_is_raised():
    evaluate, _ = counted(interrupt_at=0)
    with pytest.raises(KeyboardInterrupt):
        InTurn()(evaluate, BOX, POINTS)


def test_a_value_that_is_no_number_is_never_the_best():
    outcome = InTurn()(lambda t, c: Evaluation(np.nan if t[0] > 0.7 else float(t @ t)), BOX, POINTS)
    assert outcome.trace[0].value == np.inf
    assert outcome.best.value == pytest.approx(0.01)


def test_of_equal_steps_the_middle_is_the_best():
    steps = [np.array([x, 0.0]) for x in np.linspace(-2, 2, 9)]
    plateau = InTurn()(lambda t, c: Evaluation(float(abs(t[0]) > 1.2)), BOX, steps)
    assert np.array_equal(plateau.best.theta, [0, 0])


def test_neighbouring_optima_are_one_and_the_better_is_kept():
    run = SearchRun(bowl, BOX)
    for point in ([1.0, 1.0], [1.01, 1.0], [0.99, 1.0], [-1.0, 1.5]):
        run.evaluate(np.array(point), "point")
        run.keep_optimum(point)
    optima = run.outcome(Stop.CONVERGED).optima
    assert [list(o.theta) for o in optima] == [[0.99, 1.0], [-1.0, 1.5]]


def test_the_best_step_is_among_the_optima_even_if_a_descent_was_cut_short():
    run = SearchRun(bowl, BOX)
    for point in ([1.0, 1.0], [0.0, 0.0]):
        run.evaluate(np.array(point), "point")
    run.keep_optimum([1.0, 1.0])
    outcome = run.outcome(Stop.BUDGET)
    assert outcome.optima[0] is outcome.best
    assert len(outcome.optima) == 2


# Parts of a search side by side.


@pytest.mark.parametrize("budget", [None, 7])
def test_the_outcome_does_not_depend_on_n_jobs(budget):
    alone = SideBySide()(bowl, BOX, POINTS, max_evaluations=budget)
    for n_jobs in (1, 2, 4):
        together = SideBySide()(bowl, BOX, POINTS, max_evaluations=budget, n_jobs=n_jobs)
        assert same_trace(alone.trace, together.trace)
        assert same_trace(alone.optima, together.optima)
        assert alone.stop is together.stop


@pytest.mark.parametrize("budget", range(1, 12))
def test_parts_share_the_budget_and_never_exceed_it(budget):
    outcome = SideBySide()(bowl, BOX, POINTS, max_evaluations=budget, n_jobs=2)
    assert len(outcome.trace) == min(budget, 10)
    assert outcome.stop is (Stop.BUDGET if budget < 10 else Stop.CONVERGED)


def test_an_interrupt_of_one_part_keeps_what_the_others_found():
    evaluate, _ = counted(interrupt_at=5)
    outcome = SideBySide()(evaluate, BOX, POINTS)
    assert outcome.stop is Stop.INTERRUPTED
    assert len(outcome.trace) == 5


def test_an_interrupt_in_a_thread_stops_the_others():
    calls = []

    def evaluate(theta, warm_start):
        calls.append(theta)
        if theta[0] == 0.5:
            raise KeyboardInterrupt
        time.sleep(0.02)
        return bowl(theta)

    many = POINTS[:2] + [np.array([x, 1.0]) for x in np.linspace(-1, 0, 50)]
    outcome = SideBySide()(evaluate, BOX, many, n_jobs=2)
    assert outcome.stop is Stop.INTERRUPTED
    assert len(calls) < 20


INTERRUPTED = """
import sys, time
import numpy as np
from test_run import BOX, POINTS, SideBySide, bowl

def evaluate(theta, warm_start):
    print("point", flush=True)
    time.sleep(0.05)
    return bowl(theta)

outcome = SideBySide()(evaluate, BOX, POINTS * 20, n_jobs=2)
print(outcome.stop.name, len(outcome.trace))
"""


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_threads_are_evaluating_returns_the_best_so_far():
    here = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=environment
    )
    for _ in range(6):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    last = process.communicate(timeout=60)[0].splitlines()[-1].split()
    assert last[0] == "INTERRUPTED"
    assert 4 <= int(last[1]) < 30


def test_parts_resume_from_the_checkpoint(tmp_path):
    file = tmp_path / "run.jsonl"
    whole = SideBySide()(bowl, BOX, POINTS)
    SideBySide()(bowl, BOX, POINTS, checkpoint=file, max_evaluations=7)
    evaluate, calls = counted()
    again = SideBySide()(evaluate, BOX, POINTS, checkpoint=file, n_jobs=2)
    assert same_trace(whole.trace, again.trace)
    assert len(calls) == 10 - 7


# The file.


def test_a_checkpoint_replays_what_it_holds_and_goes_on(tmp_path):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file, max_evaluations=3)
    evaluate, calls = counted()
    seen = []
    outcome = InTurn()(evaluate, BOX, POINTS, checkpoint=file, watch=seen.append)
    assert np.array_equal(calls, POINTS[3:])
    assert same_trace(outcome.trace, InTurn()(bowl, BOX, POINTS).trace)
    assert tuple(seen) == outcome.trace
    evaluate, calls = counted()
    InTurn()(evaluate, BOX, POINTS, checkpoint=file)
    assert calls == []


def test_gradients_infinities_and_notes_survive_the_file(tmp_path):
    file = tmp_path / "run.jsonl"

    def evaluate(theta, warm_start):
        return Evaluation(np.inf, note="undefined, §1") if theta[0] == 1.0 else bowl(theta)

    first = InTurn()(evaluate, BOX, POINTS, checkpoint=file)
    again = InTurn()(evaluate, BOX, POINTS, checkpoint=file)
    assert again.trace[0].value == np.inf
    assert again.trace[0].note == "undefined, §1"
    assert again.trace[0].gradient is None
    assert np.array_equal(again.trace[1].gradient, first.trace[1].gradient)
    assert [s.seconds for s in again.trace] == [s.seconds for s in first.trace]


@pytest.mark.parametrize("keep", [1, 5, 30])
def test_a_last_line_cut_short_costs_one_evaluation(tmp_path, keep):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file, max_evaluations=3)
    *whole, last = file.read_text().splitlines(keepends=True)
    file.write_text("".join(whole) + last[:keep])
    evaluate, calls = counted()
    outcome = InTurn()(evaluate, BOX, POINTS, checkpoint=file)
    assert np.array_equal(calls, POINTS[2:])
    assert same_trace(outcome.trace, InTurn()(bowl, BOX, POINTS).trace)
    assert all(json.loads(line) for line in file.read_text().splitlines())


@pytest.mark.parametrize("keep", [1, 14, 40])
def test_an_opening_line_cut_short_begins_again(tmp_path, keep):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file, max_evaluations=1)
    file.write_text(file.read_text()[:keep])
    assert len(InTurn()(bowl, BOX, POINTS, checkpoint=file).trace) == 5
    assert len(file.read_text().splitlines()) == 6


@pytest.mark.parametrize("text", ["a,b\n1,2", "a,b", "[1, 2]\n3", '{"x": 1}\n', "12\n", "\x00\xff\n"])
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_was(tmp_path, text):
    file = tmp_path / "data.csv"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"data\.csv is no checkpoint"):
        InTurn()(bowl, BOX, POINTS, checkpoint=file)
    assert file.read_bytes() == text.encode("latin-1")


def test_a_checkpoint_of_another_box_is_refused(tmp_path):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file)
    with pytest.raises(ValueError, match="another box"):
        InTurn()(bowl, Box(BOX.low, BOX.high + 1), POINTS, checkpoint=file)


def test_a_checkpoint_of_another_search_is_refused(tmp_path):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file)
    with pytest.raises(ValueError, match=r"another search: its step 2 is at .* Name another file"):
        InTurn()(bowl, BOX, [POINTS[0], POINTS[3]], checkpoint=file)


def test_sections_of_one_file_do_not_meet(tmp_path):
    file = tmp_path / "run.jsonl"
    InTurn()(bowl, BOX, POINTS, checkpoint=file, section="a", max_evaluations=2)
    InTurn()(bowl, BOX, POINTS[::-1], checkpoint=file, section="b", max_evaluations=2)
    evaluate, calls = counted()
    InTurn()(evaluate, BOX, POINTS, checkpoint=file, section="a")
    InTurn()(evaluate, BOX, POINTS[::-1], checkpoint=file, section="b")
    assert np.array_equal(calls, POINTS[2:] + POINTS[::-1][2:])


KILLED = """
import sys, time
import numpy as np
from foldless.core.contracts import Box, Evaluation
from foldless.searches import LBFGS

def evaluate(theta, warm_start):
    with open(sys.argv[2], "a") as calls:
        calls.write("x")
    time.sleep(float(sys.argv[3]))
    a, b = theta
    return Evaluation((1 - a) ** 2 + 100 * (b - a * a) ** 2,
                      lambda: np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]))

outcome = LBFGS(n_starts=2, tolerance=1e-12)(
    evaluate, Box(np.full(2, -2.0), np.full(2, 2.0)), [[-1.5, 1.0], [0.0, 1.5], [1.8, -1.0]], checkpoint=sys.argv[1])
for step in outcome.trace:
    print(*step.theta, step.value, step.why)
print(outcome.best.value, outcome.stop.name, len(outcome.optima))
"""


def _run(*args):
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, *map(str, args)], stdout=subprocess.PIPE, text=True
    )


def test_a_killed_process_resumes_and_repeats_at_most_one_evaluation(tmp_path):
    undisturbed, _ = _run(tmp_path / "whole.jsonl", tmp_path / "whole", 0).communicate()
    file, calls = tmp_path / "run.jsonl", tmp_path / "calls"
    kills = 0
    for patience in (6, 14, 23):  # kill it, three times over, in the midst of an evaluation
        process = _run(file, calls, 0.05)
        while process.poll() is None and len(calls.read_text() if calls.exists() else "") < patience:
            time.sleep(0.01)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
    assert kills == 3
    resumed, _ = _run(file, calls, 0).communicate()
    assert resumed == undisturbed
    evaluations = len(undisturbed.splitlines()) - 1
    assert evaluations <= len(calls.read_text()) <= evaluations + kills
