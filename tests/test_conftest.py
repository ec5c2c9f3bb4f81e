"""The end of a run says what was not tested."""

import os
import subprocess
import sys
from pathlib import Path

BROWSER_TESTS = Path(__file__).parent / "cli" / "report" / "test_in_a_browser.py"


def test_a_run_without_a_browser_ends_with_what_was_not_tested():
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(BROWSER_TESTS)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**inherited, "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    *_, loud, counts = done.stdout.splitlines()
    assert "skipped" in counts
    assert loud.startswith("!!! NOT TESTED: the report in a browser.")
    assert "apt-get install chromium" in loud
