"""Memory that was freed is used again, without a page fault."""

import os
import platform
import subprocess
import sys

import pytest

# Eight arrays of 1.3 MB are made and freed, ten times, after a fit; then the number of page faults is printed.
SCRIPT = """
import resource
import numpy as np
from foldless.core.parallel import workers

def evaluate():
    arrays = [np.ones((400, 400)) for _ in range(8)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if {kept}:
    with workers(1):
        pass
evaluate()
begun = faults()
for _ in range(10):
    evaluate()
print(faults() - begun)
"""
PAGES_OF_AN_ARRAY = 400 * 400 * 8 // 4096


def page_faults(kept: bool) -> int:
    """Return the page faults of ten rounds, in a process that has freed nothing large before."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC", "GLIBC"))}
    script = SCRIPT.format(kept=kept)
    done = subprocess.run(
        [sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_rounds_after_the_first_touch_no_new_page():
    # One round alone touches eight arrays; without the rule every round does.
    assert page_faults(kept=True) < PAGES_OF_AN_ARRAY
    assert page_faults(kept=False) > 10 * PAGES_OF_AN_ARRAY
