"""Model files of the command line: those of :func:`foldless.save`, with the encoding of the columns in the plain part."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from foldless.cli.files.encoding import Encoder, IndicatorColumns
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
from foldless.estimators.prepared_columns import PreparedColumns
from foldless.estimators.registry import MACHINES
from foldless.grams.expansion import CellExpansion


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
        For the values of a table; its last step is one of our estimators. The trace of the search is left out.
    encoder : Encoder
        How the training file became columns.
    classes : array, optional
        Labels, for the plain part.
    """
    steps = [(name, step) for name, step in model.steps if not isinstance(step, IndicatorColumns)]
    facts = {
        "feature_names": _names(steps[0][1], encoder),
        "classes": None if classes is None else [str(label) for label in classes],
        "encoder": encoder.to_dict(),
    }
    write_archive(Pipeline([*steps[:-1], (steps[-1][0], _without_trace(steps[-1][1]))]), path, facts)


def _names(first: Any, encoder: Encoder) -> list[str]:
    """Return the names of the columns that a stored model takes: values, or indicators, which the encoding makes of them."""
    return encoder.value_names if isinstance(first, PreparedColumns) else encoder.feature_names


def _without_trace(estimator: Any) -> Any:
    slim = copy(estimator)
    for attribute in ("trace_", "selection_", "_known"):
        vars(slim).pop(attribute, None)
    return slim


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
    _check_preparation(path, model, len(_names(model[0], encoder)))
    check_predicts(path, model)
    if not isinstance(model[0], PreparedColumns):
        model = Pipeline([("columns", IndicatorColumns(encoder)), *model.steps])
    return ModelFile(model, encoder, plain)


def _is_ours(model: Any, encoder: Encoder) -> bool:
    """Return True for a step that prepares columns and one of our fitted estimators, for as many columns as the encoder makes."""
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return False
    (_, first), (_, last) = model.steps
    estimators = {entry.estimator for entry in MACHINES.values()}
    by_cells = isinstance(getattr(last, "cells_", None), CellExpansion)
    if type(last) not in estimators or not (by_cells or hasattr(last, "dual_coef_")):
        return False
    takes = len(_names(first, encoder))
    if isinstance(first, str):
        return first == "passthrough" and getattr(last, "n_features_in_", None) == takes
    return type(first) in (ColumnScaler, PreparedColumns) and getattr(first, "n_features_in_", None) == takes


def _check_preparation(path: PathLike, model: Pipeline, n_columns: int) -> None:
    """Prepare a row of zeros, to notice arrays that do not fit."""
    first, last = model[0], model[-1]
    if isinstance(first, str):
        return
    try:
        with strict_arithmetic():
            prepared = first.transform(np.zeros((1, n_columns)))
            intact = prepared.shape == (1, last.n_features_in_) and are_finite(prepared)
            intact = intact and _scaling_fits(first, n_columns)
    except Exception as error:
        raise damaged(path, error) from None
    if not intact:
        raise damaged(path, "its scaling does not fit the columns")


def _scaling_fits(first: ColumnScaler | PreparedColumns, n_columns: int) -> bool:
    """Return whether there is a centre and a divisor for each column, where a single one would be used for all of them.

    Columns must be kept in their order, and each once.
    """
    if isinstance(first, ColumnScaler):
        arrays, places = [first.mean_, first.scale_], []
    else:
        how = first.preparation_
        arrays, places = [how.center, how.scale, how.fill], [how.kept, how.gaps]
    ordered = all(np.array_equal(place, np.unique(place)) for place in places)
    # A centre that is no number would make every value a missing one.
    return ordered and all(np.shape(array) == (n_columns,) and are_finite(array) for array in arrays)
