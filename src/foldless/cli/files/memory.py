r"""How much memory ``foldless tune`` takes at most, and how many rows fit into so much.

A table of n rows takes :math:`T = n b`, with b = 8 bytes for a number and 80 for a text or a date, which may become up to ten
columns. Besides what is there before any row, the command takes at most

.. math:: M(n) = M_0 + n_c M_1 + 6 T + \max\bigl(96 \min(n, n_w)^2,\; 12\, n\, m(n)\bigr)  \tag{1}

bytes: buffers of the files, copies of the table that exist at the same time, and either twelve matrices of the :math:`n_w` rows up to which
a fit is whole, or one and a half arrays of rows times landmarks, m. Measured with one thread as growth of a process beside (1), for ten numbers and a
text: 193 of 602 MB for 1000 rows, 247 of 700 for 1420 and 1478 of 2500 for 4553, both with a report, 611 of 2924 for 20 000, 800 of 3001 for 100 000;
and 4.2 of 6.2 GB for a million rows of 18 numbers through 400 landmarks.
"""

from bisect import bisect_right

from foldless.cli.numbers import number
from foldless.tuning.last_fit import WHOLE_MAX_ROWS, landmark_limit, landmark_operations

NUMBER_BYTES, TEXT_BYTES = 8, 80
# M_0 and M_1 of eq. (1): libraries, buffers and blocks of the search; and the pages of a column of a Parquet file.
FIXED_BYTES, COLUMN_BYTES = 450e6, 5e6
TABLE_COPIES, WHOLE_COPIES, LANDMARK_COPIES = 6, 12, 1.5
# What ``tune`` takes unless it is told otherwise.
USUAL_BYTES = 8e9
GIGABYTE, MEGABYTE = 1e9, 1e6


def memory_at_most(n_rows: int, n_columns: int, row_bytes: int) -> float:
    """Return eq. (1) in bytes.

    Examples
    --------
    >>> [round(memory_at_most(n, 18, 144) / 1e9, 1) for n in (1000, 5000, 100_000, 1_000_000)]
    [0.6, 2.9, 3.0, 6.2]
    """
    whole = WHOLE_COPIES * min(n_rows, WHOLE_MAX_ROWS) ** 2
    return (
        FIXED_BYTES
        + n_columns * COLUMN_BYTES
        + TABLE_COPIES * n_rows * row_bytes
        + NUMBER_BYTES * max(whole, LANDMARK_COPIES * _landmark_entries(n_rows))
    )


def _landmark_entries(n: int) -> float:
    """Return the largest number of rows times landmarks of a fit to n rows."""
    return n * min(n, landmark_limit(n, landmark_operations(n)))


def affordable_rows(memory: float, n_columns: int, row_bytes: int) -> int:
    """Return the largest number of rows for which eq. (1) is at most ``memory`` bytes; 0 if there is none.

    Examples
    --------
    >>> affordable_rows(8e9, 18, 144)
    3078703
    """
    most = int(memory / (TABLE_COPIES * max(1, row_bytes))) + 1
    # The right-hand side grows with n.
    return bisect_right(range(1, most), memory, key=lambda n: memory_at_most(n, n_columns, row_bytes))


def as_text(memory: float) -> str:
    """Return an amount of memory for people.

    Examples
    --------
    >>> as_text(8e9), as_text(2.946e9), as_text(6.01e8)
    ('8 GB', '2.95 GB', '601 MB')
    """
    return f"{number(memory / GIGABYTE)} GB" if memory >= GIGABYTE else f"{number(memory / MEGABYTE)} MB"
