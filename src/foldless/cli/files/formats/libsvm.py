"""LIBSVM (svmlight): a label and index:value pairs per line; what is not written is zero."""

import io

import numpy as np

from foldless.cli.files.sheet import Column, Sheet
from foldless.core.errors import DataError

LARGEST_DENSE = 200_000_000  # cells: 1.6 GB once dense


def libsvm(path, text: str) -> Sheet:
    """Read a file into dense columns named after the indices written in it."""
    from sklearn.datasets import load_svmlight_file

    try:  # indices are kept as they are written, so that two files name their columns alike
        X, y = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float64, zero_based=True)
    except (ValueError, OverflowError, MemoryError) as error:
        raise DataError(
            f"{path}: not a LIBSVM file, whose lines read 'label index:value ...' ({error})."
        ) from None
    if X.shape[0] * X.shape[1] > LARGEST_DENSE:
        raise DataError(
            f"{path}: {X.shape[0]} rows by {X.shape[1]} columns are too many to hold as a dense table."
        )
    X = X.toarray()
    first = 0 if X[:, :1].any() else 1
    names = [f"x{j}" for j in range(first, X.shape[1])]
    columns = [*map(Column, names, X.T[first:]), Column("y", y)]
    return Sheet(str(path), tuple(columns), target="y", absent_is_zero=True)
