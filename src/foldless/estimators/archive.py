"""Fitted models in files: a skops archive with a plain ``foldless.json`` beside the model. No pickle, so a file runs no code.

Loading checks before it builds: the size of the archive, then the plain part (format, versions), then the types that the
file would build, every one of which must be on a fixed list. Only then is the model built, and tried on one row.
"""

import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from foldless import __version__, criteria, estimators, kernels, machines, searches
from foldless.core.atomic_write import written_whole
from foldless.core.errors import ModelFileError, reason
from foldless.core.optional_imports import import_extra
from foldless.criteria.base import Criterion
from foldless.estimators.base import BaseKernelEstimator
from foldless.searches.base import Search

PathLike = str | os.PathLike[str]

# Format of the plain part; raised when old readers could misunderstand a new file.
FORMAT_VERSION = 1
PLAIN_NAME = "foldless.json"
PLAIN_KEYS = {"format", "foldless", "scikit-learn"}
# Maximum unpacked size (4 GiB), against zip bombs.
UNPACKED_MAX_BYTES = 4 * 2**30
# Kernels of scikit-learn that an estimator may have.
SKLEARN_KERNELS = (
    "RBF",
    "Matern",
    "RationalQuadratic",
    "DotProduct",
    "ConstantKernel",
    "WhiteKernel",
    "ExpSineSquared",
    "Sum",
    "Product",
    "Exponentiation",
)
# Types that our estimators hold besides arrays, kernels, criteria, machines and searches.
OTHER_TYPES = (
    "foldless.cli.files.column_reader.ColumnReader",
    "foldless.core.contracts.Step",
    "foldless.estimators.calibration.Sigmoid",
    "foldless.estimators.columns.ColumnCodes",
    "foldless.estimators.kernel_search.ensemble.Ensemble",
    "foldless.estimators.kernel_search.left_out_twin.ClassifierTwin",
    "foldless.estimators.kernel_search.left_out_twin.RegressorTwin",
    "foldless.estimators.preparation.ColumnScaler",
    "foldless.estimators.preparation.Preparation",
    "foldless.estimators.prepared_columns.PreparedColumns",
    "foldless.estimators.uncertainty.training_rows.TrainingRows",
    "foldless.grams.cells.Cell",
    "foldless.grams.cells.CellTree",
    "foldless.grams.cells.Cut",
    "foldless.grams.expansion.CellExpansion",
    "foldless.grams.expansion.Expansion",
    "foldless.kernels.families.Families",
    "foldless.machines.least_squares.gp_posterior.LandmarkVariance",
    "foldless.machines.losses.logistic.Logistic",
    "foldless.machines.losses.poisson.Poisson",
    "foldless.tuning.cellwise.CellFit",
    "foldless.tuning.cellwise.CellSolution",
    "foldless.tuning.result.Trial",
    "foldless.tuning.result.Trials",
    "foldless.tuning.trace.Trace",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
)


def save(model: BaseEstimator, path: PathLike) -> None:
    """Write a fitted model to a file that runs no code when it is loaded.

    The file replaces an old one only when it is complete. It needs ``pip install 'foldless[files]'``.

    Parameters
    ----------
    model : estimator
        Any estimator of foldless, or a pipeline or search that holds one, fitted.
    path : str or path-like
        Usually ends in ``.skops``.

    See Also
    --------
    foldless.load

    Examples
    --------
    >>> import tempfile, pathlib, foldless
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = foldless.KernelLSSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     foldless.save(model, pathlib.Path(folder) / "iris.skops")
    ...     loaded = foldless.load(pathlib.Path(folder) / "iris.skops")
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be a fitted estimator, got a {type(model).__name__}.")
    check_is_fitted(model)
    write_archive(model, path, {})


def load(path: PathLike, trusted: Iterable[str] = ()) -> Any:
    """Read a model that :func:`foldless.save` or ``foldless tune --save`` wrote; the file may come from anywhere.

    Parameters
    ----------
    path : str or path-like
    trusted : iterable of str, default=()
        Names of further types that the file may build, such as your own transformers. Name only what you know: building
        an object can run the code of its class.

    Returns
    -------
    model : estimator
        It predicts as the saved one did. ``selection_`` is not part of a file.

    Raises
    ------
    ModelFileError
        With one line about what is wrong: not a model file, damaged, from a newer format, or with types that are neither
        of foldless nor of scikit-learn, which it names.
    """
    model, _ = read_archive(path, trusted)
    check_predicts(path, model)
    return model


def write_archive(model: BaseEstimator, path: PathLike, facts: dict[str, Any]) -> None:
    """Write a model, and a plain part with the versions and further ``facts``."""
    skops = import_extra("skops.io", "files")
    versions = {"format": FORMAT_VERSION, "foldless": __version__, "scikit-learn": sklearn.__version__}
    with written_whole(path) as temporary:
        skops.dump(model, temporary)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(PLAIN_NAME, json.dumps(versions | facts, indent=1))


def read_archive(path: PathLike, trusted: Iterable[str] = ()) -> tuple[Any, dict[str, Any]]:
    """Return the model and the plain part of a file."""
    plain = _read_plain(path)
    skops = import_extra("skops.io", "files")
    allowed = [*trusted_types(), *trusted]
    try:
        foreign = sorted(set(skops.get_untrusted_types(file=path)) - set(allowed))
    except Exception as error:
        raise damaged(path, error) from None
    if foreign:
        raise ModelFileError(
            f"{path}: refused, because it would build types that no model of ours has: {', '.join(foreign)}. "
            "If they are your own, load it in Python with foldless.load(path, trusted=[...])."
        )
    try:
        model = skops.load(path, trusted=allowed)
    except Exception as error:
        raise unbuildable(path, plain, error) from None
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, expected a model saved by foldless.")
    return model, plain


def trusted_types() -> list[str]:
    """Return the names of the types a model file may build beyond those that skops trusts by itself."""
    sklearn_kernels = [f"sklearn.gaussian_process.kernels.{name}" for name in SKLEARN_KERNELS]
    ours = [
        *_public_types(estimators, BaseEstimator),
        *_public_types(kernels, Kernel),
        *_public_types(criteria, Criterion),
        *_public_types(machines, object),
        *_public_types(searches, Search),
    ]
    return sorted({*sklearn_kernels, *OTHER_TYPES, *ours})


def _public_types(module: Any, base: type) -> Iterator[str]:
    """Yield the full names of the classes that a module exports."""
    kinds = (getattr(module, name) for name in module.__all__)
    ours = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, base))
    return (f"{kind.__module__}.{kind.__qualname__}" for kind in ours)


def _read_plain(path: PathLike) -> dict[str, Any]:
    """Return the plain part, after the size and the checksums of the whole archive were checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > UNPACKED_MAX_BYTES:
                raise ModelFileError(f"{path}: refused, because it would unpack to {size / 2**30:.0f} GiB.")
            broken = archive.testzip()
            if broken is not None:
                raise damaged(path, f"{broken} does not match its checksum")
            if PLAIN_NAME not in archive.namelist():
                raise ModelFileError(
                    f"{path}: has no {PLAIN_NAME}, so foldless did not write it. Save one with foldless.save(model, path), "
                    "or with: foldless tune ... --save"
                )
            plain = json.loads(archive.read(PLAIN_NAME))
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file. Check the name and the directory.") from None
    # A damaged archive fails in many ways inside zipfile and json.
    except Exception as error:
        raise damaged(path, error) from None
    return _checked(path, plain)


def _checked(path: PathLike, plain: Any) -> dict[str, Any]:
    if not isinstance(plain, dict) or not plain.keys() >= PLAIN_KEYS:
        raise damaged(path, f"{PLAIN_NAME} lacks its entries")
    if not isinstance(plain["format"], int) or plain["format"] > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format {reason(plain['format'])} of {writer(plain)}; {reader()} reads up to {FORMAT_VERSION}. "
            "Update foldless."
        )
    return plain


def check_predicts(path: PathLike, model: BaseEstimator) -> None:
    """Predict one training row: arrays that were cut, or replaced by texts, are noticed here and not later."""
    machine = _machine_of(model)
    if not isinstance(machine, BaseKernelEstimator):
        return
    try:
        with strict_arithmetic():
            values, expected = _one_prediction(machine)
            intact = values.shape == expected and are_finite(values)
    except Exception as error:
        raise damaged(path, error) from None
    if not intact:
        raise damaged(path, "its arrays do not fit together")


def _machine_of(model: Any) -> Any:
    """Return the estimator that predicts in the end, inside pipelines and searches."""
    if isinstance(model, Pipeline) and model.steps:
        return _machine_of(model.steps[-1][1])
    inner = vars(model).get("best_estimator_") if isinstance(model, BaseEstimator) else None
    return model if inner is None else _machine_of(inner)


def _one_prediction(machine: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return numbers predicted for a training row, and the shape they should have."""
    row = _first_row(machine)
    predicted = machine.predict(row)
    if not hasattr(machine, "classes_"):
        return predicted, (1, *predicted.shape[1:])
    return machine.predict_proba(row), (1, len(machine.classes_))


def _first_row(machine: Any) -> Any:
    """Return a training row; if there are only kernel values, a row of ones."""
    if machine._pairwise:
        return np.ones((1, machine.n_features_in_))
    return (machine.X_fit_ if machine.cells_ is None else machine.cells_.points)[:1]


@contextmanager
def strict_arithmetic() -> Iterator[None]:
    """Make overflow and complex numbers errors, and ignore other warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, np.exceptions.ComplexWarning):
            warnings.simplefilter("error", category)
        yield


def are_finite(values: NDArray[Any]) -> bool:
    """Return whether an array holds finite floating point numbers."""
    return values.dtype.kind == "f" and bool(np.all(np.isfinite(values)))


def writer(plain: dict[str, Any]) -> str:
    """Return the versions that wrote a file."""
    return f"foldless {reason(plain['foldless'])} with scikit-learn {reason(plain['scikit-learn'])}"


def reader() -> str:
    """Return the versions that are installed."""
    return f"foldless {__version__} with scikit-learn {sklearn.__version__}"


def damaged(path: PathLike, error: object) -> ModelFileError:
    """Return the error for a file that is not whole."""
    return ModelFileError(
        f"{path}: not a whole model file ({reason(error)}). Expected what foldless.save or foldless tune --save wrote: "
        "copy it again, or save it again."
    )


def unbuildable(path: PathLike, plain: dict[str, Any], error: Exception) -> ModelFileError:
    """Return the error for a file whose parts do not make a model, with both versions if they differ."""
    if writer(plain) == reader():
        return damaged(path, error)
    return ModelFileError(
        f"{path}: was written by {writer(plain)} and {reader()} cannot build it ({reason(error)}). Fit it again."
    )
