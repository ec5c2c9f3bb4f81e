"""Model files: a skops archive with a plain ``foldless.json`` beside the model. No pickle, so a file runs no code.

Loading looks before it builds: the archive's size, then the plain part (format, versions), then the list of types
the file would build, of which every one must be on a fixed list; only then is the model built.
"""

import json
import zipfile
from copy import copy
from dataclasses import dataclass

import sklearn
from sklearn.gaussian_process.kernels import Kernel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from foldless import __version__, kernels
from foldless.cli.files.read_table import Encoder
from foldless.core.errors import ModelFileError
from foldless.core.optional_imports import import_extra
from foldless.estimators.registry import MACHINES

FORMAT = 1  # of the plain part; raised when old readers could misunderstand a new file
PLAIN = "foldless.json"
LARGEST = 4 * 2**30  # bytes, unpacked: more than any model of ours, less than a trap
KERNELS = (
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

# What our estimators hold besides arrays and kernels.
PARTS = (
    "foldless.estimators.calibration.Sigmoid",
    "foldless.machines.least_squares.gp_posterior.LandmarkVariance",
)


@dataclass(frozen=True)
class ModelFile:
    """A loaded model: the pipeline, how to encode new files, and the plain part as it was written."""

    model: Pipeline
    encoder: Encoder
    plain: dict

    @property
    def note(self) -> str:
        """A sentence if another version wrote the file, else empty."""
        if self.plain["foldless"] == __version__ and self.plain["scikit-learn"] == sklearn.__version__:
            return ""
        return f"the model was written by {_writer(self.plain)}; this is {_reader()}."


def trusted_types():
    """Names of the types a model file may build beyond those skops trusts by itself."""
    own = [f"{entry.estimator.__module__}.{entry.estimator.__qualname__}" for entry in MACHINES.values()]
    theirs = [f"sklearn.gaussian_process.kernels.{name}" for name in KERNELS]
    return sorted({*own, *theirs, *_own_kernels(), *PARTS})


def _own_kernels():
    kinds = (getattr(kernels, name) for name in kernels.__all__)
    ours = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Kernel))
    return (f"{kind.__module__}.{kind.__qualname__}" for kind in ours)


def save_model(path, model, encoder, classes=None):
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
    import_extra("skops.io", "cli").dump(_without_trace(model), path)
    plain = {
        "format": FORMAT,
        "foldless": __version__,
        "scikit-learn": sklearn.__version__,
        "feature_names": encoder.feature_names,
        "classes": None if classes is None else [str(label) for label in classes],
        "encoder": encoder.to_dict(),
    }
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(PLAIN, json.dumps(plain, indent=1))


def _without_trace(model):
    name, estimator = model.steps[-1]
    slim = copy(estimator)
    for attribute in ("trace_", "selection_"):
        vars(slim).pop(attribute, None)
    return Pipeline([*model.steps[:-1], (name, slim)])


def load_model(path):
    """Read a model file that may come from anywhere.

    Raises
    ------
    ModelFileError
        With one line that says what is wrong: not a model file, damaged, from a newer format, or with types
        that are not on our list, which it names.
    """
    plain = _plain(path)
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
    if not _is_ours(model) or model[-1].n_features_in_ != len(encoder.feature_names):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, expected a model saved by foldless.")
    return ModelFile(model, encoder, plain)


def _is_ours(model):
    """Tell whether a model is a scaling step and one of our fitted estimators."""
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return False
    (_, first), (_, last) = model.steps
    estimators = {entry.estimator for entry in MACHINES.values()}
    known = (isinstance(first, str) and first == "passthrough") or type(first) is StandardScaler
    return known and type(last) in estimators and hasattr(last, "dual_coef_")


def _plain(path):
    """Read the plain part, after a look at the archive as a whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > LARGEST:
                raise ModelFileError(f"{path}: refused, because it would unpack to {size / 2**30:.0f} GiB.")
            broken = archive.testzip()
            if broken is not None:
                raise _damaged(path, f"{broken} does not match its checksum")
            plain = json.loads(archive.read(PLAIN))
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file. Check the name and the directory.") from None
    except KeyError:
        raise ModelFileError(
            f"{path}: has no {PLAIN}, so foldless did not write it. Save one with: foldless tune ... --save"
        ) from None
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise _damaged(path, error) from None
    return _checked(path, plain)


def _checked(path, plain):
    if not isinstance(plain, dict) or not {"format", "foldless", "scikit-learn", "encoder"} <= plain.keys():
        raise _damaged(path, f"{PLAIN} lacks its entries")
    if not isinstance(plain["format"], int) or plain["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: format {plain['format']} of {_writer(plain)}; {_reader()} reads up to {FORMAT}. Update foldless."
        )
    return plain


def _writer(plain):
    return f"foldless {plain['foldless']} with scikit-learn {plain['scikit-learn']}"


def _reader():
    return f"foldless {__version__} with scikit-learn {sklearn.__version__}"


def _damaged(path, error):
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return ModelFileError(f"{path}: not a whole model file ({reason}). Copy it again, or save it again.")


def _unbuildable(path, plain, error):
    reason = " ".join(str(error).split())[:120]
    if _writer(plain) == _reader():
        return _damaged(path, error)
    return ModelFileError(
        f"{path}: was written by {_writer(plain)} and {_reader()} cannot build it ({reason}). Tune it again."
    )
