"""Model files of the command line: those of :func:`foldless.save`, with the encoding of the columns in the plain part."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from foldless.cli.files.encoding import Encoder
from foldless.core.errors import ModelFileError
from foldless.estimators.archive import (
    PathLike,
    are_finite,
    check_predicts,
    damaged,
    read_archive,
    reader,
    strict_arithmetic,
    unbuildable,
    write_archive,
    writer,
)
from foldless.estimators.preparation import ColumnScaler
from foldless.estimators.registry import MACHINES


@dataclass(frozen=True)
class ModelFile:
    """A loaded model: the pipeline, how to encode new files, and the plain part as it was written."""

    model: Pipeline
    encoder: Encoder
    plain: dict[str, Any]

    @property
    def note(self) -> str:
        """A sentence if another version wrote the file, else empty."""
        if writer(self.plain) == reader():
            return ""
        return f"the model was written by {writer(self.plain)}; this is {reader()}."


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
    facts = {
        "feature_names": encoder.feature_names,
        "classes": None if classes is None else [str(label) for label in classes],
        "encoder": encoder.to_dict(),
    }
    write_archive(_without_trace(model), path, facts)


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
        With one line about what is wrong; see :func:`foldless.load`. A model that was saved in Python has no encoding of
        columns and is refused.
    """
    model, plain = read_archive(path)
    if "encoder" not in plain:
        raise ModelFileError(
            f"{path}: was saved in Python and does not say how the columns of a file are encoded. Use foldless.load there, "
            "or save one with: foldless tune ... --save"
        )
    try:
        encoder = Encoder.from_dict(plain["encoder"])
    except Exception as error:
        raise unbuildable(path, plain, error) from None
    if not _is_ours(model, encoder):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, expected a model saved by foldless.")
    _check_scaling(path, model[0], len(encoder.feature_names))
    check_predicts(path, model)
    return ModelFile(model, encoder, plain)


def _is_ours(model: Any, encoder: Encoder) -> bool:
    """Return True for a scaling step and one of our fitted estimators, with as many features as the encoder."""
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return False
    (_, first), (_, last) = model.steps
    estimators = {entry.estimator for entry in MACHINES.values()}
    scaling = (isinstance(first, str) and first == "passthrough") or type(first) is ColumnScaler
    fitted = type(last) in estimators and hasattr(last, "dual_coef_")
    return scaling and fitted and getattr(last, "n_features_in_", None) == len(encoder.feature_names)


def _check_scaling(path: PathLike, scaler: ColumnScaler | str, n_features: int) -> None:
    """Scale a row of zeros, to notice arrays that do not fit."""
    if isinstance(scaler, str):
        return
    try:
        with strict_arithmetic():
            fits = np.shape(scaler.mean_) == np.shape(scaler.scale_) == (n_features,)
            intact = fits and are_finite(scaler.transform(np.zeros((1, n_features))))
    except Exception as error:
        raise damaged(path, error) from None
    if not intact:
        raise damaged(path, "its scaling does not fit the columns")
