"""Parameters and attributes that several estimators share, described once.

A line ``:shared: search n_starts`` in the docstring of a class that is decorated with :func:`document_shared` is replaced
by the descriptions of these names.
"""

from typing import TypeVar

Class = TypeVar("Class", bound=type)

DESCRIPTIONS = """
kernel : str, Kernel or list, default="rbf"
    ``"rbf"``, ``"rbf-ard"`` (a length scale per feature, tied), ``"laplacian"``, ``"matern"``, ``"poly"``, ``"linear"``,
    ``"sinc"``, ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are respected, and
    ``"fixed"`` parameters stay), or a list of candidates from which the criterion chooses one. ``"auto"`` compares
    families from smooth to rough and drops the worse ones early; with it a data frame may hold columns of categories,
    texts and truth values. ``print(model.selection_.trials)`` shows the comparison.
C : float, default=None
    Weight of the data against the norm; ``None`` tunes it.
search : str or object, default="lbfgs"
    Search strategy, by name or object; see ``foldless.searches``.
n_starts : int, default=None
    Number of local searches. ``None`` uses the search's default.
max_evaluations : int, default=None
    Largest number of evaluations of the criterion.
time_budget : float, default=None
    Largest number of seconds for the search.
gram : {"auto", "dense", "lowrank", "nystrom", "cells", "dask"}, default="auto"
    Form of the last fit. ``"auto"`` takes the whole matrix, as many landmarks as change the result, or cells, whichever
    suits the rows.
n_components : int, default=None
    Number of landmarks. ``None`` derives it from the data.
landmarks : array-like of shape (m,) or (m, d), default=None
    The landmarks themselves: row numbers of ``X``, or points. ``None`` chooses them among the rows.
cell_size : int, default=None
    Largest number of rows of a cell, those that it shares with its neighbours included. ``None`` takes 1500.
random_state : int or RandomState, default=None
    Seed of the blocks of rows and of the landmarks; ``None`` gives the same ones every time.
scale : bool, default=True
    Whether columns of numbers are standardised, and those that never change left out.
n_jobs : int, default=None
    Number of threads, with one BLAS thread each: for candidate kernels, local searches, classes, cells, and blocks and strips
    of rows. ``None`` is one thread, -1 as many as there are cores. No digit of the result depends on it.
verbose : int, default=0
    1 shows a progress bar, and leaves one line behind.
on_interrupt : {"raise", "keep"}, default="raise"
    What Ctrl-C does during the search: raise KeyboardInterrupt, or keep the best parameters so far and fit with them.
calibration : {"same", "split"}, default="same"
    Rows behind intervals and sets. ``"same"`` tunes and fits all rows; ``"split"`` tunes on one half and fits the other, so
    that the guarantee holds for any number of rows; see :meth:`guarantee`.
categorical_features : list of int or str, mask, slice or callable, default=None
    Columns that hold categories although their type does not tell: those of an array, or codes in a data frame. Texts, truth values
    and categories of a data frame need not be named.
kernel_ : Kernel
    The chosen kernel.
C_ : float
    The chosen or given C.
alpha_ : float
    The chosen or given alpha.
criterion_value_ : float
    The criterion at the chosen point: a cost per row, in the criterion's ``unit``.
preparation_ : Preparation
    How columns are filled and scaled.
classes_ : array of shape (n_classes,)
    Class labels.
dual_coef_ : array of shape (1 or n_classes, number of ``X_fit_``)
    Coefficients of the kernel functions at ``X_fit_``.
intercept_ : array of shape (1 or n_classes,)
    Constants that are added.
X_fit_ : array
    Training points, or landmarks, that ``dual_coef_`` belongs to. With ``kernel="precomputed"`` there are no points, and
    these are the numbers of the training rows.
loo_predict_ : array
    Predictions for the training points by the models without them.
loo_residuals_ : array
    Targets less ``loo_predict_``.
leverage_ : array of shape (n,)
    Part of the output of each training point that is its own doing.
label_quality_ : array of shape (n,)
    Probability of each training row's own class without it, where rows with doubtful labels count less; cells have one look only.
suspicious_ : array of int
    Numbers of the training rows, most surprising one first.
guarantee_ : str
    What intervals, or sets, promise for this fit.
learning_curve_ : LearningCurve
    Left-out loss against the number of rows.
calibration_ : Sigmoid
    Maps outputs to probabilities; fitted on ``loo_decision_``.
relevance_ : array of shape (d,)
    How much of the change of the fitted function is along each column, in units of its standard deviation: the diagonal of
    the average gradient outer product over (at most 500) rows of the fit, with sum 1. It is computed on demand.
column_codes_ : ColumnCodes or None
    The categories of a table that was fitted with ``kernel="auto"``.
partitions_ : PartitionedFit or None
    Rows, form and left-out loss of a fit to a Dask collection; None after a fit to arrays.
trace_ : Trace
    One :class:`Step` per evaluation: theta, value, seconds, why. ``trace_.to_frame()`` is a table with the natural values of
    the parameters.
n_evaluations_ : int
    Length of ``trace_``.
selection_ : Selection
    The chosen kernel and machine, the solution and the whole search; a model that was saved and loaded has none.
    ``print(model.selection_.forms)`` shows the forms of the last fit that ``gram="auto"`` compared.
n_features_in_ : int
    Number of columns of ``X``.
"""


def _by_name(text: str) -> dict[str, list[str]]:
    """Return the lines of each description under its name."""
    found: dict[str, list[str]] = {}
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            name = line.partition(" : ")[0]
            found[name] = []
        found[name].append(line)
    return found


SHARED = _by_name(DESCRIPTIONS)


def document_shared(cls: Class) -> Class:
    """Write the shared descriptions into the docstring of a class."""
    lines: list[str] = []
    for line in (cls.__doc__ or "").splitlines():
        indent, marker, names = line.partition(":shared:")
        lines += [indent + text for name in names.split() for text in SHARED[name]] if marker else [line]
    cls.__doc__ = "\n".join(lines)
    return cls
