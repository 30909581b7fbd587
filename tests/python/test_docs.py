"""Each public name has a docstring, each function's docstring has an example, and all examples run
as doctests."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import kandela
from kandela import _c

MODULES = [name for _, name, _ in pkgutil.iter_modules(kandela.__path__) if name not in ("_c", "torch", "trimesh", "sklearn")]


def documented():
    """Yields (name, function) for every public function and method."""
    for name in kandela.__all__:
        thing = getattr(kandela, name)
        if inspect.isfunction(thing):
            yield name, thing
        if not inspect.isclass(thing) or issubclass(thing, (Exception, tuple)):
            continue
        for member, value in vars(thing).items():
            if member[0] != "_" and not isinstance(value, property):
                value = getattr(value, "__func__", value)
                if inspect.isfunction(value):
                    yield f"{name}.{member}", value


FUNCTIONS = dict(documented())


def test_many_names_are_documented():
    assert len(FUNCTIONS) > 40 and len(MODULES) >= 10


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_description_and_example(name):
    said = inspect.getdoc(FUNCTIONS[name]) or ""
    assert len(said.split("\n")[0]) > 20 and ">>>" in said


def test_classes_properties_and_errors_have_description():
    for name in kandela.__all__:
        thing = getattr(kandela, name)
        if not inspect.isclass(thing):
            continue
        assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
        for member, value in vars(thing).items():
            if isinstance(value, property):
                assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("name", [""] + MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"kandela.{name}" if name else "kandela")
    assert module.__doc__
    space = {"np": np, "kandela": kandela}
    assert doctest.testmod(module, extraglobs=space, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).failed == 0


def test_stubs_are_complete():
    folder = Path(kandela.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_c.pyi").read_text()
    missing = [name for name in dir(_c) if name[0] != "_" and f" {name}" not in stub and f"\n{name}" not in stub]
    assert missing == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_return_types_are_annotated(name):
    assert "return" in FUNCTIONS[name].__annotations__
