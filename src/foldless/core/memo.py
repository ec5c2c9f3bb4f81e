"""Small caches for objects that never change: results by what they were computed from."""

import functools
from collections.abc import Callable, Hashable
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")
_MISSING: Any = object()
COMPARED_BY_VALUE = (str, bytes, bool, int, float, type(None))


class cached_property(functools.cached_property[T]):
    """A property that is computed once for each object.

    That of Python 3.11 holds a lock which all objects of a class share, so that threads wait for each other; later versions
    have none, like this one. Two threads that ask the same object at the same time both compute, and agree.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        if instance is None:
            return self
        assert self.attrname is not None
        known: dict[str, Any] = instance.__dict__
        value = known.get(self.attrname, _MISSING)
        if value is _MISSING:
            value = known[self.attrname] = self.func(instance)
        return value


class Memo:
    """Results computed from one object, by a name and by the arguments they depend on.

    Numbers, strings and ``None`` are compared by value, everything else (arrays) by identity. The cache keeps the
    arguments alive, so that an identity is never taken over by another object. Arguments must not change afterwards.

    Examples
    --------
    >>> memo, weights = Memo(), [1.0, 2.0]
    >>> memo.get("total", weights, compute=lambda: sum(weights))
    3.0
    >>> memo.get("total", weights, compute=lambda: "not called again")
    3.0
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, tuple[Any, ...]]] = {}

    def get(self, name: str, *arguments: Any, compute: Callable[[], T]) -> T:
        """Return the result that is known for this name and these arguments, or else ``compute()``."""
        key = (name, *(a if isinstance(a, COMPARED_BY_VALUE) else (id(a),) for a in arguments))
        found = self._known.get(key)
        if found is None:
            # Another thread may store its own equal result meanwhile; both are valid.
            found = self._known[key] = (compute(), arguments)
        return found[0]


class Latest:
    """The result for the latest key only, for results too large to keep two of.

    Examples
    --------
    >>> latest = Latest()
    >>> latest.get(1, lambda: "one"), latest.get(1, lambda: "not called"), latest.get(2, lambda: "two")
    ('one', 'one', 'two')
    """

    def __init__(self) -> None:
        self._entry: tuple[Hashable, Any] | None = None

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result for ``key``: the one that is kept, or else ``compute()``."""
        # One tuple, so that threads side by side never see a mismatched pair.
        entry = self._entry
        if entry is not None and entry[0] == key:
            return entry[1]
        # Free the old result before the next is made: two may not fit in memory.
        entry = self._entry = None
        value = compute()
        self._entry = (key, value)
        return value
