"""Run the numerical tests with the BLAS kernels of several processors: a tolerance that fits one rounding shows here.

Use: python .ci/portable.py [pytest arguments]. OPENBLAS_CORETYPE selects the kernels; a kind that this processor cannot
execute, or that NumPy's and SciPy's BLAS do not have, is skipped, and a line on stderr reports it.
"""

import os
import subprocess
import sys

KINDS = (
    "Prescott",
    "Nehalem",
    "Sandybridge",
    "Haswell",
    "SkylakeX",
)  # SSE3, SSE4.2, AVX, AVX2 with FMA, AVX-512
IN_USE = """
import numpy, scipy.linalg, threadpoolctl
scipy.linalg.cholesky(numpy.ones((99, 99)) @ numpy.ones((99, 99)) + numpy.eye(99))
print(*sorted({pool.get("architecture", "other") for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}))
"""


def environment(kind):
    """One BLAS thread per test process, with the kernels of ``kind``."""
    return os.environ | {"OPENBLAS_CORETYPE": kind, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def runs_here(kind):
    """Whether every BLAS in the process really uses ``kind``, and survives it."""
    probe = subprocess.run(
        [sys.executable, "-c", IN_USE], env=environment(kind), stdout=subprocess.PIPE, text=True
    )
    return probe.returncode == 0 and probe.stdout.strip().lower() == kind.lower()


def main(arguments):
    """Return 0 if the tests pass under every kind that runs here."""
    kinds = [kind for kind in KINDS if runs_here(kind)]
    for kind in sorted(set(KINDS) - set(kinds)):
        print(f"!!! THE BLAS KERNELS OF {kind.upper()} DO NOT RUN HERE: NOT TESTED !!!", file=sys.stderr)
    failed = []
    for kind in kinds:
        print(f"== BLAS kernels of {kind}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        if subprocess.run(command, env=environment(kind)).returncode:
            failed.append(kind)
    print(f"tested: {' '.join(kinds) or 'none'}; failed: {' '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
