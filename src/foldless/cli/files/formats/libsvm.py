"""LIBSVM (svmlight): a label and index:value pairs per line; a feature that is not written is zero."""

import io

import numpy as np

from foldless.cli.files.sheet import Column, PathLike, Sheet, check_size, is_number
from foldless.core.errors import DataError, reason


def is_libsvm_line(line: str) -> bool:
    """Return True if a line reads ``label index:value ...``, perhaps with a query number and a comment."""
    label, *pairs = line.partition("#")[0].split() or [""]
    return is_number(label) and bool(pairs) and all(map(_is_pair, pairs))


def _is_pair(text: str) -> bool:
    index, _, value = text.partition(":")
    return bool(value) and (index.isdecimal() or index.lower() == "qid")


def read_libsvm(path: PathLike, text: str) -> Sheet:
    """Read a file into dense columns named after the indices that occur in it.

    Indices keep their numbers, so that two files name their columns alike.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float64, zero_based=True)
    except (ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            f"{path}: not a LIBSVM file, whose lines read 'label index:value ...' ({reason(error)})."
        ) from None
    indices, place = np.unique(X.indices, return_inverse=True)
    check_size(path, X.shape[0], len(indices))
    dense = np.zeros((X.shape[0], len(indices)))
    dense[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), place] = X.data
    columns = [Column(f"x{j}", x) for j, x in zip(indices, dense.T)]
    return Sheet(str(path), (*columns, Column("y", y)), target="y", absent_is_zero=True)
