"""What a user may write as a space of parameters, and what it means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from foldless.tuning.lookup import PARAMETER_RANGE

# Probability cut off at either end of an unbounded distribution.
TAIL_PROBABILITY = 1e-3
# Discrete distributions over at most this many whole numbers are listed; wider ones become ranges.
LISTED_MAX_INTEGERS = 100


@dataclass(frozen=True)
class Range:
    """All numbers between two positive ones; searched in their logarithms."""

    low: float
    high: float

    @property
    def centre(self) -> float:
        """The geometric mean."""
        return float(np.sqrt(self.low * self.high))

    @property
    def span(self) -> "Range":
        """The range itself."""
        return self


@dataclass(frozen=True)
class Choices:
    """Some values, tried one by one."""

    values: tuple[Any, ...]

    @property
    def are_positive_numbers(self) -> bool:
        """Whether these are several positive numbers."""
        positive = (_is_number(value) and value > 0 for value in self.values)
        return all(positive) and len(set(self.values)) > 1

    @property
    def span(self) -> Range:
        """The range from the smallest to the largest value."""
        return Range(float(min(self.values)), float(max(self.values)))

    def nearest(self, value: float) -> Any:
        """Return the listed number that is nearest to ``value`` in logarithms."""
        return min(self.values, key=lambda listed: abs(np.log(listed / value)))


ParamSpace = dict[str, Range | Choices]


def read_space(space: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> list[ParamSpace]:
    """Return a list of dictionaries from names to :class:`Range` or :class:`Choices`.

    Parameters
    ----------
    space : None, dict, or list of dict
        Values may be a pair ``(low, high)`` of positive numbers (a range), a list or array (values to try, as
        for ``GridSearchCV``), a distribution of ``scipy.stats`` (its range), or a single value.

    Examples
    --------
    >>> read_space({"C": (0.1, 10), "degree": [2, 3]})
    [{'C': Range(low=0.1, high=10.0), 'degree': Choices(values=(2, 3))}]
    """
    spaces = [{}] if space is None else [space] if isinstance(space, Mapping) else list(space)
    if not all(isinstance(part, Mapping) for part in spaces):
        raise TypeError(f"param_space must be a dict, a list of dicts or None, got {space!r}.")
    if not spaces:
        raise ValueError("param_space is an empty list. Give None for the default ranges.")
    return [{name: _read(name, value) for name, value in part.items()} for part in spaces]


def _read(name: str, value: Any) -> Range | Choices:
    if hasattr(value, "rvs") and hasattr(value, "ppf"):
        return _distribution(name, value)
    if isinstance(value, tuple) and len(value) == 2 and all(_is_number(v) for v in value):
        return _range(name, *value)
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) == 0:
            raise ValueError(f"param_space[{name!r}] is empty; name at least one value.")
        return Choices(tuple(v.item() if isinstance(v, np.generic) else v for v in value))
    return Choices((value,))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _range(name: str, low: float, high: float) -> Range:
    smallest, largest = PARAMETER_RANGE
    if 0 < low < high < np.inf and not smallest <= low < high <= largest:
        raise ValueError(
            f"param_space[{name!r}] must lie between {smallest:g} and {largest:g}, got {(low, high)}."
        )
    if not 0 < low < high < np.inf:
        raise ValueError(
            f"param_space[{name!r}] must be a range (low, high) with 0 < low < high, got {(low, high)}. "
            "Ranges are searched in logarithms; list the values to try as [low, high] instead."
        )
    return Range(float(low), float(high))


def _distribution(name: str, value: Any) -> Range | Choices:
    low, high = (float(end) for end in value.support())
    if hasattr(value.dist, "pmf") and high - low < LISTED_MAX_INTEGERS:
        return Choices(tuple(range(int(low), int(high) + 1)))
    low = low if np.isfinite(low) and low > 0 else float(value.ppf(TAIL_PROBABILITY))
    return _range(name, low, high if np.isfinite(high) else float(value.ppf(1 - TAIL_PROBABILITY)))


def settings(space: ParamSpace, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return every combination of the choices of one space, except of the names in ``without``."""
    listed = {n: part.values for n, part in space.items() if isinstance(part, Choices) and n not in without}
    return [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
