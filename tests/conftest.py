import signal
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run, and no stopwatch: a busy machine is not a wrong formula.
settings.register_profile("foldless", derandomize=True, deadline=None)
settings.load_profile("foldless")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """End the run with a loud line for every reason "NOT TESTED: ..." that tests were skipped for."""
    result = yield
    reasons = (str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    untested = Counter(reason.removeprefix("Skipped: ") for reason in reasons if "NOT TESTED:" in reason)
    for reason, count in untested.items():
        terminalreporter.write_line(f"!!! {reason} ({count} tests)", red=True, bold=True)
    return result


@pytest.fixture
def rng():
    """The one source of randomness in tests: fixed, and fresh for every test."""
    return np.random.default_rng(20240607)


@pytest.fixture
def interruptible():
    """Let the processes of a test hear Ctrl-C: they inherit deafness to it from a run in the background of a shell."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def time_limit():
    """End a test that waits for others, such as the workers of a cluster, after five minutes."""

    def too_late(*_):
        pytest.fail("the test took longer than five minutes.")

    previous = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def two_classes(rng):
    """Forty points of two overlapping clouds in three dimensions; labels -1 and 1."""
    y = np.repeat([-1.0, 1.0], 20)
    return rng.normal(size=(40, 3)) + 0.8 * y[:, None], y


@pytest.fixture
def three_classes(rng):
    """Sixty points of three clouds in the plane; labels 0, 1, 2."""
    y = np.repeat([0, 1, 2], 20)
    centres = np.array([[0.0, 2.0], [-1.5, -1.0], [1.5, -1.0]])
    return rng.normal(size=(60, 2)) + centres[y], y


@pytest.fixture
def noisy_curve(rng):
    """Forty points of a sine with noise of standard deviation 0.1."""
    X = rng.uniform(-3, 3, size=(40, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
