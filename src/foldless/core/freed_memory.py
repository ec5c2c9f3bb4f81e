"""Memory that a fit frees stays with the process, for the next evaluation.

A search makes and frees the same few arrays in every evaluation. The C library of Linux (glibc) gives memory back to the system
as soon as twice the size of the largest block that was ever freed lies idle, and the system hands it out again page by page,
each cleared first: a quarter of a fit to 400 rows. Its limits follow the program up to blocks of 32 MiB, so that one such block,
freed once, is enough to let it keep 64 MiB.
"""

from functools import cache

import numpy as np

# The largest block whose size glibc learns from, less the room for its own notes.
LEARNED_BYTES = 2**25 - 2**16
# What glibc then keeps.
KEPT_BYTES = 2**26


@cache
def keep_freed_memory() -> None:
    """Make the C library keep up to 64 MiB that were freed; elsewhere than with glibc nothing happens.

    The block is never written to, so that it takes an address and no memory.
    """
    np.empty(LEARNED_BYTES, dtype=np.uint8)
