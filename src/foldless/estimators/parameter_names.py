"""A question about the name of a parameter that was misspelt."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

from foldless.core.errors import did_you_mean


class ParameterNamesMixin:
    """Asks for the most similar name where an estimator has no such parameter; scikit-learn's message lists them all."""

    _explained_parameters: Mapping[str, str] = {}  # what to do instead, for parameters that users expect here

    def __new__(cls, *arguments: Any, **params: Any) -> Self:
        """Raise TypeError for a parameter that the estimator does not have, with the most similar one."""
        known = list(signature(cls).parameters)
        for name in params:
            if name not in known:
                question = did_you_mean(name, known).strip() or f"It has: {', '.join(known)}."
                advice = cls._explained_parameters.get(name, question)
                raise TypeError(f"{cls.__name__} has no parameter {name!r}. {advice}")
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator, and those of its parts as ``part__name``.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self : estimator
        """
        known = list(self.get_params(deep=False))  # type: ignore[attr-defined]
        unknown = [name for name in (one.partition("__")[0] for one in params) if name not in known]
        try:
            return super().set_params(**params)  # type: ignore[misc]
        except ValueError as error:
            question = did_you_mean(unknown[0], known) if unknown else ""
            if not question:
                raise
            raise ValueError(f"{error}{question}") from None
