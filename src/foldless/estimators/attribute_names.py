"""The names that ``dir`` lists, and with them what notebooks complete and show of a fitted estimator."""

import warnings

from foldless.core.errors import Undefined


class AttributeNamesMixin:
    """Leaves out attributes that are undefined for a fit, such as leverages of a support vector machine.

    scikit-learn asks ``hasattr`` for every name, in ``dir`` and for the HTML of an estimator, and an attribute that is computed on
    demand and explains why it cannot be would end both.
    """

    def __dir__(self) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [name for name in object.__dir__(self) if self._has(name)]

    def _has(self, name: str) -> bool:
        try:
            return hasattr(self, name)
        except Undefined:
            return False
