"""Every function and method that a user can reach is annotated, so that editors and type checkers know what it takes and gives."""

import inspect
from functools import cached_property
from importlib import import_module

import pytest

import foldless

MODULES = [
    foldless,
    *(
        import_module(f"foldless.{name}")
        for name in foldless.__all__
        if hasattr(getattr(foldless, name), "__path__") or inspect.ismodule(getattr(foldless, name))
    ),
]


def is_ours(thing):
    return getattr(thing, "__module__", "").partition(".")[0] == "foldless"


def public_functions():
    """Yield names and functions: those in the ``__all__`` of the public modules, and the methods of the classes there."""
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and is_ours(thing):
                yield from methods(thing)
            elif callable(thing) and is_ours(thing):
                yield f"{module.__name__}.{name}", inspect.unwrap(thing)


def methods(cls):
    """Yield the public methods and properties of a class, its ``__init__`` and its ``__call__``, inherited ones too."""
    for name, member in inspect.getmembers_static(cls):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        function = underlying(member)
        if inspect.isfunction(function) and is_ours(function):
            yield f"{function.__module__}.{function.__qualname__}", function


def underlying(member):
    """Return the function of a method or property."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return inspect.unwrap(getattr(member, "__func__", member))


def missing(function):
    """Return the parameters, and "return", that have no annotation."""
    signature = inspect.signature(function)
    names = [
        name
        for name, p in signature.parameters.items()
        if p.annotation is p.empty and name not in ("self", "cls")
    ]
    if signature.return_annotation is signature.empty and function.__name__ != "__init__":
        names.append("return")
    return names


FUNCTIONS = dict(public_functions())


def test_there_is_something_to_check():
    assert len(FUNCTIONS) > 100
    assert "foldless.estimators.svc.KernelSVC.fit" in FUNCTIONS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_public_functions_are_annotated(name):
    assert not missing(FUNCTIONS[name]), f"{name} lacks annotations of: {', '.join(missing(FUNCTIONS[name]))}"
