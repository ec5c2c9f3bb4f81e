"""A question about the name of a parameter that was misspelt."""

from typing import Any, Self

from foldless.core.errors import did_you_mean


class ParameterNamesMixin:
    """Asks for the most similar name where an estimator has no such parameter; scikit-learn's message lists them all."""

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
