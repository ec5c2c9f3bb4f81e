"""Model files: a skops archive with a plain ``foldless.json`` beside the model. No pickle, so a file runs no code.

Loading checks before it builds: the size of the archive, then the plain part (format, versions), then the types that the
file would build, every one of which must be on a fixed list. Only then is the model built, and tried on one row.
"""

import json
import warnings
import zipfile
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from foldless import __version__, kernels
from foldless.cli.files.atomic import written_whole
from foldless.cli.files.encoding import Encoder
from foldless.cli.files.sheet import PathLike, reason
from foldless.core.errors import ModelFileError
from foldless.core.optional_imports import import_extra
from foldless.estimators.registry import MACHINES

# Format of the plain part; raised when old readers could misunderstand a new file.
FORMAT_VERSION = 1
PLAIN_NAME = "foldless.json"
PLAIN_KEYS = {"format", "foldless", "scikit-learn", "encoder"}
# Maximum unpacked size (4 GiB), against zip bombs.
UNPACKED_MAX_BYTES = 4 * 2**30
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
# Types that our estimators hold besides arrays and kernels.
OTHER_TYPES = (
    "foldless.criteria.loo.LOO",
    "foldless.criteria.tied.Tied",
    "foldless.estimators.calibration.Sigmoid",
    "foldless.estimators.columns.ColumnCodes",
    "foldless.estimators.uncertainty.training_rows.TrainingRows",
    "foldless.machines.least_squares.gp_posterior.LandmarkVariance",
    "foldless.machines.losses.logistic.Logistic",
    "foldless.machines.losses.poisson.Poisson",
    "foldless.machines.lssvm.LSSVM",
    "foldless.machines.ridge.Ridge",
    "foldless.machines.smooth.SmoothMachine",
    "foldless.machines.softmax.SoftmaxMachine",
    "foldless.machines.subset.Subset",
    "foldless.machines.svm.HingeSVM",
    "foldless.machines.svm.SquaredHingeSVM",
)


@dataclass(frozen=True)
class ModelFile:
    """A loaded model: the pipeline, how to encode new files, and the plain part as it was written."""

    model: Pipeline
    encoder: Encoder
    plain: dict[str, Any]

    @property
    def note(self) -> str:
        """A sentence if another version wrote the file, else empty."""
        if _writer(self.plain) == _reader():
            return ""
        return f"the model was written by {_writer(self.plain)}; this is {_reader()}."


def trusted_types() -> list[str]:
    """Return the names of the types a model file may build beyond those that skops trusts by itself."""
    estimators = [
        f"{entry.estimator.__module__}.{entry.estimator.__qualname__}" for entry in MACHINES.values()
    ]
    sklearn_kernels = [f"sklearn.gaussian_process.kernels.{name}" for name in SKLEARN_KERNELS]
    return sorted({*estimators, *sklearn_kernels, *_own_kernels(), *OTHER_TYPES})


def _own_kernels() -> Iterator[str]:
    kinds = (getattr(kernels, name) for name in kernels.__all__)
    ours = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Kernel))
    return (f"{kind.__module__}.{kind.__qualname__}" for kind in ours)


def save_model(
    path: PathLike, model: Pipeline, encoder: Encoder, classes: NDArray[Any] | None = None
) -> None:
    """Write a fitted pipeline and what is needed to use it.

    Parameters
    ----------
    path : str or path-like
    model : Pipeline
        Its last step is one of our estimators. The trace of the search is left out.
    encoder : Encoder
        How the training file became columns.
    classes : array, optional
        Labels, for the plain part.
    """
    plain = {
        "format": FORMAT_VERSION,
        "foldless": __version__,
        "scikit-learn": sklearn.__version__,
        "feature_names": encoder.feature_names,
        "classes": None if classes is None else [str(label) for label in classes],
        "encoder": encoder.to_dict(),
    }
    with written_whole(path) as temporary:
        import_extra("skops.io", "cli").dump(_without_trace(model), temporary)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(PLAIN_NAME, json.dumps(plain, indent=1))


def _without_trace(model: Pipeline) -> Pipeline:
    name, estimator = model.steps[-1]
    slim = copy(estimator)
    for attribute in ("trace_", "selection_", "_known"):
        vars(slim).pop(attribute, None)
    return Pipeline([*model.steps[:-1], (name, slim)])


def load_model(path: PathLike) -> ModelFile:
    """Read a model file that may come from anywhere.

    Raises
    ------
    ModelFileError
        With one line about what is wrong: not a model file, damaged, from a newer format, or with types that are not on
        our list, which it names.
    """
    plain = _read_plain(path)
    skops = import_extra("skops.io", "cli")
    try:
        foreign = sorted(set(skops.get_untrusted_types(file=path)) - set(trusted_types()))
    except Exception as error:
        raise _damaged(path, error) from None
    if foreign:
        raise ModelFileError(
            f"{path}: refused, because it would build types that no model of ours has: {', '.join(foreign)}."
        )
    try:
        model, encoder = skops.load(path, trusted=trusted_types()), Encoder.from_dict(plain["encoder"])
    except Exception as error:
        raise _unbuildable(path, plain, error) from None
    if not _is_ours(model, encoder):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, expected a model saved by foldless.")
    _check_predicts(path, model, encoder)
    return ModelFile(model, encoder, plain)


def _is_ours(model: Any, encoder: Encoder) -> bool:
    """Return True for a scaling step and one of our fitted estimators, with as many features as the encoder."""
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return False
    (_, first), (_, last) = model.steps
    estimators = {entry.estimator for entry in MACHINES.values()}
    scaling = (isinstance(first, str) and first == "passthrough") or type(first) is StandardScaler
    fitted = type(last) in estimators and hasattr(last, "dual_coef_")
    return scaling and fitted and getattr(last, "n_features_in_", None) == len(encoder.feature_names)


def _check_predicts(path: PathLike, model: Pipeline, encoder: Encoder) -> None:
    """Predict one training row: arrays that were cut, or replaced by texts, are noticed here and not later."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for category in (RuntimeWarning, np.exceptions.ComplexWarning):
                warnings.simplefilter("error", category)
            scaled = _scaled_zeros(model[0], len(encoder.feature_names))
            values, expected = _one_prediction(model[-1])
            intact = values.shape == expected and _are_finite(values) and _are_finite(scaled)
    except Exception as error:
        raise _damaged(path, error) from None
    if not intact:
        raise _damaged(path, "its arrays do not fit together")


def _are_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.all(np.isfinite(values)))


def _scaled_zeros(scaler: StandardScaler | str, n_features: int) -> NDArray[Any]:
    """Return a row of zeros after scaling."""
    if isinstance(scaler, str):
        return np.zeros((1, n_features))
    if not np.shape(scaler.mean_) == np.shape(scaler.scale_) == (n_features,):
        raise ValueError("the scaling has another number of features")
    return scaler.transform(np.zeros((1, n_features)))


def _one_prediction(estimator: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return numbers predicted for a training row, and the shape they should have."""
    row = estimator.X_fit_[:1]
    if not hasattr(estimator, "classes_"):
        return estimator.predict(row), (1,)
    estimator.predict(row)
    return estimator.predict_proba(row), (1, len(estimator.classes_))


def _read_plain(path: PathLike) -> dict[str, Any]:
    """Return the plain part, after the size and the checksums of the whole archive were checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > UNPACKED_MAX_BYTES:
                raise ModelFileError(f"{path}: refused, because it would unpack to {size / 2**30:.0f} GiB.")
            broken = archive.testzip()
            if broken is not None:
                raise _damaged(path, f"{broken} does not match its checksum")
            if PLAIN_NAME not in archive.namelist():
                raise ModelFileError(
                    f"{path}: has no {PLAIN_NAME}, so foldless did not write it. Save one with: foldless tune ... --save"
                )
            plain = json.loads(archive.read(PLAIN_NAME))
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file. Check the name and the directory.") from None
    except Exception as error:  # a damaged archive fails in many ways inside zipfile and json
        raise _damaged(path, error) from None
    return _checked(path, plain)


def _checked(path: PathLike, plain: Any) -> dict[str, Any]:
    if not isinstance(plain, dict) or not plain.keys() >= PLAIN_KEYS:
        raise _damaged(path, f"{PLAIN_NAME} lacks its entries")
    if not isinstance(plain["format"], int) or plain["format"] > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: format {reason(plain['format'])} of {_writer(plain)}; {_reader()} reads up to {FORMAT_VERSION}. "
            "Update foldless."
        )
    return plain


def _writer(plain: dict[str, Any]) -> str:
    return f"foldless {reason(plain['foldless'])} with scikit-learn {reason(plain['scikit-learn'])}"


def _reader() -> str:
    return f"foldless {__version__} with scikit-learn {sklearn.__version__}"


def _damaged(path: PathLike, error: object) -> ModelFileError:
    return ModelFileError(
        f"{path}: not a whole model file ({reason(error)}). Copy it again, or save it again."
    )


def _unbuildable(path: PathLike, plain: dict[str, Any], error: Exception) -> ModelFileError:
    if _writer(plain) == _reader():
        return _damaged(path, error)
    return ModelFileError(
        f"{path}: was written by {_writer(plain)} and {_reader()} cannot build it ({reason(error)}). Tune it again."
    )
