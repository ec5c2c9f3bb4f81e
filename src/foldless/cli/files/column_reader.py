"""The reading of columns as a step of a pipeline: data frames as people write them -> numbers and categories."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foldless.cli.files.columns import learn_codes, reason, verdicts
from foldless.cli.files.encoding import STRAY_TEXT_ADVICE, Code, Encoder, UnusableColumn, encode, texts
from foldless.cli.files.read_table import like_training
from foldless.cli.files.sheet import Column, Sheet, present, show
from foldless.cli.files.written_numbers import parsed
from foldless.core.errors import DataError
from foldless.core.text_columns import DATE_DTYPES, check_unique_names
from foldless.estimators.columns import dense_columns, is_frame

# What messages call the table, in the place of the name of a file.
TABLE_NAME = "X"
DROP_ADVICE = "Leave out what cannot be used, with X.drop(columns=...) or drop_unusable=True."


class ColumnReader(TransformerMixin, BaseEstimator):
    """Read the columns of a data frame as ``foldless tune`` reads those of a file.

    Texts such as ``$1,234.50``, ``12 %`` and ``1.234,50 €`` become numbers, dates become days, year, month, weekday and hour (without
    those that never change), and other texts stay what they are: categories, which :class:`foldless.KernelClassifier` and
    :class:`foldless.KernelRegressor` understand. Words for a missing value become one. Columns that are always the same are left out.

    Parameters
    ----------
    drop_unusable : bool, default=False
        Leave out columns that cannot be used (identifiers, free text, nothing) instead of raising.

    Attributes
    ----------
    verdicts_ : dict from names to str
        What became of every column, in words.
    encoder_ : dict
        How the columns are read, as plain data.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {
    ...         "price": ["$1,200", "$900", "n.a.", "$1,500"],
    ...         "day": ["2024-01-31", "2024-02-01", "2024-02-02", "2024-02-02"],
    ...     }
    ... )
    >>> ColumnReader().fit_transform(frame)
        price  day: days  day: month  day: weekday
    0  1200.0    19753.0         1.0           3.0
    1   900.0    19754.0         2.0           4.0
    2     NaN    19755.0         2.0           5.0
    3  1500.0    19755.0         2.0           5.0
    """

    def __init__(self, drop_unusable: bool = False) -> None:
        self.drop_unusable = drop_unusable

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is in the columns.

        Parameters
        ----------
        X : data frame of shape (n, d)
            Of pandas or polars.
        y : ignored

        Returns
        -------
        self : ColumnReader

        Raises
        ------
        DataError
            If columns cannot be used; the message names them.
        """
        sheet = _sheet_of(X)
        try:
            codes, unusable = learn_codes(sheet, sheet.columns, True, self.drop_unusable)
        except DataError as error:
            raise _in_python(error, DROP_ADVICE) from None
        encoder = Encoder(tuple(codes))
        if not encoder.value_names:
            raise DataError(
                "no column of X is left to learn from: all of them are always the same, or cannot be used."
            )
        self.encoder_ = encoder.to_dict()
        self.verdicts_ = verdicts(codes, {name: reason(what) for name, what in unusable.items()})
        self.feature_names_in_ = np.array(sheet.names, dtype=object)
        self.n_features_in_ = len(sheet.names)
        return self

    def transform(self, X: Any) -> Any:
        """Return a data frame of the same library with columns of numbers and of texts.

        Parameters
        ----------
        X : data frame
            With the columns of the fit, in any order; others are ignored.

        Returns
        -------
        read : data frame
        """
        check_is_fitted(self)
        sheet, encoder = _sheet_of(X, self.feature_names_in_), Encoder.from_dict(self.encoder_)
        by_name = {column.name: column for column in sheet.columns}
        absent = [show(code.name) for code in encoder.codes if code.value_names and code.name not in by_name]
        if absent:
            raise DataError(f"X lacks {', '.join(absent)}, which the columns of the fit had.")
        try:
            found = [
                part
                for code in encoder.codes
                if code.value_names
                for part in _read(sheet, by_name[code.name], code)
            ]
        except DataError as error:
            raise _in_python(error) from None
        read = type(X)(dict(zip(encoder.value_names, found)))
        return read.set_axis(X.index, axis=0) if hasattr(X, "index") else read

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that ``transform`` gives.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        return np.array(Encoder.from_dict(self.encoder_).value_names, dtype=object)


def _read(sheet: Sheet, column: Column, code: Code) -> Iterable[Any]:
    """Return the columns of numbers that a column becomes, or its texts."""
    column = like_training(sheet, column, code)
    return [texts(column)] if code.kind == "category" else encode(sheet, column, code).T


def _sheet_of(X: Any, names: Iterable[Any] | None = None) -> Sheet:
    """Return a data frame as the columns of a file, all of them or those of some names."""
    if not is_frame(X):
        raise DataError(f"X must be a data frame of pandas or polars, got {type(X).__name__}.")
    check_unique_names(X)
    X = dense_columns(X)
    wanted = None if names is None else set(names)
    columns = [_column_of(X, name) for name in X.columns if wanted is None or str(name) in wanted]
    sheet = Sheet(TABLE_NAME, tuple(columns))
    # The numbers of new rows are read as they were in training, when that is known.
    return (
        sheet if names is not None else replace(sheet, columns=tuple(parsed(sheet, one) for one in columns))
    )


def _column_of(X: Any, name: Any) -> Column:
    dtype = str(X[name].dtype).lower()
    values = X[name].to_list()
    if dtype.startswith(("int", "uint", "float")):
        return Column(
            str(name), np.array([np.nan if _is_missing(value) else value for value in values], dtype=float)
        )
    cells = [None if _is_missing(value) else present(_text(value)) for value in values]
    if dtype.startswith(DATE_DTYPES) or not dtype.startswith(("bool", "cat", "enum")):
        return Column(str(name), cells)
    return Column(str(name), cells, levels=tuple(sorted({cell for cell in cells if cell is not None})))


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _is_missing(value: Any) -> bool:
    return value is None or bool(np.all(value != value)) or type(value).__name__ in ("NAType", "NaTType")


def _in_python(error: DataError, advice: str = "") -> DataError:
    """Return an error of the command line without its options."""
    told = reason(str(error).removeprefix(f"{TABLE_NAME}: "))
    for words, instead in {
        STRAY_TEXT_ADVICE: "Correct it, or make it missing.",
        UnusableColumn.remedy: "",
    }.items():
        told = told.replace(words, instead)
    return DataError(f"{told.strip()} {advice}".strip())
