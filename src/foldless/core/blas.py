"""SciPy's BLAS and LAPACK without the interpreter's lock.

The wrappers in ``scipy.linalg.blas`` and ``scipy.linalg.lapack`` hold Python's global lock for the whole call, so that
threads wait for each other. SciPy offers the same routines to Cython as C functions, in capsules that name their
signature; called through ctypes they release the lock. This is the only file that knows. The ordinary wrapper is called
for small matrices, and wherever a capsule is not as expected (another build of SciPy, another Python).

All functions take and return double precision, except those whose names begin with an s: theirs is single precision. They use lower
triangles only: the entries above the diagonal of a triangular argument are not read, those of a triangular result are not meaningful.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from foldless.core.gram import Matrix, Rows

# Calls with fewer multiplications are so short that waiting for the lock afterwards costs more than holding it.
MIN_UNLOCKED_PRODUCTS = 3_000_000

# Mask of the entries above the diagonal in a square block: triangles are cleared or mirrored one strip at a time.
ABOVE_DIAGONAL = np.triu(np.ones((64, 64), dtype=bool), 1)

# Arguments of the routines, all passed by address: c for a character, i for an integer, d for a double, s for a number in single precision.
SIGNATURES = {
    "dpotrf": "cidii",
    "spotrf": "cisii",
    "dpotrs": "ciididii",
    "dtrtrs": "ccciididii",
    "strtrs": "ccciisisii",
    "dtrtri": "ccidii",
    "dlauum": "cidii",
    "dpstrf": "cidiiiddi",
    "dsyrk": "cciiddiddi",
    "dtrmm": "cccciiddidi",
}
# The first letter of a routine says what its arrays hold.
TYPES: dict[str, type[np.floating]] = {"d": np.float64, "s": np.float32}
INTEGERS = {"int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64}


def dpotrf(A: Matrix, overwrite: bool = False) -> tuple[Matrix, int]:
    """Return the Cholesky factor of a positive definite matrix and ``info``, which is positive if A is not one.

    The entries above the diagonal of the factor are zero.
    """
    return _potrf("dpotrf", A, overwrite)


def spotrf(A: Matrix, overwrite: bool = False) -> tuple[Matrix, int]:
    """Return what :func:`dpotrf` does, in single precision."""
    return _potrf("spotrf", A, overwrite)


def _potrf(name: str, A: Matrix, overwrite: bool) -> tuple[Matrix, int]:
    _check_fit(A, len(A))
    run = _routine(name, len(A) ** 3 // 3)
    if run is None:
        factor, info = getattr(lapack, name)(A, lower=1, clean=1, overwrite_a=overwrite)
        return factor, info
    A = _own(A, overwrite, TYPES[name[0]])
    info = run(b"L", len(A), A, len(A))
    return clear_upper(A), info


def dpstrf(A: Matrix, tolerance: float) -> tuple[Matrix, Rows, int]:
    """Return the pivoted Cholesky factor of a positive semi-definite matrix, the rows in order of elimination and the rank.

    Elimination ends when no pivot exceeds the tolerance; columns behind the rank are not meaningful.
    """
    _check_fit(A, len(A))
    run = _routine("dpstrf", len(A) ** 3 // 3)
    if run is None:
        c, order, rank, _ = lapack.dpstrf(A, tol=tolerance, lower=1)
        return c, order - 1, rank
    A = _own(A)
    order, rank, work = np.zeros(len(A), run.integer), np.zeros(1, run.integer), np.empty(2 * len(A))
    run(b"L", len(A), A, len(A), order, rank, tolerance, work)
    return A, order.astype(np.intp) - 1, int(rank[0])


def dlauum(L: Matrix) -> tuple[Matrix, int]:
    """Return the lower triangle of ``L' L`` and ``info``, which is 0."""
    _check_fit(L, len(L))
    run = _routine("dlauum", len(L) ** 3 // 3)
    if run is None:
        return lapack.dlauum(L, lower=1)
    L = _own(L)
    return L, run(b"L", len(L), L, len(L))


def dtrtri(L: Matrix) -> tuple[Matrix, int]:
    """Return ``L^{-1}`` and ``info``, which is positive if L is singular."""
    _check_fit(L, len(L))
    run = _routine("dtrtri", len(L) ** 3 // 3)
    if run is None:
        return lapack.dtrtri(L, lower=1)
    L = _own(L)
    return L, run(b"L", b"N", len(L), L, len(L))


def dtrtrs(L: Matrix, M: Matrix, transposed: bool = False, overwrite: bool = False) -> tuple[Matrix, int]:
    """Return ``L^{-1} M``, or ``L^{-T} M``, for a vector or matrix M, and ``info``, which is positive if L is singular."""
    return _trtrs("dtrtrs", L, M, transposed, overwrite)


def strtrs(L: Matrix, M: Matrix, transposed: bool = False, overwrite: bool = False) -> tuple[Matrix, int]:
    """Return what :func:`dtrtrs` does, in single precision."""
    return _trtrs("strtrs", L, M, transposed, overwrite)


def _trtrs(name: str, L: Matrix, M: Matrix, transposed: bool, overwrite: bool) -> tuple[Matrix, int]:
    _check_fit(L, len(M))
    run = _routine(name, len(L) * M.size // 2)
    if run is None:
        found, info = getattr(lapack, name)(L, M, lower=1, trans=int(transposed), overwrite_b=overwrite)
        return found, info
    x = _own(M, overwrite, TYPES[name[0]])
    # A row-major lower triangle is the transpose of a column-major upper one.
    by_rows = L.flags.c_contiguous and not L.flags.f_contiguous
    L, stride = _with_stride(L.T if by_rows else L, TYPES[name[0]])
    trans = b"T" if transposed != by_rows else b"N"
    n = len(L)
    return x, run(b"U" if by_rows else b"L", trans, b"N", n, x.size // n, L, stride, x, n)


def dtrmm(alpha: float, L: Matrix, M: Matrix, right: bool = False, transposed: bool = False) -> None:
    """Replace M by ``alpha L M``, or by ``alpha M L`` if ``right``; with ``L'`` for L if ``transposed``.

    Blocks of column-major arrays are multiplied in their place.
    """
    _check_fit(L, M.shape[1] if right else len(M))
    run = find("dtrmm")
    if run is None:
        M[...] = blas.dtrmm(alpha, L, M, side=int(right), lower=1, trans_a=int(transposed))
        return
    (L, stride), (x, x_stride) = _with_stride(L), _with_stride(M)
    trans = b"T" if transposed else b"N"
    run(b"R" if right else b"L", b"L", trans, b"N", *M.shape, alpha, L, stride, x, x_stride)
    if x is not M:
        M[...] = x


def dpotrs(L: Matrix, M: Matrix) -> tuple[Matrix, int]:
    """Return ``(L L')^{-1} M`` for a vector or matrix M, and ``info``, which is 0."""
    _check_fit(L, len(M))
    run = _routine("dpotrs", len(L) * M.size)
    if run is None:
        return lapack.dpotrs(L, M, lower=1)
    x = _own(M)
    L, n = np.asfortranarray(L, dtype=float), len(L)
    return x, run(b"L", n, x.size // n, L, n, x, n)


def dsyrk(alpha: float, A: Matrix, C: Matrix | None = None) -> Matrix:
    """Return the lower triangle of ``alpha A A'`` for A (n, k), plus C if it is given; C is then overwritten."""
    n, k = A.shape
    beta, total = (0.0, np.zeros((n, n), order="F")) if C is None else (1.0, _own(C, overwrite=True))
    _check_fit(total, n)
    A, by_rows = _column_major(A)
    run = _routine("dsyrk", n * n * k // 2)
    if run is None:
        return blas.dsyrk(alpha, A, beta=beta, c=total, trans=by_rows, lower=1, overwrite_c=1)
    run(b"L", b"T" if by_rows else b"N", n, k, alpha, A, len(A), beta, total, n)
    return total


def clear_upper(L: Matrix) -> Matrix:
    """Set the entries above the diagonal to zero, in place, and return ``L``."""
    for i in range(0, len(L), len(ABOVE_DIAGONAL)):
        columns = slice(i, i + len(ABOVE_DIAGONAL))
        L[:i, columns] = 0
        corner = L[columns, columns]
        np.copyto(corner, 0, where=ABOVE_DIAGONAL[: len(corner), : len(corner)])
    return L


def _check_fit(A: Matrix, n: int) -> None:
    """Raise unless ``A`` has shape (n, n): C functions trust the sizes they are given."""
    if A.shape != (n, n):
        raise ValueError(f"a matrix of shape ({n}, {n}) is needed, got shape {A.shape}.")


def _own(A: Matrix, overwrite: bool = False, kind: type[np.floating] = np.float64) -> Matrix:
    """Return ``A`` itself if it may be overwritten and is column-major, else a column-major copy."""
    usable = overwrite and A.flags.f_contiguous and A.flags.writeable and A.dtype == kind
    return A if usable else np.array(A, dtype=kind, order="F")


def _column_major(A: Matrix) -> tuple[Matrix, bool]:
    """Return ``A`` or, without a copy, its transpose as a column-major array, and whether it is the transpose."""
    if A.flags.c_contiguous and not A.flags.f_contiguous and A.dtype == np.float64:
        return A.T, True
    return np.asfortranarray(A, dtype=float), False


def _with_stride(A: Matrix, kind: type[np.floating] = np.float64) -> tuple[Matrix, int]:
    """Return ``A`` if it is column-major or a block of such an array, else a copy, and the distance of its columns."""
    rows, columns = A.strides
    if A.dtype == kind and rows == A.itemsize and columns >= len(A) * A.itemsize:
        return A, columns // A.itemsize
    return np.array(A, dtype=kind, order="F"), len(A)


class Routine:
    """A routine that runs without the lock; arrays are passed by their address, numbers by reference.

    Parameters
    ----------
    name : str
    address : int
    signature : str
        One letter per argument, see ``SIGNATURES``.
    integer : ctypes type
    """

    def __init__(self, name: str, address: int, signature: str, integer: Any) -> None:
        self._name, self._signature = name, signature
        self._call = ctypes.CFUNCTYPE(None, *len(signature) * [ctypes.c_void_p])(address)
        self._types = {"i": integer, "d": ctypes.c_double, "s": ctypes.c_float}
        self.integer = np.dtype(integer)

    def __call__(self, *arguments: Any) -> int:
        """Call the routine and return ``info``, the last argument of LAPACK's routines; 0 for those of BLAS.

        Raises
        ------
        ValueError
            If an argument is out of its range, which LAPACK reports by a negative ``info``.
        """
        info = self._types["i"](0)
        # The list keeps numbers alive during the call, the caller's tuple the arrays.
        passed = [self._passed(*pair) for pair in zip(self._signature, arguments, strict=False)]
        if len(passed) < len(self._signature):
            passed.append(ctypes.byref(info))
        self._call(*passed)
        if info.value < 0:
            raise ValueError(f"argument {-info.value} of {self._name} is out of its range.")
        return info.value

    def _passed(self, kind: str, argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return argument.__array_interface__["data"][0]
        return argument if kind == "c" else ctypes.byref(self._types[kind](argument))


def _routine(name: str, products: int) -> Routine | None:
    """Return the routine for a call of so many multiplications, or None if the ordinary wrapper is better."""
    return find(name) if products >= MIN_UNLOCKED_PRODUCTS else None


@cache
def find(name: str) -> Routine | None:
    """Return the routine of this name, or None if SciPy has no capsule of the expected signature."""
    try:
        capsule = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}[name]
        text = _python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)(capsule)
        get_pointer = _python_function(
            "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
        )
        signature, integer = parse(text.decode())
        expected = signature == SIGNATURES[name]
        return Routine(name, get_pointer(capsule, text), signature, integer) if expected else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _python_function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def parse(text: str) -> tuple[str, Any]:
    """Return one letter per argument of a C signature, and the type of its integers.

    Raises
    ------
    KeyError
        If an argument is of an unknown type.

    Examples
    --------
    >>> parse("void (char *, int *, __pyx_t_cython_blas_d *, int *, int *)")
    ('cidii', <class 'ctypes.c_int'>)
    """
    kinds = [argument.replace("*", "").strip() for argument in text.partition("(")[2].rstrip(")").split(",")]
    kinds = [{"_d": "double", "_s": "float"}.get(kind[-2:], kind) for kind in kinds]
    letters = {"char": "c", "double": "d", "float": "s", **dict.fromkeys(INTEGERS, "i")}
    integers = {INTEGERS[kind] for kind in kinds if kind in INTEGERS}
    if len(integers) != 1:
        raise KeyError(f"one type of integers was expected in the signature {text!r}.")
    return "".join(letters[kind] for kind in kinds), integers.pop()
